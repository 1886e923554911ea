#define SY_SIMD_AVX512
#include "providers/cpu/math/igemm_core.inl"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmAvx512;
const IgemmOps kIgemmAvx512 = Igemm::Ops();

}  // namespace switchyard::cpu::math
