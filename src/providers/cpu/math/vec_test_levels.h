// The instruction-set levels that this machine can run, for tests.
#pragma once

#include <vector>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

inline std::vector<IsaLevel> TestLevels() {
  std::vector<IsaLevel> levels = {IsaLevel::kBaseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    levels.push_back(IsaLevel::kAvx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    levels.push_back(IsaLevel::kAvx512);
  }
#endif
  return levels;
}

}  // namespace switchyard::cpu::math
