#define SY_SIMD_AVX2
#include "providers/cpu/math/gemm_core.inl"

namespace switchyard::cpu::math {

extern const GemmOps kGemmAvx2;
extern const GemmOpsF64 kGemmF64Avx2;
const GemmOps kGemmAvx2 = Gemm<F32>::Ops();
const GemmOpsF64 kGemmF64Avx2 = Gemm<F64>::Ops();

}  // namespace switchyard::cpu::math
