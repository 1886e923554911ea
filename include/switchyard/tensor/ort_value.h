#pragma once
// A value that a model takes, makes or passes on: nothing, a tensor, a sequence, a map, or an
// optional (which is nothing or the value itself). Copies share; values are immutable once shared.

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "switchyard/tensor/tensor.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard {

class OrtValue;

// Keys in order. ZipMap and DictVectorizer are the users.
struct MapValue {
  std::variant<std::map<std::string, float>, std::map<std::string, double>,
               std::map<std::string, std::int64_t>, std::map<std::string, std::string>,
               std::map<std::int64_t, float>, std::map<std::int64_t, double>,
               std::map<std::int64_t, std::int64_t>, std::map<std::int64_t, std::string>>
      entries;
};

struct SequenceValue {
  ValueType element_type;
  std::vector<OrtValue> items;
};

class SWITCHYARD_API OrtValue {
 public:
  OrtValue() = default;                                     // nothing
  OrtValue(Tensor tensor);                                  // NOLINT: implicit by intent
  OrtValue(std::shared_ptr<const SequenceValue> sequence);  // NOLINT
  OrtValue(std::shared_ptr<const MapValue> map);            // NOLINT
  static OrtValue Sequence(ValueType element_type, std::vector<OrtValue> items);
  static OrtValue Map(MapValue map);
  // A host tensor that copies `values`.
  template <typename T>
  static OrtValue FromData(std::span<const std::int64_t> dims, std::span<const T> values);

  bool has_value() const { return content_.index() != 0; }
  bool is_tensor() const { return content_.index() == 1; }
  bool is_sequence() const { return content_.index() == 2; }
  bool is_map() const { return content_.index() == 3; }
  // Throws InvalidArgument when this is not one.
  const Tensor& tensor() const {
    if (!is_tensor()) NotA("tensor");
    return *std::get_if<1>(&content_);
  }
  Tensor& tensor() {
    if (!is_tensor()) NotA("tensor");
    return *std::get_if<1>(&content_);
  }
  const SequenceValue& sequence() const;
  const MapValue& map() const;
  // The type as far as the value itself tells it.
  ValueType type() const;

 private:
  [[noreturn]] void NotA(const char* wanted) const;
  std::variant<std::monostate, Tensor, std::shared_ptr<const SequenceValue>,
               std::shared_ptr<const MapValue>>
      content_;
};

template <typename T>
OrtValue OrtValue::FromData(std::span<const std::int64_t> dims, std::span<const T> values) {
  Tensor tensor(DataTypeOf<T>, dims, MakeHostAllocator());
  if (static_cast<std::int64_t>(values.size()) != tensor.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                "OrtValue::FromData: " + std::to_string(values.size()) + " values for " +
                    tensor.Describe());
  }
  std::copy(values.begin(), values.end(), tensor.template data_mutable<T>());
  return OrtValue(std::move(tensor));
}

}  // namespace switchyard
