// Elementwise operators of one or more tensors, with NumPy broadcasting.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::elementwise {
namespace {

using Dim2 = Dim(const Dim&, const Dim&);

Dim Truth(bool value) { return Dim(value ? 1 : 0); }

// -1 a < b, 0 a == b, 1 a > b, as far as it can be proven.
std::optional<int> Compare(const Dim& a, const Dim& b) {
  if (a == b) return 0;
  if (a.is_unknown() || b.is_unknown()) return std::nullopt;
  if (IsNonNegative(a - b - Dim(1))) return 1;
  if (IsNonNegative(b - a - Dim(1))) return -1;
  return std::nullopt;
}

template <typename Test>
Dim CompareWith(const Dim& a, const Dim& b, Test test) {
  const std::optional<int> order = Compare(a, b);
  return order.has_value() ? Truth(test(*order)) : Dim();
}

Dim Add(const Dim& a, const Dim& b) { return a + b; }
Dim Sub(const Dim& a, const Dim& b) { return a - b; }
Dim Mul(const Dim& a, const Dim& b) { return a * b; }
// The operator rounds towards zero.
Dim Div(const Dim& a, const Dim& b) {
  if (a.is_value() && b.is_value()) {
    const bool defined = b.value() != 0 && !(a.value() == INT64_MIN && b.value() == -1);
    return defined ? Dim(a.value() / b.value()) : Dim();
  }
  const Dim quotient = FloorDiv(a, b);
  if (IsNonNegative(a) && IsNonNegative(b)) return quotient;
  // Without a rest the direction of rounding does not matter.
  return IsValue(Modulo(a, b), 0) ? quotient : Dim();
}
Dim Equal(const Dim& a, const Dim& b) {
  return CompareWith(a, b, [](int order) { return order == 0; });
}
Dim Less(const Dim& a, const Dim& b) {
  return CompareWith(a, b, [](int order) { return order < 0; });
}
Dim Greater(const Dim& a, const Dim& b) { return Less(b, a); }
Dim LessOrEqual(const Dim& a, const Dim& b) {
  return CompareWith(a, b, [](int order) { return order <= 0; });
}
Dim GreaterOrEqual(const Dim& a, const Dim& b) { return LessOrEqual(b, a); }
Dim And(const Dim& a, const Dim& b) {
  if (IsValue(a, 0) || IsValue(b, 0)) return Dim(0);
  return a.is_value() && b.is_value() ? Dim(1) : Dim();
}
Dim Or(const Dim& a, const Dim& b) {
  if (IsValue(a, 1) || IsValue(b, 1)) return Dim(1);
  return a.is_value() && b.is_value() ? Dim(0) : Dim();
}
Dim Neg(const Dim& a) { return Dim(0) - a; }
Dim Abs(const Dim& a) {
  if (a.is_value()) return Dim(a.value() < 0 ? -a.value() : a.value());
  return IsNonNegative(a) ? a : Dim();
}
Dim Not(const Dim& a) { return a.is_value() ? Truth(a.value() == 0) : Dim(); }
Dim Sign(const Dim& a) { return a.is_value() ? Dim((a.value() > 0) - (a.value() < 0)) : Dim(); }

// Before version 7 operands were only broadcast into the first one's shape.
Shape BinaryShape(const InferenceContext& ctx) {
  if (ctx.since_version() >= 7) return Broadcast(ctx, 0, 2);
  return ctx.input_shape(0);
}

DataType AnyElem(const InferenceContext& ctx, std::size_t first) {
  for (std::size_t i = first; i < ctx.num_inputs(); ++i) {
    if (ctx.input_elem(i) != DataType::kUndefined) return ctx.input_elem(i);
  }
  return DataType::kUndefined;
}

void InferSame(InferenceContext& ctx) { CopyType(ctx, 0, 0); }

// Rounds what is whole already, when a float tensor carries integers.
void InferRounding(InferenceContext& ctx) {
  CopyType(ctx, 0, 0);
  FollowSame(ctx, 0);
}

template <Dim (*op)(const Dim&)>
void InferUnary(InferenceContext& ctx) {
  CopyType(ctx, 0, 0);
  FollowUnary(ctx, op);
}

void InferToBool(InferenceContext& ctx) { CopyShape(ctx, 0, 0, DataType::kBool); }

void InferBinary(InferenceContext& ctx) { ctx.SetTensor(0, AnyElem(ctx, 0), BinaryShape(ctx)); }

template <Dim2* op>
void InferArithmetic(InferenceContext& ctx) {
  InferBinary(ctx);
  FollowBinary(ctx, op);
}

void InferLogic(InferenceContext& ctx) { ctx.SetTensor(0, DataType::kBool, BinaryShape(ctx)); }

template <Dim2* op>
void InferComparison(InferenceContext& ctx) {
  InferLogic(ctx);
  FollowBinary(ctx, op);
}

void InferMod(InferenceContext& ctx) {
  InferBinary(ctx);
  const bool sign_of_dividend = ctx.attributes().Int("fmod", 0) != 0;
  FollowBinary(ctx, [sign_of_dividend](const Dim& a, const Dim& b) {
    if (sign_of_dividend && !(IsNonNegative(a) && IsNonNegative(b))) return Dim();
    return Modulo(a, b);
  });
}

void InferPow(InferenceContext& ctx) { ctx.SetTensor(0, ctx.input_elem(0), BinaryShape(ctx)); }

// Max, Min, Mean, Sum: any number of inputs, of one shape before version 8.
void InferVariadic(InferenceContext& ctx) {
  ctx.SetTensor(0, AnyElem(ctx, 0), Broadcast(ctx, 0, ctx.num_inputs()));
}

template <Dim2* op>
void InferExtremum(InferenceContext& ctx) {
  InferVariadic(ctx);
  if (ctx.num_inputs() == 1) {
    FollowSame(ctx, 0);
  } else if (ctx.num_inputs() == 2) {
    FollowBinary(ctx, op);
  }
}

void InferPRelu(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& slope = ctx.input_shape(1);
  if (ctx.since_version() >= 7 && x.ranked() && slope.ranked()) {
    const std::optional<Shape> both = BroadcastShapes(x, slope);
    if (!both.has_value() || both->rank() != x.rank()) {
      FailInput(ctx, 1, "slope", "a shape that broadcasts to " + x.ToString(), slope.ToString());
    }
  }
  CopyType(ctx, 0, 0);
}

void InferWhere(InferenceContext& ctx) {
  ctx.SetTensor(0, AnyElem(ctx, 1), Broadcast(ctx, 0, 3));
  Ints condition;
  Ints x;
  Ints y;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!ctx.input_shape(i).ranked() || ctx.input_shape(i).rank() > 1) return;
  }
  if (!ctx.PeekInts(0, &condition) || !ctx.PeekInts(1, &x) || !ctx.PeekInts(2, &y)) return;
  const std::size_t count = std::max({condition.size(), x.size(), y.size()});
  if (condition.empty() || x.empty() || y.empty()) return;
  Ints result;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim& c = condition[condition.size() == 1 ? 0 : i];
    const Dim& a = x[x.size() == 1 ? 0 : i];
    const Dim& b = y[y.size() == 1 ? 0 : i];
    result.push_back(c.is_value() ? (c.value() != 0 ? a : b) : a == b ? a : Dim());
  }
  ctx.SetInts(0, result);
}

