// com.microsoft MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm. Operands are centred on
// their zero points and multiplied in float; a constant right-hand matrix is centred and packed at
// load.

#include "providers/cpu/kernels/common/product.h"
#include "providers/cpu/math/vec_quantize.h"

namespace switchyard::cpu::kernels::integer_to_float {
namespace {

using math::MatrixForm;

using ByteTypes = TypeList<std::uint8_t, std::int8_t>;
constexpr TypeSet kBytes = DataType::kUint8 | DataType::kInt8;
constexpr std::size_t kAbsent = 99;

// Which input is what.
struct Inputs {
  std::size_t a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
};
constexpr Inputs kToFloat{0, 2, 4, 1, 3, 5, 6, kAbsent, kAbsent};
constexpr Inputs kDynamic{0, kAbsent, kAbsent, 1, 2, 3, 4, kAbsent, kAbsent};
constexpr Inputs kGemm{0, 1, 2, 3, 4, 5, 6, 7, 8};

float NumberAt(const Tensor& tensor, std::int64_t i) {
  float value = 0;
  DispatchType(tensor.type(), NumericTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = static_cast<float>(Widen(tensor.data<T>()[tensor.size() == 1 ? 0 : i]));
  });
  return value;
}

// b - zero as float; zero has one value or one per column.
void Center(const Tensor& b, std::span<const float> zero, bool transposed, std::int64_t columns,
            std::int64_t depth, float* to) {
  DispatchType(b.type(), ByteTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = b.data<T>();
    const std::int64_t rows = transposed ? columns : depth, width = transposed ? depth : columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t column = transposed ? r : i;
        const float z = zero.size() == 1 ? zero[0] : zero[static_cast<std::size_t>(column)];
        to[r * width + i] = static_cast<float>(from[r * width + i]) - z;
      }
    }
  });
}

std::vector<float> ZerosOf(const Tensor* tensor) {
  if (tensor == nullptr) return {0.0f};
  std::vector<float> zeros(static_cast<std::size_t>(std::max<std::int64_t>(1, tensor->size())));
  for (std::size_t i = 0; i < zeros.size(); ++i)
    zeros[i] = NumberAt(*tensor, static_cast<std::int64_t>(i));
  return zeros;
}

// A name for zero points in the identity of a packed form.
std::string NameOf(std::span<const float> zeros) {
  std::string name;
  for (const float z : zeros) {
    if (name.empty() || z != zeros[0])
      name += "." + std::to_string(static_cast<int>(z));
    else
      name += "=";
  }
  return name;
}

class IntegerProduct final : public OpKernel {
  struct State {
    PodDims out;
    math::GemmPlan plan;
    std::int64_t m, n, k;
    std::size_t product_at, a_at, b_at, c_at, factor_at;
  };

