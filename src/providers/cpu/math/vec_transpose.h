// Two-dimensional blocks behind vec_move.h; private to the vector library.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// dst[j * dst_ld + i] = src[i * src_ld + j] for i < n, j < m; strides in elements of `bytes`.
void TransposeBlock(const void* src, int64_t src_ld, void* dst, int64_t dst_ld, int64_t n,
                    int64_t m, int bytes, IsaLevel level);

}  // namespace switchyard::cpu::math
