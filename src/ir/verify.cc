#include <algorithm>
#include <climits>
#include <map>

#include "ir/functions.h"
#include "switchyard/base/error.h"
#include "switchyard/ir/rewrite/pass.h"
#include "switchyard/ir/schema.h"

namespace switchyard {
namespace {

[[noreturn]] void Broken(const std::string& text) { throw Error(ErrorCode::kInvalidGraph, text); }

class Verifier {
 public:
  Verifier(const Graph& graph, const OpSchemaRegistry& schemas)
      : graph_(graph), schemas_(schemas), uses_(graph.value_limit()) {}

  void Run() {
    for (NodeIndex i = 0; i < graph_.node_limit(); ++i) {
      if (const Node* node = graph_.node(i)) CheckNode(*node, i);
    }
    for (const NodeArg* input : graph_.inputs()) {
      CheckOwned(input, "graph input");
      if (!input->is_input()) Broken("graph input '" + input->Name() + "' is not marked as one");
    }
    for (const NodeArg* output : graph_.outputs()) {
      CheckOwned(output, "graph output");
      CheckDefined(*output, "graph output");
    }
    for (ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (const NodeArg* value = graph_.value(id)) CheckValue(*value, id);
    }
    graph_.TopologicalOrder();
  }

 private:
  void CheckOwned(const NodeArg* value, const std::string& what) const {
    if (value == nullptr) Broken(what + " is missing");
    if (value->id() >= graph_.value_limit() || graph_.value(value->id()) != value) {
      Broken(what + " is a value of another graph");
    }
  }

  static void CheckDefined(const NodeArg& value, const std::string& who) {
    if (value.producer() == kNoNode && !value.is_input() && !value.is_captured() &&
        value.constant() == nullptr) {
      Broken(who + " '" + value.Name() +
             "' is not defined: it is no input, no constant, and no "
             "node makes it");
    }
  }

  void CheckNode(const Node& node, NodeIndex index) {
    if (node.Index() != index) Broken(node.Describe() + " has a wrong index");
    for (const NodeArg* input : node.inputs()) {
      if (input != nullptr) CheckUse(node, input);
    }
    for (const NodeArg* input : node.implicit_inputs()) CheckUse(node, input);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const NodeArg* output = node.outputs()[i];
      if (output == nullptr) continue;
      CheckOwned(output, "output " + std::to_string(i) + " of " + node.Describe());
      if (output->producer() != index || output->producer_slot() != static_cast<int>(i)) {
        Broken("'" + output->Name() + "' does not know its producer " + node.Describe());
      }
    }
    CheckBodies(node);
    const OpSchema* schema = schemas_.Find(node.Domain(), node.OpType(), node.SinceVersion());
    if (schema == nullptr) return CheckVersion(node);
    const std::string problem = VerifyAgainstSchema(*schema, node);
    if (!problem.empty()) Broken(problem);
  }

  // Kernels and inference count on what a schema promises.
  void CheckVersion(const Node& node) const {
    if (FindFunction(graph_.context(), node) != nullptr) return;
    const OpSchema* first = schemas_.Find(node.Domain(), node.OpType(), INT_MAX);
    if (first == nullptr) return;
    while (first->since_version > 1) {
      const OpSchema* earlier =
          schemas_.Find(node.Domain(), node.OpType(), first->since_version - 1);
      if (earlier == nullptr) break;
      first = earlier;
    }
    Broken(node.Describe() + ": the operator is there from opset " +
           std::to_string(first->since_version) + " of domain '" +
           (node.Domain().empty() ? "ai.onnx" : node.Domain()) + "' on, the model imports " +
           std::to_string(node.SinceVersion()));
  }

  void CheckUse(const Node& node, const NodeArg* input) {
    CheckOwned(input, "an input of " + node.Describe());
    CheckDefined(*input, "the input of " + node.Describe());
    uses_[input->id()].push_back(node.Index());
  }

  void CheckBodies(const Node& node) const {
    for (const auto& [name, body] : node.bodies()) {
      if (body->parent() != &graph_) {
        Broken(node.Describe() + ": the body '" + name + "' belongs to another graph");
      }
      for (ValueId id = 0; id < body->value_limit(); ++id) {
        const NodeArg* inner = body->value(id);
        if (inner == nullptr || !inner->is_captured()) continue;
        const auto implicit = node.implicit_inputs();
        if (std::none_of(implicit.begin(), implicit.end(),
                         [&](const NodeArg* outer) { return outer->Name() == inner->Name(); })) {
          Broken(node.Describe() + ": the body '" + name + "' captures '" + inner->Name() +
                 "', which is not among the implicit inputs");
        }
      }
      Verifier(*body, schemas_).Run();
    }
  }

  void CheckValue(const NodeArg& value, ValueId id) {
    if (value.id() != id || graph_.FindValue(value.Name()) != &value) {
      Broken("the name '" + value.Name() + "' stands for another value");
    }
    if (value.producer() != kNoNode) {
      const Node* node = graph_.node(value.producer());
      const auto slot = static_cast<std::size_t>(value.producer_slot());
      if (node == nullptr || slot >= node->outputs().size() || node->outputs()[slot] != &value) {
        Broken("'" + value.Name() + "' names a producer that does not make it");
      }
      if (value.is_input() || value.is_captured() || value.constant() != nullptr) {
        Broken("'" + value.Name() + "' is both made by " + node->Describe() + " and given");
      }
    }
    std::vector<NodeIndex> listed(value.consumers().begin(), value.consumers().end());
    std::sort(listed.begin(), listed.end());
    std::sort(uses_[id].begin(), uses_[id].end());
    if (listed != uses_[id]) Broken("'" + value.Name() + "' has a wrong list of readers");
  }

  const Graph& graph_;
  const OpSchemaRegistry& schemas_;
  std::vector<std::vector<NodeIndex>> uses_;
};

}  // namespace

void VerifyGraph(const Graph& graph, const OpSchemaRegistry* schemas) {
  const OpSchemaRegistry built_in;
  Verifier(graph, schemas != nullptr ? *schemas : built_in).Run();
}

}  // namespace switchyard
