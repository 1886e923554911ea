#pragma once
// AttributeProto to Attribute, bodies aside: those are read by the function that is given.

#include <memory>
#include <string_view>

#include "onnx/import_state.h"
#include "onnx/type_import.h"
#include "switchyard/base/function_ref.h"
#include "switchyard/ir/attribute.h"

namespace switchyard::onnx {

struct AttributeReading {
  ImportState& state;
  TypeReading types;
  bool allow_references = false;
  FunctionRef<std::shared_ptr<Graph>(std::string_view proto)> read_body;
};

// Throws InvalidGraph: no name, unknown type, a value of another type than it says.
Attribute ReadAttributeProto(std::string_view proto, const AttributeReading& reading);
// Only its name.
std::string_view ReadAttributeName(std::string_view proto);

}  // namespace switchyard::onnx
