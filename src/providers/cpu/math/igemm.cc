#include "providers/cpu/math/igemm.h"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmBaseline;
#if defined(__x86_64__)
extern const IgemmOps kIgemmAvx2;
extern const IgemmOps kIgemmAvx512;
#endif

const IgemmOps& IgemmFor(IsaLevel level, bool has_vnni) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512 && has_vnni) return kIgemmAvx512;
  if (level != IsaLevel::kBaseline) return kIgemmAvx2;
#endif
  (void)level;
  (void)has_vnni;
  return kIgemmBaseline;
}

}  // namespace switchyard::cpu::math
