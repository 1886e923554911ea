// Integer products: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv. Operands are centred on
// their zero points and multiplied in double, which is exact for 8-bit operands.

#include <atomic>

#include "providers/cpu/kernels/common/conv_geometry.h"
#include "providers/cpu/math/gemm.h"

namespace switchyard::cpu::kernels::quantized {
namespace {

using ByteTypes = TypeList<std::uint8_t, std::int8_t>;

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

double NumberAt(const Tensor& tensor, std::int64_t i) {
  double value = 0;
  DispatchType(tensor.type(), NumericTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = static_cast<double>(Widen(tensor.data<T>()[tensor.size() == 1 ? 0 : i]));
  });
  return value;
}

// Rounds half to even and saturates to an 8-bit type.
template <typename T>
T ToByte(double value, double zero) {
  const double v = std::nearbyint(value) + zero;
  if (!(v > static_cast<double>(std::numeric_limits<T>::min())))
    return std::numeric_limits<T>::min();
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

// What an operand has per row, per column or once.
struct Parameter {
  const Tensor* tensor = nullptr;
  double At(std::int64_t i) const { return tensor != nullptr ? NumberAt(*tensor, i) : 0.0; }
};

struct Product {
  math::GemmPlan plan;
  std::size_t a_at, b_at, c_at;  // in scratch, after the chunks' part
};

void PlanProduct(PrepareContext& context, const math::GemmOpsF64& ops, const math::GemmShape& shape,
                 std::int64_t a, std::int64_t b, Product* product) {
  product->plan = ops.plan(shape);
  std::size_t bytes =
      RoundUp(product->plan.scratch_bytes) * static_cast<std::size_t>(context.team_size());
  const auto reserve = [&](std::size_t* at, std::int64_t n) {
    *at = bytes;
    bytes += RoundUp(static_cast<std::size_t>(n) * sizeof(double));
  };
  reserve(&product->a_at, a);
  reserve(&product->b_at, b);
  reserve(&product->c_at, shape.m * shape.n);
  context.SetScratch(bytes);
}

void RunProduct(OpKernelContext& context, const math::GemmOpsF64& ops, const math::GemmPlan& plan,
                const double* a, const double* b, double* c) {
  if (plan.shape.k == 0) {
    std::fill_n(c, plan.shape.m * plan.shape.n, 0.0);
    return;
  }
  math::GemmArgsT<double> args;
  args.a = a;
  args.lda = plan.shape.k;
  args.b = b;
  args.ldb = args.ldc = plan.shape.n;
  args.c = c;
  auto* scratch = static_cast<std::byte*>(context.scratch());
  context.team().ParallelFor(plan.chunks, [&](std::int64_t chunk, int worker) {
    ops.run_chunk(plan, args, chunk,
                  scratch + RoundUp(plan.scratch_bytes) * static_cast<std::size_t>(worker));
  });
}

// element - zero point, `row` elements per zero point index; periodic in `zeros`.
void Center(OpKernelContext& context, const Tensor& tensor, const Parameter& zero,
            std::int64_t divide, std::int64_t modulo, double* out) {
  DispatchType(tensor.type(), ByteTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = tensor.data<T>();
    if (zero.tensor == nullptr || zero.tensor->size() == 1) {
      const double z = zero.At(0);
      ParallelItems(context, tensor.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<double>(from[i]) - z;
      });
      return;
    }
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      out[i] = static_cast<double>(from[i]) - zero.At(i / divide % modulo);
  });
}

class MatMul final : public OpKernel {
  struct State {
    PodDims out, a_batch, b_batch, batch;
    std::int64_t m, n, k;
    Product product;
  };