void InferDropout(InferenceContext& ctx) {
  CopyType(ctx, 0, 0);
  const bool bool_mask = ctx.since_version() >= 10;
  CopyShape(ctx, 0, 1, bool_mask ? DataType::kBool : ctx.input_elem(0));
}

void InferBernoulli(InferenceContext& ctx) {
  CopyShape(ctx, 0, 0, DataTypeAttribute(ctx, "dtype", ctx.input_elem(0)));
}

void InferClip(InferenceContext& ctx) {
  if (ctx.since_version() >= 11) {
    CheckRank(ctx, 1, "min", 0, 0);
    CheckRank(ctx, 2, "max", 0, 0);
  }
  CopyType(ctx, 0, 0);
  Ints values;
  Ints low;
  Ints high;
  if (ctx.since_version() < 11 || !Followable(ctx.input_elem(0)) || !ctx.PeekInts(0, &values)) {
    return;
  }
  if (ctx.has_input(1) && (!ctx.PeekInts(1, &low) || low.size() != 1)) return;
  if (ctx.has_input(2) && (!ctx.PeekInts(2, &high) || high.size() != 1)) return;
  for (Dim& d : values) {
    if (!low.empty()) d = Max(d, low[0]);
    if (!high.empty()) d = Min(d, high[0]);
  }
  ctx.SetInts(0, values);
}

