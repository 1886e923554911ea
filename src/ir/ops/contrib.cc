// Operators of com.microsoft: dense layers, activations, normalisation, quantised elementwise.
// Those that equal an operator of the standard are registered beside it.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::contrib {
namespace {

void InferSame(InferenceContext& ctx) { CopyType(ctx, 0, 0); }

void InferSkipNorm(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 2, 3);
  CopyType(ctx, 0, 0);
  Shape statistics = x;
  if (x.ranked()) statistics[x.rank() - 1] = Dim(1);
  for (std::size_t i = 1; i < 3; ++i) {
    if (ctx.has_output(i)) ctx.SetTensor(i, DataType::kFloat, statistics);
  }
  CopyType(ctx, 0, 3);
}

void InferSkipGroupNorm(InferenceContext& ctx) {
  CopyType(ctx, 0, 0);
  CopyType(ctx, 0, 1);
}

void InferEmbed(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input_ids", 2, 2);
  CheckRank(ctx, 2, "word_embedding", 2, 2);
  const Shape& ids = ctx.input_shape(0);
  const Shape& words = ctx.input_shape(2);
  const Dim batch = ids.ranked() ? ids[0] : Dim();
  const Shape out = {batch, ids.ranked() ? ids[1] : Dim(), words.ranked() ? words[1] : Dim()};
  ctx.SetTensor(0, ctx.input_elem(2), out);
  // How long each sequence is; nobody reads it where there is no mask.
  if (ctx.has_output(1)) ctx.SetTensor(1, DataType::kInt32, {batch});
  if (ctx.has_output(2)) ctx.SetTensor(2, ctx.input_elem(2), out);
}

// Batch dims rotated to the front: [b, ..., m] becomes [..., b, m].
Shape RotateBatch(const Shape& x) {
  Shape out = Shape::Scalar();
  for (std::size_t i = 1; i + 1 < x.rank(); ++i) out.push_back(x[i]);
  out.push_back(x[0]);
  out.push_back(x[x.rank() - 1]);
  return out;
}

Shape Operand(const InferenceContext& ctx, std::size_t input, std::string_view trans,
              std::string_view batch) {
  Shape x = ctx.input_shape(input);
  if (!x.ranked() || x.rank() < 2) return x;
  if (ctx.attributes().Int(batch, 0) != 0) x = RotateBatch(x);
  if (ctx.attributes().Int(trans, 0) != 0) std::swap(x[x.rank() - 1], x[x.rank() - 2]);
  return x;
}

void InferFusedMatMul(InferenceContext& ctx) {
  const Shape a = Operand(ctx, 0, "transA", "transBatchA");
  const Shape b = Operand(ctx, 1, "transB", "transBatchB");
  ctx.SetTensor(0, ctx.input_elem(0), MatMulShape(ctx, a, b));
}

void InferSparseMatMul(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(1), GemmShape(ctx, 0, 1));
}

void InferGemm(InferenceContext& ctx) { ctx.SetTensor(0, ctx.input_elem(0), GemmShape(ctx, 0, 1)); }

