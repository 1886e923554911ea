// Operators that select, join or rearrange elements.

#include <algorithm>
#include <limits>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::movement {
namespace {

std::string Number(std::int64_t value) { return std::to_string(value); }

void InferConcat(InferenceContext& ctx) {
  std::size_t rank = 0;
  DataType elem = DataType::kUndefined;
  for (std::size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input_shape(i).ranked()) rank = std::max(rank, ctx.input_shape(i).rank());
    if (elem == DataType::kUndefined) elem = ctx.input_elem(i);
  }
  const std::int64_t default_axis = ctx.since_version() < 4 ? 1 : 0;
  ctx.SetTensor(0, elem, {});
  if (rank == 0) return;
  const auto axis =
      static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", default_axis), rank));
  Shape out = Shape::OfRank(rank);
  out[axis] = Dim(0);
  for (std::size_t i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& x = ctx.input_shape(i);
    if (!x.ranked()) {
      out[axis] = Dim();
      continue;
    }
    if (x.rank() != rank) {
      ctx.Fail("input " + Number(static_cast<std::int64_t>(i)) + " has shape " + x.ToString() +
               ", expected rank " + Number(static_cast<std::int64_t>(rank)));
    }
    for (std::size_t d = 0; d < rank; ++d) {
      if (d == axis) {
        out[d] = out[d] + x[d];
      } else if (out[d].is_value() && x[d].is_value() && out[d].value() != x[d].value()) {
        ctx.Fail("input " + Number(static_cast<std::int64_t>(i)) + " of shape " + x.ToString() +
                 " has another dim " + Number(static_cast<std::int64_t>(d)) +
                 " than the inputs before (" + out[d].ToString() + ")");
      } else {
        out[d] = Same(ctx, out[d], x[d], "dims");
      }
    }
  }
  ctx.SetTensor(0, elem, std::move(out));
  if (rank != 1) return;
  Ints all;
  Ints part;
  for (std::size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.PeekInts(i, &part)) {
      // What is not known of one part must not hide the others.
      const std::optional<std::size_t> length = ListLength(ctx, i);
      if (!length.has_value() || *length > 8) return;
      part = Ints(*length, Dim());
    }
    for (const Dim& d : part) all.push_back(d);
  }
  const bool any =
      std::any_of(all.begin(), all.end(), [](const Dim& d) { return !d.is_unknown(); });
  if (any || all.empty()) ctx.SetInts(0, all);
}

// Sizes of the parts; empty when they can't be told.
Ints SplitSizes(InferenceContext& ctx, const Dim& total, std::size_t parts) {
  Ints sizes;
  const std::span<const std::int64_t> given = ctx.attributes().Ints("split");
  if (!given.empty()) {
    sizes.assign(given.begin(), given.end());
  } else if (ctx.has_input(1)) {
    if (!ctx.ReadInts(1, &sizes)) return sizes;
  } else {
    const Dim count(static_cast<std::int64_t>(parts));
    const bool uneven = ctx.since_version() >= 18;
    const Dim each = uneven ? CeilDiv(total, count) : FloorDiv(total, count);
    if (!uneven && total.is_value() && total.value() % count.value() != 0) {
      ctx.Fail("a dim of " + total.ToString() + " cannot be split into " + count.ToString() +
               " equal parts");
    }
    for (std::size_t i = 0; i + 1 < parts; ++i) sizes.push_back(each);
    sizes.push_back(total - each * Dim(count.value() - 1));
    if (sizes.back().is_value() && sizes.back().value() < 0) {
      for (std::size_t i = 0; i < parts; ++i) {
        const Dim start = each * Dim(static_cast<std::int64_t>(i));
        sizes[i] = Max(Min(each, total - start), Dim(0));
      }
    }
    return sizes;
  }
  Dim sum(0);
  for (const Dim& d : sizes) sum = sum + d;
  if (sizes.size() != parts ||
      (sum.is_value() && total.is_value() && sum.value() != total.value())) {
    ctx.Fail("the split sizes add up to " + sum.ToString() + " in " +
             Number(static_cast<std::int64_t>(sizes.size())) + " parts, expected " +
             total.ToString() + " in " + Number(static_cast<std::int64_t>(parts)));
  }
  return sizes;
}

