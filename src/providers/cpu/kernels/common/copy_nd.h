#pragma once
// Copies between two strided arrangements of the same elements, strings included, spread over the
// team: transposes, slices, interleavings.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu {

// Row-major strides.
Dims DenseStrides(std::span<const std::int64_t> dims);

// to[sum i_k * to_strides[k]] = from[sum i_k * from_strides[k]] over all indices below `dims`;
// strides in elements, of any sign.
void CopyNd(OpKernelContext& context, math::IsaLevel level, const ElementCopy& element,
            std::span<const std::int64_t> dims, std::span<const std::int64_t> from_strides,
            const void* from, std::span<const std::int64_t> to_strides, void* to);

}  // namespace switchyard::cpu
