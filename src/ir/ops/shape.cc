// Operators that make, read or change shapes without moving elements; and Cast.

#include <cmath>
#include <limits>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::shape {
namespace {

void InferShape(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (!x.ranked()) {
    ctx.SetTensor(0, DataType::kInt64, Shape::OfRank(1));
    return;
  }
  const auto rank = static_cast<std::int64_t>(x.rank());
  const auto bound = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = bound(ctx.attributes().Int("start", 0));
  const std::int64_t end = bound(ctx.attributes().Int("end", rank));
  Ints values;
  for (std::int64_t i = start; i < end; ++i) values.push_back(x[static_cast<std::size_t>(i)]);
  ctx.SetTensor(0, DataType::kInt64, {Dim(static_cast<std::int64_t>(values.size()))});
  ctx.SetInts(0, values);
}

void InferSize(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kInt64, Shape::Scalar());
  const Dim count = ctx.input_shape(0).element_count();
  if (!count.is_unknown()) ctx.SetInts(0, std::span(&count, 1));
}

// Removes from both lists the dims that they share, so that what is left can be divided.
void Cancel(Ints& a, Ints& b) {
  for (std::size_t i = 0; i < a.size();) {
    Dim* same = std::find(b.begin(), b.end(), a[i]);
    if (same == b.end()) {
      ++i;
      continue;
    }
    b.erase(same);
    a.erase(a.begin() + i);
  }
}

Dim Product(const Ints& dims) {
  Dim product(1);
  for (const Dim& d : dims) product = product * d;
  return product;
}

[[noreturn]] void FailReshape(const InferenceContext& ctx, const Shape& from, const Ints& wanted) {
  std::string text = "[";
  for (const Dim& d : wanted) text += (text.size() > 1 ? "," : "") + d.ToString();
  ctx.Fail("a tensor of shape " + from.ToString() + " cannot be reshaped to " + text + "]");
}

// `wanted` may hold one -1, and zeros that stand for the input's dim unless `zero_is_zero`.
Shape Reshaped(const InferenceContext& ctx, const Shape& x, const Ints& wanted, bool zero_is_zero) {
  Shape out = Shape::Scalar();
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Dim d = wanted[i];
    if (IsValue(d, 0) && !zero_is_zero) {
      if (x.ranked() && i >= x.rank()) FailReshape(ctx, x, wanted);
      d = x.ranked() ? x[i] : Dim();
    } else if (IsValue(d, -1)) {
      if (inferred.has_value()) FailReshape(ctx, x, wanted);
      inferred = i;
      d = Dim();
    } else if (d.is_value() && d.value() < 0) {
      FailReshape(ctx, x, wanted);
    } else if (d.is_symbolic() && !IsNonNegative(d)) {
      // It may turn out to be -1.
      d = Dim();
    }
    out.push_back(d);
  }
  if (!x.ranked()) return out;
  Ints left(x.begin(), x.end());
  Ints right;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    if (!inferred.has_value() || i != *inferred) right.push_back(out[i]);
  }
  const Dim have = x.element_count();
  const Dim need = Product(right);
  if (!inferred.has_value()) {
    if (have.is_value() && need.is_value() && have.value() != need.value()) {
      FailReshape(ctx, x, wanted);
    }
    return out;
  }
  Cancel(left, right);
  const Dim count = Product(left);
  const Dim each = Product(right);
  if (count.is_value() && each.is_value()) {
    const bool fits = each.value() == 0 ? count.value() == 0 : count.value() % each.value() == 0;
    if (!fits) FailReshape(ctx, x, wanted);
    out[*inferred] = each.value() == 0 ? Dim(0) : Dim(count.value() / each.value());
  } else {
    out[*inferred] = FloorDiv(count, each);
  }
  return out;
}

void InferReshape(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Ints wanted;
  bool known = true;
  if (ctx.since_version() < 5) {
    const std::span<const std::int64_t> values = ctx.attributes().Ints("shape");
    wanted.assign(values.begin(), values.end());
  } else {
    CheckRank(ctx, 1, "shape", 1, 1);
    known = ctx.ReadInts(1, &wanted);
  }
  if (!known) {
    const std::optional<std::size_t> rank = ListLength(ctx, 1);
    ctx.SetTensor(0, ctx.input_elem(0), rank.has_value() ? Shape::OfRank(*rank) : Shape());
    return;
  }
  const bool zero_is_zero = ctx.attributes().Int("allowzero", 0) != 0;
  ctx.SetTensor(0, ctx.input_elem(0), Reshaped(ctx, x, wanted, zero_is_zero));
  FollowSame(ctx, 0);
}

