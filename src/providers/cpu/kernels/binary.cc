// Two inputs under NumPy's broadcasting: arithmetic, comparison, logic, bits.

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::binary {
namespace {

using math::BinaryOp;
using math::ElemType;

struct Row {
  const char* op_type;
  BinaryOp op;
  TypeSet types;
  bool to_bool = false;
  double ns_per_element = 0.35;
};

class Binary : public OpKernel {
 public:
  Binary(OpKernelInfo& info, BinaryOp op, double cost) : alignment_(info), cost_(cost) {
    const DataType type = info.input_type(0).elem;
    kernel_ = math::GetBinary(op, static_cast<ElemType>(type), IsaOf(info));
    if (kernel_.fn == nullptr) {
      info.Fail("no vector kernel for " + std::string(DataTypeName(type)),
                ErrorCode::kNotImplemented);
    }
  }

  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const auto a = context.input_dims(0);
    const Dims b = alignment_.Align(context, a, context.input_dims(1));
    const Dims out = BroadcastDimsOf(context, a, b);
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {a, b}, &state.plan);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const void* a = context.Input(0).raw();
    const void* b = context.Input(1).raw();
    void* out = context.Output(0, state.out.span()).raw_mutable();
    // A failing element is remembered, not thrown at once: the outcome is the same for every split.
    std::atomic<std::uint32_t> trouble{0};
    ParallelItems(context, state.plan.size, cost_, [&](std::int64_t begin, std::int64_t end) {
      const std::uint32_t found = math::RunBinary(kernel_, state.plan, a, b, out, begin, end);
      if (found != 0) trouble.fetch_or(found, std::memory_order_relaxed);
    });
    if ((trouble.load() & math::kDivideByZero) != 0) context.Fail("integer division by zero");
  }

 private:
  math::BinaryKernel kernel_;
  OperandAlignment alignment_;
  double cost_;
};

// Powers whose two inputs differ in type, or that are not plain floats.
class MixedPow final : public OpKernel {
 public:
  explicit MixedPow(OpKernelInfo& info) : alignment_(info) {}
  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const auto a = context.input_dims(0);
    const Dims b = alignment_.Align(context, a, context.input_dims(1));
    const Dims out = BroadcastDimsOf(context, a, b);
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {a, b}, &state.plan);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const Tensor& x = context.Input(0);
    const Tensor& y = context.Input(1);
    Tensor& z = context.Output(0, state.out.span());
    DispatchType(x.type(), TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t>{},
                 [&](auto xt) {
                   using X = typename decltype(xt)::type;
                   DispatchType(y.type(), NumericTypes{}, [&](auto yt) {
                     using Y = typename decltype(yt)::type;
                     const X* a = x.data<X>();
                     const Y* b = y.data<Y>();
                     X* out = z.data_mutable<X>();
                     ParallelItems(context, state.plan.size, 20,
                                   [&](std::int64_t begin, std::int64_t end) {
                                     Run(state.plan, a, b, out, begin, end);
                                   });
                   });
                 });
  }

 private:
  template <typename X, typename Y>
  static void Run(const math::BroadcastPlan& plan, const X* a, const Y* b, X* out,
                  std::int64_t begin, std::int64_t end) {
    math::BroadcastCursor cursor(plan, begin);
    const std::int64_t sa = plan.strides[0][plan.rank - 1];
    const std::int64_t sb = plan.strides[1][plan.rank - 1];
    while (begin < end) {
      const std::int64_t n = std::min(cursor.run(), end - begin);
      for (std::int64_t i = 0; i < n; ++i) {
        out[begin + i] = One(a[cursor.offset(0) + i * sa], b[cursor.offset(1) + i * sb]);
      }
      begin += n;
      cursor.Advance(n);
    }
  }

  template <typename X, typename Y>
  static X One(X x, Y y) {
    if constexpr (std::is_integral_v<X> && std::is_integral_v<Y>) {
      return IntegerPower(x, y);
    } else if constexpr (std::is_integral_v<X>) {
      return Saturate<X>(std::pow(static_cast<double>(x), static_cast<double>(Widen(y))));
    } else {
      using C = ComputeOf<X>;
      return Narrow<X>(
          static_cast<C>(std::pow(static_cast<double>(Widen(x)), static_cast<double>(Widen(y)))));
    }
  }

  template <typename X>
  static X Saturate(double v) {
    if (!(v == v)) return 0;
    constexpr double low = static_cast<double>(std::numeric_limits<X>::min());
    constexpr double high = static_cast<double>(std::numeric_limits<X>::max());
    if (v <= low) return std::numeric_limits<X>::min();
    if (v >= high) return std::numeric_limits<X>::max();
    return static_cast<X>(v);
  }

  // Wraps around like the other integer operators.
  template <typename X, typename Y>
  static X IntegerPower(X x, Y y) {
    using U = std::make_unsigned_t<X>;
    if constexpr (std::is_signed_v<Y>) {
      if (y < 0) {
        if (x == 1) return 1;
        if (x == -1) return y % 2 == 0 ? 1 : -1;
        return 0;
      }
    }
    U base = static_cast<U>(x), result = 1;
    for (auto e = static_cast<std::uint64_t>(y); e != 0; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return static_cast<X>(result);
  }

  OperandAlignment alignment_;
};

