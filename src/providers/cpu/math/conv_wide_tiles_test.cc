// The tile shapes of the 512-bit level in portable vectors.
#define SY_SIMD_PORTABLE 4
#define SY_SIMD_WIDE_TILES
#include "providers/cpu/math/conv_core.inl"
#include "providers/cpu/math/conv_transpose_core.inl"
#include "providers/cpu/math/winograd_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvWidePortable;
const ConvOps kConvWidePortable = Conv::Ops();

extern const ConvTransposeOps kConvTransposeWidePortable;
const ConvTransposeOps kConvTransposeWidePortable = ConvTranspose::Ops();

extern const WinogradOps kWinogradWidePortable;
const WinogradOps kWinogradWidePortable = Winograd::Ops();

}  // namespace switchyard::cpu::math
