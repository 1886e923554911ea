#define SY_SIMD_PORTABLE 4
#include "providers/cpu/math/conv_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvBaseline;
const ConvOps kConvBaseline = Conv::Ops();

}  // namespace switchyard::cpu::math
