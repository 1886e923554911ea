#define SY_SIMD_AVX512
#include "providers/cpu/math/conv_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvAvx512;
const ConvOps kConvAvx512 = Conv::Ops();

}  // namespace switchyard::cpu::math
