// A sum, perhaps with a bias, that is normalised over the last axis becomes SkipLayerNormalization,
// or SkipSimplifiedLayerNormalization where the mean is not taken off. Other readers of the sum
// read it there.
#include "passes/rewrite.h"

namespace switchyard::passes::extended::skip_layer_norm {
namespace {

bool IsOverLastAxis(const Node& node, const NodeArg* x) {
  const Shape& shape = x->type().shape;
  if (!x->type().is_tensor() || !shape.ranked() || shape.rank() < 2 || shape.rank() > 3) {
    return false;
  }
  const std::int64_t axis = node.attributes().Int("axis", -1);
  return axis == -1 || axis == static_cast<std::int64_t>(shape.rank()) - 1;
}

bool IsVectorOf(const NodeArg* value, const NodeArg* x) {
  const Shape& shape = value->type().shape;
  const Shape& whole = x->type().shape;
  return value->type().is_tensor() && value->type().elem == x->type().elem && shape.ranked() &&
         shape.rank() == 1 && shape[0] == whole[whole.rank() - 1];
}

struct Sum {
  const NodeArg* input = nullptr;
  const NodeArg* skip = nullptr;
  const NodeArg* bias = nullptr;
};

// A bias that only this sum gets, of either operand.
std::optional<Sum> SumOf(const Graph& graph, const Node& add) {
  const NodeArg* whole = add.outputs()[0];
  Sum sum{add.inputs()[0], add.inputs()[1], nullptr};
  if (!SameTypeAndShape(sum.input, whole) || !SameTypeAndShape(sum.skip, whole))
    return std::nullopt;
  for (const NodeArg** operand : {&sum.input, &sum.skip}) {
    const Node* biased = ProducerOf(graph, *operand, "Add");
    if (biased == nullptr || !HasOneReader(graph, *operand)) continue;
    for (std::size_t side = 0; side < 2 && sum.bias == nullptr; ++side) {
      const NodeArg* inner = biased->inputs()[side];
      const NodeArg* bias = biased->inputs()[1 - side];
      if (!IsVectorOf(bias, whole) || !SameTypeAndShape(inner, whole)) continue;
      sum.bias = bias;
      *operand = inner;
    }
    if (sum.bias != nullptr) break;
  }
  return sum;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  const bool rms = node.OpType() != "LayerNormalization";
  const NodeArg* x = node.inputs()[0];
  const NodeArg* scale = InputOf(node, 1);
  const NodeArg* shift = InputOf(node, 2);
  if (!node.Domain().empty() || IsRead(graph, OutputOf(node, 1)) ||
      IsRead(graph, OutputOf(node, 2)) || node.attributes().Int("stash_type", 1) != 1) {
    return std::nullopt;
  }
  const Node* add = ProducerOf(graph, x, "Add");
  if (add == nullptr || scale == nullptr || !IsOverLastAxis(node, x) || !IsVectorOf(scale, x) ||
      (shift != nullptr && !IsVectorOf(shift, x))) {
    return std::nullopt;
  }
  const auto sum = SumOf(graph, *add);
  if (!sum) return std::nullopt;
  Patch patch(graph);
  std::vector<Patch::Ref> inputs = {Mutable(sum->input), Mutable(sum->skip), Mutable(scale)};
  if (!rms) inputs.emplace_back(Mutable(shift));
  if (sum->bias != nullptr) inputs.emplace_back(Mutable(sum->bias));
  Attributes attributes;
  attributes.Set({"epsilon", node.attributes().Float("epsilon", 1e-5f)});
  const bool keeps_sum = !HasOneReader(graph, x);
  const auto made = patch.AddNode(
      rms ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization", "com.microsoft", inputs,
      std::move(attributes), keeps_sum ? 4 : 1, node.Name(), 1);
  patch.ReplaceUses(node.outputs()[0], made[0]);
  if (keeps_sum) patch.ReplaceUses(add->outputs()[0], made[3]);
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"skip_layer_norm",
                              {"LayerNormalization", "RMSNormalization"},
                              Propose,
                              Exactness::kRounding,
                              PassStage::kExtended,
                              {"layer_norm", "rms_norm"}}));
}

}  // namespace switchyard::passes::extended::skip_layer_norm
