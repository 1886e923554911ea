// Attention and its relatives of the standard domains.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::attention {
namespace {

// The dims of queries, keys or values in either layout: [batch, heads, length, size], or
// [batch, length, heads * size].
struct Heads {
  Dim batch;
  Dim heads;
  Dim length;
  Dim size;
};

Heads ReadHeads(const InferenceContext& ctx, std::size_t input, std::string_view name,
                std::string_view heads_attribute) {
  CheckRank(ctx, input, name, 3, 4);
  const Shape& x = ctx.input_shape(input);
  if (!x.ranked()) return {};
  if (x.rank() == 4) return {x[0], x[1], x[2], x[3]};
  const std::int64_t heads = ctx.attributes().Int(heads_attribute, 0);
  if (heads < 1) ctx.Fail("attribute '" + std::string(heads_attribute) + "' is missing");
  if (x[2].is_value() && x[2].value() % heads != 0) {
    FailInput(ctx, input, name, "a last dim divisible by " + std::to_string(heads) + " heads",
              x.ToString());
  }
  return {x[0], Dim(heads), x[1], FloorDiv(x[2], Dim(heads))};
}

Dim PastLength(const InferenceContext& ctx, std::size_t input, std::string_view name) {
  if (!ctx.has_input(input)) return Dim(0);
  CheckRank(ctx, input, name, 4, 4);
  const Shape& past = ctx.input_shape(input);
  return past.ranked() ? past[2] : Dim();
}

void InferAttention(InferenceContext& ctx) {
  const Heads q = ReadHeads(ctx, 0, "Q", "q_num_heads");
  const Heads k = ReadHeads(ctx, 1, "K", "kv_num_heads");
  const Heads v = ReadHeads(ctx, 2, "V", "kv_num_heads");
  const Shape& queries = ctx.input_shape(0);
  const DataType elem = ctx.input_elem(0);
  Same(ctx, q.size, k.size, "the head sizes of Q and K");
  Same(ctx, k.length, v.length, "the lengths of K and V");
  if (!queries.ranked()) {
    ctx.SetTensor(0, elem, {});
  } else if (queries.rank() == 4) {
    ctx.SetTensor(0, elem, {q.batch, q.heads, q.length, v.size});
  } else {
    ctx.SetTensor(0, elem, {q.batch, q.length, q.heads * v.size});
  }
  const Dim total = PastLength(ctx, 4, "past_key") + k.length;
  ctx.SetTensor(1, ctx.input_elem(1), {k.batch, k.heads, total, k.size});
  ctx.SetTensor(2, ctx.input_elem(2),
                {v.batch, v.heads, PastLength(ctx, 5, "past_value") + v.length, v.size});
  ctx.SetTensor(3, elem, {q.batch, q.heads, q.length, total});
}

void InferFlexAttention(InferenceContext& ctx) {
  constexpr std::string_view kNames[] = {"Q", "K", "V"};
  for (std::size_t i = 0; i < 3; ++i) CheckRank(ctx, i, kNames[i], 4, 4);
  const Shape& q = ctx.input_shape(0);
  const Shape& v = ctx.input_shape(2);
  Shape out = q;
  if (q.ranked()) out[3] = v.ranked() ? v[3] : Dim();
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferRotaryEmbedding(InferenceContext& ctx) {
  CheckRank(ctx, 0, "X", 3, 4);
  CopyType(ctx, 0, 0);
}

void InferLinearAttention(InferenceContext& ctx) {
  const Heads q = ReadHeads(ctx, 0, "query", "q_num_heads");
  const Heads k = ReadHeads(ctx, 1, "key", "kv_num_heads");
  const Heads v = ReadHeads(ctx, 2, "value", "kv_num_heads");
  CheckRank(ctx, 3, "past_state", 4, 4);
  ctx.SetTensor(0, ctx.input_elem(0), {q.batch, q.length, q.heads * v.size});
  const DataType state = ctx.has_input(3) && ctx.input_elem(3) != DataType::kUndefined
                             ? ctx.input_elem(3)
                             : ctx.input_elem(0);
  ctx.SetTensor(1, state, {q.batch, k.heads, k.size, v.size});
}

void InferCausalConv(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input", 3, 3);
  CheckRank(ctx, 1, "weight", 3, 3);
  const Shape& x = ctx.input_shape(0);
  const Shape& w = ctx.input_shape(1);
  CopyType(ctx, 0, 0);
  ctx.SetTensor(
      1, ctx.input_elem(0),
      {x.ranked() ? x[0] : Dim(), x.ranked() ? x[1] : Dim(), w.ranked() ? w[2] - Dim(1) : Dim()});
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("Attention", InferAttention);
  registry.Register("RotaryEmbedding", InferRotaryEmbedding);
  registry.Register("LinearAttention", InferLinearAttention);
  registry.Register("CausalConvWithState", InferCausalConv);
  registry.Register("com.microsoft", "LinearAttention", 1, 0, InferLinearAttention);
  registry.Register("ai.onnx.preview", "FlexAttention", 1, 0, InferFlexAttention);
}

}  // namespace switchyard::ir::ops::attention