void InferFlatten(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (!x.ranked()) {
    ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(2));
    return;
  }
  const auto rank = static_cast<std::int64_t>(x.rank());
  std::int64_t axis = ctx.attributes().Int("axis", 1);
  if (axis < -rank || axis > rank) {
    ctx.Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  if (axis < 0) axis += rank;
  Dim rows(1);
  Dim columns(1);
  for (std::size_t i = 0; i < x.rank(); ++i) {
    Dim& side = static_cast<std::int64_t>(i) < axis ? rows : columns;
    side = side * x[i];
  }
  ctx.SetTensor(0, ctx.input_elem(0), {rows, columns});
}

void InferSqueeze(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Axes axes;
  bool given = false;
  const bool known = ReadAxes(ctx, "axes", 1, &axes, &given);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  if (!known) {
    const std::optional<std::size_t> count = ListLength(ctx, 1);
    if (count.has_value() && *count <= x.rank()) {
      ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(x.rank() - *count));
    }
    return;
  }
  if (given) axes = NormalAxes(ctx, axes, x.rank());
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool named =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (named && x[i].is_value() && x[i].value() != 1) {
      ctx.Fail("axis " + std::to_string(i) + " of shape " + x.ToString() + " is not 1");
    }
    if (!given) {
      if (!x[i].is_value()) return;
      if (x[i].value() != 1) out.push_back(x[i]);
    } else if (!named) {
      out.push_back(x[i]);
    }
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  FollowSame(ctx, 0);
}

void InferUnsqueeze(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Axes axes;
  bool given = false;
  const bool known = ReadAxes(ctx, "axes", 1, &axes, &given);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  if (!known) {
    const std::optional<std::size_t> count = ListLength(ctx, 1);
    if (count.has_value()) ctx.SetTensor(0, ctx.input_elem(0), Shape::OfRank(x.rank() + *count));
    return;
  }
  axes = NormalAxes(ctx, axes, x.rank() + axes.size());
  Shape out = Shape::Scalar();
  std::size_t from = 0;
  for (std::size_t i = 0; i < x.rank() + axes.size(); ++i) {
    const bool named =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    out.push_back(named ? Dim(1) : x[from++]);
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
  FollowSame(ctx, 0);
}

void InferExpand(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 1, "shape", 1, 1);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  Ints wanted;
  if (!ctx.ReadInts(1, &wanted)) {
    const std::optional<std::size_t> length = ListLength(ctx, 1);
    if (!length.has_value()) return;
    Shape out = Shape::OfRank(std::max(x.rank(), *length));
    // Only dims of 1 that the target reaches can grow.
    for (std::size_t i = 0; i < x.rank(); ++i) {
      const bool reached = x.rank() - i <= *length;
      const bool can_grow = !x[i].is_value() || x[i].value() == 1;
      if (!reached || !can_grow) out[out.rank() - x.rank() + i] = x[i];
    }
    ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
    return;
  }
  Shape target = Shape::Scalar();
  for (const Dim& d : wanted) target.push_back(d);
  std::optional<Shape> out = BroadcastShapes(x, target);
  if (!out.has_value()) {
    ctx.Fail("a tensor of shape " + x.ToString() + " cannot be expanded to " + target.ToString());
  }
  ctx.SetTensor(0, ctx.input_elem(0), *out);
  Ints values;
  if (!ctx.PeekInts(0, &values) || values.size() != 1) return;
  const Dim count = out->element_count();
  if (out->rank() > 1 || count.value_or(ValueInfo::kMaxFollowed + 1) > 8) return;
  ctx.SetInts(0, Ints(static_cast<std::size_t>(count.value()), values[0]));
}

