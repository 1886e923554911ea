// The Highway targets that the vector library is compiled for: the baseline (SSE4.2 on x86), AVX2
// with FMA and F16C, AVX-512. Included before <hwy/foreach_target.h>. Files whose loops are bound
// by memory define SY_VEC_NO_AVX512 first, which halves their code for nothing lost.
#pragma once

#include "providers/cpu/math/isa.h"

#if defined(__x86_64__) || defined(_M_X64)
#define HWY_BASELINE_TARGETS HWY_SSE4
// Calls `call` (declared in each target's namespace) of the best compiled target that `level`
// allows.
#ifdef SY_VEC_NO_AVX512
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL | HWY_EMU128 | HWY_SCALAR)
#define SY_VEC_DISPATCH(level, call) ((level) >= IsaLevel::kAvx2 ? N_AVX2::call : N_SSE4::call)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_EMU128 | HWY_SCALAR)
#define SY_VEC_DISPATCH(level, call)           \
  ((level) >= IsaLevel::kAvx512 ? N_AVX3::call \
   : (level) == IsaLevel::kAvx2 ? N_AVX2::call \
                                : N_SSE4::call)
#endif
#else
#define SY_VEC_DISPATCH(level, call) ((void)(level), HWY_STATIC_DISPATCH(call))
#endif