// Along an axis that the shape must have.
void InferCumulative(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  Axes axis;
  if (x.ranked() && ReadNumbers(ctx, 1, &axis) && axis.size() == 1) {
    ctx.Axis(axis[0], x.rank(), "axis");
  }
  CopyType(ctx, 0, 0);
}

}  // namespace

void Register(InferenceRegistry& registry) {
  for (const char* op : {"Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "BitwiseNot",
                         "Celu",
                         "Cos",
                         "Cosh",
                         "Elu",
                         "Erf",
                         "Exp",
                         "Gelu",
                         "HardSigmoid",
                         "HardSwish",
                         "LeakyRelu",
                         "Log",
                         "Mish",
                         "Reciprocal",
                         "Relu",
                         "Selu",
                         "Shrink",
                         "Sigmoid",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "Swish",
                         "Tan",
                         "Tanh",
                         "ThresholdedRelu",
                         "Affine",
                         "ParametricSoftplus",
                         "ScaledTanh",
                         "Scale",
                         "ImageScaler"}) {
    registry.Register(op, InferSame);
  }
  registry.Register("Identity", InferRounding);
  for (const char* op : {"Ceil", "Floor", "Round"}) registry.Register(op, InferRounding);
  registry.Register("Abs", InferUnary<Abs>);
  registry.Register("Neg", InferUnary<Neg>);
  registry.Register("Not", InferUnary<Not>);
  registry.Register("Sign", InferUnary<Sign>);
  registry.Register("IsNaN", InferToBool);
  registry.Register("IsInf", InferToBool);
  registry.Register("Add", InferArithmetic<Add>);
  registry.Register("Sub", InferArithmetic<Sub>);
  registry.Register("Mul", InferArithmetic<Mul>);
  registry.Register("Div", InferArithmetic<Div>);
  registry.Register("Mod", InferMod);
  registry.Register("Pow", InferPow);
  for (const char* op : {"BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "SwiGLU"}) {
    registry.Register(op, InferBinary);
  }
  registry.Register("And", InferComparison<And>);
  registry.Register("Or", InferComparison<Or>);
  registry.Register("Xor", InferLogic);
  registry.Register("Equal", InferComparison<Equal>);
  registry.Register("Less", InferComparison<Less>);
  registry.Register("Greater", InferComparison<Greater>);
  registry.Register("LessOrEqual", InferComparison<LessOrEqual>);
  registry.Register("GreaterOrEqual", InferComparison<GreaterOrEqual>);
  registry.Register("Max", InferExtremum<Max>);
  registry.Register("Min", InferExtremum<Min>);
  registry.Register("Mean", InferVariadic);
  registry.Register("Sum", InferVariadic);
  registry.Register("PRelu", InferPRelu);
  registry.Register("Where", InferWhere);
  registry.Register("Dropout", InferDropout);
  registry.Register("Bernoulli", InferBernoulli);
  registry.Register("Clip", InferClip);
  registry.Register("CumSum", InferCumulative);
  registry.Register("CumProd", InferCumulative);
}

}  // namespace switchyard::ir::ops::elementwise
