// An If whose condition is known: the branch that runs takes its place.
#include "passes/rewrite.h"

namespace switchyard::passes::basic::constant_if {
namespace {

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  const auto condition = KnownInts(InputOf(node, 0));
  if (!condition || condition->size() != 1) return std::nullopt;
  const auto branch =
      node.attributes().Subgraph((*condition)[0] != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->outputs().size() < node.outputs().size()) return std::nullopt;
  Patch patch(graph);
  const std::string prefix = node.Name().empty() ? "" : node.Name() + "/";
  const std::vector<Patch::Ref> outputs = patch.Inline(*branch, {}, prefix);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (IsRead(graph, node.outputs()[i])) patch.ReplaceUses(node.outputs()[i], outputs[i]);
  }
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"constant_if", {"If"}, Propose}));
}

}  // namespace switchyard::passes::basic::constant_if
