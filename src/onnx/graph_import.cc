#include "onnx/graph_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/constant_node.h"
#include "onnx/attribute_import.h"
#include "onnx/fields.h"
#include "onnx/tensor_import.h"
#include "onnx/type_import.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

constexpr std::int64_t kFirstIrWithDefaults = 4;

template <std::size_t N>
using Names = InlineVector<std::string_view, N>;

struct NamedType {
  std::string_view name;
  ValueType type;
};

NamedType ReadValueInfo(std::string_view proto, const TypeReading& reading,
                        const ImportState& state) {
  NamedType result;
  std::string_view type_proto;
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() == BytesKey(value_info::kName)) {
      result.name = state.CheckName(reader.bytes(), "value name");
    } else if (reader.key() == BytesKey(value_info::kType)) {
      type_proto = reader.bytes();
    }
  }
  result.type = InContext([&] { return fmt::format("type of '{}'", result.name); },
                          [&] { return ReadType(type_proto, reading, state); });
  return result;
}

void CheckMainInput(const NamedType& input) {
  const ValueType& type = input.type;
  if (!type.known() || (type.is_tensor() && type.elem == DataType::kUndefined)) {
    ThrowInvalid(fmt::format("graph input '{}' has no type", input.name));
  }
}

}  // namespace

struct GraphImporter::Parts {
  std::vector<std::string_view> nodes, initializers, sparse_initializers, inputs, outputs,
      value_infos, annotations;
  std::string_view name, doc_string;
};

struct GraphImporter::NodeParts {
  std::string_view name, op_type, domain, overload;
  Names<3> inputs;
  Names<2> outputs;
  Names<2> attributes;
  InlineVector<NodeArg*, 2> values;  // that the outputs are
  std::size_t index = 0;
  bool is_constant = false;

  std::string Describe() const {
    return name.empty() ? fmt::format("node {} ({})", index, op_type)
                        : fmt::format("node '{}' ({})", name, op_type);
  }
};

GraphImporter::Parts GraphImporter::Split(std::string_view proto) {
  Parts parts;
  Reader reader(proto);
  while (reader.Next()) {
    switch (reader.key()) {
      case BytesKey(graph::kNode):
        parts.nodes.push_back(reader.bytes());
        break;
      case BytesKey(graph::kName):
        parts.name = reader.bytes();
        break;
      case BytesKey(graph::kInitializer):
        parts.initializers.push_back(reader.bytes());
        break;
      case BytesKey(graph::kDocString):
        parts.doc_string = reader.bytes();
        break;
      case BytesKey(graph::kInput):
        parts.inputs.push_back(reader.bytes());
        break;
      case BytesKey(graph::kOutput):
        parts.outputs.push_back(reader.bytes());
        break;
      case BytesKey(graph::kValueInfo):
        parts.value_infos.push_back(reader.bytes());
        break;
      case BytesKey(graph::kQuantizationAnnotation):
        parts.annotations.push_back(reader.bytes());
        break;
      case BytesKey(graph::kSparseInitializer):
        parts.sparse_initializers.push_back(reader.bytes());
        break;
      default:
        break;
    }
  }
  return parts;
}

std::unique_ptr<Graph> GraphImporter::ReadMain(std::string_view proto) {
  const Parts parts = Split(proto);
  context_->graph_name = parts.name;
  context_->graph_doc_string = parts.doc_string;
  auto result = std::make_unique<Graph>(context_);
  AddConstants(parts, true, result.get());
  const auto nodes = DefineValues(parts.nodes, result.get(), 0);
  AddHints(parts.value_infos, result.get());
  AddHints(parts.outputs, result.get());
  AddNodes(nodes, result.get(), 0);
  AddOutputs(parts.outputs, result.get());
  KeepAnnotations(parts.annotations);
  result->TopologicalOrder();
  return result;
}

std::unique_ptr<Graph> GraphImporter::ReadBody(std::string_view proto, Graph* parent, int depth) {
  if (depth > state_.limits().depth) {
    ThrowInvalid(fmt::format("bodies are nested more than {} deep", state_.limits().depth));
  }
  const Parts parts = Split(proto);
  auto result = std::make_unique<Graph>(context_, parent);
  AddConstants(parts, false, result.get());
  const auto nodes = DefineValues(parts.nodes, result.get(), depth);
  AddHints(parts.value_infos, result.get());
  AddHints(parts.outputs, result.get());
  AddNodes(nodes, result.get(), depth);
  AddOutputs(parts.outputs, result.get());
  result->TopologicalOrder();
  return result;
}

