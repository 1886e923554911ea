#include "switchyard/ir/value_type_set.h"

namespace switchyard {
namespace {

using Kind = ValueType::Kind;

// Removes `prefix` and a closing parenthesis around `text`; false if they are not there.
bool Unwrap(std::string_view& text, std::string_view prefix) {
  if (text.size() <= prefix.size() || text.substr(0, prefix.size()) != prefix ||
      text.back() != ')') {
    return false;
  }
  text = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  return true;
}

std::uint32_t ElementBit(std::string_view name) {
  const std::optional<DataType> type = DataTypeFromName(name);
  return type.has_value() ? 1U << static_cast<unsigned>(*type) : 0U;
}

std::uint16_t ParseMap(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return 0;
  std::string_view value_text = text.substr(comma + 1);
  while (!value_text.empty() && value_text.front() == ' ') value_text.remove_prefix(1);
  Unwrap(value_text, "tensor(");
  const auto key = DataTypeFromName(text.substr(0, comma));
  const auto value = DataTypeFromName(value_text);
  if (!key || !value) return 0;
  const unsigned bit = ValueTypeSet::MapBit(*key, *value);
  return bit == 15 ? std::uint16_t{0} : static_cast<std::uint16_t>(1U << bit);
}

// The element type of the tensor that `type` wraps (itself, if it is one); unknown if there is
// none.
DataType InnerElem(const ValueType* type) {
  return type != nullptr && type->is_tensor() ? type->elem : DataType::kUndefined;
}

bool HasElement(std::uint32_t bits, DataType elem) {
  return elem == DataType::kUndefined ? bits != 0 : (bits >> static_cast<unsigned>(elem) & 1U) != 0;
}

bool HasMap(std::uint16_t bits, const ValueType& map) {
  const DataType value = InnerElem(map.element.get());
  if (map.elem == DataType::kUndefined || value == DataType::kUndefined) return bits != 0;
  const unsigned bit = ValueTypeSet::MapBit(map.elem, value);
  return bit != 15 && (static_cast<unsigned>(bits) >> bit & 1U) != 0;
}

void Append(std::string& out, std::string_view prefix, std::string_view name,
            std::string_view suffix) {
  if (!out.empty()) out += ", ";
  out.append(prefix).append(name).append(suffix);
}

void AppendElements(std::string& out, std::uint32_t bits, std::string_view prefix,
                    std::string_view suffix) {
  for (int code = 1; code < kDataTypeCount; ++code) {
    const auto type = static_cast<DataType>(code);
    if (HasElement(bits, type)) Append(out, prefix, DataTypeName(type), suffix);
  }
}

void AppendMaps(std::string& out, unsigned bits, std::string_view prefix, std::string_view suffix) {
  for (const DataType key : {DataType::kInt64, DataType::kString}) {
    for (const DataType value :
         {DataType::kString, DataType::kInt64, DataType::kFloat, DataType::kDouble}) {
      if ((bits >> ValueTypeSet::MapBit(key, value) & 1U) == 0) continue;
      std::string name(DataTypeName(key));
      Append(out, prefix, name.append(",").append(DataTypeName(value)), suffix);
    }
  }
}

}  // namespace

bool ValueTypeSet::Contains(const ValueType& type) const {
  const ValueType* inner = type.element.get();
  const bool unknown_inner = inner == nullptr || !inner->known();
  switch (type.kind) {
    case Kind::kUnknown:
      return true;
    case Kind::kTensor:
      return HasElement(tensor, type.elem);
    case Kind::kSparseTensor:
      return HasElement(sparse_tensor, type.elem);
    case Kind::kSequence:
      if (unknown_inner) return sequence != 0 || sequence_of_map != 0;
      if (inner->kind == Kind::kMap) return HasMap(sequence_of_map, *inner);
      return inner->is_tensor() && HasElement(sequence, inner->elem);
    case Kind::kOptional:
      if (unknown_inner) return optional != 0 || optional_sequence != 0;
      if (inner->kind == Kind::kSequence) {
        return HasElement(optional_sequence, InnerElem(inner->element.get()));
      }
      return inner->is_tensor() && HasElement(optional, inner->elem);
    case Kind::kMap:
      return HasMap(map, type);
    case Kind::kOpaque:
      return false;
  }
  return false;
}

ValueTypeSet& ValueTypeSet::operator|=(const ValueTypeSet& other) {
  tensor |= other.tensor;
  sparse_tensor |= other.sparse_tensor;
  sequence |= other.sequence;
  optional |= other.optional;
  optional_sequence |= other.optional_sequence;
  map = static_cast<std::uint16_t>(map | other.map);
  sequence_of_map = static_cast<std::uint16_t>(sequence_of_map | other.sequence_of_map);
  return *this;
}

ValueTypeSet ValueTypeSet::Parse(std::string_view text) {
  ValueTypeSet set;
  if (Unwrap(text, "tensor(")) {
    set.tensor = ElementBit(text);
  } else if (Unwrap(text, "sparse_tensor(")) {
    set.sparse_tensor = ElementBit(text);
  } else if (Unwrap(text, "map(")) {
    set.map = ParseMap(text);
  } else if (Unwrap(text, "seq(")) {
    if (Unwrap(text, "tensor(")) {
      set.sequence = ElementBit(text);
    } else if (Unwrap(text, "map(")) {
      set.sequence_of_map = ParseMap(text);
    }
  } else if (Unwrap(text, "optional(")) {
    if (Unwrap(text, "tensor(")) {
      set.optional = ElementBit(text);
    } else if (Unwrap(text, "seq(") && Unwrap(text, "tensor(")) {
      set.optional_sequence = ElementBit(text);
    }
  }
  return set;
}

std::string ValueTypeSet::ToString() const {
  std::string out;
  AppendElements(out, tensor, "tensor(", ")");
  AppendElements(out, sparse_tensor, "sparse_tensor(", ")");
  AppendElements(out, sequence, "seq(tensor(", "))");
  AppendElements(out, optional, "optional(tensor(", "))");
  AppendElements(out, optional_sequence, "optional(seq(tensor(", ")))");
  AppendMaps(out, map, "map(", ")");
  AppendMaps(out, sequence_of_map, "seq(map(", "))");
  return out;
}

}  // namespace switchyard
