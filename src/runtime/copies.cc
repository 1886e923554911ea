#include "runtime/copies.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.h"

namespace switchyard {
namespace {

class CopyPlanner {
 public:
  CopyPlanner(const Placement& placement, const MemorySpaces& spaces,
              const InferenceRegistry& inference)
      : placement_(placement), spaces_(spaces), inference_(inference) {}

  CopyPlan Run(Graph& graph) {
    Place(graph);
    InsertInto(graph);
    return std::move(plan_);
  }

 private:
  int InputSpace(const Graph& graph, const Node& node, std::size_t i) const {
    const NodePlacement& placement = placement_.of(graph, node.Index());
    if (placement.provider < 0) return kHostSpace;
    const bool host = placement.kernel != nullptr
                          ? ((placement.kernel->host_inputs >> i) & 1) != 0
                          : IsListed(placement.fused->claim->meta_def->host_inputs, i);
    return host ? kHostSpace : spaces_.OfProvider(placement.provider);
  }
  int OutputSpace(const Graph& graph, const Node& node, std::size_t i) const {
    const NodePlacement& placement = placement_.of(graph, node.Index());
    if (placement.provider < 0) return kHostSpace;
    const bool host = placement.kernel != nullptr
                          ? ((placement.kernel->host_outputs >> i) & 1) != 0
                          : IsListed(placement.fused->claim->meta_def->host_outputs, i);
    return host ? kHostSpace : spaces_.OfProvider(placement.provider);
  }
  static bool IsListed(const std::vector<std::size_t>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  }

  // Where values come into being, bodies first: what a control-flow node yields lies where its body
  // makes it.
  void Place(Graph& graph) {
    plan_.followed.merge(FindFollowed(graph, placement_, inference_));
    for (NodeIndex index : graph.TopologicalOrder()) {
      const Node& node = *graph.node(index);
      if (plan_.followed.count(&node) != 0) continue;
      if (placement_.of(graph, index).provider >= 0) {
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          if (node.outputs()[i] != nullptr) Set(node.outputs()[i], OutputSpace(graph, node, i));
        }
        continue;
      }
      // Captured values have their place before the body is entered.
      for (const auto& [name, body] : node.bodies()) {
        for (std::size_t v = 0; v < body->value_limit(); ++v) {
          const NodeArg* inner = body->value(static_cast<ValueId>(v));
          if (inner == nullptr || !inner->is_captured()) continue;
          if (const NodeArg* outer = Outer(graph, inner->Name())) Set(inner, plan_.of(outer));
        }
        Place(*body);
      }
      if (node.OpType() == "If") PlaceBranches(node);
      if (node.OpType() == "Loop") PlaceLoop(node);
    }
  }

  static const NodeArg* Outer(const Graph& graph, const std::string& name) {
    for (const Graph* g = &graph; g != nullptr; g = g->parent()) {
      const NodeArg* value = g->FindValue(name);
      if (value != nullptr) return value;
    }
    return nullptr;
  }

  void Set(const NodeArg* value, int space) {
    if (space != kHostSpace) plan_.space[value] = space;
  }

