// Operators that pick or place elements by index, or by condition.

#include <algorithm>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::gather {
namespace {

void FollowGather(InferenceContext& ctx) {
  Ints values;
  Ints indices;
  if (ctx.input_shape(1).rank() > 1 || !ctx.PeekInts(0, &values) || !ctx.PeekInts(1, &indices)) {
    return;
  }
  const auto size = static_cast<std::int64_t>(values.size());
  Ints out;
  for (const Dim& index : indices) {
    const std::int64_t at = index.value_or(size);
    const bool inside = index.is_value() && at >= -size && at < size;
    if (!inside && index.is_value()) {
      ctx.Fail("index " + index.ToString() + " is outside an axis of " + std::to_string(size));
    }
    out.push_back(inside ? values[static_cast<std::size_t>(at < 0 ? at + size : at)] : Dim());
  }
  ctx.SetInts(0, out);
}

void InferGather(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  CheckRank(ctx, 0, "data", 1);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  const auto axis = static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), x.rank()));
  if (!indices.ranked()) return;
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i < axis; ++i) out.push_back(x[i]);
  for (const Dim& d : indices) out.push_back(d);
  for (std::size_t i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  if (x.rank() == 1) FollowGather(ctx);
}

void InferGatherElements(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  if (x.ranked()) ctx.Axis(ctx.attributes().Int("axis", 0), x.rank());
  if (x.ranked() && indices.ranked() && x.rank() != indices.rank()) {
    FailInput(ctx, 1, "indices", "the rank of data of shape " + x.ToString(), indices.ToString());
  }
  CopyShape(ctx, 1, 0, ctx.input_elem(0));
}

void InferGatherND(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  CheckRank(ctx, 0, "data", 1);
  CheckRank(ctx, 1, "indices", 1);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked() || !indices.ranked() || !indices[indices.rank() - 1].is_value()) return;
  const auto batch =
      static_cast<std::size_t>(std::max<std::int64_t>(ctx.attributes().Int("batch_dims", 0), 0));
  const std::int64_t depth = indices[indices.rank() - 1].value();
  const std::size_t used = batch + static_cast<std::size_t>(std::max<std::int64_t>(depth, 0));
  if (depth < 1 || used > x.rank() || batch >= indices.rank()) {
    FailInput(ctx, 1, "indices",
              "a last dim of 1 to " + std::to_string(x.rank() - std::min(batch, x.rank())),
              indices.ToString());
  }
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i + 1 < indices.rank(); ++i) {
    out.push_back(i < batch ? Same(ctx, indices[i], x[i], "batch dims") : indices[i]);
  }
  for (std::size_t i = used; i < x.rank(); ++i) out.push_back(x[i]);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferScatterElements(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  if (x.ranked()) ctx.Axis(ctx.attributes().Int("axis", 0), x.rank());
  if (x.ranked() && indices.ranked() && x.rank() != indices.rank()) {
    FailInput(ctx, 1, "indices", "the rank of data of shape " + x.ToString(), indices.ToString());
  }
  CopyType(ctx, 0, 0);
}

void InferScatterND(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& indices = ctx.input_shape(1);
  const Shape& updates = ctx.input_shape(2);
  CheckRank(ctx, 0, "data", 1);
  CheckRank(ctx, 1, "indices", 1);
  CopyType(ctx, 0, 0);
  if (!x.ranked() || !indices.ranked() || !indices[indices.rank() - 1].is_value()) return;
  const std::int64_t depth = indices[indices.rank() - 1].value();
  if (depth < 0 || depth > static_cast<std::int64_t>(x.rank())) {
    FailInput(ctx, 1, "indices", "a last dim of at most " + std::to_string(x.rank()),
              indices.ToString());
  }
  const std::size_t rank = indices.rank() - 1 + x.rank() - static_cast<std::size_t>(depth);
  if (updates.ranked() && updates.rank() != rank) {
    FailInput(ctx, 2, "updates", "rank " + std::to_string(rank), updates.ToString());
  }
}

void InferTensorScatter(InferenceContext& ctx) { CopyType(ctx, 0, 0); }

