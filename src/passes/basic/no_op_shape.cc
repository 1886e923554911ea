// Data movement that moves nothing: the result has provably the input's shape and order.
#include <algorithm>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::no_op_shape {
namespace {

bool AllAre(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == wanted; });
}

bool MovesNothing(const Node& node) {
  const std::string& op = node.OpType();
  if (op == "Slice") {  // a full-length slice with step 1 is the input
    if (InputOf(node, 4) == nullptr) return true;
    const auto steps = KnownInts(InputOf(node, 4));
    return steps && AllAre(*steps, 1);
  }
  if (op == "Pad") {  // pads of both signs may keep the shape and still shift
    const auto pads = IntsOf(node, node.SinceVersion() < 2 ? "paddings" : "pads", 1);
    return pads && AllAre(*pads, 0);
  }
  return true;
}

// Inputs of a Concat that have no elements along the axis add nothing.
std::optional<Patch> ProposeConcat(const Graph& graph, const Node& node, PassContext&) {
  if (node.inputs().size() == 1) return ReplaceBy(graph, node, node.inputs()[0]);
  const NodeArg* output = node.outputs()[0];
  if (!output->type().is_tensor() || !output->type().shape.ranked()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(output->type().shape.rank());
  std::int64_t axis = node.attributes().Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  std::vector<Patch::Ref> kept;
  for (NodeArg* input : node.inputs()) {
    if (input == nullptr || !input->type().is_tensor()) return std::nullopt;
    const Shape& shape = input->type().shape;
    if (!shape.ranked() || static_cast<std::int64_t>(shape.rank()) != rank) return std::nullopt;
    if (!(shape[static_cast<std::size_t>(axis)] == Dim(0))) kept.emplace_back(input);
  }
  if (kept.empty() || kept.size() == node.inputs().size() || !IsRead(graph, output)) {
    return std::nullopt;
  }
  Patch patch(graph);
  Patch::Ref with = kept[0];
  if (kept.size() > 1) {
    with = patch.AddNode("Concat", "", kept, node.attributes(), 1, node.Name(),
                         node.SinceVersion())[0];
  }
  patch.ReplaceUses(Mutable(output), with);
  return patch;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext& context) {
  if (!node.Domain().empty()) return std::nullopt;
  if (node.OpType() == "Concat") return ProposeConcat(graph, node, context);
  const NodeArg* input = InputOf(node, 0);
  const NodeArg* output = OutputOf(node, 0);
  if (node.outputs().size() != 1 || !SameTypeAndShape(input, output)) return std::nullopt;
  if (!MovesNothing(node)) return std::nullopt;
  return ReplaceBy(graph, node, input);
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"no_op_shape",
                              {"Slice", "Reshape", "Pad", "Concat", "Expand", "Tile", "Flatten",
                               "Squeeze", "Unsqueeze", "Split"},
                              Propose}));
}

}  // namespace switchyard::passes::basic::no_op_shape
