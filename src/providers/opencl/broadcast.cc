#include "providers/opencl/broadcast.h"

namespace switchyard::opencl {
namespace {

// Joins neighbouring dims that every input walks as one.
void Join(DimSpan out, std::size_t inputs, const Dims* strides, Walk* walk) {
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    bool joins = !walk->dims.empty();
    for (std::size_t i = 0; joins && i < inputs; ++i)
      joins = walk->strides[i].back() == strides[i][d] * out[d];
    if (joins) {
      walk->dims.back() *= out[d];
      for (std::size_t i = 0; i < inputs; ++i) walk->strides[i].back() = strides[i][d];
    } else {
      walk->dims.push_back(out[d]);
      for (std::size_t i = 0; i < inputs; ++i) walk->strides[i].push_back(strides[i][d]);
    }
  }
  if (walk->dims.empty()) {
    walk->dims.push_back(1);
    for (std::size_t i = 0; i < inputs; ++i) walk->strides[i].push_back(1);
  }
  walk->flat = walk->dims.size() == 1;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::int64_t step = walk->strides[i].back();
    walk->flat &= step == 0 || step == 1;
    if (step == 1) walk->flat_mask |= 1u << i;
  }
}

}  // namespace

Walk WalkBroadcast(DimSpan out, std::span<const DimSpan> inputs) {
  Dims strides[4];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    strides[i].resize(out.size(), 0);
    std::int64_t step = 1;
    const std::size_t rank = inputs[i].size();
    for (std::size_t k = 0; k < rank; ++k) {
      const std::int64_t d = inputs[i][rank - 1 - k];
      strides[i][out.size() - 1 - k] = d == 1 ? 0 : step;
      step *= d;
    }
  }
  Walk walk;
  Join(out, inputs.size(), strides, &walk);
  return walk;
}

Walk WalkStrided(DimSpan out, DimSpan strides) {
  Dims one;
  one.assign(strides.begin(), strides.end());
  Walk walk;
  Join(out, 1, &one, &walk);
  return walk;
}

}  // namespace switchyard::opencl