void InferSplit(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const std::size_t parts = ctx.num_outputs();
  for (std::size_t i = 0; i < parts; ++i) ctx.SetTensor(i, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  const std::int64_t wanted = ctx.attributes().Int("num_outputs", static_cast<std::int64_t>(parts));
  if (wanted != static_cast<std::int64_t>(parts)) {
    ctx.Fail("num_outputs is " + Number(wanted) + ", but there are " +
             Number(static_cast<std::int64_t>(parts)) + " outputs");
  }
  const auto axis = static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), x.rank()));
  const Ints sizes = SplitSizes(ctx, x[axis], parts);
  for (std::size_t i = 0; i < parts; ++i) {
    Shape out = x;
    out[axis] = sizes.empty() ? Dim() : sizes[i];
    ctx.SetTensor(i, ctx.input_elem(0), std::move(out));
  }
  Ints values;
  if (x.rank() != 1 || sizes.empty() || !ctx.PeekInts(0, &values)) return;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    if (!sizes[i].is_value()) return;
    const auto count = static_cast<std::size_t>(sizes[i].value());
    if (at + count > values.size()) return;
    ctx.SetInts(i, std::span<const Dim>(values.data() + at, count));
    at += count;
  }
}

// Where a slice of a dim begins or ends after negative and too large positions are resolved.
Dim Position(const Dim& at, const Dim& size, const Dim& least, const Dim& most) {
  if (at.is_unknown() || (at.is_symbolic() && !IsNonNegative(at))) {
    // N-5 may count from either end.
    return IsNonNegative(size - at) && IsNonNegative(at) ? at : Dim();
  }
  // Exporters write the largest int32 for "to the end"; no symbol stands for a size beyond it.
  const std::int64_t far = size.is_value() ? std::int64_t{1} << 40 : INT32_MAX;
  if (at.is_value() && at.value() < 0) {
    return at.value() <= -far ? least : Max(size + at, least);
  }
  if (at.is_value() && at.value() >= far) return most;
  return Min(at, most);
}

Dim SliceCount(const Dim& start, const Dim& end, const Dim& size, std::int64_t step) {
  if (step > 0) {
    const Dim from = Position(start, size, Dim(0), size);
    const Dim to = Position(end, size, Dim(0), size);
    return Max(CeilDiv(to - from, Dim(step)), Dim(0));
  }
  const Dim last = size - Dim(1);
  const Dim from = Position(start, size, Dim(-1), last);
  const Dim to = Position(end, size, Dim(-1), last);
  // The least int64 has no positive counterpart; neither stride reaches a second element.
  const std::int64_t stride = -std::max(step, -std::numeric_limits<std::int64_t>::max());
  return Max(CeilDiv(from - to, Dim(stride)), Dim(0));
}

struct SliceArguments {
  Ints starts;
  Ints ends;
  Axes axes;
  Axes steps;
  bool positions_known = false;
};

// False if not even the axes are known.
bool ReadSlice(InferenceContext& ctx, std::size_t rank, SliceArguments* s) {
  if (ctx.since_version() < 10) {
    const Attributes& a = ctx.attributes();
    const auto to = [](std::span<const std::int64_t> from) {
      return Ints(from.begin(), from.end());
    };
    s->starts = to(a.Ints("starts"));
    s->ends = to(a.Ints("ends"));
    s->axes.assign(a.Ints("axes").begin(), a.Ints("axes").end());
    s->positions_known = true;
  } else {
    const bool starts = ctx.ReadInts(1, &s->starts);
    const bool ends = ctx.ReadInts(2, &s->ends);
    const std::optional<std::size_t> count = ListLength(ctx, starts || !ends ? 1 : 2);
    if (ctx.has_input(3) && !ReadNumbers(ctx, 3, &s->axes)) return false;
    s->positions_known = true;
    if (ctx.has_input(4) && !ReadNumbers(ctx, 4, &s->steps)) s->positions_known = false;
    const std::size_t n = starts ? s->starts.size() : ends ? s->ends.size() : count.value_or(0);
    if (n == 0 && !count.has_value() && s->axes.empty()) return false;
    const std::size_t length = n == 0 ? s->axes.size() : n;
    if (!starts) s->starts = Ints(length, Dim());
    if (!ends) s->ends = Ints(length, Dim());
  }
  if (s->axes.empty()) {
    for (std::size_t i = 0; i < s->starts.size(); ++i)
      s->axes.push_back(static_cast<std::int64_t>(i));
  }
  if (s->steps.empty()) s->steps = Axes(s->axes.size(), 1);
  const std::size_t n = s->axes.size();
  if (s->starts.size() != n || s->ends.size() != n || s->steps.size() != n || n > rank) {
    ctx.Fail("starts, ends, axes and steps have different lengths, or more than the rank " +
             Number(static_cast<std::int64_t>(rank)));
  }
  return true;
}

