#pragma once
// The type of a wire: a tensor with what is known of its shape, or a sequence, optional or map.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "switchyard/tensor/data_type.h"
#include "switchyard/tensor/shape.h"

namespace switchyard {

struct SWITCHYARD_API ValueType {
  enum class Kind : std::uint8_t {
    kUnknown,
    kTensor,
    kSparseTensor,
    kSequence,
    kOptional,
    kMap,
    kOpaque
  };

  Kind kind = Kind::kUnknown;
  // Tensor: the element type. Map: the key type.
  DataType elem = DataType::kUndefined;
  Shape shape;  // tensors only
  // Sequence, optional: the type inside. Map: the type of the mapped values.
  std::shared_ptr<const ValueType> element;

  static ValueType Tensor(DataType elem, Shape shape = {});
  static ValueType Sequence(ValueType element);
  static ValueType Optional(ValueType element);
  static ValueType Map(DataType key, ValueType value);

  bool known() const { return kind != Kind::kUnknown; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  // "tensor(float)", "seq(tensor(int64))", "map(int64,tensor(float))", "optional(tensor(float))".
  std::string ToString() const;
  // Parses what ToString prints. nullopt for anything else.
  static std::optional<ValueType> Parse(std::string_view text);
  // Same kind and element types, shapes aside.
  bool SameAs(const ValueType& other) const;
};

}  // namespace switchyard
