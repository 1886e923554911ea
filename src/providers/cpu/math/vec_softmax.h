// Softmax, LogSoftmax and Hardmax along any axis of [outer, axis, inner] without transposing. Pure
// functions over raw pointers, nothing is allocated; columns are independent, so any range of them
// gives the same bits.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

enum class SoftmaxKind : int { kSoftmax, kLogSoftmax, kHardmax };

// Columns [begin, end) of outer * inner. Float, double, float16, bfloat16; false for other types.
// `out` may be `in` except for float16 and bfloat16 with inner > 1 and for Hardmax.
bool RunSoftmax(SoftmaxKind kind, ElemType type, IsaLevel level, const void* in, void* out,
                int64_t axis, int64_t inner, int64_t begin, int64_t end);

// Online building blocks for attention over float rows: max of a row; exp(x - shift) written to y,
// returning the sum.
float RowMax(const float* x, int64_t n, IsaLevel level);
float RowExpSum(const float* x, float shift, float* y, int64_t n, IsaLevel level);
void RowScale(float* x, float scale, int64_t n, IsaLevel level);

}  // namespace switchyard::cpu::math
