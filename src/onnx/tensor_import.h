#pragma once
// TensorProto and SparseTensorProto to constants: every element type, every place data can be,
// every size checked against the dims before memory is taken.

#include <string_view>

#include "onnx/import_state.h"
#include "switchyard/tensor/constant.h"

namespace switchyard::onnx {

struct NamedConstant {
  std::string_view name;
  ConstantPtr constant;
};

NamedConstant ReadTensor(std::string_view proto, ImportState& state);
// The dense tensor; named like its values.
NamedConstant ReadSparseTensor(std::string_view proto, ImportState& state);

// A code of TensorProto.DataType. Throws NotImplemented for those that exist but have no DataType,
// InvalidGraph for others; kUndefined passes.
DataType ToDataType(std::int32_t code);

}  // namespace switchyard::onnx
