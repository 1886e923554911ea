// Reductions over axes.

#include <algorithm>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::reduce {
namespace {

Shape Reduced(const Shape& x, std::span<const std::int64_t> axes, bool keep) {
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool named =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!named) {
      out.push_back(x[i]);
    } else if (keep) {
      out.push_back(Dim(1));
    }
  }
  return out;
}

// What is left when the axes are not known.
Shape ReducedSomehow(const InferenceContext& ctx, const Shape& x, bool keep) {
  if (keep) return Shape::OfRank(x.rank());
  const std::optional<std::size_t> count = ListLength(ctx, 1);
  if (!count.has_value() || *count == 0 || *count > x.rank()) return {};
  return Shape::OfRank(x.rank() - *count);
}

void InferReduce(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const bool keep = ctx.attributes().Int("keepdims", 1) != 0;
  ctx.SetTensor(0, ctx.input_elem(0), {});
  Axes axes;
  bool given = false;
  const bool known = ReadAxes(ctx, "axes", 1, &axes, &given);
  if (!x.ranked()) return;
  if (!known) {
    ctx.SetTensor(0, ctx.input_elem(0), ReducedSomehow(ctx, x, keep));
    return;
  }
  if (axes.empty() && ctx.attributes().Int("noop_with_empty_axes", 0) != 0) {
    CopyType(ctx, 0, 0);
    return;
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  } else {
    axes = NormalAxes(ctx, axes, x.rank());
  }
  ctx.SetTensor(0, ctx.input_elem(0), Reduced(x, axes, keep));
}

// The same, following the integers of a list that is reduced to one.
template <Dim (*op)(const Dim&, const Dim&)>
void InferReduceFollowed(InferenceContext& ctx) {
  InferReduce(ctx);
  const Shape& x = ctx.input_shape(0);
  Ints values;
  if (!x.ranked() || x.rank() != 1 || !Followable(ctx.input_elem(0))) return;
  Axes axes;
  bool given = false;
  if (!ctx.PeekInts(0, &values) || !ReadAxes(ctx, "axes", 1, &axes, &given)) return;
  if (axes.empty() && ctx.attributes().Int("noop_with_empty_axes", 0) != 0) {
    ctx.SetInts(0, values);
    return;
  }
  if (values.empty()) return;
  Dim result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) result = op(result, values[i]);
  ctx.SetInts(0, std::span(&result, 1));
}

Dim Add(const Dim& a, const Dim& b) { return a + b; }
Dim Multiply(const Dim& a, const Dim& b) { return a * b; }

void InferArg(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, DataType::kInt64, {});
  if (!x.ranked()) return;
  const std::int64_t axis = ctx.Axis(ctx.attributes().Int("axis", 0), x.rank());
  const bool keep = ctx.attributes().Int("keepdims", 1) != 0;
  ctx.SetTensor(0, DataType::kInt64, Reduced(x, std::span(&axis, 1), keep));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean",
                         "ReduceSumSquare"}) {
    registry.Register(op, InferReduce);
  }
  registry.Register("ReduceSum", InferReduceFollowed<Add>);
  registry.Register("ReduceProd", InferReduceFollowed<Multiply>);
  registry.Register("ReduceMax", InferReduceFollowed<Max>);
  registry.Register("ReduceMin", InferReduceFollowed<Min>);
  registry.Register("ArgMax", InferArg);
  registry.Register("ArgMin", InferArg);
}

}  // namespace switchyard::ir::ops::reduce
