#pragma once
// What a constant tells inference: its type and, if it is short, its integers.

#include "switchyard/ir/known_value.h"
#include "switchyard/tensor/constant.h"

namespace switchyard {

// `tensor` is not set: the dense copy may be released.
ValueInfo InfoOf(const Constant& constant);

// The integers or bools of a host tensor; false for other types and longer ones.
bool FollowedInts(const Tensor& tensor, InlineVector<Dim, 8>* out);

}  // namespace switchyard
