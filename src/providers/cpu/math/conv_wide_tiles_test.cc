// The tile shapes of the 512-bit level in portable vectors.
#define SY_SIMD_PORTABLE 4
#define SY_SIMD_WIDE_TILES
#include "providers/cpu/math/conv_core.inl"

namespace switchyard::cpu::math {

extern const ConvOps kConvWidePortable;
const ConvOps kConvWidePortable = Conv::Ops();

}  // namespace switchyard::cpu::math
