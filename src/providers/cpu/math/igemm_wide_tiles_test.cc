// The layout of VNNI in portable vectors.
#define SY_SIMD_PORTABLE 4
#define SY_SIMD_WIDE_TILES
#include "providers/cpu/math/igemm_core.inl"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmWidePortable;
const IgemmOps kIgemmWidePortable = Igemm::Ops();

}  // namespace switchyard::cpu::math
