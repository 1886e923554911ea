#pragma once
// The set of ONNX value types (tensors, sequences, optionals, maps; shapes aside) that an operator
// accepts, as bits. For element types alone see TypeSet in tensor/data_type.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "switchyard/base/export.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard {

// Bit e of a member stands for the type of that kind whose element type code is e. Maps use bit
// MapBit(key, value) of `map` and `sequence_of_map`.
struct SWITCHYARD_API ValueTypeSet {
  std::uint32_t tensor = 0;
  std::uint32_t sparse_tensor = 0;
  std::uint32_t sequence = 0;
  std::uint32_t optional = 0;
  std::uint32_t optional_sequence = 0;
  std::uint16_t map = 0;
  std::uint16_t sequence_of_map = 0;

  // Keys: int64 and string; values: string, int64, float, double. Others have no bit: 15.
  static constexpr unsigned MapBit(DataType key, DataType value) {
    const unsigned v = value == DataType::kString   ? 0
                       : value == DataType::kInt64  ? 1
                       : value == DataType::kFloat  ? 2
                       : value == DataType::kDouble ? 3
                                                    : 15;
    if (v == 15 || (key != DataType::kInt64 && key != DataType::kString)) return 15;
    return (key == DataType::kString ? 4 : 0) + v;
  }

  // An unknown type is in every set; one with an unknown element type is in the set if any type of
  // that kind is.
  bool Contains(const ValueType& type) const;
  bool empty() const { return *this == ValueTypeSet{}; }
  // The element types of plain tensors.
  TypeSet tensors() const { return TypeSet(tensor); }
  ValueTypeSet& operator|=(const ValueTypeSet& other);
  // The member types in ascending order of kind and code: "tensor(float), seq(tensor(float))".
  std::string ToString() const;
  // Reads "tensor(float)", "seq(tensor(int64))", "map(string,float)" ...: an empty set if `text`
  // names no ONNX type.
  static ValueTypeSet Parse(std::string_view text);

  friend bool operator==(const ValueTypeSet&, const ValueTypeSet&) = default;
};

}  // namespace switchyard
