// x / sqrt(mean(x^2) + epsilon) * scale over the last axis becomes RMSNormalization.
#include "passes/rewrite.h"

namespace switchyard::passes::extended::rms_norm {
namespace {

bool IsSquareOf(const Graph& graph, const NodeArg* value, const NodeArg* of) {
  if (const Node* power = ProducerOf(graph, value, "Pow"))
    return power->inputs()[0] == of && OneReal(power->inputs()[1]) == 2.0;
  const Node* product = ProducerOf(graph, value, "Mul");
  return product != nullptr && product->inputs()[0] == of && product->inputs()[1] == of;
}

bool IsMeanSquareOf(const Graph& graph, const NodeArg* value, const NodeArg* of) {
  const Node* mean = ProducerOf(graph, value, "ReduceMean");
  if (mean == nullptr || mean->attributes().Int("keepdims", 1) == 0) return false;
  const auto axes = IntsOf(*mean, "axes", 1);
  const Shape& shape = of->type().shape;
  if (!axes || axes->size() != 1 || !shape.ranked()) return false;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  return ((*axes)[0] == -1 || (*axes)[0] == rank - 1) && IsSquareOf(graph, mean->inputs()[0], of);
}

// sqrt(mean(of^2) + epsilon)
std::optional<double> EpsilonOfRoot(const Graph& graph, const NodeArg* value, const NodeArg* of) {
  const Node* root = ProducerOf(graph, value, "Sqrt");
  const Node* sum = root == nullptr ? nullptr : ProducerOf(graph, root->inputs()[0], "Add");
  for (std::size_t side = 0; sum != nullptr && side < 2; ++side) {
    const auto epsilon = OneReal(sum->inputs()[side]);
    if (epsilon && *epsilon >= 0 && IsMeanSquareOf(graph, sum->inputs()[1 - side], of))
      return epsilon;
  }
  return std::nullopt;
}

struct Core {
  const NodeArg* x = nullptr;
  double epsilon = 0;
};

// x / root, or x * (1 / root).
std::optional<Core> MatchCore(const Graph& graph, const NodeArg* value) {
  if (!HasOneReader(graph, value)) return std::nullopt;
  if (const Node* quotient = ProducerOf(graph, value, "Div")) {
    const NodeArg* x = quotient->inputs()[0];
    const auto epsilon = EpsilonOfRoot(graph, quotient->inputs()[1], x);
    return epsilon ? std::optional<Core>({x, *epsilon}) : std::nullopt;
  }
  const Node* product = ProducerOf(graph, value, "Mul");
  for (std::size_t side = 0; product != nullptr && side < 2; ++side) {
    const NodeArg* x = product->inputs()[side];
    const NodeArg* factor = product->inputs()[1 - side];
    const NodeArg* root = nullptr;
    if (const Node* inverse = ProducerOf(graph, factor, "Reciprocal")) root = inverse->inputs()[0];
    if (const Node* inverse = ProducerOf(graph, factor, "Div");
        inverse != nullptr && OneReal(inverse->inputs()[0]) == 1.0) {
      root = inverse->inputs()[1];
    }
    if (root == nullptr) continue;
    if (const auto epsilon = EpsilonOfRoot(graph, root, x)) return Core{x, *epsilon};
  }
  return std::nullopt;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto core = MatchCore(graph, node.inputs()[side]);
    const NodeArg* scale = node.inputs()[1 - side];
    if (!core || !SameTypeAndShape(core->x, node.outputs()[0])) continue;
    const Shape& shape = scale->type().shape;
    const Shape& whole = core->x->type().shape;
    if (!shape.ranked() || shape.rank() != 1 || !(shape[0] == whole[whole.rank() - 1]) ||
        scale->type().elem != core->x->type().elem) {
      continue;
    }
    Attributes attributes;
    attributes.Set({"axis", std::int64_t{-1}});
    attributes.Set({"epsilon", static_cast<float>(core->epsilon)});
    Patch patch(graph);
    const Patch::Ref inputs[] = {Mutable(core->x), Mutable(scale)};
    const auto made =
        patch.AddNode("RMSNormalization", "", inputs, std::move(attributes), 1, node.Name(), 23);
    patch.ReplaceUses(node.outputs()[0], made[0]);
    return patch;
  }
  return std::nullopt;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(
      MakePass({"rms_norm", {"Mul"}, Propose, Exactness::kRounding, PassStage::kExtended}));
}

}  // namespace switchyard::passes::extended::rms_norm