// The followed integers of output 0 that are those of input 0 at start + i * step along each dim
// of `order`; start, step and the sizes of input and output are numbers.
void FollowStrided(InferenceContext& ctx, const Shape& in, const Shape& out,
                   std::span<const std::int64_t> order, std::span<const std::int64_t> start,
                   std::span<const std::int64_t> step) {
  Ints values;
  if (!in.is_concrete() || !out.is_concrete() || !ctx.PeekInts(0, &values)) return;
  const std::int64_t count = out.element_count().value_or(-1);
  if (count < 0 || count > static_cast<std::int64_t>(ValueInfo::kMaxFollowed) ||
      static_cast<std::int64_t>(values.size()) != in.element_count().value_or(-1)) {
    return;
  }
  Axes stride(in.rank(), 1);
  for (std::size_t i = in.rank(); i-- > 1;) stride[i - 1] = stride[i] * in[i].value();
  Ints picked;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    std::int64_t at = 0;
    for (std::size_t i = out.rank(); i-- > 0;) {
      const std::int64_t index = rest % out[i].value();
      rest /= out[i].value();
      at += (start[i] + index * step[i]) * stride[static_cast<std::size_t>(order[i])];
    }
    if (at < 0 || at >= static_cast<std::int64_t>(values.size())) return;
    picked.push_back(values[static_cast<std::size_t>(at)]);
  }
  ctx.SetInts(0, picked);
}

void FollowSlice(InferenceContext& ctx, const SliceArguments& s, const Shape& out) {
  const Shape& x = ctx.input_shape(0);
  Axes order;
  Axes start(x.rank(), 0);
  Axes step(x.rank(), 1);
  for (std::size_t i = 0; i < x.rank(); ++i) order.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(ctx.Axis(s.axes[i], x.rank(), "axes"));
    const bool forward = s.steps[i] > 0;
    const Dim from =
        Position(s.starts[i], x[axis], Dim(forward ? 0 : -1), forward ? x[axis] : x[axis] - Dim(1));
    if (!from.is_value()) return;
    start[axis] = from.value();
    step[axis] = s.steps[i];
  }
  FollowStrided(ctx, x, out, order, start, step);
}

void InferSlice(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
  if (!x.ranked()) return;
  SliceArguments s;
  if (!ReadSlice(ctx, x.rank(), &s)) return;
  Shape out = x;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(ctx.Axis(s.axes[i], x.rank(), "axes"));
    if (s.steps[i] == 0) ctx.Fail("step 0 on axis " + Number(s.axes[i]));
    out[axis] = s.positions_known ? SliceCount(s.starts[i], s.ends[i], x[axis], s.steps[i]) : Dim();
  }
  ctx.SetTensor(0, ctx.input_elem(0), out);
  if (s.positions_known && x.rank() <= 2) FollowSlice(ctx, s, out);
}

void InferDynamicSlice(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
}

void InferTranspose(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const std::span<const std::int64_t> perm = ctx.attributes().Ints("perm");
  if (!x.ranked()) {
    ctx.SetTensor(0, ctx.input_elem(0), perm.empty() ? Shape() : Shape::OfRank(perm.size()));
    return;
  }
  if (!perm.empty() && perm.size() != x.rank()) {
    ctx.Fail("perm " + DimsToString(perm) + " does not fit input shape " + x.ToString());
  }
  if (!perm.empty()) NormalAxes(ctx, perm, x.rank());
  Shape out = Shape::OfRank(x.rank());
  Axes order;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t reversed = static_cast<std::int64_t>(x.rank() - 1 - i);
    order.push_back(perm.empty() ? reversed : ctx.Axis(perm[i], x.rank(), "perm"));
    out[i] = x[static_cast<std::size_t>(order[i])];
  }
  ctx.SetTensor(0, ctx.input_elem(0), out);
  if (x.rank() > 2) return;
  FollowStrided(ctx, x, out, order, Axes(x.rank(), 0), Axes(x.rank(), 1));
}

void InferPad(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
  if (!x.ranked()) return;
  Ints pads;
  if (ctx.since_version() < 11) {
    const char* name = ctx.since_version() < 2 ? "paddings" : "pads";
    const std::span<const std::int64_t> values = ctx.attributes().Ints(name);
    pads.assign(values.begin(), values.end());
  } else if (!ctx.ReadInts(1, &pads)) {
    return;
  }
  Axes axes;
  if (ctx.has_input(3)) {
    if (!ReadNumbers(ctx, 3, &axes)) return;
    for (std::int64_t& axis : axes) axis = ctx.Axis(axis, x.rank(), "axes");
  } else {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) {
    ctx.Fail("pads has " + Number(static_cast<std::int64_t>(pads.size())) +
             " numbers, expected two for each of " +
             Number(static_cast<std::int64_t>(axes.size())) + " axes");
  }
  Shape out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    out[axis] = x[axis] + pads[i] + pads[i + axes.size()];
    if (out[axis].is_value() && out[axis].value() < 0) {
      ctx.Fail("padding leaves " + out[axis].ToString() + " elements of dim " + Number(axes[i]) +
               " of shape " + x.ToString());
    }
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

// Its square is a number too.
std::int64_t BlockSize(const InferenceContext& ctx) {
  constexpr std::int64_t kMost = 32768;
  const std::int64_t block = ctx.attributes().Int("blocksize", 0);
  if (block < 1 || block > kMost)
    ctx.Fail("blocksize is " + Number(block) + ", expected 1 to " + Number(kMost));
  return block;
}

void InferDepthToSpace(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 4, 4);
  const std::int64_t block = BlockSize(ctx);
  ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(4));
  if (!x.ranked()) return;
  if (x[1].is_value() && x[1].value() % (block * block) != 0) {
    FailInput(ctx, 0, "input", "a channel count divisible by " + Number(block * block),
              x.ToString());
  }
  ctx.SetTensor(0, ctx.input_elem(0),
                {x[0], FloorDiv(x[1], Dim(block * block)), x[2] * Dim(block), x[3] * Dim(block)});
}

