// x * clip(x + 3, 0, 6) / 6 as exporters write it, and x * HardSigmoid(x), become HardSwish.
#include <cmath>

#include "passes/rewrite.h"

namespace switchyard::passes::extended::hard_swish {
namespace {

bool IsReal(const NodeArg* value, double wanted) {
  const auto elements = Reals(value);
  return elements && elements->size() == 1 &&
         std::abs((*elements)[0] - wanted) <= 1e-6 * std::abs(wanted);
}

// The bound of a Clip, from its attribute before opset 11, else from its input.
bool HasBound(const Node& clip, const char* attribute, std::size_t slot, double wanted) {
  if (clip.SinceVersion() >= 11) {
    const auto bound = Reals(InputOf(clip, slot));
    return bound && bound->size() == 1 && (*bound)[0] == wanted;
  }
  return clip.attributes().Has(attribute) &&
         static_cast<double>(clip.attributes().Float(attribute, 0)) == wanted;
}

// clip(x + 3, 0, 6), read once.
bool IsSixfoldGate(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  const Node* clip = ProducerOf(graph, value, "Clip");
  if (clip == nullptr || !HasOneReader(graph, value) || !HasBound(*clip, "min", 1, 0) ||
      !HasBound(*clip, "max", 2, 6)) {
    return false;
  }
  const Node* sum = ProducerOf(graph, clip->inputs()[0], "Add");
  if (sum == nullptr || !HasOneReader(graph, clip->inputs()[0])) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    if (sum->inputs()[side] == x && IsReal(sum->inputs()[1 - side], 3)) return true;
  }
  return false;
}

bool IsHardSigmoid(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  const Node* gate = ProducerOf(graph, value, "HardSigmoid");
  return gate != nullptr && gate->inputs()[0] == x && HasOneReader(graph, value) &&
         std::abs(gate->attributes().Float("alpha", 0.2f) - 1.0f / 6) < 1e-6f &&
         gate->attributes().Float("beta", 0.5f) == 0.5f;
}

std::optional<Patch> Replace(const Graph& graph, const Node& node, const NodeArg* x) {
  if (!SameTypeAndShape(x, node.outputs()[0])) return std::nullopt;
  Patch patch(graph);
  const Patch::Ref input = Mutable(x);
  const auto made = patch.AddNode("HardSwish", "", std::span(&input, 1), {}, 1, node.Name(), 14);
  patch.ReplaceUses(node.outputs()[0], made[0]);
  return patch;
}

// mul / 6, or mul * (1/6) with the factors in any order.
const Node* SixthOf(const Graph& graph, const Node& node) {
  if (IsOp(node, "Div") && IsReal(node.inputs()[1], 6)) {
    return ProducerOf(graph, node.inputs()[0], "Mul");
  }
  if (!IsOp(node, "Mul")) return nullptr;
  for (std::size_t side = 0; side < 2; ++side) {
    if (IsReal(node.inputs()[side], 1.0 / 6)) {
      return ProducerOf(graph, node.inputs()[1 - side], "Mul");
    }
  }
  return nullptr;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || node.inputs().size() != 2 || node.SinceVersion() < 7) {
    return std::nullopt;
  }
  if (const Node* product = SixthOf(graph, node);
      product != nullptr && HasOneReader(graph, product->outputs()[0])) {
    for (std::size_t side = 0; side < 2; ++side) {
      const NodeArg* x = product->inputs()[side];
      if (IsSixfoldGate(graph, product->inputs()[1 - side], x)) return Replace(graph, node, x);
    }
  }
  if (!IsOp(node, "Mul")) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const NodeArg* x = node.inputs()[side];
    if (IsHardSigmoid(graph, node.inputs()[1 - side], x)) return Replace(graph, node, x);
  }
  return std::nullopt;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass(
      {"hard_swish", {"Div", "Mul"}, Propose, Exactness::kRounding, PassStage::kExtended}));
}

}  // namespace switchyard::passes::extended::hard_swish
