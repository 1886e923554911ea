#include "providers/cpu/math/igemm.h"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmBaseline;
#if defined(__x86_64__)
extern const IgemmOps kIgemmAvx2;
extern const IgemmOps kIgemmAvx512;
#endif

const IgemmOps& IgemmFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kIgemmAvx512;
  if (level == IsaLevel::kAvx2) return kIgemmAvx2;
#endif
  (void)level;
  return kIgemmBaseline;
}

}  // namespace switchyard::cpu::math