// A power with a constant exponent that has an operation of its own.
class ConstantPow final : public OpKernel {
 public:
  ConstantPow(OpKernelInfo& info, math::UnaryOp op)
      : kernel_(math::GetUnary(op, static_cast<ElemType>(info.input_type(0).elem), IsaOf(info))) {
    if (kernel_.fn == nullptr) info.Fail("no vector kernel", ErrorCode::kNotImplemented);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto* from = static_cast<const std::byte*>(x.raw());
    auto* to = static_cast<std::byte*>(context.Output(0, x.dims()).raw_mutable());
    ParallelItems(context, x.size(), 0.4, [&](std::int64_t begin, std::int64_t end) {
      math::RunUnary(kernel_, from + begin * kernel_.in_bytes, to + begin * kernel_.out_bytes,
                     end - begin);
    });
  }

 private:
  math::UnaryKernel kernel_;
};

// Equality of strings.
class StringEqual final : public OpKernel {
 public:
  explicit StringEqual(OpKernelInfo&) {}
  std::size_t state_bytes() const override { return sizeof(BroadcastState); }
  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const Dims out = BroadcastDimsOf(context, context.input_dims(0), context.input_dims(1));
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {context.input_dims(0), context.input_dims(1)}, &state.plan);
  }
  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const auto* a = context.Input(0).data<std::string>();
    const auto* b = context.Input(1).data<std::string>();
    bool* out = context.Output(0, state.out.span()).data_mutable<bool>();
    math::BroadcastCursor cursor(state.plan, 0);
    for (std::int64_t i = 0; i < state.plan.size; ++i) {
      out[i] = a[cursor.offset(0)] == b[cursor.offset(1)];
      cursor.Advance(1);
    }
  }
};

// x < 0 ? slope * x : x, the slope broadcast to x.
class PRelu final : public OpKernel {
 public:
  explicit PRelu(OpKernelInfo& info) : legacy_(info.node().SinceVersion() < 7) {}
  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const auto x = context.input_dims(0);
    Dims slope(context.input_dims(1));
    // Before opset 7 a vector of slopes is one per channel.
    if (legacy_ && slope.size() == 1 && slope[0] != 1 && x.size() > 1) {
      for (std::size_t i = 2; i < x.size(); ++i) slope.push_back(1);
    }
    StoreDims(context, x, &state.out);
    MakePlan(context, x, {x, slope}, &state.plan);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const Tensor& x = context.Input(0);
    const Tensor& slope = context.Input(1);
    Tensor& y = context.Output(0, state.out.span());
    DispatchType(x.type(), NumericTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* in = x.data<T>();
      const T* s = slope.data<T>();
      T* out = y.data_mutable<T>();
      ParallelItems(
          context, state.plan.size, kIsHalf<T> ? 2.0 : 0.4,
          [&](std::int64_t begin, std::int64_t end) { Run(state.plan, in, s, out, begin, end); });
    });
  }

 private:
  template <typename T>
  static void Run(const math::BroadcastPlan& plan, const T* in, const T* slope, T* out,
                  std::int64_t begin, std::int64_t end) {
    math::BroadcastCursor cursor(plan, begin);
    const bool one_slope = plan.strides[1][plan.rank - 1] == 0;
    while (begin < end) {
      const std::int64_t n = std::min(cursor.run(), end - begin);
      const T* x = in + begin;
      const T* s = slope + cursor.offset(1);
      T* y = out + begin;
      if (one_slope) {
        const ComputeOf<T> k = Widen(*s);
        for (std::int64_t i = 0; i < n; ++i) y[i] = One<T>(Widen(x[i]), k);
      } else {
        for (std::int64_t i = 0; i < n; ++i) y[i] = One<T>(Widen(x[i]), Widen(s[i]));
      }
      begin += n;
      cursor.Advance(n);
    }
  }
  template <typename T>
  static T One(ComputeOf<T> x, ComputeOf<T> slope) {
    return Narrow<T>(static_cast<ComputeOf<T>>(x < ComputeOf<T>(0) ? slope * x : x));
  }
  bool legacy_;
};

