// Convolutions, pooling and other operators that look at neighbourhoods of spatial dims.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::window {
namespace {

std::string Number(std::int64_t value) { return std::to_string(value); }

std::size_t SpatialRank(const InferenceContext& ctx, std::size_t x, std::size_t w) {
  const Shape& xs = ctx.input_shape(x);
  const Shape& ws = ctx.input_shape(w);
  CheckRank(ctx, x, "X", 3);
  CheckRank(ctx, w, "W", 3);
  if (xs.ranked() && ws.ranked() && xs.rank() != ws.rank()) {
    FailInput(ctx, w, "W", "the rank of X of shape " + xs.ToString(), ws.ToString());
  }
  if (xs.ranked()) return xs.rank() - 2;
  return ws.ranked() ? ws.rank() - 2 : 0;
}

std::int64_t Group(const InferenceContext& ctx) {
  const std::int64_t group = ctx.attributes().Int("group", 1);
  if (group < 1) ctx.Fail("group is " + Number(group) + ", expected at least 1");
  return group;
}

// [N, ..., C] as [N, C, ...] and back.
Shape ChannelsFirst(const Shape& x) {
  if (!x.ranked() || x.rank() < 3) return x;
  Shape out = {x[0], x[x.rank() - 1]};
  for (std::size_t i = 1; i + 1 < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

Shape ChannelsLast(const Shape& x) {
  if (!x.ranked() || x.rank() < 3) return x;
  Shape out = {x[0]};
  for (std::size_t i = 2; i < x.rank(); ++i) out.push_back(x[i]);
  out.push_back(x[1]);
  return out;
}

// `xs` and `ws` have their channels in dim 1; they are the shapes of inputs x and w.
Shape ConvShape(const InferenceContext& ctx, std::size_t x, std::size_t w, const Shape& xs,
                const Shape& ws) {
  const std::size_t spatial = SpatialRank(ctx, x, w);
  const std::int64_t group = Group(ctx);
  if (spatial == 0) return {};
  Shape out = Shape::OfRank(spatial + 2);
  InlineVector<Dim, 6> kernel;
  if (ws.ranked()) {
    out[1] = ws[0];
    kernel.assign(ws.begin() + 2, ws.end());
    if (ws[0].is_value() && ws[0].value() % group != 0) {
      FailInput(ctx, w, "W", "an output channel count divisible by group " + Number(group),
                ws.ToString());
    }
  }
  if (!xs.ranked()) return out;
  out[0] = xs[0];
  if (ws.ranked() && xs[1].is_value() && ws[1].is_value() &&
      xs[1].value() != ws[1].value() * group) {
    ctx.Fail("weight has " + ws[1].ToString() + " input channels, input has " + xs[1].ToString() +
             ", group " + Number(group));
  }
  const Window window = ReadWindow(ctx, spatial, kernel);
  for (std::size_t i = 0; i < spatial; ++i) out[i + 2] = WindowCount(ctx, window, i, xs[i + 2]);
  return out;
}

void InferConv(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(0), ConvShape(ctx, 0, 1, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferConvInteger(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kInt32, ConvShape(ctx, 0, 1, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferQLinearConv(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& w = ctx.input_shape(3);
  const bool channels_last = ctx.attributes().Int("channels_last", 0) != 0;
  ctx.SetTensor(0, ctx.input_elem(7),
                channels_last ? ChannelsLast(ConvShape(ctx, 0, 3, ChannelsFirst(x), w))
                              : ConvShape(ctx, 0, 3, x, w));
}

// Weights are channels-last too.
void InferNhwcConv(InferenceContext& ctx) {
  const Shape x = ChannelsFirst(ctx.input_shape(0));
  const Shape w = ChannelsFirst(ctx.input_shape(1));
  ctx.SetTensor(0, ctx.input_elem(0), ChannelsLast(ConvShape(ctx, 0, 1, x, w)));
}

void InferConvTranspose(InferenceContext& ctx) {
  const Shape& xs = ctx.input_shape(0);
  const Shape& ws = ctx.input_shape(1);
  const std::size_t spatial = SpatialRank(ctx, 0, 1);
  const std::int64_t group = Group(ctx);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (spatial == 0) return;
  Shape out = Shape::OfRank(spatial + 2);
  InlineVector<Dim, 6> kernel;
  if (ws.ranked()) {
    out[1] = ws[1] * Dim(group);
    kernel.assign(ws.begin() + 2, ws.end());
  }
  if (xs.ranked()) out[0] = xs[0];
  if (ws.ranked() && xs.ranked() && xs[1].is_value() && ws[0].is_value() &&
      xs[1].value() != ws[0].value()) {
    ctx.Fail("weight has " + ws[0].ToString() + " input channels, input has " + xs[1].ToString());
  }
  const Window window = ReadWindow(ctx, spatial, kernel);
  const std::span<const std::int64_t> extra = IntsOfSize(ctx, "output_padding", spatial);
  const std::span<const std::int64_t> wanted = ctx.attributes().Ints("output_shape");
  if (!wanted.empty() && wanted.size() != spatial && wanted.size() != spatial + 2) {
    ctx.Fail("output_shape " + DimsToString(wanted) + " does not fit " +
             Number(static_cast<std::int64_t>(spatial)) + " spatial dims");
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    if (!wanted.empty()) {
      out[i + 2] = Dim(wanted[i + wanted.size() - spatial]);
      continue;
    }
    if (!xs.ranked()) continue;
    const Dim stride(window.strides[i]);
    if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") {
      out[i + 2] = xs[i + 2] * stride;
      continue;
    }
    if (window.kernel[i] < 0) continue;
    const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t cut =
        window.auto_pad == "VALID" ? 0 : window.pads[i] + window.pads[i + spatial];
    out[i + 2] = (xs[i + 2] - Dim(1)) * stride + Dim(extent + (extra.empty() ? 0 : extra[i]) - cut);
    if (out[i + 2].is_value() && out[i + 2].value() < 0) {
      ctx.Fail("pads leave nothing of spatial dim " + Number(static_cast<std::int64_t>(i)));
    }
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

// `x` has its channels in dim 1.
Shape PoolShape(const InferenceContext& ctx, const Shape& x) {
  const std::size_t spatial = ctx.attributes().Ints("kernel_shape").size();
  if (spatial == 0) {
    // The first version could leave it to the backend.
    if (ctx.since_version() > 1 || !ctx.node().Domain().empty()) {
      ctx.Fail("attribute 'kernel_shape' is missing");
    }
    return {};
  }
  CheckRank(ctx, 0, "X", spatial + 2, spatial + 2);
  Shape out = Shape::OfRank(spatial + 2);
  if (!x.ranked()) return out;
  const Window window = ReadWindow(ctx, spatial, {});
  out[0] = x[0];
  out[1] = x[1];
  for (std::size_t i = 0; i < spatial; ++i) out[i + 2] = WindowCount(ctx, window, i, x[i + 2]);
  return out;
}

void InferPool(InferenceContext& ctx) {
  const Shape shape = PoolShape(ctx, ctx.input_shape(0));
  ctx.SetTensor(0, ctx.input_elem(0), shape);
  ctx.SetTensor(1, DataType::kInt64, shape);
}

void InferNhwcPool(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(0),
                ChannelsLast(PoolShape(ctx, ChannelsFirst(ctx.input_shape(0)))));
}

void InferQLinearPool(InferenceContext& ctx) {
  if (ctx.attributes().Int("channels_last", 0) != 0) return InferNhwcPool(ctx);
  ctx.SetTensor(0, ctx.input_elem(0), PoolShape(ctx, ctx.input_shape(0)));
}

void InferGlobalPool(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "X", 2);
  Shape out = x;
  for (std::size_t i = 2; x.ranked() && i < x.rank(); ++i) out[i] = Dim(1);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferMaxUnpool(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const std::size_t spatial = ctx.attributes().Ints("kernel_shape").size();
  CheckRank(ctx, 0, "X", spatial + 2, spatial + 2);
  Shape out = Shape::OfRank(spatial + 2);
  Ints wanted;
  if (ctx.has_input(2)) {
    if (ctx.ReadInts(2, &wanted) && wanted.size() == out.rank()) {
      for (std::size_t i = 0; i < out.rank(); ++i) out[i] = wanted[i];
    }
  } else if (x.ranked()) {
    const Window window = ReadWindow(ctx, spatial, {});
    out[0] = x[0];
    out[1] = x[1];
    for (std::size_t i = 0; i < spatial; ++i) {
      out[i + 2] = (x[i + 2] - Dim(1)) * Dim(window.strides[i]) +
                   Dim(window.kernel[i] - window.pads[i] - window.pads[i + spatial]);
    }
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void SetRois(InferenceContext& ctx, const Dim& height, const Dim& width) {
  CheckRank(ctx, 0, "X", 4, 4);
  CheckRank(ctx, 1, "rois", 2, 2);
  const Shape& x = ctx.input_shape(0);
  const Shape& rois = ctx.input_shape(1);
  ctx.SetTensor(0, ctx.input_elem(0),
                {rois.ranked() ? rois[0] : Dim(), x.ranked() ? x[1] : Dim(), height, width});
}

void InferRoiAlign(InferenceContext& ctx) {
  SetRois(ctx, Dim(ctx.attributes().Int("output_height", 1)),
          Dim(ctx.attributes().Int("output_width", 1)));
}

void InferMaxRoiPool(InferenceContext& ctx) {
  const std::span<const std::int64_t> pooled = IntsOfSize(ctx, "pooled_shape", 2);
  if (pooled.empty()) ctx.Fail("attribute 'pooled_shape' is missing");
  SetRois(ctx, Dim(pooled[0]), Dim(pooled[1]));
}

// floor(size * scale), as an expression where the scale is a simple fraction.
Dim Scaled(const Dim& size, double scale) {
  const auto narrow = static_cast<float>(scale);
  if (size.is_value()) {
    const double product = static_cast<double>(static_cast<float>(size.value()) * narrow);
    return product < 9e15 ? Dim(static_cast<std::int64_t>(product)) : Dim();
  }
  for (std::int64_t denominator = 1; denominator <= 64; ++denominator) {
    const double numerator = scale * static_cast<double>(denominator);
    if (numerator < 1e6 && numerator == static_cast<double>(static_cast<std::int64_t>(numerator))) {
      return FloorDiv(size * Dim(static_cast<std::int64_t>(numerator)), Dim(denominator));
    }
  }
  return {};
}

void ApplyScales(const InferenceContext& ctx, std::span<const double> scales,
                 std::span<const std::int64_t> axes, Shape* out) {
  if (scales.size() != axes.size()) {
    ctx.Fail("there are " + Number(static_cast<std::int64_t>(scales.size())) + " scales for " +
             Number(static_cast<std::int64_t>(axes.size())) + " axes");
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0)) ctx.Fail("scale " + std::to_string(scales[i]) + " is not positive");
    Dim& d = (*out)[static_cast<std::size_t>(axes[i])];
    d = Scaled(d, scales[i]);
  }
}

void ApplySizes(const InferenceContext& ctx, const Ints& sizes, std::span<const std::int64_t> axes,
                Shape* out) {
  if (sizes.size() != axes.size()) {
    ctx.Fail("there are " + Number(static_cast<std::int64_t>(sizes.size())) + " sizes for " +
             Number(static_cast<std::int64_t>(axes.size())) + " axes");
  }
  const std::string_view policy = Text(ctx, "keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      (*out)[static_cast<std::size_t>(axes[i])] = sizes[i];
    }
    return;
  }
  double scale = policy == "not_larger" ? 1e30 : 0;
  bool known = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim& d = (*out)[static_cast<std::size_t>(axes[i])];
    known = known && d.is_value() && d.value() > 0 && sizes[i].is_value();
    if (!known) break;
    const double ratio = static_cast<double>(sizes[i].value()) / static_cast<double>(d.value());
    scale = policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
  }
  for (const std::int64_t axis : axes) {
    Dim& d = (*out)[static_cast<std::size_t>(axis)];
    d = known ? Dim(static_cast<std::int64_t>(scale * static_cast<double>(d.value()) + 0.5))
              : Dim();
  }
}

void InferResize(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
  if (!x.ranked()) return;
  Axes axes;
  const std::span<const std::int64_t> given = ctx.attributes().Ints("axes");
  for (std::size_t i = 0; i < (given.empty() ? x.rank() : given.size()); ++i) {
    axes.push_back(given.empty() ? static_cast<std::int64_t>(i)
                                 : ctx.Axis(given[i], x.rank(), "axes"));
  }
  Shape out = x;
  for (const std::int64_t axis : axes) out[static_cast<std::size_t>(axis)] = Dim();
  ctx.SetTensor(0, ctx.input_elem(0), out);
  out = x;
  const std::size_t scales_at = ctx.since_version() < 11 ? 1 : 2;
  InlineVector<double, 8> scales;
  Ints sizes;
  const bool sizes_given = ctx.has_input(3) && ListLength(ctx, 3).value_or(1) != 0;
  if (sizes_given) {
    if (!ctx.ReadInts(3, &sizes)) return;
    ApplySizes(ctx, sizes, axes, &out);
  } else {
    if (!ctx.has_input(scales_at)) ctx.Fail("neither scales nor sizes are given");
    if (!ctx.ReadFloats(scales_at, &scales)) return;
    ApplyScales(ctx, scales, axes, &out);
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferUpsample(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
  if (!x.ranked()) return;
  InlineVector<double, 8> scales;
  if (ctx.since_version() < 7) {
    CheckRank(ctx, 0, "X", 4, 4);
    scales = {1.0, 1.0, static_cast<double>(ctx.attributes().Float("height_scale", 1)),
              static_cast<double>(ctx.attributes().Float("width_scale", 1))};
  } else if (ctx.since_version() < 9) {
    for (const float s : ctx.attributes().Floats("scales"))
      scales.push_back(static_cast<double>(s));
  } else if (!ctx.ReadFloats(1, &scales)) {
    return;
  }
  Axes axes;
  for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  Shape out = x;
  ApplyScales(ctx, scales, axes, &out);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferGridSample(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& grid = ctx.input_shape(1);
  CheckRank(ctx, 0, "X", 3);
  CheckRank(ctx, 1, "grid", 3);
  if (x.ranked() && grid.ranked() && x.rank() != grid.rank()) {
    FailInput(ctx, 1, "grid", "the rank of X of shape " + x.ToString(), grid.ToString());
  }
  const std::size_t rank = x.ranked() ? x.rank() : grid.ranked() ? grid.rank() : 0;
  if (rank == 0) return ctx.SetTensor(0, ctx.input_elem(0), {});
  Shape out = Shape::OfRank(rank);
  if (x.ranked()) {
    out[0] = x[0];
    out[1] = x[1];
  }
  if (grid.ranked()) {
    if (!x.ranked()) out[0] = grid[0];
    for (std::size_t i = 2; i < rank; ++i) out[i] = grid[i - 1];
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferAffineGrid(InferenceContext& ctx) {
  CheckRank(ctx, 0, "theta", 3, 3);
  Ints size;
  const std::optional<std::size_t> length = ListLength(ctx, 1);
  const bool known = ctx.ReadInts(1, &size);
  if (!known && !length.has_value()) return ctx.SetTensor(0, ctx.input_elem(0), {});
  const std::size_t count = known ? size.size() : *length;
  if (count != 4 && count != 5) {
    FailInput(ctx, 1, "size", "4 or 5 numbers", Number(static_cast<std::int64_t>(count)));
  }
  Shape out = Shape::OfRank(count);
  out[count - 1] = Dim(static_cast<std::int64_t>(count) - 2);
  if (known) {
    out[0] = size[0];
    for (std::size_t i = 2; i < count; ++i) out[i - 1] = size[i];
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("Conv", InferConv);
  registry.Register("DeformConv", InferConv);
  registry.Register("com.microsoft", "FusedConv", 1, 0, InferConv);
  for (const char* op : {"NhwcConv", "NhwcFusedConv"}) {
    registry.Register("com.microsoft", op, 1, 0, InferNhwcConv);
  }
  registry.Register("com.microsoft", "NhwcMaxPool", 1, 0, InferNhwcPool);
  registry.Register("com.microsoft", "QLinearAveragePool", 1, 0, InferQLinearPool);
  registry.Register("com.microsoft", "QLinearConv", 1, 0, InferQLinearConv);
  registry.Register("com.microsoft", "GridSample", 1, 0, InferGridSample);
  registry.Register("ConvInteger", InferConvInteger);
  registry.Register("QLinearConv", InferQLinearConv);
  registry.Register("ConvTranspose", InferConvTranspose);
  for (const char* op : {"AveragePool", "MaxPool", "LpPool"}) registry.Register(op, InferPool);
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    registry.Register(op, InferGlobalPool);
  }
  registry.Register("MaxUnpool", InferMaxUnpool);
  registry.Register("RoiAlign", InferRoiAlign);
  registry.Register("MaxRoiPool", InferMaxRoiPool);
  registry.Register("Resize", InferResize);
  registry.Register("Upsample", InferUpsample);
  registry.Register("GridSample", InferGridSample);
  registry.Register("AffineGrid", InferAffineGrid);
}

}  // namespace switchyard::ir::ops::window
