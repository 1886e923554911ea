// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias over the last axis becomes
// LayerNormalization.
#include <cmath>

#include "passes/rewrite.h"

namespace switchyard::passes::extended::layer_norm {
namespace {

// The operand of a binary node beside `known`, or nullptr.
const NodeArg* OtherInput(const Node& node, const NodeArg* known) {
  if (node.inputs().size() != 2) return nullptr;
  if (node.inputs()[0] == known) return node.inputs()[1];
  return node.inputs()[1] == known ? node.inputs()[0] : nullptr;
}

// The input of a mean over the last axis that keeps it.
const NodeArg* MeanOfLastAxis(const Graph& graph, const NodeArg* value) {
  const Node* mean = ProducerOf(graph, value, "ReduceMean");
  if (mean == nullptr || mean->attributes().Int("keepdims", 1) == 0) return nullptr;
  const auto axes = IntsOf(*mean, "axes", 1);
  const Shape& shape = mean->inputs()[0]->type().shape;
  if (!axes || axes->size() != 1 || !shape.ranked()) return nullptr;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  return (*axes)[0] == -1 || (*axes)[0] == rank - 1 ? mean->inputs()[0] : nullptr;
}

bool IsSquareOf(const Graph& graph, const NodeArg* value, const NodeArg* of) {
  if (const Node* power = ProducerOf(graph, value, "Pow")) {
    return power->inputs()[0] == of && OneReal(power->inputs()[1]) == 2.0;
  }
  const Node* product = ProducerOf(graph, value, "Mul");
  return product != nullptr && product->inputs()[0] == of && product->inputs()[1] == of;
}

struct Core {
  const NodeArg* x = nullptr;
  double epsilon = 0;
};

// The normalised value, without scale and bias.
std::optional<Core> MatchCore(const Graph& graph, const Node& quotient) {
  const NodeArg* centred = quotient.inputs()[0];
  const Node* difference = ProducerOf(graph, centred, "Sub");
  const Node* root = ProducerOf(graph, quotient.inputs()[1], "Sqrt");
  if (difference == nullptr || root == nullptr) return std::nullopt;
  const Node* sum = ProducerOf(graph, root->inputs()[0], "Add");
  if (sum == nullptr) return std::nullopt;
  Core core;
  core.x = difference->inputs()[0];
  if (MeanOfLastAxis(graph, difference->inputs()[1]) != core.x) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto epsilon = OneReal(sum->inputs()[side]);
    if (!epsilon || *epsilon < 0) continue;
    core.epsilon = *epsilon;
    const NodeArg* squared = MeanOfLastAxis(graph, sum->inputs()[1 - side]);
    if (squared == nullptr || !IsSquareOf(graph, squared, centred)) return std::nullopt;
    return core;
  }
  return std::nullopt;
}

std::optional<Core> MatchCore(const Graph& graph, const NodeArg* value) {
  const Node* quotient = ProducerOf(graph, value, "Div");
  if (quotient == nullptr || !HasOneReader(graph, value)) return std::nullopt;
  return MatchCore(graph, *quotient);
}

bool IsVectorOf(const NodeArg* value, const NodeArg* x) {
  const Shape& shape = value->type().shape;
  const Shape& whole = x->type().shape;
  return value->type().is_tensor() && value->type().elem == x->type().elem && shape.ranked() &&
         whole.ranked() && whole.rank() > 0 && shape.rank() == 1 &&
         shape[0] == whole[whole.rank() - 1];
}

// The elementwise reader that scales or shifts `value` by a vector, if it is the only one.
bool IsScaledLater(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  if (!HasOneReader(graph, value)) return false;
  const Node& reader = *graph.node(value->consumers()[0]);
  if (!IsOp(reader, "Mul") && !IsOp(reader, "Add")) return false;
  const NodeArg* other = OtherInput(reader, value);
  return other != nullptr && IsVectorOf(other, x);
}

std::optional<Patch> Build(const Graph& graph, const Node& node, const Core& core,
                           const NodeArg* scale, const NodeArg* bias) {
  const Shape& shape = core.x->type().shape;
  const Dim length = shape.ranked() && shape.rank() > 0 ? shape[shape.rank() - 1] : Dim();
  const DataType type = core.x->type().elem;
  if (scale == nullptr && (!length.is_value() || !types::kFloats.Contains(type))) {
    return std::nullopt;
  }
  Patch patch(graph);
  Patch::Ref scale_ref = Mutable(scale);
  if (scale == nullptr) {
    // Ones: whoever made the model had them, and another pass found that they do nothing.
    const std::int64_t size = length.value();
    const std::vector<double> ones(static_cast<std::size_t>(size), 1.0);
    scale_ref = patch.AddConstant(MakeReals(type, std::span(&size, 1), ones), "scale");
  }
  Attributes attributes;
  attributes.Set({"axis", std::int64_t{-1}});
  attributes.Set({"epsilon", static_cast<float>(core.epsilon)});
  const Patch::Ref inputs[] = {Mutable(core.x), scale_ref, Mutable(bias)};
  const auto made =
      patch.AddNode("LayerNormalization", "", inputs, std::move(attributes), 1, node.Name(), 17);
  patch.ReplaceUses(node.outputs()[0], made[0]);
  return patch;
}

// The normalised value is there already: what is around it is scale and bias.
std::optional<Patch> ProposeSum(const Graph& graph, const Node& node) {
  for (std::size_t side = 0; side < 2; ++side) {
    const NodeArg* scaled = node.inputs()[side];
    const NodeArg* bias = node.inputs()[1 - side];
    if (const auto core = MatchCore(graph, scaled); core && IsVectorOf(bias, core->x)) {
      return Build(graph, node, *core, nullptr, bias);
    }
    const Node* product = ProducerOf(graph, scaled, "Mul");
    if (product == nullptr || !HasOneReader(graph, scaled)) continue;
    for (const NodeArg* normal : product->inputs()) {
      const auto core = MatchCore(graph, normal);
      const NodeArg* scale = OtherInput(*product, normal);
      if (!core || scale == nullptr || scale == normal) continue;
      if (IsVectorOf(scale, core->x) && IsVectorOf(bias, core->x)) {
        return Build(graph, node, *core, scale, bias);
      }
    }
  }
  return std::nullopt;
}

std::optional<Patch> ProposeProduct(const Graph& graph, const Node& node) {
  for (const NodeArg* normal : node.inputs()) {
    const auto core = MatchCore(graph, normal);
    const NodeArg* scale = OtherInput(node, normal);
    if (!core || scale == nullptr || scale == normal || !IsVectorOf(scale, core->x)) continue;
    if (IsScaledLater(graph, node.outputs()[0], core->x)) continue;
    return Build(graph, node, *core, scale, nullptr);
  }
  return std::nullopt;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || node.inputs().size() != 2) return std::nullopt;
  if (IsOp(node, "Add")) return ProposeSum(graph, node);
  if (IsOp(node, "Mul")) return ProposeProduct(graph, node);
  const auto core = MatchCore(graph, node);
  if (!core || IsScaledLater(graph, node.outputs()[0], core->x)) return std::nullopt;
  return Build(graph, node, *core, nullptr, nullptr);
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass(
      {"layer_norm", {"Add", "Mul", "Div"}, Propose, Exactness::kRounding, PassStage::kExtended}));
}

}  // namespace switchyard::passes::extended::layer_norm