const Row kRows[] = {
    {"Add", BinaryOp::kAdd, types::kNumeric},
    {"Sub", BinaryOp::kSub, types::kNumeric},
    {"Mul", BinaryOp::kMul, types::kNumeric},
    {"Div", BinaryOp::kDiv, types::kNumeric, false, 0.6},
    {"And", BinaryOp::kBitAnd, types::kBool},
    {"Or", BinaryOp::kBitOr, types::kBool},
    {"Xor", BinaryOp::kBitXor, types::kBool},
    {"BitwiseAnd", BinaryOp::kBitAnd, types::kIntegers},
    {"BitwiseOr", BinaryOp::kBitOr, types::kIntegers},
    {"BitwiseXor", BinaryOp::kBitXor, types::kIntegers},
    {"Equal", BinaryOp::kEqual, types::kNumeric | types::kBool, true},
    {"Less", BinaryOp::kLess, types::kNumeric, true},
    {"LessOrEqual", BinaryOp::kLessOrEqual, types::kNumeric, true},
    {"Greater", BinaryOp::kGreater, types::kNumeric, true},
    {"GreaterOrEqual", BinaryOp::kGreaterOrEqual, types::kNumeric, true},
};

std::unique_ptr<OpKernel> MakePow(OpKernelInfo& info) {
  const DataType type = info.input_type(0).elem;
  if (const Tensor* exponent = info.constant(1);
      exponent != nullptr && exponent->size() == 1 && exponent->rank() == 0 &&
      types::kFloats.Contains(type) && types::kFloats.Contains(exponent->type())) {
    double value = 0;
    DispatchType(exponent->type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      value = static_cast<double>(Widen(*exponent->data<T>()));
    });
    if (value == 2) return std::make_unique<ConstantPow>(info, math::UnaryOp::kSquare);
    if (value == 1) return std::make_unique<ConstantPow>(info, math::UnaryOp::kCopy);
    if (value == -1) return std::make_unique<ConstantPow>(info, math::UnaryOp::kReciprocal);
  }
  if (types::kFloats.Contains(type) && info.input_type(1).elem == type) {
    return std::make_unique<Binary>(info, BinaryOp::kPow, 5.0);
  }
  return std::make_unique<MixedPow>(info);
}

KernelCreateInfo& InPlace(KernelCreateInfo& info) { return info.MayAlias(0, 0).MayAlias(1, 0); }

}  // namespace

void Register(KernelRegistry& registry) {
  for (const Row& row : kRows) {
    KernelCreateInfo info = KernelCreateInfo::For(row.op_type);
    if (!row.to_bool) InPlace(info);
    registry.Register(
        info.Input(0, row.types).Create([&row](OpKernelInfo& node) -> std::unique_ptr<OpKernel> {
          return std::make_unique<Binary>(node, row.op, row.ns_per_element);
        }));
  }
  KernelCreateInfo mod = KernelCreateInfo::For("Mod");
  registry.Register(InPlace(mod)
                        .Input(0, types::kNumeric)
                        .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                          const bool fmod = info.attributes().Int("fmod", 0) != 0;
                          return std::make_unique<Binary>(
                              info, fmod ? BinaryOp::kFmod : BinaryOp::kMod, 3.0);
                        }));
  KernelCreateInfo shift = KernelCreateInfo::For("BitShift");
  registry.Register(InPlace(shift)
                        .Input(0, types::kIntegers)
                        .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                          const std::string direction = info.attributes().String("direction", "");
                          if (direction != "LEFT" && direction != "RIGHT") {
                            info.Fail("direction is '" + direction + "', neither LEFT nor RIGHT");
                          }
                          const BinaryOp op =
                              direction == "LEFT" ? BinaryOp::kShiftLeft : BinaryOp::kShiftRight;
                          return std::make_unique<Binary>(info, op, 0.35);
                        }));
  registry.Register(KernelCreateInfo::For("Pow")
                        .Input(0, types::kFloats | types::kIndex)
                        .Input(1, types::kNumeric)
                        .MayAlias(0, 0)
                        .Create(MakePow));
  registry.Register(
      KernelCreateInfo::For("PRelu").Input(0, types::kNumeric).MayAlias(0, 0).Make<PRelu>());
  registry.Register(KernelCreateInfo::For("Equal").Input(0, types::kString).Make<StringEqual>());
}

}  // namespace switchyard::cpu::kernels::binary