std::unique_ptr<Graph> GraphImporter::ReadFunction(std::span<const std::string_view> inputs,
                                                   std::span<const std::string_view> outputs,
                                                   std::span<const std::string_view> nodes,
                                                   std::span<const std::string_view> value_infos) {
  auto result = std::make_unique<Graph>(context_);
  for (const std::string_view name : inputs) {
    if (name.empty()) ThrowInvalid("a formal input has no name");
    state_.CountValue();
    result->AddInput(std::string(state_.CheckName(name, "input name")), ValueType());
  }
  const auto parts = DefineValues(nodes, result.get(), 0);
  AddHints(value_infos, result.get());
  AddNodes(parts, result.get(), 0);
  for (const std::string_view name : outputs) {
    NodeArg* value = result->FindValue(state_.CheckName(name, "output name"));
    if (value == nullptr) ThrowInvalid(fmt::format("nothing makes the output '{}'", name));
    result->MarkOutput(value);
  }
  result->TopologicalOrder();
  return result;
}

// Inputs too: initialisers among them are constants below IR 4, and defaults from there on.
void GraphImporter::AddConstants(const Parts& parts, bool main, Graph* graph) {
  std::vector<NamedConstant> constants;
  constants.reserve(parts.initializers.size() + parts.sparse_initializers.size());
  for (const std::string_view proto : parts.initializers) {
    constants.push_back(ReadTensor(proto, state_));
  }
  for (const std::string_view proto : parts.sparse_initializers) {
    constants.push_back(ReadSparseTensor(proto, state_));
  }
  if (main && context_->ir_version < kFirstIrWithDefaults) {
    for (const NamedConstant& constant : constants) {
      if (constant.name.empty()) ThrowInvalid("an initialiser has no name");
      state_.CountValue();
      graph->AddConstant(std::string(constant.name), constant.constant);
    }
    AddInputs(parts, main, graph);
    return;
  }
  AddInputs(parts, main, graph);
  std::unordered_set<std::string_view> defaults;
  for (const NamedConstant& constant : constants) {
    if (constant.name.empty()) ThrowInvalid("an initialiser has no name");
    NodeArg* input = graph->FindValue(constant.name);
    if (input == nullptr || !input->is_input()) {
      state_.CountValue();
      graph->AddConstant(std::string(constant.name), constant.constant);
      continue;
    }
    if (!defaults.insert(constant.name).second) {
      ThrowInvalid(fmt::format("the input '{}' has two initialisers", constant.name));
    }
    AddConstantAsInput(input, constant.constant, graph);
  }
}

void GraphImporter::AddConstantAsInput(NodeArg* value, ConstantPtr constant, Graph* graph) {
  if (!MergeShapes(value->type().shape, Shape(constant->dims()))) {
    ThrowInvalid(fmt::format("the default of input '{}' has dims {}, the input is declared {}",
                             value->Name(), DimsToString(constant->dims()),
                             value->type().shape.ToString()));
  }
  graph->SetConstant(value, std::move(constant));
}

void GraphImporter::AddInputs(const Parts& parts, bool main, Graph* graph) {
  for (const std::string_view proto : parts.inputs) {
    std::vector<std::pair<std::size_t, std::string>> denotations;
    const TypeReading reading{context_->symbols, main ? &denotations : nullptr};
    NamedType input = ReadValueInfo(proto, reading, state_);
    if (input.name.empty()) ThrowInvalid("a graph input has no name");
    if (main && context_->ir_version < kFirstIrWithDefaults) {
      const NodeArg* known = graph->FindValue(input.name);
      if (known != nullptr && !known->is_input()) continue;  // a constant
    }
    if (main) CheckMainInput(input);
    state_.CountValue();
    for (auto& [axis, denotation] : denotations) {
      context_->dim_denotations.push_back({std::string(input.name), axis, std::move(denotation)});
    }
    graph->AddInput(std::string(input.name), std::move(input.type));
  }
}

