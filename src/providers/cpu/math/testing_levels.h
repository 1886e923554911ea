// Test and benchmark support: the ISA levels that this machine can run.
#pragma once

#include <vector>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

inline std::vector<IsaLevel> TestableLevels() {
  std::vector<IsaLevel> levels{IsaLevel::kBaseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    levels.push_back(IsaLevel::kAvx2);
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni")) {
    levels.push_back(IsaLevel::kAvx512);
  }
#endif
  return levels;
}

inline const char* LevelName(IsaLevel level) {
  return level == IsaLevel::kAvx512 ? "avx512" : level == IsaLevel::kAvx2 ? "avx2" : "baseline";
}

}  // namespace switchyard::cpu::math
