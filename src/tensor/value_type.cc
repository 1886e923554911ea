#include "switchyard/tensor/value_type.h"

namespace switchyard {

ValueType ValueType::Tensor(DataType elem, Shape shape) {
  ValueType type;
  type.kind = Kind::kTensor;
  type.elem = elem;
  type.shape = std::move(shape);
  return type;
}

ValueType ValueType::Sequence(ValueType element) {
  ValueType type;
  type.kind = Kind::kSequence;
  type.element = std::make_shared<const ValueType>(std::move(element));
  return type;
}

ValueType ValueType::Optional(ValueType element) {
  ValueType type;
  type.kind = Kind::kOptional;
  type.element = std::make_shared<const ValueType>(std::move(element));
  return type;
}

ValueType ValueType::Map(DataType key, ValueType value) {
  ValueType type;
  type.kind = Kind::kMap;
  type.elem = key;
  type.element = std::make_shared<const ValueType>(std::move(value));
  return type;
}

std::string ValueType::ToString() const {
  const std::string inner = element ? element->ToString() : "";
  switch (kind) {
    case Kind::kTensor:
      return "tensor(" + std::string(DataTypeName(elem)) + ")";
    case Kind::kSparseTensor:
      return "sparse_tensor(" + std::string(DataTypeName(elem)) + ")";
    case Kind::kSequence:
      return "seq(" + inner + ")";
    case Kind::kOptional:
      return "optional(" + inner + ")";
    case Kind::kMap:
      return "map(" + std::string(DataTypeName(elem)) + "," + inner + ")";
    case Kind::kOpaque:
      return "opaque";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

namespace {

std::optional<std::string_view> Inside(std::string_view text, std::string_view word) {
  if (text.size() < word.size() + 2 || text.substr(0, word.size()) != word) return std::nullopt;
  if (text[word.size()] != '(' || text.back() != ')') return std::nullopt;
  return text.substr(word.size() + 1, text.size() - word.size() - 2);
}

}  // namespace

std::optional<ValueType> ValueType::Parse(std::string_view text) {
  if (const auto inner = Inside(text, "tensor")) {
    const auto elem = DataTypeFromName(*inner);
    return elem ? std::optional(Tensor(*elem)) : std::nullopt;
  }
  if (const auto inner = Inside(text, "sparse_tensor")) {
    const auto elem = DataTypeFromName(*inner);
    if (!elem) return std::nullopt;
    ValueType type = Tensor(*elem);
    type.kind = Kind::kSparseTensor;
    return type;
  }
  if (const auto inner = Inside(text, "seq")) {
    auto element = Parse(*inner);
    return element ? std::optional(Sequence(std::move(*element))) : std::nullopt;
  }
  if (const auto inner = Inside(text, "optional")) {
    auto element = Parse(*inner);
    return element ? std::optional(Optional(std::move(*element))) : std::nullopt;
  }
  if (const auto inner = Inside(text, "map")) {
    const std::size_t comma = inner->find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    std::string_view rest = inner->substr(comma + 1);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    const auto key = DataTypeFromName(inner->substr(0, comma));
    auto value = Parse(rest);
    if (!key || !value) return std::nullopt;
    return Map(*key, std::move(*value));
  }
  return std::nullopt;
}

bool ValueType::SameAs(const ValueType& other) const {
  if (kind != other.kind || elem != other.elem) return false;
  if (!element || !other.element) return !element && !other.element;
  return element->SameAs(*other.element);
}

}  // namespace switchyard