void InferTile(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (ctx.since_version() < 6 || !x.ranked()) {
    ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
    return;
  }
  Ints repeats;
  Shape out = Shape::OfRank(x.rank());
  if (ctx.ReadInts(1, &repeats)) {
    if (repeats.size() != x.rank()) {
      FailInput(ctx, 1, "repeats", std::to_string(x.rank()) + " numbers, one per axis",
                std::to_string(repeats.size()));
    }
    for (std::size_t i = 0; i < x.rank(); ++i) out[i] = x[i] * repeats[i];
  }
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferConstantOfShape(InferenceContext& ctx) {
  const ConstantPtr value = ctx.attributes().Tensor("value");
  const DataType elem = value ? value->type() : DataType::kFloat;
  if (value && value->size() != 1) {
    ctx.Fail("attribute 'value' has " + std::to_string(value->size()) + " elements, expected one");
  }
  CheckRank(ctx, 0, "input", 1, 1);
  Ints dims;
  if (!ctx.ReadInts(0, &dims)) {
    const std::optional<std::size_t> rank = ListLength(ctx, 0);
    ctx.SetTensor(0, elem, rank.has_value() ? Shape::OfRank(*rank) : Shape());
    return;
  }
  Shape out = Shape::Scalar();
  for (const Dim& d : dims) {
    if (d.is_value() && d.value() < 0) FailInput(ctx, 0, "input", "sizes", d.ToString());
    out.push_back(d);
  }
  const Dim count = out.element_count();
  ctx.SetTensor(0, elem, out);
  if (!Followable(elem) || out.rank() > 1 || !count.is_value() || count.value() > 8) return;
  Dim fill(0);
  if (elem == DataType::kInt64) fill = Dim(value->tensor().values<std::int64_t>()[0]);
  if (elem == DataType::kInt32) fill = Dim(value->tensor().values<std::int32_t>()[0]);
  if (elem == DataType::kBool) fill = Dim(value->tensor().values<bool>()[0] ? 1 : 0);
  ctx.SetInts(0, Ints(static_cast<std::size_t>(count.value()), fill));
}

// Elements of [start, limit) by delta, or unknown.
Dim FloatRange(InferenceContext& ctx) {
  InlineVector<double, 8> v[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (!ctx.ReadFloats(i, &v[i]) || v[i].size() != 1 || !std::isfinite(v[i][0])) return {};
  }
  if (v[2][0] == 0) ctx.Fail("delta is 0");
  const double count = std::ceil((v[1][0] - v[0][0]) / v[2][0]);
  return count > 9e15 ? Dim() : Dim(std::max<std::int64_t>(0, static_cast<std::int64_t>(count)));
}

Dim IntRange(InferenceContext& ctx, Ints* all) {
  Ints v[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (!ctx.ReadInts(i, &v[i]) || v[i].size() != 1) return {};
  }
  const Dim& start = v[0][0];
  const Dim& delta = v[2][0];
  if (IsValue(delta, 0)) ctx.Fail("delta is 0");
  if (!delta.is_value() && !IsNonNegative(delta)) return {};
  const Dim count = Max(CeilDiv(v[1][0] - start, delta), Dim(0));
  if (start.is_value() && count.is_value() && count.value() <= 8) {
    for (std::int64_t i = 0; i < count.value(); ++i) all->push_back(start + Dim(i) * delta);
  }
  return count;
}

void InferRange(InferenceContext& ctx) {
  for (std::size_t i = 0; i < 3; ++i) CheckRank(ctx, i, i == 0 ? "start" : "limit or delta", 0, 1);
  const DataType elem = ctx.input_elem(0);
  Ints all;
  const bool floats = types::kFloats.Contains(elem);
  const Dim count = floats ? FloatRange(ctx) : IntRange(ctx, &all);
  ctx.SetTensor(0, elem, {count});
  if (count.is_value() && count.value() == static_cast<std::int64_t>(all.size()) && !floats) {
    ctx.SetInts(0, all);
  }
}

void InferCast(InferenceContext& ctx) {
  DataType to = DataType::kUndefined;
  if (ctx.since_version() < 6) {
    // The element type's name in capitals.
    std::string name(Text(ctx, "to", ""));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::optional<DataType> type = DataTypeFromName(name);
    if (!type.has_value()) ctx.Fail("attribute 'to' is '" + name + "', which is no element type");
    to = *type;
  } else {
    to = DataTypeAttribute(ctx, "to", DataType::kUndefined);
  }
  CopyShape(ctx, 0, 0, to);
  const bool exact = to == DataType::kInt64 || to == DataType::kInt32 || to == DataType::kFloat ||
                     to == DataType::kDouble;
  if (exact) {
    FollowSame(ctx, 0);
  } else if (to == DataType::kBool) {
    Ints values;
    if (!ctx.PeekInts(0, &values)) return;
    for (Dim& d : values) d = d.is_value() ? Dim(d.value() != 0 ? 1 : 0) : Dim();
    ctx.SetInts(0, values);
  }
}

void InferCastLike(InferenceContext& ctx) {
  CopyShape(ctx, 0, 0, ctx.input_elem(1));
  if (Followable(ctx.input_elem(1)) && ctx.input_elem(1) != DataType::kBool) FollowSame(ctx, 0);
}

void InferBitCast(InferenceContext& ctx) {
  const DataType to = DataTypeAttribute(ctx, "to", DataType::kUndefined);
  if (ctx.input_elem(0) != DataType::kUndefined && BitsOf(to) != BitsOf(ctx.input_elem(0))) {
    ctx.Fail("attribute 'to' is " + std::string(DataTypeName(to)) + ", which is not as wide as " +
             std::string(DataTypeName(ctx.input_elem(0))));
  }
  CopyShape(ctx, 0, 0, to);
}

void InferConstant(InferenceContext& ctx) {
  const Attributes& a = ctx.attributes();
  const auto list = [](std::size_t size) { return Shape{Dim(static_cast<std::int64_t>(size))}; };
  if (const ConstantPtr value = a.Has("value") ? a.Tensor("value") : a.Tensor("sparse_value")) {
    ctx.SetTensor(0, value->type(), Shape(value->dims()));
    if (Followable(value->type()) && value->size() <= 64 && value->type() == DataType::kInt64) {
      Ints values;
      for (std::int64_t v : value->tensor().values<std::int64_t>()) values.push_back(Dim(v));
      ctx.SetInts(0, values);
    }
  } else if (a.Has("value_int")) {
    ctx.SetTensor(0, DataType::kInt64, Shape::Scalar());
    const Dim v(a.Int("value_int", 0));
    ctx.SetInts(0, std::span(&v, 1));
  } else if (a.Has("value_ints")) {
    const std::span<const std::int64_t> values = a.Ints("value_ints");
    ctx.SetTensor(0, DataType::kInt64, list(values.size()));
    ctx.SetInts(0, Ints(values.begin(), values.end()));
  } else if (a.Has("value_float")) {
    ctx.SetTensor(0, DataType::kFloat, Shape::Scalar());
  } else if (a.Has("value_floats")) {
    ctx.SetTensor(0, DataType::kFloat, list(a.Floats("value_floats").size()));
  } else if (a.Has("value_string")) {
    ctx.SetTensor(0, DataType::kString, Shape::Scalar());
  } else if (a.Has("value_strings")) {
    ctx.SetTensor(0, DataType::kString, list(a.Strings("value_strings").size()));
  } else {
    ctx.Fail("has no value");
  }
}

void InferEyeLike(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input", 2, 2);
  CopyShape(ctx, 0, 0, DataTypeAttribute(ctx, "dtype", ctx.input_elem(0)));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("Shape", InferShape);
  registry.Register("Size", InferSize);
  registry.Register("Reshape", InferReshape);
  registry.Register("Flatten", InferFlatten);
  registry.Register("Squeeze", InferSqueeze);
  registry.Register("Unsqueeze", InferUnsqueeze);
  registry.Register("Expand", InferExpand);
  registry.Register("Tile", InferTile);
  registry.Register("ConstantOfShape", InferConstantOfShape);
  registry.Register("Range", InferRange);
  registry.Register("Cast", InferCast);
  registry.Register("CastLike", InferCastLike);
  registry.Register("BitCast", InferBitCast);
  registry.Register("Constant", InferConstant);
  registry.Register("EyeLike", InferEyeLike);
}

}  // namespace switchyard::ir::ops::shape
