#pragma once
// Sliding windows along one row: the second half of separable pooling. Pure, no allocation.

#include <cstdint>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// out[i] = max (or sum) over k < kernel of row[i * stride + k * dilation], for i < n. NaN wins a
// maximum. The same bits however a caller splits n. `out` must not overlap `row`.
void MaxWindows(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                int64_t dilation, IsaLevel level);
void SumWindows(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                int64_t dilation, IsaLevel level);

}  // namespace switchyard::cpu::math
