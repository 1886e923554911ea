// The instruction-set levels that the CPU kernels are compiled for. Which level runs is decided
// once per session; nothing here detects a CPU.
#pragma once

namespace switchyard::cpu::math {

enum class IsaLevel : int { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

}  // namespace switchyard::cpu::math
