#include "runtime/followed.h"

#include <algorithm>

#include "runtime/copies.h"

namespace switchyard {
namespace {

bool Known(const ValueInfo& info) {
  if (!info.type.is_tensor() || !(types::kIntegers | types::kBool).Contains(info.type.elem))
    return false;
  if (!info.type.shape.ranked()) return false;
  return std::none_of(info.value.begin(), info.value.end(),
                      [](const Dim& d) { return d.is_unknown(); });
}

// Sizes that only the run tells have symbols too; they are known at binding only if every value
// the node follows comes from shapes of inputs or of static wires.
bool InputsStayKnown(const Graph& graph, const Node& node,
                     const std::unordered_set<const Node*>& followed) {
  for (const NodeArg* input : node.inputs()) {
    if (input == nullptr || input->is_constant()) continue;
    if (input->is_overridable()) return false;
    // Contents that only load knew: made by a step, so not there while shapes are bound.
    if (input->info().tensor != nullptr && !input->info().has_value) return false;
    if (!input->info().has_value) continue;
    if (input->producer() == kNoNode) return false;
    // Integers of which load knows some only are made by a step.
    if (followed.count(graph.node(input->producer())) == 0) return false;
  }
  return true;
}

}  // namespace

std::unordered_set<const Node*> FindFollowed(const Graph& graph, const Placement& placement,
                                             const InferenceRegistry& inference) {
  std::unordered_set<const Node*> followed;
  for (NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = *graph.node(index);
    if (node.has_body() || node.outputs().empty()) continue;
    if (node.Domain() == kInternalDomain && node.OpType() == kCopyOp) continue;
    if (placement.of(graph, index).fused || inference.Find(node) == nullptr) continue;
    const bool all =
        std::all_of(node.outputs().begin(), node.outputs().end(), [](const NodeArg* output) {
          return output == nullptr || (output->info().has_value && Known(output->info()) &&
                                       output->constant() == nullptr);
        });
    if (all && InputsStayKnown(graph, node, followed)) followed.insert(&node);
  }
  return followed;
}

}  // namespace switchyard