 public:
  explicit MatMul(OpKernelInfo& info)
      : linear_(info.node().OpType() == "QLinearMatMul"), ops_(math::GemmF64For(IsaOf(info))) {}
  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    const auto a = context.input_dims(0), b = context.input_dims(linear_ ? 3 : 1);
    if (a.empty() || b.empty()) context.Fail("a scalar operand");
    s.m = a.size() == 1 ? 1 : a[a.size() - 2];
    s.k = a.back();
    s.n = b.size() == 1 ? 1 : b.back();
    if ((b.size() == 1 ? b[0] : b[b.size() - 2]) != s.k)
      context.Fail("cannot multiply " + DimsToString(a) + " by " + DimsToString(b));
    const auto a_batch = a.first(a.size() > 2 ? a.size() - 2 : 0),
               b_batch = b.first(b.size() > 2 ? b.size() - 2 : 0);
    Dims out = BroadcastDimsOf(context, a_batch, b_batch);
    StoreDims(context, a_batch, &s.a_batch);
    StoreDims(context, b_batch, &s.b_batch);
    StoreDims(context, out, &s.batch);
    if (a.size() > 1) out.push_back(s.m);
    if (b.size() > 1) out.push_back(s.n);
    StoreDims(context, out, &s.out);
    PlanProduct(context, ops_, {s.m, s.n, s.k}, switchyard::cpu::Product(a),
                switchyard::cpu::Product(b), &s.product);
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(linear_ ? 3 : 1);
    const Parameter a_zero{context.OptionalInput(2)};
    const Parameter b_zero{context.OptionalInput(linear_ ? 5 : 3)};
    CheckParameter(context, a_zero, a.size() / std::max<std::int64_t>(1, s.k));
    CheckParameter(context, b_zero, b.size() / std::max<std::int64_t>(1, s.k));
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    auto* ad = reinterpret_cast<double*>(scratch + s.product.a_at);
    auto* bd = reinterpret_cast<double*>(scratch + s.product.b_at);
    auto* cd = reinterpret_cast<double*>(scratch + s.product.c_at);
    Center(context, a, a_zero, s.k, a_zero.tensor != nullptr ? a_zero.tensor->size() : 1, ad);
    CenterColumns(context, b, b_zero, s, bd);
    const std::int64_t batches = switchyard::cpu::Product(s.batch.span());
    for (std::int64_t i = 0; i < batches; ++i) {
      const std::int64_t at_a = Entry(s.a_batch, s.batch, i), at_b = Entry(s.b_batch, s.batch, i);
      RunProduct(context, ops_, s.product.plan, ad + at_a * s.m * s.k, bd + at_b * s.k * s.n, cd);
      Store(context, s, at_a, at_b, cd, i * s.m * s.n, y);
    }
  }

 private:
  // One, one per row or column, or one per row or column of every matrix.
  static void CheckParameter(const OpKernelContext& context, const Parameter& p, std::int64_t all) {
    if (p.tensor == nullptr || p.tensor->size() == 1) return;
    if (p.tensor->size() == 0 || all % p.tensor->size() != 0)
      context.Fail("scale or zero point is " + p.tensor->Describe());
  }

  static void CenterColumns(OpKernelContext& context, const Tensor& b, const Parameter& zero,
                            const State& s, double* out) {
    if (zero.tensor == nullptr || zero.tensor->size() == 1)
      return Center(context, b, zero, 1, 1, out);
    const bool per_matrix = zero.tensor->size() > s.n;
    DispatchType(b.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < b.size(); ++i) {
        const std::int64_t column = i % s.n, matrix = i / (s.n * s.k);
        out[i] = static_cast<double>(b.data<T>()[i]) -
                 zero.At(per_matrix ? matrix * s.n + column : column);
      }
    });
  }

  static std::int64_t Entry(const PodDims& own, const PodDims& out, std::int64_t index) {
    std::int64_t entry = 0, pitch = 1;
    for (std::int32_t back = 0; back < own.rank; ++back) {
      const std::int64_t d = own.d[own.rank - 1 - back], o = out.d[out.rank - 1 - back];
      entry += (d == 1 ? 0 : index % o) * pitch;
      index /= o;
      pitch *= d;
    }
    return entry;
  }

  void Store(OpKernelContext& context, const State& s, std::int64_t at_a, std::int64_t at_b,
             const double* c, std::int64_t at, Tensor& y) const {
    if (!linear_) {
      std::int32_t* out = y.data_mutable<std::int32_t>() + at;
      for (std::int64_t i = 0; i < s.m * s.n; ++i)
        out[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(c[i]));
      return;
    }
    const Parameter a_scale{&context.Input(1)}, b_scale{&context.Input(4)},
        y_scale{&context.Input(6)}, y_zero{&context.Input(7)};
    if (y_scale.tensor->size() != 1 || y_zero.tensor->size() != 1)
      context.Fail("y_scale and y_zero_point must be scalars", ErrorCode::kNotImplemented);
    CheckParameter(context, a_scale, context.Input(0).size() / std::max<std::int64_t>(1, s.k));
    CheckParameter(context, b_scale, context.Input(3).size() / std::max<std::int64_t>(1, s.k));
    const std::int64_t a_base = a_scale.tensor->size() > s.m ? at_a * s.m : 0,
                       b_base = b_scale.tensor->size() > s.n ? at_b * s.n : 0;
    DispatchType(y.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t r = 0; r < s.m; ++r) {
        const double row = a_scale.At(a_base + r) / y_scale.At(0);
        for (std::int64_t i = 0; i < s.n; ++i) {
          y.data_mutable<T>()[at + r * s.n + i] =
              ToByte<T>(c[r * s.n + i] * row * b_scale.At(b_base + i), y_zero.At(0));
        }
      }
    });
  }

  bool linear_;
  const math::GemmOpsF64& ops_;
};

class Conv final : public OpKernel {
  struct State {
    PodDims out;
    math::ConvShape shape;
    Product product;
    std::size_t columns_at;
  };

