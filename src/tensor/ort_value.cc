#include "switchyard/tensor/ort_value.h"

#include "base/format.h"

namespace switchyard {

OrtValue::OrtValue(Tensor tensor) : content_(std::in_place_index<1>, std::move(tensor)) {}
OrtValue::OrtValue(std::shared_ptr<const SequenceValue> sequence)
    : content_(std::in_place_index<2>, std::move(sequence)) {}
OrtValue::OrtValue(std::shared_ptr<const MapValue> map)
    : content_(std::in_place_index<3>, std::move(map)) {}

OrtValue OrtValue::Sequence(ValueType element_type, std::vector<OrtValue> items) {
  auto sequence = std::make_shared<SequenceValue>();
  sequence->element_type = std::move(element_type);
  sequence->items = std::move(items);
  return OrtValue(std::shared_ptr<const SequenceValue>(std::move(sequence)));
}

OrtValue OrtValue::Map(MapValue map) {
  return OrtValue(std::make_shared<const MapValue>(std::move(map)));
}

const SequenceValue& OrtValue::sequence() const {
  if (!is_sequence()) NotA("sequence");
  return *std::get<2>(content_);
}

const MapValue& OrtValue::map() const {
  if (!is_map()) NotA("map");
  return *std::get<3>(content_);
}

namespace {

template <typename Key, typename Value>
ValueType MapType(const std::map<Key, Value>&) {
  return ValueType::Map(DataTypeOf<Key>, ValueType::Tensor(DataTypeOf<Value>));
}

}  // namespace

ValueType OrtValue::type() const {
  if (is_tensor()) return ValueType::Tensor(tensor().type(), Shape(tensor().dims()));
  if (is_sequence()) return ValueType::Sequence(sequence().element_type);
  if (is_map()) return std::visit([](const auto& m) { return MapType(m); }, map().entries);
  return {};
}

void OrtValue::NotA(const char* wanted) const {
  Throw(ErrorCode::kInvalidArgument, "value is {}, not a {}",
        has_value() ? type().ToString() : std::string("empty"), wanted);
}

}  // namespace switchyard