// [..., K] times a packed weight whose sizes are attributes.
void InferPackedMatMul(InferenceContext& ctx) {
  const Shape& a = ctx.input_shape(0);
  const Dim k(ctx.attributes().Int("K", 0));
  CheckRank(ctx, 0, "A", 1);
  Shape out = a;
  if (a.ranked()) {
    Same(ctx, a[a.rank() - 1], k, "the last dim of A and K");
    out[a.rank() - 1] = Dim(ctx.attributes().Int("N", 0));
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferMatMulFpQ4(InferenceContext& ctx) {
  const Shape& a = ctx.input_shape(0);
  Shape out = a;
  Ints shape;
  if (a.ranked() && a.rank() > 0) {
    const bool known = ctx.ReadInts(2, &shape) && shape.size() == 2;
    out[a.rank() - 1] = known ? shape[1] : Dim();
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferQuantizedMatMul(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(2), MatMulShape(ctx, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferMatMulInteger16(InferenceContext& ctx) {
  const bool is_signed = ctx.input_elem(0) == DataType::kInt16;
  ctx.SetTensor(0, is_signed ? DataType::kInt32 : DataType::kUint32,
                MatMulShape(ctx, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferQGemm(InferenceContext& ctx) {
  const bool quantized = ctx.has_input(7);
  ctx.SetTensor(0, quantized ? ctx.input_elem(0) : DataType::kFloat, GemmShape(ctx, 0, 3));
}

// Inputs of quantised elementwise operators come as (value, scale, zero point).
void InferQLinearBinary(InferenceContext& ctx) {
  const Shape& a = ctx.input_shape(0);
  const Shape& b = ctx.input_shape(3);
  std::optional<Shape> out = BroadcastShapes(a, b);
  if (!out.has_value()) {
    ctx.Fail("shapes " + a.ToString() + " and " + b.ToString() + " do not broadcast");
  }
  ctx.SetTensor(0, ctx.input_elem(0), a.ranked() && b.ranked() ? *std::move(out) : Shape());
}

void InferQLinearWhere(InferenceContext& ctx) {
  Shape out = ctx.input_shape(0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{4}}) {
    if (!out.ranked() || !ctx.input_shape(i).ranked())
      return ctx.SetTensor(0, ctx.input_elem(1), {});
    std::optional<Shape> both = BroadcastShapes(out, ctx.input_shape(i));
    if (!both.has_value()) ctx.Fail("condition, X and Y do not broadcast");
    out = *std::move(both);
  }
  ctx.SetTensor(0, ctx.input_elem(1), std::move(out));
}

void InferQLinearConcat(InferenceContext& ctx) {
  const Shape& first = ctx.input_shape(2);
  ctx.SetTensor(0, ctx.input_elem(1), {});
  if (!first.ranked()) return;
  const auto axis =
      static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), first.rank()));
  Shape out = first;
  for (std::size_t i = 5; i < ctx.num_inputs(); i += 3) {
    const Shape& x = ctx.input_shape(i);
    if (x.ranked() && x.rank() != out.rank()) {
      FailInput(ctx, i, "inputs", "the rank of shape " + first.ToString(), x.ToString());
    }
    for (std::size_t d = 0; d < out.rank(); ++d) {
      const Dim size = x.ranked() ? x[d] : Dim();
      out[d] = d == axis ? out[d] + size : Same(ctx, out[d], size, "dims of the inputs");
    }
  }
  ctx.SetTensor(0, ctx.input_elem(1), std::move(out));
}

void InferGlobalPool(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "X", 2);
  const bool channels_last = ctx.attributes().Int("channels_last", 0) != 0;
  Shape out = x;
  for (std::size_t i = 1; x.ranked() && i < x.rank(); ++i) {
    const bool channel = channels_last ? i + 1 == x.rank() : i == 1;
    if (!channel) out[i] = Dim(1);
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferBiasSplitGelu(InferenceContext& ctx) {
  Shape out = ctx.input_shape(0);
  if (out.ranked() && out.rank() > 0) {
    out[out.rank() - 1] = FloorDiv(out[out.rank() - 1], Dim(2));
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferBiasDropout(InferenceContext& ctx) {
  CopyType(ctx, 0, 0);
  CopyShape(ctx, 0, 1, DataType::kBool);
}

void InferCDist(InferenceContext& ctx) {
  CheckRank(ctx, 0, "A", 2, 2);
  CheckRank(ctx, 1, "B", 2, 2);
  const Shape& a = ctx.input_shape(0);
  const Shape& b = ctx.input_shape(1);
  ctx.SetTensor(0, ctx.input_elem(0), {a.ranked() ? a[0] : Dim(), b.ranked() ? b[0] : Dim()});
}

void InferExpandDims(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank() + 1) : Shape());
  Axes axis;
  if (!x.ranked() || !ReadNumbers(ctx, 1, &axis) || axis.size() != 1) return;
  const auto at = static_cast<std::size_t>(ctx.Axis(axis[0], x.rank() + 1));
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i <= x.rank(); ++i) {
    if (i == at) out.push_back(Dim(1));
    if (i < x.rank()) out.push_back(x[i]);
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferGatherBlockQuantized(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  ctx.SetTensor(0, ctx.input_elem(2), {});
  if (!x.ranked() || !indices.ranked()) return;
  const auto axis =
      static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("gather_axis", 0), x.rank()));
  ctx.Axis(ctx.attributes().Int("quantize_axis", 1), x.rank(), "quantize_axis");
  // Bytes hold several elements along the last dim.
  const std::int64_t bits = ctx.attributes().Int("bits", 4);
  const bool bytes = ctx.input_elem(0) == DataType::kUint8 && bits > 0 && bits <= 8;
  const std::int64_t packed = bytes ? 8 / bits : 1;
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i == axis) {
      for (const Dim& d : indices) out.push_back(d);
    } else {
      out.push_back(i + 1 == x.rank() ? x[i] * Dim(packed) : x[i]);
    }
  }
  ctx.SetTensor(0, ctx.input_elem(2), std::move(out));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  const auto add = [&registry](std::string_view op, InferenceFn fn) {
    registry.Register("com.microsoft", op, 1, 0, fn);
  };
  for (const char* op :
       {"Gelu", "FastGelu", "BiasGelu", "QuickGelu", "BiasAdd", "BiasSoftmax", "GroupNorm",
        "ComplexMul", "ComplexMulConj", "Inverse", "Trilu", "QLinearLeakyRelu", "QLinearSigmoid",
        "QLinearSoftmax", "MoE", "QMoE", "GatedRMSNorm", "GatedAdd", "RotaryEmbedding"}) {
    add(op, InferSame);
  }
  add("SkipLayerNormalization", InferSkipNorm);
  add("SkipSimplifiedLayerNormalization", InferSkipNorm);
  add("SkipGroupNorm", InferSkipGroupNorm);
  add("EmbedLayerNormalization", InferEmbed);
  for (const char* op : {"FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"}) {
    add(op, InferFusedMatMul);
  }
  add("SparseToDenseMatMul", InferSparseMatMul);
  add("FusedGemm", InferGemm);
  add("GemmFastGelu", InferFusedMatMul);
  add("MatMulNBits", InferPackedMatMul);
  add("MatMulBnb4", InferPackedMatMul);
  add("MatMulFpQ4", InferMatMulFpQ4);
  add("DynamicQuantizeMatMul", InferQuantizedMatMul);
  add("MatMulIntegerToFloat", InferQuantizedMatMul);
  add("MatMulInteger16", InferMatMulInteger16);
  add("QGemm", InferQGemm);
  add("QLinearAdd", InferQLinearBinary);
  add("QLinearMul", InferQLinearBinary);
  add("QLinearWhere", InferQLinearWhere);
  add("QLinearConcat", InferQLinearConcat);
  add("QLinearGlobalAveragePool", InferGlobalPool);
  add("BiasSplitGelu", InferBiasSplitGelu);
  add("BiasDropout", InferBiasDropout);
  add("CDist", InferCDist);
  add("ExpandDims", InferExpandDims);
  add("GatherBlockQuantized", InferGatherBlockQuantized);
}

}  // namespace switchyard::ir::ops::contrib
