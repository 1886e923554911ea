#pragma once
// TypeProto to ValueType. Dim parameters become symbols of the model.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/import_state.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard::onnx {

struct TypeReading {
  SymbolTable& symbols;
  // Axis and denotation of the dims that have one; may be nullptr.
  std::vector<std::pair<std::size_t, std::string>>* denotations = nullptr;
};

ValueType ReadType(std::string_view proto, const TypeReading& reading, const ImportState& state);

}  // namespace switchyard::onnx
