#define SY_SIMD_AVX512
#include "providers/cpu/math/conv_core.inl"
#include "providers/cpu/math/conv_transpose_core.inl"
#include "providers/cpu/math/winograd_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvAvx512;
const ConvOps kConvAvx512 = Conv::Ops();

extern const ConvTransposeOps kConvTransposeAvx512;
const ConvTransposeOps kConvTransposeAvx512 = ConvTranspose::Ops();

extern const WinogradOps kWinogradAvx512;
const WinogradOps kWinogradAvx512 = Winograd::Ops();

}  // namespace switchyard::cpu::math
