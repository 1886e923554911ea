// softmax(scale * Q K^T + mask) V, written out with matrix products, becomes Attention, or
// MultiHeadAttention. Heads are taken from and left in [batch, length, heads * size] where the
// graph splits and merges them.
#include "passes/rewrite.h"

namespace switchyard::passes::extended::attention {
namespace {

using Order = std::vector<std::int64_t>;

// The input of a Transpose with that order.
const NodeArg* TransposedFrom(const Graph& graph, const NodeArg* value, const Order& order) {
  const Node* node = ProducerOf(graph, value, "Transpose");
  if (node == nullptr) return nullptr;
  const auto perm = node->attributes().Ints("perm");
  return Order(perm.begin(), perm.end()) == order ? node->inputs()[0] : nullptr;
}

// What `value` is a constant multiple of; multiplies `factor` by the constants.
const NodeArg* Unscaled(const Graph& graph, const NodeArg* value, double* factor) {
  while (HasOneReader(graph, value)) {
    const Node* quotient = ProducerOf(graph, value, "Div");
    const Node* product = ProducerOf(graph, value, "Mul");
    const Node* node = quotient != nullptr ? quotient : product;
    if (node == nullptr) break;
    const std::size_t last = quotient != nullptr ? 1 : 2;
    const NodeArg* inner = nullptr;
    for (std::size_t side = 0; side < last && inner == nullptr; ++side) {
      const auto constant = OneReal(node->inputs()[1 - side]);
      if (!constant || *constant == 0) continue;
      inner = node->inputs()[side];
      *factor = quotient != nullptr ? *factor / *constant : *factor * *constant;
    }
    // A constant of higher rank would make a value of another shape.
    if (inner == nullptr || !SameTypeAndShape(inner, value)) break;
    value = inner;
  }
  return value;
}

bool IsRank(const NodeArg* value, std::size_t rank) {
  return value != nullptr && value->type().is_tensor() && value->type().shape.ranked() &&
         value->type().shape.rank() == rank;
}

// One of Q, K, V.
struct Operand {
  const NodeArg* heads_first = nullptr;   // [batch, heads, length, size], or nullptr
  const NodeArg* heads_second = nullptr;  // [batch, length, heads, size], or nullptr
  const NodeArg* flat = nullptr;          // [batch, length, heads * size], or nullptr
  Dim batch, heads, length, size;
};

void FindFlat(const Graph& graph, Operand* operand) {
  const Node* split = ProducerOf(graph, operand->heads_second, "Reshape");
  if (split == nullptr || !IsRank(split->inputs()[0], 3)) return;
  const Shape& shape = split->inputs()[0]->type().shape;
  if (!operand->heads.is_value() || !operand->size.is_value() || !shape[2].is_value()) return;
  if (shape[2].value() != operand->heads.value() * operand->size.value()) return;
  // One of the two being the same, the number of elements makes the other one the same.
  if (shape[0] == operand->batch || shape[1] == operand->length) operand->flat = split->inputs()[0];
}

std::optional<Operand> HeadsFirst(const Graph& graph, const NodeArg* value) {
  if (!IsRank(value, 4)) return std::nullopt;
  const Shape& shape = value->type().shape;
  Operand operand;
  operand.heads_first = value;
  operand.heads_second = TransposedFrom(graph, value, {0, 2, 1, 3});
  operand.batch = shape[0];
  operand.heads = shape[1];
  operand.length = shape[2];
  operand.size = shape[3];
  FindFlat(graph, &operand);
  return operand;
}

// From [batch, heads, size, length].
std::optional<Operand> Keys(const Graph& graph, const NodeArg* value) {
  if (!IsRank(value, 4)) return std::nullopt;
  if (const NodeArg* rows = TransposedFrom(graph, value, {0, 1, 3, 2}))
    return HeadsFirst(graph, rows);
  Operand operand;
  operand.heads_second = TransposedFrom(graph, value, {0, 2, 3, 1});
  if (operand.heads_second == nullptr) return std::nullopt;
  const Shape& shape = value->type().shape;
  operand.batch = shape[0];
  operand.heads = shape[1];
  operand.length = shape[3];
  operand.size = shape[2];
  FindFlat(graph, &operand);
  return operand;
}

enum class MaskFit : std::uint8_t { kNone, kBroadcast, kProven };

struct Match {
  Operand q, k, v;
  const NodeArg* mask = nullptr;
  MaskFit fit = MaskFit::kProven;
  double scale = 1;
};

// What is known of a mask that is added to `scores`: that it is none, that it has their rank, that
// it has a value for each key and does not make the scores larger.
MaskFit FitOf(const NodeArg* mask, const NodeArg* scores, const NodeArg* sum) {
  const Shape& shape = mask->type().shape;
  if (!mask->type().is_tensor() || !shape.ranked() || shape.rank() < 2 || shape.rank() > 4)
    return MaskFit::kNone;
  const Shape& whole = scores->type().shape;
  bool proven = SameTypeAndShape(scores, sum), possible = shape.rank() == 4;
  for (std::size_t i = 1; i <= shape.rank(); ++i) {
    const Dim& dim = shape[shape.rank() - i];
    const bool one = dim.is_value() && dim.value() == 1;
    proven &= dim == whole[4 - i] || (one && i > 1);
    // Batch and heads must be told apart from ones that broadcast.
    possible &= i < 3 || one || dim == whole[4 - i];
  }
  if (proven) return MaskFit::kProven;
  return possible ? MaskFit::kBroadcast : MaskFit::kNone;
}

// The product of queries and keys below `scores`, which are what Softmax reads.
bool MatchScores(const Graph& graph, const NodeArg* scores, Match* match) {
  if (!IsRank(scores, 4) || !HasOneReader(graph, scores)) return false;
  const NodeArg* inner = Unscaled(graph, scores, &match->scale);
  const Node* sum = inner == scores ? ProducerOf(graph, scores, "Add") : nullptr;
  for (std::size_t side = 0; sum != nullptr && side < 2; ++side) {
    double scale = 1;
    const NodeArg* product = Unscaled(graph, sum->inputs()[side], &scale);
    if (ProducerOf(graph, product, "MatMul") == nullptr) continue;
    match->mask = sum->inputs()[1 - side];
    match->fit = FitOf(match->mask, sum->inputs()[side], scores);
    if (match->fit == MaskFit::kNone) return false;
    match->scale = scale;
    inner = product;
    break;
  }
  const Node* product = ProducerOf(graph, inner, "MatMul");
  if (product == nullptr || !HasOneReader(graph, inner)) return false;
  const auto q = HeadsFirst(graph, Unscaled(graph, product->inputs()[0], &match->scale));
  const auto k = Keys(graph, Unscaled(graph, product->inputs()[1], &match->scale));
  if (!q || !k) return false;
  match->q = *q;
  match->k = *k;
  return match->scale > 0;
}

// The weights that Softmax makes; rows of nothing but NaN may be set to zero afterwards, which
// Attention does by itself.
const Node* SoftmaxOf(const Graph& graph, const NodeArg* weights) {
  if (!HasOneReader(graph, weights)) return nullptr;
  if (const Node* choice = ProducerOf(graph, weights, "Where")) {
    const NodeArg* kept = choice->inputs()[2];
    const Node* test = ProducerOf(graph, choice->inputs()[0], "IsNaN");
    if (test == nullptr || test->inputs()[0] != kept || OneReal(choice->inputs()[1]) != 0.0 ||
        kept->consumers().size() != 2 || graph.is_output(kept) ||
        !SameTypeAndShape(kept, weights)) {
      return nullptr;
    }
    weights = kept;
  }
  const Node* softmax = ProducerOf(graph, weights, "Softmax");
  if (softmax == nullptr) return nullptr;
  const std::int64_t axis =
      softmax->attributes().Int("axis", softmax->SinceVersion() < 13 ? 1 : -1);
  return axis == -1 || axis == 3 ? softmax : nullptr;
}

std::optional<Match> MatchAll(const Graph& graph, const Node& node) {
  const Node* softmax = SoftmaxOf(graph, node.inputs()[0]);
  Match match;
  if (softmax == nullptr || !MatchScores(graph, softmax->inputs()[0], &match)) return std::nullopt;
  const auto v = HeadsFirst(graph, node.inputs()[1]);
  if (!v) return std::nullopt;
  match.v = *v;
  const auto same_heads = [&](const Operand& o) {
    return o.batch == match.q.batch && o.heads == match.q.heads;
  };
  if (!same_heads(match.k) || !same_heads(match.v)) return std::nullopt;
  return match;
}

// The Reshape that merges the heads of `value`, read through a Transpose; nullptr: something else.
const Node* MergeOf(const Graph& graph, const NodeArg* value) {
  if (!HasOneReader(graph, value)) return nullptr;
  const Node& transpose = *graph.node(value->consumers()[0]);
  const NodeArg* moved = transpose.outputs()[0];
  if (!IsOp(transpose, "Transpose") || TransposedFrom(graph, moved, {0, 2, 1, 3}) == nullptr ||
      !HasOneReader(graph, moved)) {
    return nullptr;
  }
  const Node* merge = graph.node(moved->consumers()[0]);
  if (!IsOp(*merge, "Reshape") || merge->inputs()[0] != moved) return nullptr;
  // A size of 0 copies the dim at its place: only those of batch and length stay where they are.
  const NodeArg* shape = InputOf(*merge, 1);
  const auto known = KnownInts(shape);
  if (!known) return shape != nullptr && shape->info().has_value ? merge : nullptr;
  for (std::size_t i = 2; i < known->size(); ++i) {
    if ((*known)[i] == 0) return nullptr;
  }
  return merge;
}

Patch::Ref HeadsFirstRef(Patch* patch, const Operand& operand) {
  if (operand.heads_first != nullptr) return Mutable(operand.heads_first);
  Attributes attributes;
  attributes.Set({"perm", std::vector<std::int64_t>{0, 2, 1, 3}});
  return patch->AddNode1("Transpose", "", {Mutable(operand.heads_second)}, std::move(attributes));
}

// For masks that are known to fit only when it runs: MultiHeadAttention broadcasts them.
Patch::Ref AddMultiHead(Patch* patch, const Match& match, std::string_view name) {
  Attributes attributes;
  attributes.Set({"num_heads", match.q.heads.value()});
  attributes.Set({"scale", static_cast<float>(match.scale)});
  const Patch::Ref inputs[] = {Mutable(match.q.flat), Mutable(match.k.flat), Mutable(match.v.flat),
                               Patch::Ref(),          Patch::Ref(),          Mutable(match.mask)};
  return patch->AddNode("MultiHeadAttention", "com.microsoft", inputs, std::move(attributes), 1,
                        name, 1)[0];
}

Patch::Ref AddAttention(Patch* patch, const Match& match, bool flat, std::string_view name) {
  Attributes attributes;
  attributes.Set({"scale", static_cast<float>(match.scale)});
  std::vector<Patch::Ref> inputs;
  for (const Operand* operand : {&match.q, &match.k, &match.v})
    inputs.push_back(flat ? Patch::Ref(Mutable(operand->flat)) : HeadsFirstRef(patch, *operand));
  if (flat) {
    attributes.Set({"q_num_heads", match.q.heads.value()});
    attributes.Set({"kv_num_heads", match.q.heads.value()});
  }
  if (match.mask != nullptr) inputs.emplace_back(Mutable(match.mask));
  return patch->AddNode("Attention", "", inputs, std::move(attributes), 1, name, 23)[0];
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  const auto match = MatchAll(graph, node);
  if (!match) return std::nullopt;
  const Node* merge = MergeOf(graph, node.outputs()[0]);
  const bool flat = merge != nullptr && match->q.flat != nullptr && match->k.flat != nullptr &&
                    match->v.flat != nullptr;
  if (match->fit == MaskFit::kBroadcast && !flat) return std::nullopt;
  Patch patch(graph);
  const Patch::Ref made = match->fit == MaskFit::kBroadcast
                              ? AddMultiHead(&patch, *match, node.Name())
                              : AddAttention(&patch, *match, flat, node.Name());
  if (flat) {
    patch.SetInput(*merge, 0, made);
  } else {
    patch.ReplaceUses(node.outputs()[0], made);
  }
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(
      MakePass({"attention", {"MatMul"}, Propose, Exactness::kRounding, PassStage::kExtended}));
}

}  // namespace switchyard::passes::extended::attention
