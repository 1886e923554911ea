#include "providers/cpu/math/conv.h"
#include "providers/cpu/math/conv_transpose.h"
#include "providers/cpu/math/winograd.h"

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

extern const ConvTransposeOps kConvTransposeBaseline;
#if defined(__x86_64__)
extern const ConvTransposeOps kConvTransposeAvx2;
extern const ConvTransposeOps kConvTransposeAvx512;
#endif

const ConvTransposeOps& ConvTransposeFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kConvTransposeAvx512;
  if (level == IsaLevel::kAvx2) return kConvTransposeAvx2;
#endif
  (void)level;
  return kConvTransposeBaseline;
}

extern const WinogradOps kWinogradBaseline;
#if defined(__x86_64__)
extern const WinogradOps kWinogradAvx2;
extern const WinogradOps kWinogradAvx512;
#endif

const WinogradOps& WinogradFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512) return kWinogradAvx512;
  if (level == IsaLevel::kAvx2) return kWinogradAvx2;
#endif
  (void)level;
  return kWinogradBaseline;
}

}  // namespace switchyard::cpu::math