void InferCompress(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 1, "condition", 1, 1);
  if (!ctx.attributes().Has("axis")) {
    ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(1));
    return;
  }
  if (x.ranked()) {
    Shape out = x;
    out[static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), x.rank()))] = Dim();
    ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  } else {
    ctx.SetTensor(0, ctx.input_elem(0), {});
  }
}

void InferNonZero(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Shape out = Shape::OfRank(2);
  // A scalar counts as a list of one.
  if (x.ranked()) out[0] = Dim(static_cast<std::int64_t>(std::max<std::size_t>(x.rank(), 1)));
  ctx.SetTensor(0, DataType::kInt64, std::move(out));
}

void InferOneHot(InferenceContext& ctx) {
  const Shape& indices = ctx.input_shape(0);
  CheckRank(ctx, 1, "depth", 0, 1);
  CheckRank(ctx, 2, "values", 1, 1);
  ctx.SetTensor(0, ctx.input_elem(2), {});
  if (!indices.ranked()) return;
  const auto axis =
      static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", -1), indices.rank() + 1));
  Ints depth;
  Shape out = indices.rank() == 0 ? Shape::Scalar() : indices;
  Dim count;
  if (ctx.ReadInts(1, &depth) && depth.size() == 1) {
    count = depth[0];
  } else if (InlineVector<double, 8> real; ctx.ReadFloats(1, &real) && real.size() == 1) {
    count = Dim(static_cast<std::int64_t>(real[0]));
  }
  out.push_back(Dim());
  for (std::size_t i = out.rank() - 1; i > axis; --i) out[i] = out[i - 1];
  out[axis] = count;
  ctx.SetTensor(0, ctx.input_elem(2), std::move(out));
}

void InferUnique(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (!ctx.attributes().Has("axis")) {
    ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(1));
  } else if (x.ranked()) {
    Shape out = x;
    out[static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), x.rank()))] = Dim();
    ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  } else {
    ctx.SetTensor(0, ctx.input_elem(0), {});
  }
  for (std::size_t i = 1; i < 4; ++i) ctx.SetTensor(i, DataType::kInt64, Shape::OfRank(1));
}

void InferTopK(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const auto set = [&](const Shape& shape) {
    ctx.SetTensor(0, ctx.input_elem(0), shape);
    ctx.SetTensor(1, DataType::kInt64, shape);
  };
  if (!x.ranked()) return set({});
  const auto axis = static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", -1), x.rank()));
  Shape out = x;
  out[axis] = Dim();
  if (ctx.since_version() < 10) {
    out[axis] = Dim(ctx.attributes().Int("k", 0));
  } else {
    Ints k;
    if (ctx.ReadInts(1, &k)) {
      if (k.size() != 1) FailInput(ctx, 1, "K", "one number", std::to_string(k.size()));
      out[axis] = k[0];
    }
  }
  const Dim& k = out[axis];
  if (k.is_value() && x[axis].is_value() && (k.value() < 0 || k.value() > x[axis].value())) {
    ctx.Fail("K " + k.ToString() + " is not within axis " + std::to_string(axis) + " of shape " +
             x.ToString());
  }
  set(out);
}

void InferNonMaxSuppression(InferenceContext& ctx) {
  CheckRank(ctx, 0, "boxes", 3, 3);
  CheckRank(ctx, 1, "scores", 3, 3);
  ctx.SetTensor(0, DataType::kInt64, {Dim(), Dim(3)});
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("Gather", InferGather);
  registry.Register("GatherElements", InferGatherElements);
  registry.Register("GatherND", InferGatherND);
  registry.Register("com.microsoft", "GatherND", 1, 0, InferGatherND);
  registry.Register("Scatter", InferScatterElements);
  registry.Register("ScatterElements", InferScatterElements);
  registry.Register("ScatterND", InferScatterND);
  registry.Register("TensorScatter", InferTensorScatter);
  registry.Register("Compress", InferCompress);
  registry.Register("NonZero", InferNonZero);
  registry.Register("OneHot", InferOneHot);
  registry.Register("Unique", InferUnique);
  registry.Register("TopK", InferTopK);
  registry.Register("NonMaxSuppression", InferNonMaxSuppression);
}

}  // namespace switchyard::ir::ops::gather
