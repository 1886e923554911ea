#include "ir/functions.h"

#include <unordered_map>

#include "base/time_limit.h"
#include "ir/body_copier.h"
#include "ir/function_bodies.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

// Imports that a model of the bodies' own has and this one lacks.
void AddImports(const FunctionBody& function, ModelContext* context) {
  for (const auto& [domain, version] : function.opset_imports) {
    context->opset_imports.emplace(domain, version);
  }
}

}  // namespace

const FunctionBody* FindFunction(const ModelContext& context, const Node& node) {
  for (const FunctionBody& function : context.functions) {
    if (function.name == node.OpType() && function.domain == node.Domain() &&
        function.overload == node.Overload()) {
      return &function;
    }
  }
  return nullptr;
}

std::vector<NodeIndex> InlineFunctionNode(Graph& graph, NodeIndex index,
                                          const FunctionBody& function,
                                          const InferenceRegistry* inference) {
  const Node& node = *graph.node(index);
  const Graph& body = *function.body;
  const Attributes attributes = node.attributes();
  const std::string stem = node.Name().empty() ? node.OpType() : node.Name();
  const FunctionCall call{function, attributes, stem + "/", node.Describe()};
  if (node.inputs().size() > body.inputs().size() ||
      node.outputs().size() > body.outputs().size()) {
    call.Fail("it has " + std::to_string(node.inputs().size()) + " inputs and " +
              std::to_string(node.outputs().size()) + " outputs, the function has " +
              std::to_string(body.inputs().size()) + " and " +
              std::to_string(body.outputs().size()));
  }
  const std::vector<NodeArg*> inputs(node.inputs().begin(), node.inputs().end());
  const std::vector<NodeArg*> outputs(node.outputs().begin(), node.outputs().end());
  AddImports(function, &graph.context());
  graph.RemoveNode(index);

  BodyCopier copier(call, body, graph, nullptr);
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    copier.Bind(body.inputs()[i], i < inputs.size() ? inputs[i] : nullptr);
  }
  copier.CopyConstants();
  // Outputs that a node of the body makes become the node's; others need an Identity.
  std::vector<std::size_t> copied;
  std::unordered_map<const NodeArg*, std::size_t> taken;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NodeArg* output = body.outputs()[i];
    if (outputs[i] == nullptr) continue;
    if (output->producer() != kNoNode && taken.emplace(output, i).second) {
      copier.Bind(output, outputs[i]);
    } else {
      copied.push_back(i);
    }
  }
  std::vector<Node*> made = copier.CopyNodes();
  for (const std::size_t i : copied) {
    NodeArg* value = copier.Copy(body.outputs()[i]);
    if (value == nullptr) {
      call.Fail("its output " + std::to_string(i) + " is an input that the call leaves out");
    }
    NodeArg* const from[] = {value};
    NodeArg* const to[] = {outputs[i]};
    made.push_back(
        graph.AddNode("Identity", "", graph.UniqueName(call.prefix + "Identity"), from, to, {}));
  }
  std::vector<NodeIndex> result;
  for (Node* copy : made) {
    if (inference != nullptr) InferNode(graph, *copy, *inference);
    result.push_back(copy->Index());
  }
  return result;
}

std::optional<std::vector<NodeIndex>> InlineNode(Graph& graph, NodeIndex index,
                                                 const OpSchemaRegistry& schemas,
                                                 const InferenceRegistry* inference) {
  CheckTimeLimit();
  const Node& node = *graph.node(index);
  if (const FunctionBody* function = FindFunction(graph.context(), node)) {
    return InlineFunctionNode(graph, index, *function, inference);
  }
  if (node.OpType() == "SequenceMap" && node.Domain().empty()) {
    return InlineSequenceMap(graph, index, schemas, inference);
  }
  if (node.OpType() == "FlexAttention" && node.Domain() == "ai.onnx.preview") {
    return InlineFlexAttention(graph, index, schemas, inference);
  }
  const std::optional<FunctionBody> body = StandardBody(graph, node, schemas);
  if (!body) return std::nullopt;
  return InlineFunctionNode(graph, index, *body, inference);
}

}  // namespace switchyard
