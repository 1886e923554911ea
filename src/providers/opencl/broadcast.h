#pragma once
// Shapes of kernels that go over an output with every input at its own strides: dims that all
// arguments walk alike are joined.

#include <span>

#include "switchyard/base/inline_vector.h"

namespace switchyard::opencl {

using DimSpan = std::span<const std::int64_t>;

struct Walk {
  Dims dims;        // joined dims of the output, outermost first; at least one
  Dims strides[4];  // of the inputs, in elements, per joined dim; 0 where one is repeated
  // Bit i: input i is walked from its first element to its last, one by one; the others are one
  // element each. Only then is the walk flat.
  unsigned flat_mask = 0;
  bool flat = false;
};

// Dense inputs broadcast to `out`. At most 4.
Walk WalkBroadcast(DimSpan out, std::span<const DimSpan> inputs);
// One input at given strides (a transpose, a slice ...).
Walk WalkStrided(DimSpan out, DimSpan strides);

}  // namespace switchyard::opencl
