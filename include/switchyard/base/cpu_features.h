#pragma once
// What the processor offers to code that is chosen at run time.

#include <string>

#include "switchyard/base/export.h"

namespace switchyard {

struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, VL, DQ
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;
  int physical_cores = 1;  // of those this process may run on, at least 1
};

// Detected once per process; the operating system's part (saved registers, affinity mask, control
// group quota) is taken into account.
SWITCHYARD_API const CpuFeatures& DetectCpuFeatures();

}  // namespace switchyard