 public:
  explicit Conv(OpKernelInfo& info)
      : linear_(info.node().OpType() == "QLinearConv"),
        geometry_(info),
        ops_(math::GemmF64For(IsaOf(info))) {}
  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    state = State();
    const auto x = context.input_dims(0), w = context.input_dims(linear_ ? 3 : 1);
    Dims out;
    const math::ConvShape s = geometry_.Full(context, x, w, &out);
    StoreDims(context, out, &state.out);
    state.shape = s;
    const std::int64_t k = s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2];
    const std::int64_t pixels = s.out[0] * s.out[1] * s.out[2];
    // The centred weight, the centred input with the columns behind it, the product.
    state.columns_at =
        RoundUp(static_cast<std::size_t>(switchyard::cpu::Product(x)) * sizeof(double));
    PlanProduct(context, ops_, {s.out_channels / s.groups, pixels, k}, switchyard::cpu::Product(w),
                switchyard::cpu::Product(x) + 8 + k * pixels, &state.product);
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    const math::ConvShape& s = state.shape;
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(linear_ ? 3 : 1);
    const Parameter x_zero{context.OptionalInput(2)},
        w_zero{context.OptionalInput(linear_ ? 5 : 3)};
    for (const Parameter& p : {x_zero, w_zero}) {
      if (p.tensor != nullptr && p.tensor->size() != 1 &&
          (p.tensor == x_zero.tensor || p.tensor->size() != s.out_channels))
        context.Fail("a zero point is " + p.tensor->Describe());
    }
    Tensor& y = context.Output(0, state.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    auto* wd = reinterpret_cast<double*>(scratch + state.product.a_at);
    auto* xd = reinterpret_cast<double*>(scratch + state.product.b_at);
    auto* columns = reinterpret_cast<double*>(scratch + state.product.b_at + state.columns_at);
    auto* cd = reinterpret_cast<double*>(scratch + state.product.c_at);
    Center(context, x, x_zero, 1, 1, xd);
    Center(context, w, w_zero, w.size() / s.out_channels, s.out_channels, wd);
    const std::int64_t channels = s.in_channels / s.groups, m = s.out_channels / s.groups;
    const std::int64_t in = s.in[0] * s.in[1] * s.in[2], pixels = state.product.plan.shape.n;
    for (std::int64_t i = 0; i < s.batch * s.groups; ++i) {
      const std::int64_t g = i % s.groups;
      UnfoldImage(context, s, xd + i * channels * in, columns);
      RunProduct(context, ops_, state.product.plan, wd + g * m * state.product.plan.shape.k,
                 columns, cd);
      Store(context, s, g * m, m, pixels, cd, i * m * pixels, y);
    }
  }

 private:
  void Store(OpKernelContext& context, const math::ConvShape& s, std::int64_t channel,
             std::int64_t m, std::int64_t pixels, const double* c, std::int64_t at,
             Tensor& y) const {
    if (!linear_) {
      std::int32_t* out = y.data_mutable<std::int32_t>() + at;
      for (std::int64_t i = 0; i < m * pixels; ++i)
        out[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(c[i]));
      return;
    }
    const Parameter w_scale{&context.Input(4)};
    const Tensor* bias = context.OptionalInput(8);
    if ((w_scale.tensor->size() != 1 && w_scale.tensor->size() != s.out_channels) ||
        (bias != nullptr && bias->size() != s.out_channels)) {
      context.Fail("w_scale is " + w_scale.tensor->Describe());
    }
    const double scale = ReadScalar(context, 1) / ReadScalar(context, 6),
                 zero = ReadScalar(context, 7);
    DispatchType(y.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = y.data_mutable<T>() + at;
      for (std::int64_t r = 0; r < m; ++r) {
        const double factor = scale * w_scale.At(channel + r);
        const double start =
            bias != nullptr ? static_cast<double>(bias->data<std::int32_t>()[channel + r]) : 0.0;
        for (std::int64_t p = 0; p < pixels; ++p)
          out[r * pixels + p] = ToByte<T>((c[r * pixels + p] + start) * factor, zero);
      }
    });
  }

  bool linear_;
  ConvGeometry geometry_;
  const math::GemmOpsF64& ops_;
};

constexpr TypeSet kBytes = DataType::kUint8 | DataType::kInt8;

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("MatMulInteger").Input(0, kBytes).Input(1, kBytes).Make<MatMul>());
  registry.Register(KernelCreateInfo::For("QLinearMatMul")
                        .Input(0, kBytes)
                        .Input(3, kBytes)
                        .Output(0, kBytes)
                        .Make<MatMul>());
  registry.Register(
      KernelCreateInfo::For("ConvInteger").Input(0, kBytes).Input(1, kBytes).Make<Conv>());
  registry.Register(KernelCreateInfo::For("QLinearConv")
                        .Input(0, kBytes)
                        .Input(3, kBytes)
                        .Output(0, kBytes)
                        .Make<Conv>());
}

}  // namespace switchyard::cpu::kernels::quantized