  // An output stays on a device if every branch makes it there.
  void PlaceBranches(const Node& node) {
    const auto bodies = node.bodies();
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.outputs()[i] == nullptr) continue;
      std::optional<int> space;
      for (const auto& [name, body] : bodies) {
        const int here = i < body->outputs().size() ? plan_.of(body->outputs()[i]) : kHostSpace;
        space = !space || *space == here ? here : kHostSpace;
      }
      Set(node.outputs()[i], space.value_or(kHostSpace));
      for (const auto& [name, body] : bodies) wanted_[body].push_back(space.value_or(kHostSpace));
    }
  }

  // Loop-carried values stay where the body makes them; the rest of its inputs is on the host.
  void PlaceLoop(const Node& node) {
    Graph* body = node.bodies().front().second;
    std::vector<int>& wanted = wanted_[body];
    const std::size_t carried = node.inputs().size() < 2 ? 0 : node.inputs().size() - 2;
    for (std::size_t i = 0; i < body->outputs().size(); ++i) {
      const bool is_state = i >= 1 && i <= carried;
      const int space = is_state ? plan_.of(body->outputs()[i]) : kHostSpace;
      wanted.push_back(space);
      if (!is_state) continue;
      if (i + 1 < body->inputs().size()) Set(body->inputs()[i + 1], space);
      if (i - 1 < node.outputs().size() && node.outputs()[i - 1] != nullptr)
        Set(node.outputs()[i - 1], space);
      loop_state_[&node].push_back(space);
    }
  }

  void InsertInto(Graph& graph) {
    const std::vector<NodeIndex> order(graph.TopologicalOrder().begin(),
                                       graph.TopologicalOrder().end());
    for (NodeIndex index : order) {
      Node* node = graph.node(index);
      if (plan_.followed.count(node) != 0) continue;
      if (placement_.of(graph, index).provider < 0) {
        BringCaptured(graph, *node);
        const auto state = loop_state_.find(node);
        for (std::size_t i = 0; i < node->inputs().size(); ++i) {
          const bool is_state =
              state != loop_state_.end() && i >= 2 && i - 2 < state->second.size();
          Bring(graph, node, i, is_state ? state->second[i - 2] : kHostSpace);
        }
        for (const auto& [name, body] : node->bodies()) InsertInto(*body);
        continue;
      }
      for (std::size_t i = 0; i < node->inputs().size(); ++i)
        Bring(graph, node, i, InputSpace(graph, *node, i));
    }
    BringOutputs(graph);
  }

  void Bring(Graph& graph, Node* node, std::size_t i, int space) {
    NodeArg* value = node->inputs()[i];
    if (value == nullptr || plan_.of(value) == space) return;
    graph.SetInput(node, i, CopyOf(graph, value, space));
  }

  // The value in that space: a constant placed there, or the output of a Copy node.
  NodeArg* CopyOf(Graph& graph, NodeArg* value, int space) {
    const auto [it, fresh] = copies_.try_emplace({value, space}, nullptr);
    if (!fresh) return it->second;
    const std::string name =
        graph.UniqueName(value->Name() + "@" + spaces_.device(space).ToString());
    if (value->is_constant()) {
      it->second = graph.AddConstant(name, value->constant());
      plan_.space[it->second] = space;
      return it->second;
    }
    NodeArg* copy = graph.AddValue(name, value->type());
    NodeArg* inputs[] = {value};
    NodeArg* outputs[] = {copy};
    const Node* node = graph.AddNode(kCopyOp, kInternalDomain, name, inputs, outputs, {}, 1);
    plan_.space[copy] = space;
    plan_.copies.push_back({node, value->Name(), plan_.of(value), space});
    it->second = copy;
    return copy;
  }

  // Captured values that a body reads in another space are copied outside, once.
  void BringCaptured(Graph& graph, Node& node) {
    bool any = false;
    for (const auto& [name, body] : node.bodies()) {
      for (std::size_t v = 0; v < body->value_limit(); ++v) {
        NodeArg* inner = body->value(static_cast<ValueId>(v));
        if (inner == nullptr || !inner->is_captured()) continue;
        NodeArg* outer = graph.FindValue(inner->Name());
        if (outer == nullptr) continue;
        for (int space : ReadIn(*body, *inner)) {
          if (space == plan_.of(inner)) continue;
          NodeArg* copy = CopyOf(graph, outer, space);
          NodeArg* captured = body->Capture(copy->Name());
          plan_.space[captured] = space;
          copies_[{inner, space}] = captured;
          any = true;
        }
      }
    }
    if (any) graph.UpdateImplicitInputs(&node);  // the copies come before it
  }

  // Spaces in which a body (or a body inside) reads one of its values.
  std::vector<int> ReadIn(const Graph& body, const NodeArg& value) const {
    std::vector<int> found;
    // A node that reads it in several places, or in several bodies, stands there as often.
    std::vector<NodeIndex> readers(value.consumers().begin(), value.consumers().end());
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (NodeIndex index : readers) {
      const Node& node = *body.node(index);
      if (plan_.followed.count(&node) != 0) continue;
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        if (node.inputs()[i] == &value) found.push_back(InputSpace(body, node, i));
      }
      if (placement_.of(body, index).provider >= 0) continue;
      for (const auto& [name, inner] : node.bodies()) {
        const NodeArg* captured = inner->FindValue(value.Name());
        if (captured == nullptr || !captured->is_captured()) continue;
        const std::vector<int> deeper = ReadIn(*inner, *captured);
        found.insert(found.end(), deeper.begin(), deeper.end());
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  void BringOutputs(Graph& graph) {
    const auto wanted = wanted_.find(&graph);
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      NodeArg* value = graph.outputs()[i];
      const int space =
          wanted != wanted_.end() && i < wanted->second.size() ? wanted->second[i] : kHostSpace;
      if (plan_.of(value) == space) continue;
      const std::size_t before = plan_.copies.size();
      NodeArg* copy = CopyOf(graph, value, space);
      if (graph.parent() == nullptr && plan_.copies.size() > before) {
        plan_.for_caller.insert(plan_.copies.back().node);
      }
      graph.ReplaceOutput(i, copy);
    }
  }

  const Placement& placement_;
  const MemorySpaces& spaces_;
  const InferenceRegistry& inference_;
  CopyPlan plan_;
  std::map<std::pair<const NodeArg*, int>, NodeArg*> copies_;
  std::unordered_map<const Graph*, std::vector<int>> wanted_;
  std::unordered_map<const Node*, std::vector<int>> loop_state_;
};

}  // namespace

CopyPlan PlanCopies(Graph& graph, const Placement& placement, const MemorySpaces& spaces,
                    const InferenceRegistry& inference) {
  return CopyPlanner(placement, spaces, inference).Run(graph);
}

}  // namespace switchyard