 public:
  explicit IntegerProduct(OpKernelInfo& info)
      : in_(info.node().OpType() == "MatMulIntegerToFloat"    ? kToFloat
            : info.node().OpType() == "DynamicQuantizeMatMul" ? kDynamic
                                                              : kGemm),
        gemm_(info.node().OpType() == "QGemm"),
        trans_a_(info.attributes().Int("transA", 0) != 0),
        trans_b_(info.attributes().Int("transB", 0) != 0),
        alpha_(info.attributes().Float("alpha", 1)),
        level_(IsaOf(info)),
        ops_(math::GemmFor(level_)) {
    const Tensor* b = info.constant(in_.b);
    const bool zero_known = !info.has_input(in_.b_zero) || info.constant(in_.b_zero) != nullptr;
    if (b == nullptr || !zero_known || b->rank() != 2 || b->size() == 0) return;
    const std::int64_t n = b->dim(trans_b_ ? 0 : 1), k = b->dim(trans_b_ ? 1 : 0);
    std::vector<float> zeros =
        ZerosOf(info.has_input(in_.b_zero) ? info.constant(in_.b_zero) : nullptr);
    if (zeros.size() != 1 && static_cast<std::int64_t>(zeros.size()) != n)
      info.Fail(std::to_string(zeros.size()) + " zero points for " + std::to_string(n) +
                " columns");
    PackedForm form;
    form.id = "gemm.b.i8." + std::to_string(ops_.tile_cols) + "." +
              std::to_string(static_cast<int>(level_)) + (trans_b_ ? ".t" : "") + NameOf(zeros);
    form.bytes = ops_.packed_b_elements(k, n) * sizeof(float);
    form.parts = 1;
    form.pack = [ops = &ops_, zeros = std::move(zeros), transposed = trans_b_, n, k](
                    const Tensor& dense, std::int64_t, std::int64_t, std::byte* to) {
      std::vector<float> centred(static_cast<std::size_t>(n * k));
      Center(dense, zeros, transposed, n, k, centred.data());
      ops->pack_b(centred.data(), transposed ? k : n,
                  transposed ? MatrixForm::kTransposed : MatrixForm::kRowMajor, k, n, 0,
                  ops->b_panels(n), reinterpret_cast<float*>(to));
    };
    packed_ = info.RequestPacked(in_.b, std::move(form));
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    const auto a = context.input_dims(in_.a), b = context.input_dims(in_.b);
    const bool fits = b.size() == 2 && a.size() >= 1 && (!gemm_ || a.size() == 2);
    if (!fits) context.Fail("A " + DimsToString(a) + ", B " + DimsToString(b));
    s.n = b[trans_b_ ? 0 : 1];
    s.k = b[trans_b_ ? 1 : 0];
    s.m = trans_a_ ? a[1] : Product(a.first(a.size() - 1));
    if ((trans_a_ ? a[0] : a.back()) != s.k)
      context.Fail("cannot multiply " + DimsToString(a) + " by " + DimsToString(b));
    Dims out(a);
    if (trans_a_) out[0] = a[1];
    out.back() = s.n;
    StoreDims(context, out, &s.out);
    s.plan =
        ops_.plan({s.m, s.n, s.k, 1, trans_a_ ? MatrixForm::kTransposed : MatrixForm::kRowMajor,
                   packed_ >= 0 ? MatrixForm::kPacked
                   : trans_b_   ? MatrixForm::kTransposed
                                : MatrixForm::kRowMajor});
    ScratchLayout layout;
    s.product_at = layout.ReserveBytes(ProductScratch(s.plan, context.team_size()));
    s.a_at = layout.Reserve<float>(s.m * s.k);
    s.b_at = layout.Reserve<float>(packed_ >= 0 ? 0 : s.n * s.k);
    s.c_at = layout.Reserve<float>(s.m * s.n);
    s.factor_at = layout.Reserve<float>(2 * s.n);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    auto* a = reinterpret_cast<float*>(scratch + s.a_at);
    const float a_scale = CenterLeft(context, a);
    math::GemmArgs args;
    args.a = a;
    args.lda = trans_a_ ? s.m : s.k;
    args.b = RightHand(context, s, scratch);
    args.ldb = trans_b_ ? s.k : s.n;
    args.c = y.type() == DataType::kFloat ? y.data_mutable<float>()
                                          : reinterpret_cast<float*>(scratch + s.c_at);
    args.ldc = s.n;
    if (s.k > 0) {
      RunProduct(context.team(), ops_, s.plan, args, scratch + s.product_at);
    } else {
      std::fill_n(args.c, s.m * s.n, 0.0f);
    }
    auto* factor = reinterpret_cast<float*>(scratch + s.factor_at);
    const Tensor& b_scale = context.Input(in_.b_scale);
    if (b_scale.size() != 1 && b_scale.size() != s.n)
      context.Fail("scale " + b_scale.Describe() + " for " + std::to_string(s.n) + " columns");
    for (std::int64_t i = 0; i < s.n; ++i) factor[i] = alpha_ * a_scale * NumberAt(b_scale, i);
    Finish(context, s, args.c, factor, y);
  }

