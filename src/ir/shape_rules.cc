#include "ir/shape_rules.h"

#include <algorithm>

namespace switchyard::ir {

std::string_view Text(const InferenceContext& ctx, std::string_view name, std::string_view absent) {
  const Attribute* attribute = ctx.attributes().Find(name);
  if (attribute == nullptr) return absent;
  const auto* text = std::get_if<std::string>(&attribute->value);
  if (text == nullptr) ctx.Fail("attribute '" + std::string(name) + "' is not a string");
  return *text;
}

DataType DataTypeAttribute(const InferenceContext& ctx, std::string_view name, DataType absent) {
  const std::int64_t code = ctx.attributes().Int(name, static_cast<std::int64_t>(absent));
  if (code < 0 || code >= kDataTypeCount || (code == 0 && ctx.attributes().Has(name))) {
    ctx.Fail("attribute '" + std::string(name) + "' is " + std::to_string(code) +
             ", which is no element type");
  }
  return static_cast<DataType>(code);
}

std::span<const std::int64_t> IntsOfSize(const InferenceContext& ctx, std::string_view name,
                                         std::size_t count) {
  const std::span<const std::int64_t> values = ctx.attributes().Ints(name);
  if (!values.empty() && values.size() != count) {
    ctx.Fail("attribute '" + std::string(name) + "' has " + std::to_string(values.size()) +
             " numbers, expected " + std::to_string(count));
  }
  return values;
}

void FailInput(const InferenceContext& ctx, std::size_t input, std::string_view name,
               std::string_view expected, std::string_view got) {
  std::string text = "input " + std::to_string(input) + " '" + std::string(name) + "': expected ";
  ctx.Fail(text.append(expected).append(", got ").append(got));
}

void CheckRank(const InferenceContext& ctx, std::size_t input, std::string_view name,
               std::size_t least, std::size_t most) {
  const Shape& shape = ctx.input_shape(input);
  if (!shape.ranked() || (shape.rank() >= least && shape.rank() <= most)) return;
  std::string expected = least == most ? "rank " : "rank of at least ";
  expected += std::to_string(least);
  if (least != most && most < 64) {
    expected = "rank of " + std::to_string(least) + " to " + std::to_string(most);
  }
  FailInput(ctx, input, name, expected, "shape " + shape.ToString());
}

Dim Same(const InferenceContext& ctx, const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_value() && b.is_value() && a.value() != b.value()) {
    ctx.Fail(std::string(what) + " differ: " + a.ToString() + " and " + b.ToString());
  }
  if (a.is_value() || b.is_unknown()) return a;
  return b.is_value() || a.is_unknown() ? b : a;
}

void CopyType(InferenceContext& ctx, std::size_t input, std::size_t output) {
  if (ctx.has_output(output) && ctx.input_type(input).known()) {
    ctx.SetType(output, ctx.input_type(input));
  }
}

void CopyShape(InferenceContext& ctx, std::size_t input, std::size_t output, DataType elem) {
  if (ctx.has_output(output)) ctx.SetTensor(output, elem, ctx.input_shape(input));
}

Shape Broadcast(const InferenceContext& ctx, std::size_t first, std::size_t last) {
  std::optional<Shape> result;
  for (std::size_t i = first; i < last; ++i) {
    if (!ctx.has_input(i)) continue;
    const Shape& shape = ctx.input_shape(i);
    if (!shape.ranked()) return {};
    if (!result.has_value()) {
      result = shape;
      continue;
    }
    std::optional<Shape> next = BroadcastShapes(*result, shape);
    if (!next.has_value()) {
      ctx.Fail("input " + std::to_string(i) + " of shape " + shape.ToString() +
               " does not broadcast with " + result->ToString());
    }
    result = std::move(next);
  }
  return result.has_value() ? *std::move(result) : Shape();
}

Axes NormalAxes(const InferenceContext& ctx, std::span<const std::int64_t> axes, std::size_t rank) {
  Axes normal;
  for (const std::int64_t axis : axes) normal.push_back(ctx.Axis(axis, rank, "axes"));
  std::sort(normal.begin(), normal.end());
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end()) {
    ctx.Fail("axes " + DimsToString(axes) + " name one axis twice");
  }
  return normal;
}

