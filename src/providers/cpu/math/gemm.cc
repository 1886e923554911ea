#include "providers/cpu/math/gemm.h"

namespace switchyard::cpu::math {

extern const GemmOps kGemmBaseline;
extern const GemmOpsF64 kGemmF64Baseline;
#if defined(__x86_64__)
extern const GemmOps kGemmAvx2;
extern const GemmOps kGemmAvx512;
extern const GemmOpsF64 kGemmF64Avx2;
extern const GemmOpsF64 kGemmF64Avx512;
#endif

const GemmOps& GemmFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kGemmAvx512;
  if (level == IsaLevel::kAvx2) return kGemmAvx2;
#endif
  (void)level;
  return kGemmBaseline;
}

const GemmOpsF64& GemmF64For(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kGemmF64Avx512;
  if (level == IsaLevel::kAvx2) return kGemmF64Avx2;
#endif
  (void)level;
  return kGemmF64Baseline;
}

}  // namespace switchyard::cpu::math
