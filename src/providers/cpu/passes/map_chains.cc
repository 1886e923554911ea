// Chains of elementwise float operators become one sy.Map: one pass over memory instead of one per
// operator. Each operation is computed as it would be alone, so the bits stay the same.
#include <algorithm>
#include <limits>

#include "providers/cpu/math/vec_program.h"
#include "switchyard/ir/rewrite/pass.h"

namespace switchyard::cpu::passes::map_chains {
namespace {

using math::BinaryOp;
using math::ProgramStep;
using math::UnaryOp;
using Kind = ProgramStep::Kind;

// Values are numbered as in ProgramStep: inputs first, then steps; the last step is the result.
struct Chain {
  std::vector<NodeArg*> inputs;
  std::vector<ProgramStep> steps;
};

struct UnaryRow {
  std::string_view op_type, domain;
  UnaryOp op;
  const char* p0 = nullptr;
  float absent0 = 0;
  const char* p1 = nullptr;
  float absent1 = 0;
};

constexpr UnaryRow kUnary[] = {
    {"Relu", "", UnaryOp::kRelu},
    {"Sigmoid", "", UnaryOp::kSigmoid},
    {"Tanh", "", UnaryOp::kTanh},
    {"Exp", "", UnaryOp::kExp},
    {"Log", "", UnaryOp::kLog},
    {"Sqrt", "", UnaryOp::kSqrt},
    {"Neg", "", UnaryOp::kNeg},
    {"Abs", "", UnaryOp::kAbs},
    {"Reciprocal", "", UnaryOp::kReciprocal},
    {"Erf", "", UnaryOp::kErf},
    {"Floor", "", UnaryOp::kFloor},
    {"Ceil", "", UnaryOp::kCeil},
    {"Softplus", "", UnaryOp::kSoftplus},
    {"HardSwish", "", UnaryOp::kHardSwish},
    {"LeakyRelu", "", UnaryOp::kLeakyRelu, "alpha", 0.01f},
    {"Elu", "", UnaryOp::kElu, "alpha", 1.0f},
    {"HardSigmoid", "", UnaryOp::kHardSigmoid, "alpha", 0.2f, "beta", 0.5f},
};

struct BinaryRow {
  std::string_view op_type;
  BinaryOp op;
};

constexpr BinaryRow kBinary[] = {
    {"Add", BinaryOp::kAdd}, {"Sub", BinaryOp::kSub}, {"Mul", BinaryOp::kMul},
    {"Div", BinaryOp::kDiv}, {"Min", BinaryOp::kMin}, {"Max", BinaryOp::kMax},
};

bool IsFloat(const NodeArg* value) {
  return value != nullptr && value->type().is_tensor() && value->type().elem == DataType::kFloat &&
         value->type().shape.ranked();
}

// A constant of one element that adds no dimension to a result of rank `rank`.
std::optional<float> ScalarOf(const NodeArg* value, std::size_t rank) {
  if (value == nullptr || !value->is_constant() || value->constant()->size() != 1 ||
      value->constant()->type() != DataType::kFloat || value->constant()->dims().size() > rank) {
    return std::nullopt;
  }
  return value->constant()->tensor().data<float>()[0];
}

int AddStep(Chain* chain, ProgramStep step) {
  chain->steps.push_back(step);
  return static_cast<int>(chain->inputs.size() + chain->steps.size()) - 1;
}

std::optional<Chain> UnaryChain(const Node& node) {
  Chain chain{{node.inputs()[0]}, {}};
  ProgramStep step;
  step.kind = Kind::kUnary;
  step.a = 0;
  if (node.OpType() == "Clip" && node.Domain().empty()) {
    constexpr float kLow = std::numeric_limits<float>::lowest(),
                    kHigh = std::numeric_limits<float>::max();
    step.op = static_cast<int>(UnaryOp::kClip);
    step.p0 = kLow;
    step.p1 = kHigh;
    if (node.SinceVersion() < 11) {
      step.p0 = node.attributes().Float("min", kLow);
      step.p1 = node.attributes().Float("max", kHigh);
    }
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      if (node.inputs()[i] == nullptr) continue;
      const auto bound = ScalarOf(node.inputs()[i], 1);
      if (!bound) return std::nullopt;
      (i == 1 ? step.p0 : step.p1) = *bound;
    }
    if (!(step.p0 <= step.p1)) return std::nullopt;
    AddStep(&chain, step);
    return chain;
  }
  for (const UnaryRow& row : kUnary) {
    if (row.op_type != node.OpType() || row.domain != node.Domain()) continue;
    if (node.inputs().size() != 1) return std::nullopt;
    step.op = static_cast<int>(row.op);
    if (row.p0 != nullptr) step.p0 = node.attributes().Float(row.p0, row.absent0);
    if (row.p1 != nullptr) step.p1 = node.attributes().Float(row.p1, row.absent1);
    AddStep(&chain, step);
    return chain;
  }
  return std::nullopt;
}

std::optional<Chain> BinaryChain(const Node& node) {
  const auto row = std::find_if(std::begin(kBinary), std::end(kBinary),
                                [&](const BinaryRow& r) { return r.op_type == node.OpType(); });
  if (row == std::end(kBinary) || !node.Domain().empty() || node.inputs().size() != 2 ||
      node.SinceVersion() < 7 || !IsFloat(node.inputs()[0]) || !IsFloat(node.inputs()[1])) {
    return std::nullopt;
  }
  Chain chain;
  ProgramStep step;
  step.kind = Kind::kBinary;
  step.op = static_cast<int>(row->op);
  int* operand[2] = {&step.a, &step.b};
  std::optional<float> scalar[2];
  for (std::size_t i = 0; i < 2; ++i) {
    scalar[i] = ScalarOf(node.inputs()[i], node.inputs()[1 - i]->type().shape.rank());
  }
  if (scalar[0] && scalar[1]) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    if (scalar[i]) continue;
    const bool repeated = !chain.inputs.empty() && chain.inputs[0] == node.inputs()[i];
    if (!repeated) chain.inputs.push_back(node.inputs()[i]);
    *operand[i] = static_cast<int>(chain.inputs.size()) - 1;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!scalar[i]) continue;
    ProgramStep constant;
    constant.kind = Kind::kConstant;
    constant.p0 = *scalar[i];
    *operand[i] = AddStep(&chain, constant);
  }
  AddStep(&chain, step);
  return chain;
}

