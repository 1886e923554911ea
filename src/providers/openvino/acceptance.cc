#include "providers/openvino/acceptance.h"

#include <algorithm>

#include "base/format.h"
#include "providers/openvino/element_type.h"

namespace switchyard::openvino {
namespace {

// Computed as 32-bit integers.
bool IsNarrowed(DataType type) {
  return type == DataType::kInt64 || type == DataType::kUint64 || type == DataType::kUint32;
}

// Shape arithmetic: sizes fit into 32 bits.
bool IsFollowed(const NodeArg& value) { return value.info().has_value; }

// How often the type variable of argument `index` stands in the node's signature. A variable of one
// place (the indices of Gather) names positions; one of several carries data through the node.
int Places(const OpSchema& schema, const FormalParameter& formal) {
  if (formal.constraint < 0) return 1;
  int places = formal.option == FormalParameter::Option::kVariadic ? 1 : 0;
  for (const FormalParameter& one : schema.inputs) places += one.constraint == formal.constraint;
  for (const FormalParameter& one : schema.outputs) places += one.constraint == formal.constraint;
  return places;
}

// Operators that look at the numbers in an argument whose type stands alone.
bool ReadsNumbers(const Node& node) {
  const std::string& op = node.OpType();
  return op == "Cast" || op == "CastLike" || op == "NonZero";
}

std::string WhyNotType(const NodeArg& value, bool constant) {
  const ValueType& type = value.type();
  if (!type.is_tensor()) return fmt::format("'{}' is no tensor", value.Name());
  if (type.elem == DataType::kString) return "string tensors are not handed to OpenVINO";
  if (type.elem == DataType::kDouble) return "OpenVINO computes double in single precision";
  const bool packed = IsPacked(type.elem) && !constant;
  if (packed || ElementType(type.elem) == ov::element::dynamic) {
    return fmt::format("element type {} of '{}' is not handed to OpenVINO", DataTypeName(type.elem),
                       value.Name());
  }
  if (!type.shape.ranked()) return fmt::format("the rank of '{}' is not known", value.Name());
  return {};
}

std::string WhyNotNarrowed(const Node& node, const OpSchema& schema) {
  const auto text = [](const NodeArg& value) {
    return fmt::format("'{}' holds {} numbers, which OpenVINO narrows to 32 bits", value.Name(),
                       DataTypeName(value.type().elem));
  };
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const NodeArg* value = node.inputs()[i];
    if (value == nullptr || !IsNarrowed(value->type().elem) || IsFollowed(*value)) continue;
    const FormalParameter* formal = schema.Input(i);
    if (formal == nullptr || Places(schema, *formal) > 1 || ReadsNumbers(node)) return text(*value);
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const NodeArg* value = node.outputs()[i];
    if (value == nullptr || !IsNarrowed(value->type().elem) || IsFollowed(*value)) continue;
    const FormalParameter* formal = schema.Output(i);
    if (formal == nullptr || Places(schema, *formal) > 1 || ReadsNumbers(node)) return text(*value);
  }
  return {};
}

}  // namespace

std::string WhyNotExact(const Node& node, const GraphViewer& graph,
                        const OpSchemaRegistry& schemas) {
  if (node.has_body()) return "nodes with bodies stay with the executor";
  for (const FunctionBody& function : graph.context().functions) {
    if (function.domain == node.Domain() && function.name == node.OpType())
      return "a function of the model";
  }
  const OpSchema* schema = schemas.Find(node.Domain(), node.OpType(), node.SinceVersion());
  if (schema == nullptr) return "an operator without schema";
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (value == nullptr) continue;
      if (std::string reason = WhyNotType(*value, value->is_constant()); !reason.empty())
        return reason;
    }
  }
  return WhyNotNarrowed(node, *schema);
}

}  // namespace switchyard::openvino
