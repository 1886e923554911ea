#define SY_SIMD_AVX512
#include "providers/cpu/math/gemm_core.inl"

namespace switchyard::cpu::math {

extern const GemmOps kGemmAvx512;
extern const GemmOpsF64 kGemmF64Avx512;
const GemmOps kGemmAvx512 = Gemm<F32>::Ops();
const GemmOpsF64 kGemmF64Avx512 = Gemm<F64>::Ops();

}  // namespace switchyard::cpu::math
