#define SY_SIMD_PORTABLE 4
#include "providers/cpu/math/conv_core.inl"
#include "providers/cpu/math/conv_transpose_core.inl"
#include "providers/cpu/math/winograd_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvBaseline;
const ConvOps kConvBaseline = Conv::Ops();

extern const ConvTransposeOps kConvTransposeBaseline;
const ConvTransposeOps kConvTransposeBaseline = ConvTranspose::Ops();

extern const WinogradOps kWinogradBaseline;
const WinogradOps kWinogradBaseline = Winograd::Ops();

}  // namespace switchyard::cpu::math
