#include "onnx/value_export.h"

#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

constexpr std::uint64_t kAlignment = 64;

void WriteDim(const Dim& dim, SymbolTable& symbols, ProtoWriter* out) {
  if (dim.is_value()) {
    out->Int(shape::kDimValue, dim.value());
    return;
  }
  if (!dim.is_symbolic()) return;
  const std::string text = dim.ToString();
  if (!text.starts_with("unk__") && symbols.Symbol(text) == dim) {
    out->Text(shape::kDimParam, text);
  }
}

ProtoWriter WriteShape(const Shape& dims, SymbolTable& symbols,
                       const std::vector<std::pair<std::size_t, std::string>>& denotations) {
  ProtoWriter result;
  for (std::size_t axis = 0; axis < dims.rank(); ++axis) {
    ProtoWriter dim;
    WriteDim(dims[axis], symbols, &dim);
    for (const auto& [where, denotation] : denotations) {
      if (where == axis) dim.Text(shape::kDimDenotation, denotation);
    }
    result.Message(shape::kDim, std::move(dim));
  }
  return result;
}

FieldNumber KindField(ValueType::Kind kind) {
  using Kind = ValueType::Kind;
  switch (kind) {
    case Kind::kTensor:
      return type::kTensorType;
    case Kind::kSparseTensor:
      return type::kSparseTensorType;
    case Kind::kSequence:
      return type::kSequenceType;
    case Kind::kOptional:
      return type::kOptionalType;
    case Kind::kMap:
      return type::kMapType;
    default:
      return type::kOpaqueType;
  }
}

}  // namespace

bool ExternalPlan::Takes(const Constant& constant) const {
  return !file_.empty() && constant.type() != DataType::kString && constant.bytes() != 0 &&
         constant.bytes() >= min_bytes_;
}

std::uint64_t ExternalPlan::Place(const ConstantPtr& constant) {
  if (address_) return reinterpret_cast<std::uintptr_t>(address_(*constant));
  const std::uint64_t offset = (end_ + kAlignment - 1) / kAlignment * kAlignment;
  const auto [known, added] = offsets_.emplace(constant.get(), offset);
  if (!added) return known->second;
  placed_.emplace_back(offset, constant);
  end_ = offset + constant->bytes();
  return offset;
}

void ExternalPlan::Write(ByteSink sink) const {
  const std::byte zeros[kAlignment] = {};
  std::uint64_t at = 0;
  for (const auto& [offset, constant] : placed_) {
    sink(std::span(zeros, offset - at));
    WriteConstant(*constant, sink);
    at = offset + constant->bytes();
  }
}

ProtoWriter WriteType(const ValueType& value, SymbolTable& symbols,
                      const std::vector<std::pair<std::size_t, std::string>>& denotations) {
  using Kind = ValueType::Kind;
  ProtoWriter result;
  if (!value.known()) return result;
  ProtoWriter inner;
  if (value.kind == Kind::kTensor || value.kind == Kind::kSparseTensor) {
    inner.Int(type::kElemType, static_cast<int>(value.elem));
    if (value.shape.ranked()) {
      inner.Message(type::kShape, WriteShape(value.shape, symbols, denotations));
    }
  } else if (value.kind == Kind::kMap) {
    inner.Int(type::kElemType, static_cast<int>(value.elem));
    if (value.element) inner.Message(type::kMapValueType, WriteType(*value.element, symbols));
  } else if (value.element) {
    inner.Message(type::kElemType, WriteType(*value.element, symbols));
  }
  result.Message(KindField(value.kind), std::move(inner));
  return result;
}

ProtoWriter WriteTensor(std::string_view name, const ConstantPtr& constant,
                        ExternalPlan* external) {
  ProtoWriter result;
  result.PackedInts(tensor::kDims, constant->dims());
  result.Int(tensor::kDataType, static_cast<int>(constant->type()));
  result.Text(tensor::kName, name);
  if (constant->type() == DataType::kString) {
    if (constant->size() == 0) return result;
    for (const std::string& text : constant->tensor().values<std::string>()) {
      result.Bytes(tensor::kStringData, text);
    }
    return result;
  }
  if (external == nullptr || !external->Takes(*constant)) {
    result.Data(tensor::kRawData, constant);
    return result;
  }
  const auto add = [&](std::string_view key, const std::string& value) {
    ProtoWriter pair;
    pair.Bytes(entry::kKey, key);
    pair.Bytes(entry::kValue, value);
    result.Message(tensor::kExternalData, std::move(pair));
  };
  add("location", external->file());
  add("offset", std::to_string(external->Place(constant)));
  add("length", std::to_string(constant->bytes()));
  result.Int(tensor::kDataLocation, 1);
  return result;
}

}  // namespace switchyard::onnx
