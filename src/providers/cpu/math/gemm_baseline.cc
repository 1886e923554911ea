#define SY_SIMD_PORTABLE 4
#include "providers/cpu/math/gemm_core.inl"

namespace switchyard::cpu::math {

extern const GemmOps kGemmBaseline;
extern const GemmOpsF64 kGemmF64Baseline;
const GemmOps kGemmBaseline = Gemm<F32>::Ops();
const GemmOpsF64 kGemmF64Baseline = Gemm<F64>::Ops();

}  // namespace switchyard::cpu::math
