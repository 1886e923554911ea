#include "providers/cpu/math/conv.h"

namespace switchyard::cpu::math {

extern const ConvOps kConvBaseline;
#if defined(__x86_64__)
extern const ConvOps kConvAvx2;
extern const ConvOps kConvAvx512;
#endif

const ConvOps& ConvFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kConvAvx512;
  if (level == IsaLevel::kAvx2) return kConvAvx2;
#endif
  (void)level;
  return kConvBaseline;
}

}  // namespace switchyard::cpu::math
