#pragma once
// What inference knows of one value: its type, and the integers of a small tensor as far as shape
// arithmetic can tell them (symbolic at load, numbers at run).

#include "switchyard/base/inline_vector.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard {

class Tensor;

struct ValueInfo {
  // Longer integer tensors are not followed.
  static constexpr std::size_t kMaxFollowed = 64;

  ValueType type;
  // Elements of an integer or bool tensor in row-major order, if has_value.
  bool has_value = false;
  InlineVector<Dim, 8> value;
  // The contents, where they are in host memory now: constants, and at run time computed values.
  const Tensor* tensor = nullptr;
};

}  // namespace switchyard
