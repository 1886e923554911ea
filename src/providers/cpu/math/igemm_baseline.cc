#define SY_SIMD_PORTABLE 4
#include "providers/cpu/math/igemm_core.inl"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmBaseline;
const IgemmOps kIgemmBaseline = Igemm::Ops();

}  // namespace switchyard::cpu::math
