#define SY_SIMD_AVX2
#include "providers/cpu/math/conv_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvAvx2;
const ConvOps kConvAvx2 = Conv::Ops();

}  // namespace switchyard::cpu::math
