// Reshape, Flatten, Squeeze, Unsqueeze of one of these: only the last shape counts.
#include <algorithm>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::view_chain {
namespace {

bool IsView(const Node& node) {
  return IsOp(node, "Reshape") || IsOp(node, "Flatten") || IsOp(node, "Squeeze") ||
         IsOp(node, "Unsqueeze");
}

// A 0 in the shape copies a dim of the input, which would be another one.
bool ReadsInputShape(const Node& reshape) {
  const auto shape = IntsOf(reshape, "shape", 1);
  return !shape || std::find(shape->begin(), shape->end(), 0) != shape->end();
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!IsView(node) || InputOf(node, 0) == nullptr) return std::nullopt;
  const NodeArg* middle = node.inputs()[0];
  if (middle->producer() == kNoNode) return std::nullopt;
  const Node* first = graph.node(middle->producer());
  if (!IsView(*first) || InputOf(*first, 0) == nullptr) return std::nullopt;
  const NodeArg* source = first->inputs()[0];
  if (SameTypeAndShape(source, node.outputs()[0])) return ReplaceBy(graph, node, source);
  if (!IsOp(node, "Reshape") || ReadsInputShape(node)) return std::nullopt;
  Patch patch(graph);
  patch.SetInput(node, 0, Mutable(source));
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(
      MakePass({"view_chain", {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, Propose}));
}

}  // namespace switchyard::passes::basic::view_chain
