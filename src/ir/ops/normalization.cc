// Normalisation, softmax and the losses built on it.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::normalization {
namespace {

void InferSame(InferenceContext& ctx) { CopyType(ctx, 0, 0); }

// Along an axis that the shape must have.
void InferSoftmax(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const std::int64_t absent = ctx.since_version() < 13 ? 1 : -1;
  const std::int64_t axis = ctx.attributes().Int("axis", absent);
  // Before version 13 the axis splits the dims in two, so that it may also stand behind the last.
  const bool behind =
      ctx.since_version() < 13 && x.ranked() && axis == static_cast<std::int64_t>(x.rank());
  if (x.ranked() && x.rank() > 0 && !behind) ctx.Axis(axis, x.rank());
  CopyType(ctx, 0, 0);
}

void InferLpNormalization(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (x.ranked()) ctx.Axis(ctx.attributes().Int("axis", -1), x.rank());
  CopyType(ctx, 0, 0);
}

Dim Channels(const InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Dim channels = x.ranked() && x.rank() > 1 ? x[1] : Dim();
  constexpr std::string_view kNames[] = {"X", "scale", "B", "mean", "var"};
  for (std::size_t i = 1; i < 5; ++i) {
    CheckRank(ctx, i, kNames[i], 1, 1);
    const Shape& shape = ctx.input_shape(i);
    if (!shape.ranked()) continue;
    if (channels.is_value() && shape[0].is_value() && channels.value() != shape[0].value()) {
      FailInput(ctx, i, kNames[i], channels.ToString() + " numbers, one per channel",
                shape.ToString());
    }
    channels = Same(ctx, channels, shape[0], "channel counts");
  }
  return channels;
}

void InferBatchNormalization(InferenceContext& ctx) {
  // Without `spatial` the statistics have one number per feature, of any rank.
  const bool spatial = ctx.since_version() >= 9 || ctx.attributes().Int("spatial", 1) != 0;
  CopyType(ctx, 0, 0);
  const Dim channels = spatial ? Channels(ctx) : Dim();
  for (std::size_t i = 1; i < ctx.num_outputs(); ++i) {
    ctx.SetTensor(i, ctx.input_elem(3), spatial ? Shape{channels} : Shape());
  }
}

void InferLayerNormalization(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  // The output has the type of the scale where that may differ from the input's.
  const DataType elem =
      ctx.input_elem(1) != DataType::kUndefined ? ctx.input_elem(1) : ctx.input_elem(0);
  CopyShape(ctx, 0, 0, elem);
  const auto stash = static_cast<DataType>(ctx.attributes().Int("stash_type", 1));
  Shape statistics = x;
  if (x.ranked()) {
    const auto axis =
        static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", -1), x.rank()));
    for (std::size_t i = axis; i < x.rank(); ++i) statistics[i] = Dim(1);
  }
  for (std::size_t i = 1; i < ctx.num_outputs(); ++i) ctx.SetTensor(i, stash, statistics);
}

void InferGroupNormalization(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "X", 2);
  const std::int64_t groups = ctx.attributes().Int("num_groups", 0);
  if (groups < 1) ctx.Fail("num_groups is " + std::to_string(groups) + ", expected at least 1");
  if (x.ranked() && x[1].is_value() && x[1].value() % groups != 0) {
    FailInput(ctx, 0, "X", "a channel count divisible by " + std::to_string(groups), x.ToString());
  }
  CopyType(ctx, 0, 0);
}

void InferLoss(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& target = ctx.input_shape(1);
  CheckRank(ctx, 0, "input", 2);
  const bool per_sample = Text(ctx, "reduction", "mean") == "none";
  Shape out = Shape::Scalar();
  if (per_sample) {
    out = target;
    if (x.ranked()) {
      out = Shape::Scalar();
      for (std::size_t i = 0; i < x.rank(); ++i) {
        if (i != 1) out.push_back(x[i]);
      }
    }
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  // SoftmaxCrossEntropyLoss also gives the logarithms.
  CopyType(ctx, 0, 1);
}

}  // namespace

void Register(InferenceRegistry& registry) {
  for (const char* op : {"InstanceNormalization", "LRN", "MeanVarianceNormalization"}) {
    registry.Register(op, InferSame);
  }
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) registry.Register(op, InferSoftmax);
  registry.Register("LpNormalization", InferLpNormalization);
  registry.Register("BatchNormalization", InferBatchNormalization);
  registry.Register("LayerNormalization", InferLayerNormalization);
  registry.Register("RMSNormalization", InferLayerNormalization);
  registry.Register("SimplifiedLayerNormalization", InferLayerNormalization);
  registry.Register("GroupNormalization", InferGroupNormalization);
  registry.Register("NegativeLogLikelihoodLoss", InferLoss);
  registry.Register("SoftmaxCrossEntropyLoss", InferLoss);
}

}  // namespace switchyard::ir::ops::normalization
