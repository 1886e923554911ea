#include "onnx/type_import.h"

#include <fmt/format.h>

#include "onnx/fields.h"
#include "onnx/tensor_import.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

constexpr int kMaxTypeDepth = 32;

Dim ReadDim(std::string_view proto, std::size_t axis, const TypeReading& reading,
            const ImportState& state) {
  Dim dim;
  Reader reader(proto);
  while (reader.Next()) {
    switch (reader.key()) {
      case IntKey(shape::kDimValue):
        // Negative sizes are some exporters' way of saying that they don't know.
        dim = reader.int64() >= 0 ? Dim(reader.int64()) : Dim();
        break;
      case BytesKey(shape::kDimParam): {
        const std::string_view name = state.CheckName(reader.bytes(), "dim_param");
        if (!name.empty()) dim = reading.symbols.Symbol(name);
        break;
      }
      case BytesKey(shape::kDimDenotation):
        if (reading.denotations != nullptr && !reader.bytes().empty()) {
          reading.denotations->emplace_back(
              axis, std::string(state.CheckName(reader.bytes(), "denotation")));
        }
        break;
      default:
        break;
    }
  }
  return dim;
}

Shape ReadShape(std::string_view proto, const TypeReading& reading, const ImportState& state) {
  Shape result = Shape::Scalar();
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() != BytesKey(shape::kDim)) continue;
    if (result.rank() >= static_cast<std::size_t>(state.limits().rank)) {
      ThrowInvalid(fmt::format("a shape's rank is above the limit {}", state.limits().rank));
    }
    result.push_back(ReadDim(reader.bytes(), result.rank(), reading, state));
  }
  return result;
}

ValueType ReadNested(std::string_view proto, const TypeReading& reading, const ImportState& state,
                     int depth);

// The tensors of a sequence need not agree on a dim: a name there stands for no one number.
void ForgetSymbols(ValueType* element) {
  if (!element->is_tensor() || !element->shape.ranked()) return;
  for (std::size_t i = 0; i < element->shape.rank(); ++i) {
    if (!element->shape[i].is_value()) element->shape[i] = Dim();
  }
}

// Tensor, SparseTensor, Sequence, Optional and Map have the same layout but for what field 1 is.
ValueType ReadKind(ValueType::Kind kind, std::string_view proto, const TypeReading& reading,
                   const ImportState& state, int depth) {
  using Kind = ValueType::Kind;
  ValueType result;
  result.kind = kind;
  const bool has_shape = kind == Kind::kTensor || kind == Kind::kSparseTensor;
  const FieldNumber element = kind == Kind::kMap ? type::kMapValueType : type::kElemType;
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() == IntKey(type::kElemType) && (has_shape || kind == Kind::kMap)) {
      result.elem = ToDataType(reader.int32());
    } else if (has_shape && reader.key() == BytesKey(type::kShape)) {
      result.shape = ReadShape(reader.bytes(), reading, state);
    } else if (!has_shape && reader.key() == BytesKey(element)) {
      ValueType inside = ReadNested(reader.bytes(), reading, state, depth + 1);
      if (kind == Kind::kSequence) ForgetSymbols(&inside);
      result.element = std::make_shared<const ValueType>(std::move(inside));
    }
  }
  if (!has_shape && kind != Kind::kOpaque && !result.element) {
    ThrowInvalid(fmt::format("type {} has no element type", result.ToString()));
  }
  return result;
}

ValueType ReadNested(std::string_view proto, const TypeReading& reading, const ImportState& state,
                     int depth) {
  using Kind = ValueType::Kind;
  if (depth > kMaxTypeDepth) ThrowInvalid("types nested too deeply");
  ValueType result;
  Reader reader(proto);
  while (reader.Next()) {
    Kind kind;
    switch (reader.key()) {
      case BytesKey(type::kTensorType):
        kind = Kind::kTensor;
        break;
      case BytesKey(type::kSequenceType):
        kind = Kind::kSequence;
        break;
      case BytesKey(type::kMapType):
        kind = Kind::kMap;
        break;
      case BytesKey(type::kOptionalType):
        kind = Kind::kOptional;
        break;
      case BytesKey(type::kSparseTensorType):
        kind = Kind::kSparseTensor;
        break;
      case BytesKey(type::kOpaqueType):
        result = ValueType();
        result.kind = Kind::kOpaque;
        continue;
      default:
        continue;
    }
    result = ReadKind(kind, reader.bytes(), reading, state, depth);
  }
  return result;
}

}  // namespace

ValueType ReadType(std::string_view proto, const TypeReading& reading, const ImportState& state) {
  return ReadNested(proto, reading, state, 0);
}

}  // namespace switchyard::onnx
