#pragma once
// The value of a Constant node, whichever of its attributes holds it.

#include "switchyard/ir/attribute.h"

namespace switchyard {

// Throws InvalidGraph unless exactly one of value, sparse_value, value_int, value_ints,
// value_float, value_floats, value_string, value_strings is there, with a literal of its type.
ConstantPtr ConstantOfAttributes(const Attributes& attributes);

// Dense constants over the given elements; `dims` empty makes a scalar.
ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const std::int64_t> values);
ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const float> values);
ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const std::string> values);

}  // namespace switchyard