bool ReadAxes(InferenceContext& ctx, std::string_view name, std::size_t input, Axes* axes,
              bool* given) {
  const Attribute* attribute = ctx.attributes().Find(name);
  *given = attribute != nullptr;
  if (attribute != nullptr) {
    if (const auto* one = std::get_if<std::int64_t>(&attribute->value)) {
      axes->push_back(*one);
    } else {
      const std::span<const std::int64_t> values = ctx.attributes().Ints(name);
      axes->assign(values.begin(), values.end());
    }
    return true;
  }
  if (!ctx.has_input(input)) return true;
  *given = true;
  return ReadNumbers(ctx, input, axes);
}

bool ReadNumbers(InferenceContext& ctx, std::size_t input, Axes* numbers) {
  Ints values;
  if (!ctx.ReadInts(input, &values)) return false;
  numbers->clear();
  for (const Dim& d : values) {
    if (!d.is_value()) return false;
    numbers->push_back(d.value());
  }
  return true;
}

std::optional<std::size_t> ListLength(const InferenceContext& ctx, std::size_t input) {
  const Shape& shape = ctx.input_shape(input);
  if (!shape.ranked()) return std::nullopt;
  if (shape.rank() == 0) return 1;
  if (shape.rank() != 1 || !shape[0].is_value() || shape[0].value() < 0) return std::nullopt;
  return static_cast<std::size_t>(shape[0].value());
}

Window ReadWindow(const InferenceContext& ctx, std::size_t spatial, std::span<const Dim> kernel) {
  Window window;
  const auto read = [&](std::string_view name, std::size_t count, std::int64_t absent, Dims* to) {
    const std::span<const std::int64_t> values = IntsOfSize(ctx, name, count);
    if (values.empty()) {
      to->resize(count, absent);
    } else {
      to->assign(values.begin(), values.end());
    }
  };
  read("strides", spatial, 1, &window.strides);
  read("dilations", spatial, 1, &window.dilations);
  read("pads", 2 * spatial, 0, &window.pads);
  read("kernel_shape", spatial, -1, &window.kernel);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (window.strides[i] < 1 || window.dilations[i] < 1) {
      ctx.Fail("strides and dilations must be at least 1");
    }
    if (i >= kernel.size()) continue;
    if (window.kernel[i] < 0) window.kernel[i] = kernel[i].value_or(-1);
    Same(ctx, Dim(window.kernel[i]), window.kernel[i] < 0 ? Dim() : kernel[i],
         "kernel_shape and the weight's size");
  }
  window.auto_pad = Text(ctx, "auto_pad", "NOTSET");
  if (window.auto_pad != "NOTSET" && window.auto_pad != "VALID" &&
      window.auto_pad != "SAME_UPPER" && window.auto_pad != "SAME_LOWER" &&
      !window.auto_pad.empty()) {
    ctx.Fail("attribute 'auto_pad' is '" + std::string(window.auto_pad) +
             "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  window.ceil_mode = ctx.attributes().Int("ceil_mode", 0) != 0;
  return window;
}

Dim WindowCount(const InferenceContext& ctx, const Window& window, std::size_t i, const Dim& in) {
  const Dim stride(window.strides[i]);
  if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") {
    return CeilDiv(in, stride);
  }
  if (window.kernel[i] < 0) return {};
  const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const bool valid = window.auto_pad == "VALID";
  const std::int64_t begin = valid ? 0 : window.pads[i];
  const std::int64_t end = valid ? 0 : window.pads[i + window.strides.size()];
  const Dim room = in + Dim(begin + end - extent);
  if (room.is_value() && room.value() < 0) {
    // An empty input makes an empty output; a window that does not fit a non-empty one is an error.
    if (in.value_or(1) == 0) return 0;
    ctx.Fail("a window of " + std::to_string(extent) + " does not fit spatial dim " +
             std::to_string(i) + " of size " + in.ToString() + " with padding " +
             std::to_string(begin) + "+" + std::to_string(end));
  }
  if (!window.ceil_mode) return FloorDiv(room, stride) + Dim(1);
  const Dim count = CeilDiv(room, stride) + Dim(1);
  if (!count.is_value() || !in.is_value()) return count;
  // A window that would start in the padding behind the input is dropped.
  const bool starts_behind = (count.value() - 1) * window.strides[i] >= in.value() + begin;
  return starts_behind ? Dim(count.value() - 1) : count;
}

