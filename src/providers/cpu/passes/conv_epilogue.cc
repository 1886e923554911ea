// What follows a convolution element by element is done while its result is still in registers:
// Conv + Add(residual) + activation becomes com.microsoft.FusedConv. The same operations in the
// same order, so the same bits.
#include <algorithm>
#include <limits>

#include "switchyard/ir/rewrite/pass.h"

namespace switchyard::cpu::passes::conv_epilogue {
namespace {

bool IsConv(const Node& node) {
  return (node.OpType() == "Conv" && node.Domain().empty()) ||
         (node.OpType() == "FusedConv" && node.Domain() == "com.microsoft");
}

// The convolution that alone makes `value` for one reader, without an activation yet.
const Node* OpenConv(const Graph& graph, const NodeArg* value) {
  if (value == nullptr || value->producer() == kNoNode || value->consumers().size() != 1 ||
      graph.is_output(value) || value->type().elem != DataType::kFloat) {
    return nullptr;
  }
  const Node* node = graph.node(value->producer());
  return IsConv(*node) && !node->attributes().Has("activation") ? node : nullptr;
}

std::optional<float> Scalar(const Node& node, std::size_t i, float absent) {
  if (i >= node.inputs().size() || node.inputs()[i] == nullptr) return absent;
  const NodeArg* input = node.inputs()[i];
  if (!input->is_constant() || input->constant()->size() != 1 ||
      input->constant()->type() != DataType::kFloat) {
    return std::nullopt;
  }
  return input->constant()->tensor().data<float>()[0];
}

// Name and parameters as FusedConv has them; nullopt: not one that it knows.
std::optional<std::vector<float>> Parameters(const Node& node) {
  const Attributes& a = node.attributes();
  const std::string& op = node.OpType();
  if (op == "Relu" || op == "Sigmoid" || op == "Tanh" || op == "HardSwish") {
    return std::vector<float>{};
  }
  if (op == "LeakyRelu") return std::vector<float>{a.Float("alpha", 0.01f)};
  if (op == "HardSigmoid") return std::vector<float>{a.Float("alpha", 0.2f), a.Float("beta", 0.5f)};
  if (op != "Clip") return std::nullopt;
  constexpr float kLow = std::numeric_limits<float>::lowest(),
                  kHigh = std::numeric_limits<float>::max();
  if (node.SinceVersion() < 11)
    return std::vector<float>{a.Float("min", kLow), a.Float("max", kHigh)};
  const auto low = Scalar(node, 1, kLow), high = Scalar(node, 2, kHigh);
  if (!low || !high) return std::nullopt;
  return std::vector<float>{*low, *high};
}

Attributes WithoutNode(const Node& conv) {
  Attributes attributes;
  for (const Attribute& attribute : conv.attributes()) attributes.Set(attribute);
  return attributes;
}

std::vector<Patch::Ref> Inputs(const Node& conv) {
  std::vector<Patch::Ref> inputs;
  for (NodeArg* input : conv.inputs()) inputs.push_back(input);
  return inputs;
}

class ActivationPass final : public Pass {
 public:
  std::string_view name() const override { return "conv_activation"; }
  PassStage stage() const override { return PassStage::kExtended; }
  std::vector<std::string_view> after() const override { return {"conv_residual", "hard_swish"}; }
  std::vector<std::string_view> roots() const override {
    return {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Clip"};
  }
  std::optional<Patch> Propose(const Graph& graph, const Node& node,
                               PassContext& context) const override {
    if (!node.Domain().empty() || node.inputs().empty() || node.outputs().empty())
      return std::nullopt;
    const Node* conv = OpenConv(graph, node.inputs()[0]);
    if (conv == nullptr || (context.may_touch && !context.may_touch(*conv))) return std::nullopt;
    auto parameters = Parameters(node);
    if (!parameters) return std::nullopt;
    Attributes attributes = WithoutNode(*conv);
    attributes.Set({"activation", node.OpType()});
    if (!parameters->empty()) attributes.Set({"activation_params", std::move(*parameters)});
    Patch patch(graph);
    const auto outputs = patch.AddNode("FusedConv", "com.microsoft", Inputs(*conv),
                                       std::move(attributes), 1, conv->Name(), 1);
    patch.ReplaceUses(node.outputs()[0], outputs[0]);
    return patch;
  }
};

class ResidualPass final : public Pass {
 public:
  std::string_view name() const override { return "conv_residual"; }
  PassStage stage() const override { return PassStage::kExtended; }
  std::vector<std::string_view> roots() const override { return {"Add"}; }
  std::optional<Patch> Propose(const Graph& graph, const Node& node,
                               PassContext& context) const override {
    if (!node.Domain().empty() || node.inputs().size() != 2 || node.SinceVersion() < 7)
      return std::nullopt;
    for (std::size_t side = 0; side < 2; ++side) {
      NodeArg* sum = node.inputs()[1 - side];
      const Node* conv = OpenConv(graph, node.inputs()[side]);
      if (conv == nullptr || (context.may_touch && !context.may_touch(*conv))) continue;
      if (conv->inputs().size() > 3 || sum == nullptr || sum == node.inputs()[side]) continue;
      const Shape& shape = node.inputs()[side]->type().shape;
      if (!(sum->type().shape == shape) || sum->type().elem != DataType::kFloat) continue;
      std::vector<Patch::Ref> inputs = Inputs(*conv);
      inputs.resize(3);
      inputs.push_back(sum);
      Patch patch(graph);
      const auto outputs = patch.AddNode("FusedConv", "com.microsoft", inputs, WithoutNode(*conv),
                                         1, conv->Name(), 1);
      patch.ReplaceUses(node.outputs()[0], outputs[0]);
      return patch;
    }
    return std::nullopt;
  }
};

}  // namespace

void Register(PassRegistry& registry) {
  registry.Register(std::make_unique<ResidualPass>());
  registry.Register(std::make_unique<ActivationPass>());
}

}  // namespace switchyard::cpu::passes::conv_epilogue