GraphImporter::NodeParts GraphImporter::ReadNodeParts(std::string_view proto, std::size_t index) {
  NodeParts parts;
  parts.index = index;
  return InContext([&] { return parts.Describe(); },
                   [&] {
                     Reader reader(proto);
                     while (reader.Next()) {
                       switch (reader.key()) {
                         case BytesKey(node::kInput):
                           parts.inputs.push_back(state_.CheckName(reader.bytes(), "input name"));
                           break;
                         case BytesKey(node::kOutput):
                           parts.outputs.push_back(state_.CheckName(reader.bytes(), "output name"));
                           break;
                         case BytesKey(node::kName):
                           parts.name = state_.CheckName(reader.bytes(), "node name");
                           break;
                         case BytesKey(node::kOpType):
                           parts.op_type = state_.CheckName(reader.bytes(), "operator name");
                           break;
                         case BytesKey(node::kAttribute):
                           parts.attributes.push_back(reader.bytes());
                           break;
                         case BytesKey(node::kDomain):
                           parts.domain = state_.CheckName(reader.bytes(), "domain");
                           break;
                         case BytesKey(node::kOverload):
                           parts.overload = state_.CheckName(reader.bytes(), "overload");
                           break;
                         default:
                           break;
                       }
                     }
                     if (parts.domain == "ai.onnx") parts.domain = {};
                     if (parts.op_type.empty()) ThrowInvalid("it has no operator");
                     while (!parts.inputs.empty() && parts.inputs.back().empty())
                       parts.inputs.pop_back();
                     while (!parts.outputs.empty() && parts.outputs.back().empty())
                       parts.outputs.pop_back();
                     return parts;
                   });
}

// All values that nodes make, before any node: bodies may capture them, and nodes may come in any
// order.
std::vector<GraphImporter::NodeParts> GraphImporter::DefineValues(
    std::span<const std::string_view> nodes, Graph* graph, int depth) {
  std::vector<NodeParts> result;
  calls_.depth = std::max(calls_.depth, depth);
  result.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    state_.CountNode();
    result.push_back(ReadNodeParts(nodes[i], i));
    NodeParts& node = result.back();
    InContext(
        [&] { return node.Describe(); },
        [&] {
          if (node.op_type == "Constant" && node.domain.empty() &&
              DefineConstantNode(node, graph, depth)) {
            node.is_constant = true;
            return;
          }
          ++calls_.nodes;
          for (const std::string_view output : node.outputs) {
            if (!output.empty()) state_.CountValue();
            node.values.push_back(output.empty() ? nullptr : graph->AddValue(std::string(output)));
          }
        });
  }
  return result;
}

// False: its value is a reference to an attribute of the function; it stays a node.
bool GraphImporter::DefineConstantNode(const NodeParts& node, Graph* graph, int depth) {
  if (node.outputs.size() != 1 || !node.inputs.empty()) {
    ThrowInvalid(fmt::format("it has {} inputs and {} outputs, expected 0 and 1",
                             node.inputs.size(), node.outputs.size()));
  }
  Attributes attributes;
  for (const std::string_view proto : node.attributes) {
    Attribute attribute = ReadAttribute(proto, graph, depth);
    if (std::holds_alternative<AttributeReference>(attribute.value)) return false;
    attributes.Set(std::move(attribute));
  }
  state_.CountValue();
  graph->AddConstant(std::string(node.outputs[0]), ConstantOfAttributes(attributes));
  return true;
}

void GraphImporter::AddHints(std::span<const std::string_view> infos, Graph* graph) {
  for (const std::string_view proto : infos) {
    NamedType hint = ReadValueInfo(proto, {context_->symbols, nullptr}, state_);
    NodeArg* value = graph->FindValue(hint.name);
    if (value == nullptr || value->is_input() || value->constant() || !hint.type.known()) continue;
    ValueInfo info;
    info.type = std::move(hint.type);
    graph->SetInfo(value, std::move(info));
  }
}

NodeArg* GraphImporter::Resolve(std::string_view name, Graph* graph) {
  if (name.empty()) return nullptr;
  if (NodeArg* value = graph->FindValue(name)) return value;
  for (const Graph* outer = graph->parent(); outer != nullptr; outer = outer->parent()) {
    if (outer->FindValue(name) == nullptr) continue;
    state_.CountValue();
    return graph->Capture(name);
  }
  ThrowInvalid(fmt::format("nothing makes the value '{}'", name));
}

