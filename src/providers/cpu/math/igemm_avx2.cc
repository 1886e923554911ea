#define SY_SIMD_AVX2
#include "providers/cpu/math/igemm_core.inl"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmAvx2;
const IgemmOps kIgemmAvx2 = Igemm::Ops();

}  // namespace switchyard::cpu::math
