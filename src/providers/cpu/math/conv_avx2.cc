#define SY_SIMD_AVX2
#include "providers/cpu/math/conv_core.inl"
#include "providers/cpu/math/conv_transpose_core.inl"
#include "providers/cpu/math/winograd_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvAvx2;
const ConvOps kConvAvx2 = Conv::Ops();

extern const ConvTransposeOps kConvTransposeAvx2;
const ConvTransposeOps kConvTransposeAvx2 = ConvTranspose::Ops();

extern const WinogradOps kWinogradAvx2;
const WinogradOps kWinogradAvx2 = Winograd::Ops();

}  // namespace switchyard::cpu::math