void GraphImporter::AddNodes(const std::vector<NodeParts>& nodes, Graph* graph, int depth) {
  for (const NodeParts& node : nodes) {
    if (node.is_constant) continue;
    InContext([&] { return node.Describe(); }, [&] { AddNode(node, graph, depth); });
  }
}

void GraphImporter::AddNode(const NodeParts& node, Graph* graph, int depth) {
  InlineVector<NodeArg*, 8> inputs;
  for (const std::string_view name : node.inputs) inputs.push_back(Resolve(name, graph));
  Attributes attributes;
  for (const std::string_view proto : node.attributes) {
    Attribute attribute = ReadAttribute(proto, graph, depth);
    if (attributes.Has(attribute.name)) {
      ThrowInvalid(fmt::format("it has the attribute '{}' twice", attribute.name));
    }
    attributes.Set(std::move(attribute));
  }
  CheckCall(node, depth);
  auto import = context_->opset_imports.find(std::string(node.domain));
  if (import == context_->opset_imports.end()) {
    if (node.domain.empty()) ThrowInvalid("the model imports no opset of the domain ai.onnx");
    state_.Warn(
        fmt::format("the model imports no opset of the domain '{}'; taken to be 1", node.domain));
    import = context_->opset_imports.emplace(node.domain, 1).first;
  }
  Node* made = graph->AddNode(std::string(node.op_type), std::string(node.domain),
                              std::string(node.name), inputs, node.values, std::move(attributes),
                              state_.SinceVersion(node.domain, node.op_type, import->second));
  if (!node.overload.empty()) graph->SetOverload(made, std::string(node.overload));
}

void GraphImporter::CheckCall(const NodeParts& node, int depth) {
  if (facts_.functions.empty()) return;
  const auto callee = facts_.functions.find(FunctionKey(node.domain, node.op_type, node.overload));
  if (callee == facts_.functions.end()) return;
  CallCount::Calls& calls = calls_.calls[callee->second];
  ++calls.nodes;
  calls.depth = std::max(calls.depth, depth);
  const std::size_t inputs = facts_.function_inputs[callee->second];
  const std::size_t outputs = facts_.function_outputs[callee->second];
  if (node.inputs.size() > inputs || node.outputs.size() > outputs) {
    ThrowInvalid(fmt::format("it has {} inputs and {} outputs, the function has {} and {}",
                             node.inputs.size(), node.outputs.size(), inputs, outputs));
  }
}

Attribute GraphImporter::ReadAttribute(std::string_view proto, Graph* graph, int depth) {
  const auto read_body = [&](std::string_view body) {
    return std::shared_ptr<Graph>(ReadBody(body, graph, depth + 1));
  };
  return ReadAttributeProto(proto, {state_, {context_->symbols, nullptr}, in_function_, read_body});
}

void GraphImporter::AddOutputs(std::span<const std::string_view> infos, Graph* graph) {
  const bool main = graph->parent() == nullptr;
  for (const std::string_view proto : infos) {
    std::vector<std::pair<std::size_t, std::string>> denotations;
    const TypeReading reading{context_->symbols, main ? &denotations : nullptr};
    const NamedType output = ReadValueInfo(proto, reading, state_);
    NodeArg* value =
        InContext([] { return "graph outputs"; }, [&] { return Resolve(output.name, graph); });
    if (value == nullptr) ThrowInvalid("a graph output has no name");
    for (auto& [axis, denotation] : denotations) {
      context_->dim_denotations.push_back({std::string(output.name), axis, std::move(denotation)});
    }
    graph->MarkOutput(value);
  }
}

void GraphImporter::KeepAnnotations(std::span<const std::string_view> protos) {
  for (const std::string_view proto : protos) {
    std::string name;
    std::map<std::string, std::string> parameters;
    Reader reader(proto);
    while (reader.Next()) {
      if (reader.key() == BytesKey(annotation::kTensorName)) {
        name = state_.CheckName(reader.bytes(), "tensor name");
      } else if (reader.key() == BytesKey(annotation::kQuantParameterTensorNames)) {
        std::string key, value;
        Reader pair(reader.bytes());
        while (pair.Next()) {
          if (pair.key() == BytesKey(entry::kKey)) key = pair.bytes();
          if (pair.key() == BytesKey(entry::kValue)) value = pair.bytes();
        }
        parameters[key] = value;
      }
    }
    context_->quantization_annotations[name] = std::move(parameters);
  }
}

}  // namespace switchyard::onnx
