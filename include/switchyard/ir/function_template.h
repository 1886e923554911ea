#pragma once
// Bodies of the standard's function operators, as constant tables from which nodes are built. Only
// plain bodies: those that depend on a node's types or attributes are written in code. Functions of
// a model are FunctionBody in ir/graph.h.

#include <cstdint>
#include <span>
#include <string_view>

namespace switchyard {

enum class AttributeType : int;
struct TemplateGraph;

// An attribute of a node in a body: a literal, or (`ref` not empty) the attribute of that name of
// the calling node, left out if the call has none and its schema no default.
struct TemplateAttribute {
  std::string_view name;
  AttributeType type;
  std::string_view ref{};
  std::int64_t i = 0;
  float f = 0;
  std::int32_t tensor_type = 0;  // kTensor: a scalar float tensor of value `f`; its DataType code
  std::span<const std::int64_t> ints{};
  const TemplateGraph* graph = nullptr;
};

// A node of the ai.onnx domain. An empty input name is an input left out.
struct TemplateNode {
  std::string_view op_type;
  std::span<const std::string_view> inputs;
  std::span<const std::string_view> outputs;
  std::span<const TemplateAttribute> attributes;
};

// The body itself, or a control-flow body inside it, where outer names are visible.
struct TemplateGraph {
  std::span<const std::string_view> inputs;
  std::span<const std::string_view> outputs;
  std::span<const TemplateNode> nodes;
};

// One body: its nodes mean what they mean in `opset` of ai.onnx, whatever the model imports. Inputs
// and outputs are the schema's formal names, in its order.
struct FunctionTemplate {
  int opset;
  TemplateGraph graph;
};

}  // namespace switchyard
