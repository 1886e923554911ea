#include "ir/constant_node.h"

#include <algorithm>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

template <typename T>
ConstantPtr Make(std::span<const std::int64_t> dims, std::span<const T> values) {
  Tensor tensor(DataTypeOf<T>, dims, MakeHostAllocator());
  SY_CHECK(tensor.size() == static_cast<std::int64_t>(values.size()));
  if (!values.empty()) std::copy(values.begin(), values.end(), tensor.template data_mutable<T>());
  return std::make_shared<Constant>(std::move(tensor));
}

template <typename T>
ConstantPtr Scalar(const T& value) {
  return Make<T>({}, std::span<const T>(&value, 1));
}

template <typename T>
ConstantPtr List(std::span<const T> values) {
  const std::int64_t dims[] = {static_cast<std::int64_t>(values.size())};
  return Make<T>(dims, values);
}

}  // namespace

ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const std::int64_t> values) {
  return Make<std::int64_t>(dims, values);
}
ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const float> values) {
  return Make<float>(dims, values);
}
ConstantPtr MakeConstant(std::span<const std::int64_t> dims, std::span<const std::string> values) {
  return Make<std::string>(dims, values);
}

ConstantPtr ConstantOfAttributes(const Attributes& attributes) {
  ConstantPtr result;
  int found = 0;
  for (const Attribute& attribute : attributes) {
    const std::string& name = attribute.name;
    if (name != "sparse_value" && !name.starts_with("value")) continue;
    ++found;
    if (std::holds_alternative<AttributeReference>(attribute.value)) {
      throw Error(ErrorCode::kInvalidGraph, "attribute '" + name + "' is a reference");
    }
    if (name == "value" || name == "sparse_value") {
      result = attributes.Tensor(name);
    } else if (name == "value_int") {
      result = Scalar(attributes.Int(name, 0));
    } else if (name == "value_ints") {
      result = List(attributes.Ints(name));
    } else if (name == "value_float") {
      result = Scalar(attributes.Float(name, 0));
    } else if (name == "value_floats") {
      result = List(attributes.Floats(name));
    } else if (name == "value_string") {
      result = Scalar(attributes.String(name, ""));
    } else if (name == "value_strings") {
      result = List(attributes.Strings(name));
    } else {
      --found;
    }
  }
  if (found != 1 || result == nullptr) {
    throw Error(ErrorCode::kInvalidGraph,
                "a Constant needs exactly one value, it has " + std::to_string(found));
  }
  return result;
}

}  // namespace switchyard
