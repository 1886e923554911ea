// The instruction-set levels that the CPU kernels are compiled for. Not the detection of the
// machine's level: callers pass a level that the machine is known to have.
#pragma once

#include <cstdint>

namespace switchyard::cpu::math {

enum class IsaLevel : std::uint8_t {
  kBaseline = 0,  // portable vectors, 128 bit
  kAvx2 = 1,      // AVX2, FMA, F16C
  kAvx512 = 2,    // AVX-512 F, BW, VL, DQ, VNNI
};

}  // namespace switchyard::cpu::math
