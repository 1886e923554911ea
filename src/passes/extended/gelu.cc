// x/2 * (1 + erf(x/sqrt(2))), and its approximation by tanh, become Gelu.
#include <cmath>

#include "passes/rewrite.h"

namespace switchyard::passes::extended::gelu {
namespace {

bool IsReal(const NodeArg* value, double wanted) {
  const auto element = OneReal(value);
  return element && std::abs(*element - wanted) <= 1e-5 * std::abs(wanted);
}

// Factors of a product; products inside it that nothing else reads are taken apart.
void CollectFactors(const Graph& graph, const Node& product, std::vector<const NodeArg*>* out) {
  for (const NodeArg* factor : product.inputs()) {
    const Node* inner = ProducerOf(graph, factor, "Mul");
    if (inner != nullptr && out->size() < 4 && HasOneReader(graph, factor)) {
      CollectFactors(graph, *inner, out);
    } else {
      out->push_back(factor);
    }
  }
}

// The other operand of a commutative node whose one operand is about `constant`.
const NodeArg* BesideReal(const Node* node, double constant) {
  if (node == nullptr) return nullptr;
  for (std::size_t side = 0; side < 2; ++side) {
    if (IsReal(node->inputs()[side], constant)) return node->inputs()[1 - side];
  }
  return nullptr;
}

bool IsErfArgument(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  if (const Node* quotient = ProducerOf(graph, value, "Div")) {
    return quotient->inputs()[0] == x && IsReal(quotient->inputs()[1], std::sqrt(2.0));
  }
  return BesideReal(ProducerOf(graph, value, "Mul"), std::sqrt(0.5)) == x;
}

bool IsCubeOf(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  if (const Node* power = ProducerOf(graph, value, "Pow")) {
    return power->inputs()[0] == x && IsReal(power->inputs()[1], 3.0);
  }
  const Node* product = ProducerOf(graph, value, "Mul");
  if (product == nullptr) return false;
  std::vector<const NodeArg*> factors;
  CollectFactors(graph, *product, &factors);
  return factors.size() == 3 && factors[0] == x && factors[1] == x && factors[2] == x;
}

// sqrt(2/pi) * (x + 0.044715 * x^3)
bool IsTanhArgument(const Graph& graph, const NodeArg* value, const NodeArg* x) {
  const NodeArg* inner =
      BesideReal(ProducerOf(graph, value, "Mul"), std::sqrt(2.0 / 3.14159265358979323846));
  const Node* sum = ProducerOf(graph, inner, "Add");
  if (sum == nullptr) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    if (sum->inputs()[side] != x) continue;
    const NodeArg* cube = BesideReal(ProducerOf(graph, sum->inputs()[1 - side], "Mul"), 0.044715);
    if (cube != nullptr && IsCubeOf(graph, cube, x)) return true;
  }
  return false;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  std::vector<const NodeArg*> factors;
  CollectFactors(graph, node, &factors);
  if (factors.size() != 3) return std::nullopt;
  for (std::size_t g = 0; g < 3; ++g) {
    const Node* sum = ProducerOf(graph, factors[g], "Add");
    const NodeArg* bell = BesideReal(sum, 1.0);
    if (bell == nullptr || !HasOneReader(graph, factors[g])) continue;
    const Node* erf = ProducerOf(graph, bell, "Erf");
    const Node* tanh = ProducerOf(graph, bell, "Tanh");
    if (erf == nullptr && tanh == nullptr) continue;
    for (const auto& [h, v] : {std::pair((g + 1) % 3, (g + 2) % 3), {(g + 2) % 3, (g + 1) % 3}}) {
      const NodeArg* x = factors[v];
      if (!IsReal(factors[h], 0.5)) continue;
      const bool matches = erf != nullptr ? IsErfArgument(graph, erf->inputs()[0], x)
                                          : IsTanhArgument(graph, tanh->inputs()[0], x);
      if (!matches || !SameTypeAndShape(x, node.outputs()[0])) continue;
      Attributes attributes;
      if (tanh != nullptr) attributes.Set({"approximate", std::string("tanh")});
      Patch patch(graph);
      const Patch::Ref input = Mutable(x);
      const auto made = patch.AddNode("Gelu", "", std::span(&input, 1), std::move(attributes), 1,
                                      node.Name(), 20);
      patch.ReplaceUses(node.outputs()[0], made[0]);
      return patch;
    }
  }
  return std::nullopt;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(
      MakePass({"gelu", {"Mul"}, Propose, Exactness::kRounding, PassStage::kExtended}));
}

}  // namespace switchyard::passes::extended::gelu