 private:
  // A's values without the zero point; what they count in.
  float CenterLeft(OpKernelContext& context, float* to) const {
    const Tensor& a = context.Input(in_.a);
    if (in_.a_scale == kAbsent) return QuantizeLeft(context, a, to);
    const Tensor* zero = context.OptionalInput(in_.a_zero);
    if (zero != nullptr && zero->size() != 1)
      context.Fail("zero point of A is " + zero->Describe());
    const float z = zero != nullptr ? NumberAt(*zero, 0) : 0.0f;
    DispatchType(a.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = a.data<T>();
      ParallelItems(context, a.size(), 0.3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(from[i]) - z;
      });
    });
    return static_cast<float>(ReadScalar(context, in_.a_scale));
  }

  // As DynamicQuantizeLinear does: codes of 0 to 255.
  static float QuantizeLeft(OpKernelContext& context, const Tensor& a, float* to) {
    const float* x = a.data<float>();
    float low = 0, high = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    float scale = 1;
    std::uint8_t zero = 0;
    math::DynamicQuantParams(low, high, &scale, &zero);
    const auto z = static_cast<float>(zero);
    ParallelItems(context, a.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float code = std::nearbyint(x[i] / scale) + z;
        to[i] = std::min(std::max(code, 0.0f), 255.0f) - z;
      }
    });
    return scale;
  }

  const float* RightHand(OpKernelContext& context, const State& s, std::byte* scratch) const {
    if (packed_ >= 0) return reinterpret_cast<const float*>(context.Packed(packed_));
    const Tensor* zero = context.OptionalInput(in_.b_zero);
    const std::vector<float> zeros = ZerosOf(zero);
    if (zeros.size() != 1 && static_cast<std::int64_t>(zeros.size()) != s.n)
      context.Fail("zero point " + zero->Describe() + " for " + std::to_string(s.n) + " columns");
    auto* to = reinterpret_cast<float*>(scratch + s.b_at);
    Center(context.Input(in_.b), zeros, trans_b_, s.n, s.k, to);
    return to;
  }

  void Finish(OpKernelContext& context, const State& s, float* c, float* factor, Tensor& y) const {
    const Tensor* bias = context.OptionalInput(in_.bias);
    if (gemm_) {
      FinishGemm(context, s, bias, c, factor, y);
      return;
    }
    if (bias != nullptr && bias->size() != s.n) context.Fail("bias " + bias->Describe());
    float* shift = factor + s.n;
    for (std::int64_t i = 0; i < s.n; ++i) shift[i] = bias != nullptr ? NumberAt(*bias, i) : 0;
    const auto rows = [&](auto* out) {
      using T = std::remove_pointer_t<decltype(out)>;
      ParallelItems(context, s.m, 0.5 * static_cast<double>(s.n),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        for (std::int64_t i = 0; i < s.n; ++i)
                          out[r * s.n + i] = Narrow<T>(c[r * s.n + i] * factor[i] + shift[i]);
                      }
                    });
    };
    if (y.type() == DataType::kFloat16) {
      rows(y.data_mutable<Float16>());
    } else {
      rows(y.data_mutable<float>());
    }
  }

  // C is int32 in units of the product and broadcasts.
  void FinishGemm(OpKernelContext& context, const State& s, const Tensor* addend, float* c,
                  const float* factor, Tensor& y) const {
    const std::int64_t rows = addend == nullptr || addend->rank() < 2 ? 1 : addend->dim(0);
    const std::int64_t columns =
        addend == nullptr || addend->rank() < 1 ? 1 : addend->dim(addend->rank() - 1);
    if (addend != nullptr && (addend->size() != rows * columns || (rows != 1 && rows != s.m) ||
                              (columns != 1 && columns != s.n))) {
      context.Fail("C " + addend->Describe());
    }
    const bool quantized = context.has_input(in_.y_scale);
    const float scale = quantized ? static_cast<float>(ReadScalar(context, in_.y_scale)) : 1.0f;
    const float zero =
        context.has_input(in_.y_zero) ? static_cast<float>(ReadScalar(context, in_.y_zero)) : 0.0f;
    const auto sweep = [&](auto&& store) {
      for (std::int64_t r = 0; r < s.m; ++r) {
        for (std::int64_t i = 0; i < s.n; ++i) {
          float v = c[r * s.n + i];
          if (addend != nullptr) {
            v += static_cast<float>(addend->data<std::int32_t>()[(rows == 1 ? 0 : r * columns) +
                                                                 (columns == 1 ? 0 : i)]);
          }
          store(r * s.n + i, v * factor[i]);
        }
      }
    };
    if (!quantized) {
      sweep([&](std::int64_t at, float v) { y.data_mutable<float>()[at] = v; });
      return;
    }
    DispatchType(y.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = y.data_mutable<T>();
      constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
      constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
      sweep([&](std::int64_t at, float v) {
        out[at] = static_cast<T>(std::min(std::max(std::nearbyint(v / scale) + zero, kLow), kHigh));
      });
    });
  }

  Inputs in_;
  bool gemm_, trans_a_, trans_b_;
  float alpha_;
  math::IsaLevel level_;
  const math::GemmOps& ops_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const auto on = [](const char* name) { return KernelCreateInfo::For(name, "com.microsoft"); };
  registry.Register(
      on("MatMulIntegerToFloat").Input(0, kBytes).Input(1, kBytes).Make<IntegerProduct>());
  registry.Register(on("DynamicQuantizeMatMul")
                        .Input(0, DataType::kFloat)
                        .Input(1, kBytes)
                        .Make<IntegerProduct>());
  registry.Register(on("QGemm").Input(0, kBytes).Input(3, kBytes).Make<IntegerProduct>());
}

}  // namespace switchyard::cpu::kernels::integer_to_float