void InferSpaceToDepth(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 4, 4);
  const std::int64_t block = BlockSize(ctx);
  ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(4));
  if (!x.ranked()) return;
  for (std::size_t i = 2; i < 4; ++i) {
    if (x[i].is_value() && x[i].value() % block != 0) {
      FailInput(ctx, 0, "input", "height and width divisible by " + Number(block), x.ToString());
    }
  }
  ctx.SetTensor(
      0, ctx.input_elem(0),
      {x[0], x[1] * Dim(block * block), FloorDiv(x[2], Dim(block)), FloorDiv(x[3], Dim(block))});
}

void InferTrilu(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input", 2);
  CopyType(ctx, 0, 0);
}

void InferReverseSequence(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input", 2);
  CheckRank(ctx, 1, "sequence_lens", 1, 1);
  CopyType(ctx, 0, 0);
}

void InferCenterCropPad(InferenceContext& ctx) {
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
  Ints sizes;
  const bool known = ctx.ReadInts(1, &sizes);
  if (known && sizes.size() != axes.size()) {
    FailInput(ctx, 1, "shape", Number(static_cast<std::int64_t>(axes.size())) + " sizes",
              Number(static_cast<std::int64_t>(sizes.size())));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out[static_cast<std::size_t>(axes[i])] = known ? sizes[i] : Dim();
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferCol2Im(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 3, 3);
  Ints image;
  Ints block;
  const bool image_known = ctx.ReadInts(1, &image);
  const bool block_known = ctx.ReadInts(2, &block);
  const std::optional<std::size_t> spatial = image_known ? image.size() : ListLength(ctx, 1);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!spatial.has_value()) return;
  Shape out = Shape::OfRank(*spatial + 2);
  if (x.ranked()) out[0] = x[0];
  if (block_known && x.ranked()) {
    Dim product(1);
    for (const Dim& d : block) product = product * d;
    if (product.is_value() && x[1].is_value() &&
        (product.value() == 0 || x[1].value() % product.value() != 0)) {
      FailInput(ctx, 0, "input", "dim 1 divisible by " + product.ToString(), x.ToString());
    }
    out[1] = FloorDiv(x[1], product);
  }
  if (image_known) {
    for (std::size_t i = 0; i < image.size(); ++i) out[i + 2] = image[i];
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferCrop(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 4, 4);
  ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(4));
  const std::span<const std::int64_t> border = ctx.attributes().Ints("border");
  const std::span<const std::int64_t> scale = ctx.attributes().Ints("scale");
  if (!x.ranked() || border.size() != 4) return;
  if (scale.size() == 2) {
    ctx.SetTensor(0, ctx.input_elem(0), {x[0], x[1], Dim(scale[0]), Dim(scale[1])});
  } else {
    ctx.SetTensor(
        0, ctx.input_elem(0),
        {x[0], x[1], x[2] - Dim(border[1] + border[3]), x[3] - Dim(border[0] + border[2])});
  }
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("Concat", InferConcat);
  registry.Register("Split", InferSplit);
  registry.Register("Slice", InferSlice);
  registry.Register("DynamicSlice", InferDynamicSlice);
  registry.Register("Transpose", InferTranspose);
  registry.Register("Pad", InferPad);
  registry.Register("DepthToSpace", InferDepthToSpace);
  registry.Register("SpaceToDepth", InferSpaceToDepth);
  registry.Register("Trilu", InferTrilu);
  registry.Register("ReverseSequence", InferReverseSequence);
  registry.Register("CenterCropPad", InferCenterCropPad);
  registry.Register("Col2Im", InferCol2Im);
  registry.Register("Crop", InferCrop);
}

}  // namespace switchyard::ir::ops::movement
