// Attention operators of com.microsoft. Names of dims: B batch, S queries, T keys with the past,
// N heads, H head size, D hidden.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::contrib_attention {
namespace {

std::int64_t HeadCount(const InferenceContext& ctx, std::string_view name) {
  const std::int64_t heads = ctx.attributes().Int(name, 0);
  if (heads < 1) ctx.Fail("attribute '" + std::string(name) + "' is missing or less than 1");
  return heads;
}

// Whether the past's buffer has room for the present: then both are one size.
bool SharesBuffer(const InferenceContext& ctx) {
  return ctx.attributes().Int("past_present_share_buffer", 0) != 0;
}

// Attention and QAttention: the projection's weight is [D, Dq+Dk+Dv]; past is [2,B,N,P,H].
void InferProjected(InferenceContext& ctx, std::size_t past_at, DataType elem) {
  CheckRank(ctx, 0, "input", 3, 3);
  CheckRank(ctx, 1, "weights", 2, 2);
  const Shape& x = ctx.input_shape(0);
  const Shape& w = ctx.input_shape(1);
  const Dim heads(HeadCount(ctx, "num_heads"));
  const std::span<const std::int64_t> sizes = IntsOfSize(ctx, "qkv_hidden_sizes", 3);
  if (x.ranked() && w.ranked()) Same(ctx, x[2], w[0], "the hidden sizes of input and weights");
  const Dim third = w.ranked() ? FloorDiv(w[1], Dim(3)) : Dim();
  const Dim value_size = sizes.empty() ? third : Dim(sizes[2]);
  const Dim batch = x.ranked() ? x[0] : Dim();
  const Dim length = x.ranked() ? x[1] : Dim();
  ctx.SetTensor(0, elem, {batch, length, value_size});
  if (!ctx.has_output(1)) return;
  const Shape& past = ctx.input_shape(past_at);
  CheckRank(ctx, past_at, "past", 5, 5);
  Dim total = length;
  if (ctx.has_input(past_at)) {
    const Dim before = past.ranked() ? past[3] : Dim();
    total = SharesBuffer(ctx) ? before : before + length;
  }
  ctx.SetTensor(1, elem, {Dim(2), batch, heads, total, FloorDiv(value_size, heads)});
}

void InferAttention(InferenceContext& ctx) { InferProjected(ctx, 4, ctx.input_elem(0)); }
void InferQAttention(InferenceContext& ctx) { InferProjected(ctx, 8, ctx.input_elem(3)); }

// Keys or values in one of the layouts of MultiHeadAttention.
struct KeyDims {
  Dim length;
  Dim width;  // N * H
};

KeyDims ReadKeys(const Shape& x) {
  if (!x.ranked()) return {};
  // Packed with the values [B,T,N,2,H], by heads [B,N,T,H], or flat [B,T,D].
  if (x.rank() == 5) return {x[1], x[2] * x[4]};
  if (x.rank() == 4) return {x[2], x[1] * x[3]};
  return {x[1], x[x.rank() - 1]};
}

void InferMultiHead(InferenceContext& ctx, std::size_t past_at) {
  CheckRank(ctx, 0, "query", 3, 5);
  CheckRank(ctx, 1, "key", 3, 5);
  CheckRank(ctx, 2, "value", 3, 4);
  const Shape& q = ctx.input_shape(0);
  const Dim heads(HeadCount(ctx, "num_heads"));
  const DataType elem = ctx.input_elem(0);
  if (!q.ranked()) return ctx.SetTensor(0, elem, {});
  const bool packed = q.rank() == 5;
  const Dim width = packed ? q[2] * q[4] : q[2];
  const Dim length = q[1];
  KeyDims k = packed ? KeyDims{length, width} : ReadKeys(ctx.input_shape(1));
  KeyDims v = ctx.has_input(2) ? ReadKeys(ctx.input_shape(2)) : k;
  if (!packed && !ctx.has_input(1)) k = v = {length, FloorDiv(width, Dim(3))};
  const Dim out_width = packed || ctx.has_input(1) ? v.width : k.width;
  ctx.SetTensor(0, elem, {q[0], length, out_width});
  const Shape& past = ctx.input_shape(past_at);
  Dim total = k.length;
  if (ctx.has_input(past_at)) {
    CheckRank(ctx, past_at, "past_key", 4, 4);
    const Dim before = past.ranked() ? past[2] : Dim();
    total = SharesBuffer(ctx) ? before : before + k.length;
  }
  ctx.SetTensor(1, elem, {q[0], heads, total, FloorDiv(k.width, heads)});
  ctx.SetTensor(2, elem, {q[0], heads, total, FloorDiv(v.width, heads)});
  ctx.SetTensor(3, elem, {q[0], heads, length, total});
}

void InferMultiHeadAttention(InferenceContext& ctx) { InferMultiHead(ctx, 6); }
void InferDecoderMasked(InferenceContext& ctx) { InferMultiHead(ctx, 5); }

// The present holds `total_sequence_length` keys, or as many as the past's buffer if that is
// longer.
void InferGroupQuery(InferenceContext& ctx, std::size_t total_at) {
  CheckRank(ctx, 0, "query", 3, 3);
  const Shape& q = ctx.input_shape(0);
  const Dim heads(HeadCount(ctx, "num_heads"));
  const Dim kv_heads(HeadCount(ctx, "kv_num_heads"));
  const bool packed = !ctx.has_input(1);
  const Dim batch = q.ranked() ? q[0] : Dim();
  const Dim length = q.ranked() ? q[1] : Dim();
  const Dim parts = packed ? heads + kv_heads * Dim(2) : heads;
  const Dim size = q.ranked() ? FloorDiv(q[2], parts) : Dim();
  ctx.SetTensor(0, ctx.input_elem(0), {batch, length, size * heads});
  Dim total;
  Ints given;
  const bool known = ctx.ReadInts(total_at, &given) && given.size() == 1;
  const Shape& past = ctx.input_shape(3);
  Dim cache_size = size;
  if (ctx.has_input(3)) {
    CheckRank(ctx, 3, "past_key", 4, 4);
    if (past.ranked()) cache_size = past[3];
    if (known && past.ranked()) total = Max(given[0], past[2]);
  } else if (known) {
    total = given[0];
  }
  const DataType cache = ctx.has_input(3) ? ctx.input_elem(3) : ctx.input_elem(0);
  ctx.SetTensor(1, cache, {batch, kv_heads, total, cache_size});
  ctx.SetTensor(2, cache, {batch, kv_heads, total, cache_size});
  if (ctx.has_output(3)) {
    ctx.SetTensor(3, ctx.input_elem(0), {batch, heads, length, known ? given[0] : Dim()});
  }
}

void InferGroupQueryAttention(InferenceContext& ctx) { InferGroupQuery(ctx, 6); }
void InferSparseAttention(InferenceContext& ctx) { InferGroupQuery(ctx, 7); }

}  // namespace

void Register(InferenceRegistry& registry) {
  const auto add = [&registry](std::string_view op, InferenceFn fn) {
    registry.Register("com.microsoft", op, 1, 0, fn);
  };
  add("Attention", InferAttention);
  add("QAttention", InferQAttention);
  add("MultiHeadAttention", InferMultiHeadAttention);
  add("DecoderMaskedMultiHeadAttention", InferDecoderMasked);
  add("GroupQueryAttention", InferGroupQueryAttention);
  add("SparseAttention", InferSparseAttention);
}

}  // namespace switchyard::ir::ops::contrib_attention
