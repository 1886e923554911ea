// Nodes whose results nothing reads.
#include <algorithm>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::dead_nodes {
namespace {

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  const bool read = std::any_of(node.outputs().begin(), node.outputs().end(),
                                [&](const NodeArg* output) { return IsRead(graph, output); });
  if (read) return std::nullopt;
  Patch patch(graph);
  patch.Remove(node);
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) { registry.Register(MakePass({"dead_nodes", {}, Propose})); }

}  // namespace switchyard::passes::basic::dead_nodes