Shape MatMulShape(const InferenceContext& ctx, const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked()) return {};
  if (a.rank() == 0 || b.rank() == 0) ctx.Fail("a scalar is no matrix");
  const Dim& inner_a = a[a.rank() - 1];
  const Dim& inner_b = b[b.rank() == 1 ? 0 : b.rank() - 2];
  if (inner_a.is_value() && inner_b.is_value() && inner_a.value() != inner_b.value()) {
    ctx.Fail("shapes " + a.ToString() + " and " + b.ToString() + " cannot be multiplied: " +
             inner_a.ToString() + " columns against " + inner_b.ToString() + " rows");
  }
  const auto batch_of = [](const Shape& shape) {
    Shape batch = Shape::Scalar();
    for (std::size_t i = 0; i + 2 < shape.rank(); ++i) batch.push_back(shape[i]);
    return batch;
  };
  std::optional<Shape> out = BroadcastShapes(batch_of(a), batch_of(b));
  if (!out.has_value()) {
    ctx.Fail("the leading dims of shapes " + a.ToString() + " and " + b.ToString() +
             " do not broadcast");
  }
  if (a.rank() > 1) out->push_back(a[a.rank() - 2]);
  if (b.rank() > 1) out->push_back(b[b.rank() - 1]);
  return *std::move(out);
}

Shape GemmShape(const InferenceContext& ctx, std::size_t a, std::size_t b) {
  CheckRank(ctx, a, "A", 2, 2);
  CheckRank(ctx, b, "B", 2, 2);
  const Shape& as = ctx.input_shape(a);
  const Shape& bs = ctx.input_shape(b);
  const std::size_t ta = ctx.attributes().Int("transA", 0) != 0 ? 1 : 0;
  const std::size_t tb = ctx.attributes().Int("transB", 0) != 0 ? 1 : 0;
  const Dim inner_a = as.ranked() ? as[1 - ta] : Dim();
  const Dim inner_b = bs.ranked() ? bs[tb] : Dim();
  if (inner_a.is_value() && inner_b.is_value() && inner_a.value() != inner_b.value()) {
    ctx.Fail("A of shape " + as.ToString() + (ta != 0 ? " transposed" : "") + " and B of shape " +
             bs.ToString() + (tb != 0 ? " transposed" : "") + " cannot be multiplied");
  }
  return {as.ranked() ? as[ta] : Dim(), bs.ranked() ? bs[1 - tb] : Dim()};
}

bool Followable(DataType elem) {
  return elem == DataType::kInt64 || elem == DataType::kInt32 || elem == DataType::kBool;
}

void FollowUnary(InferenceContext& ctx, FunctionRef<Dim(const Dim&)> op) {
  Ints values;
  if (!Followable(ctx.input_elem(0)) || !ctx.PeekInts(0, &values)) return;
  for (Dim& d : values) d = op(d);
  ctx.SetInts(0, values);
}

void FollowBinary(InferenceContext& ctx, FunctionRef<Dim(const Dim&, const Dim&)> op) {
  const Shape& sa = ctx.input_shape(0);
  const Shape& sb = ctx.input_shape(1);
  if (!Followable(ctx.input_elem(0)) || !Followable(ctx.input_elem(1))) return;
  if (!sa.ranked() || !sb.ranked()) return;
  Ints a;
  Ints b;
  if (!ctx.PeekInts(0, &a) || !ctx.PeekInts(1, &b)) return;
  const bool lists = sa.rank() <= 1 && sb.rank() <= 1;
  if (a.size() != b.size() ? a.size() != 1 && b.size() != 1 : !lists && !(sa == sb)) return;
  const std::size_t count = a.size() == 1 ? b.size() : a.size();
  Ints result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(op(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  }
  ctx.SetInts(0, result);
}

void FollowSame(InferenceContext& ctx, std::size_t input) {
  Ints values;
  if (ctx.PeekInts(input, &values)) ctx.SetInts(0, values);
}

}  // namespace switchyard::ir
