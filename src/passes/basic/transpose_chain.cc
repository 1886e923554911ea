// Transposes that do nothing, and Transposes of Transposes.
#include <algorithm>
#include <numeric>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::transpose_chain {
namespace {

using Perm = std::vector<std::int64_t>;

std::optional<Perm> PermOf(const Node& node) {
  const auto given = node.attributes().Ints("perm");
  if (!given.empty()) {
    Perm perm(given.begin(), given.end());
    const auto rank = static_cast<std::int64_t>(perm.size());
    std::vector<bool> seen(perm.size());
    for (std::int64_t& axis : perm) {
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)]) return std::nullopt;
      seen[static_cast<std::size_t>(axis)] = true;
    }
    return perm;
  }
  const NodeArg* input = InputOf(node, 0);
  if (input == nullptr || !input->type().shape.ranked()) return std::nullopt;
  Perm perm(input->type().shape.rank());
  std::iota(perm.rbegin(), perm.rend(), 0);
  return perm;
}

bool IsIdentity(const Perm& perm) { return std::is_sorted(perm.begin(), perm.end()); }

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  const auto perm = PermOf(node);
  if (!perm) return std::nullopt;
  if (IsIdentity(*perm)) return ReplaceBy(graph, node, node.inputs()[0]);
  const Node* first = ProducerOf(graph, node.inputs()[0], "Transpose");
  if (first == nullptr) return std::nullopt;
  const auto before = PermOf(*first);
  if (!before || before->size() != perm->size()) return std::nullopt;
  Perm both;
  for (std::int64_t axis : *perm) both.push_back((*before)[static_cast<std::size_t>(axis)]);
  if (IsIdentity(both)) return ReplaceBy(graph, node, first->inputs()[0]);
  Patch patch(graph);
  patch.SetInput(node, 0, Mutable(first->inputs()[0]));
  patch.SetAttribute(node, {"perm", both});
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"transpose_chain", {"Transpose"}, Propose}));
}

}  // namespace switchyard::passes::basic::transpose_chain
