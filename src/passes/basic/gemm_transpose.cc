// A flip of a matrix before Gemm becomes its flag.
#include <algorithm>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::gemm_transpose {
namespace {

// perm [1,0], or none at all for a matrix; [0,1] is not a flip.
bool IsFlip(const Node& transpose) {
  const auto perm = transpose.attributes().Ints("perm");
  if (!perm.empty()) return perm.size() == 2 && perm[0] == 1 && perm[1] == 0;
  const Shape& shape = transpose.inputs()[0]->type().shape;
  return shape.ranked() && shape.rank() == 2;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  constexpr const char* kFlags[] = {"transA", "transB"};
  Patch patch(graph);
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* transpose = ProducerOf(graph, InputOf(node, i), "Transpose");
    if (transpose == nullptr || !IsFlip(*transpose)) continue;
    const bool flipped = node.attributes().Int(kFlags[i], 0) != 0;
    patch.SetInput(node, i, Mutable(transpose->inputs()[0]));
    patch.SetAttribute(node, {kFlags[i], std::int64_t{flipped ? 0 : 1}});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"gemm_transpose", {"Gemm"}, Propose, Exactness::kRounding}));
}

}  // namespace switchyard::passes::basic::gemm_transpose