std::optional<Chain> MapChain(const Node& node) {
  Chain chain{{node.inputs().begin(), node.inputs().end()}, {}};
  const auto steps = node.attributes().Ints("steps");
  const auto params = node.attributes().Floats("params");
  for (std::size_t s = 0; s < steps.size() / 5; ++s) {
    ProgramStep step;
    step.kind = static_cast<Kind>(steps[s * 5]);
    step.op = static_cast<int>(steps[s * 5 + 1]);
    step.a = static_cast<int>(steps[s * 5 + 2]);
    step.b = static_cast<int>(steps[s * 5 + 3]);
    step.c = static_cast<int>(steps[s * 5 + 4]);
    step.p0 = params[s * 2];
    step.p1 = params[s * 2 + 1];
    chain.steps.push_back(step);
  }
  return chain;
}

std::optional<Chain> ChainOf(const Node& node) {
  if (node.inputs().empty() || node.outputs().size() != 1 || !IsFloat(node.inputs()[0]) ||
      !IsFloat(node.outputs()[0])) {
    return std::nullopt;
  }
  if (node.OpType() == "Map" && node.Domain() == "sy") return MapChain(node);
  if (auto chain = UnaryChain(node)) return chain;
  return BinaryChain(node);
}

// `inner` makes input `slot` of `outer`: one chain of both. Empty when it would grow too long.
std::optional<Chain> Join(const Chain& inner, const Chain& outer, std::size_t slot) {
  Chain joined;
  const auto input_of = [&](NodeArg* value) {
    const auto at = std::find(joined.inputs.begin(), joined.inputs.end(), value);
    if (at != joined.inputs.end()) return static_cast<int>(at - joined.inputs.begin());
    joined.inputs.push_back(value);
    return static_cast<int>(joined.inputs.size()) - 1;
  };
  std::vector<int> inner_value, outer_value;
  for (NodeArg* input : inner.inputs) inner_value.push_back(input_of(input));
  for (std::size_t i = 0; i < outer.inputs.size(); ++i) {
    outer_value.push_back(i == slot ? -1 : input_of(outer.inputs[i]));
  }
  if (joined.inputs.size() > math::Program::kMaxInputs / 2 ||
      inner.steps.size() + outer.steps.size() > math::Program::kMaxSteps / 2) {
    return std::nullopt;
  }
  const auto append = [&](const Chain& from, std::vector<int>* value) {
    for (ProgramStep step : from.steps) {
      for (int* operand : {&step.a, &step.b, &step.c}) {
        if (*operand >= 0) *operand = (*value)[static_cast<std::size_t>(*operand)];
      }
      value->push_back(AddStep(&joined, step));
    }
  };
  append(inner, &inner_value);
  outer_value[slot] = inner_value.back();
  append(outer, &outer_value);
  return joined;
}

Attributes Encode(const Chain& chain) {
  std::vector<std::int64_t> steps;
  std::vector<float> params;
  for (const ProgramStep& step : chain.steps) {
    for (int number : {static_cast<int>(step.kind), step.op, step.a, step.b, step.c}) {
      steps.push_back(number);
    }
    params.push_back(step.p0);
    params.push_back(step.p1);
  }
  Attributes attributes;
  attributes.Set({"steps", std::move(steps)});
  attributes.Set({"params", std::move(params)});
  return attributes;
}

class MapPass final : public Pass {
 public:
  std::string_view name() const override { return "map_chains"; }
  PassStage stage() const override { return PassStage::kAll; }
  std::vector<std::string_view> after() const override { return {"conv_activation"}; }

  std::optional<Patch> Propose(const Graph& graph, const Node& node,
                               PassContext& context) const override {
    const auto outer = ChainOf(node);
    if (!outer) return std::nullopt;
    for (std::size_t slot = 0; slot < outer->inputs.size(); ++slot) {
      NodeArg* value = outer->inputs[slot];
      if (value->producer() == kNoNode || graph.is_output(value) ||
          !(value->type().shape == node.outputs()[0]->type().shape) || !OnlyReadBy(value, node)) {
        continue;
      }
      const Node& producer = *graph.node(value->producer());
      if (context.may_touch && !context.may_touch(producer)) continue;
      const auto inner = ChainOf(producer);
      if (!inner) continue;
      const auto joined = Join(*inner, *outer, slot);
      if (!joined || joined->inputs.empty()) continue;
      std::vector<Patch::Ref> inputs(joined->inputs.begin(), joined->inputs.end());
      Patch patch(graph);
      const auto outputs = patch.AddNode("Map", "sy", inputs, Encode(*joined), 1, node.Name(), 1);
      patch.ReplaceUses(node.outputs()[0], outputs[0]);
      return patch;
    }
    return std::nullopt;
  }

 private:
  static bool OnlyReadBy(const NodeArg* value, const Node& node) {
    return std::all_of(value->consumers().begin(), value->consumers().end(),
                       [&](NodeIndex index) { return index == node.Index(); });
  }
};

}  // namespace

void Register(PassRegistry& registry) { registry.Register(std::make_unique<MapPass>()); }

}  // namespace switchyard::cpu::passes::map_chains
