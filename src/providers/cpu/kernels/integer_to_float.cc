// com.microsoft MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm: exact products of 8-bit
// integers, scaled to float or requantised while they are in registers. A constant right-hand
// matrix is packed at load.

#include "providers/cpu/kernels/common/integer_product.h"
#include "providers/cpu/math/vec_quantize.h"
#include "providers/cpu/math/vec_reduce.h"

namespace switchyard::cpu::kernels::integer_to_float {
namespace {

using math::ElemType;
using math::MatrixForm;

constexpr std::size_t kAbsent = 99;

// Which input is what.
struct Inputs {
  std::size_t a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
};
constexpr Inputs kToFloat{0, 2, 4, 1, 3, 5, 6, kAbsent, kAbsent};
constexpr Inputs kDynamic{0, kAbsent, kAbsent, 1, 2, 3, 4, kAbsent, kAbsent};
constexpr Inputs kGemm{0, 1, 2, 3, 4, 5, 6, 7, 8};

// How QGemm's C lies on the output.
enum class AddKind : std::uint8_t { kNone, kPerColumn, kPerRow, kScalar, kFull };

class IntegerProduct final : public OpKernel {
  struct State {
    PodDims out;
    math::GemmPlan plan;
    std::int64_t m, n, k;
    AddKind add;
    std::size_t product_at, a_at, zero_at, scale_at, bias_at, c_at;
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
        ops_(IgemmOf(level_)),
        min_(math::GetReduce(math::ReduceOp::kMin, ElemType::kFloat, level_)),
        max_(math::GetReduce(math::ReduceOp::kMax, ElemType::kFloat, level_)) {
    const Constant* b = info.stored(in_.b);
    if (b != nullptr && b->dims().size() == 2 && b->size() != 0)
      packed_ = info.RequestPacked(in_.b, PackedBytes(*b, level_, trans_b_));
    b_signed_ = info.input_type(in_.b).elem == DataType::kInt8;
  }

  std::size_t state_bytes() const override { return sizeof(State); }
  std::string Variant() const override { return packed_ >= 0 ? "packed right-hand matrix" : ""; }

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
    if (gemm_ && context.has_input(in_.bias))
      s.add = AddKindOf(context, s, context.input_dims(in_.bias));
    s.plan = ops_.plan({s.m, s.n, s.k, 1, MatrixForm::kRowMajor,
                        packed_ >= 0 ? MatrixForm::kPacked
                        : trans_b_   ? MatrixForm::kTransposed
                                     : MatrixForm::kRowMajor});
    ScratchLayout layout;
    s.product_at = layout.ReserveBytes(ProductScratch(s.plan, context.team_size()));
    const bool own_a = trans_a_ || in_.a_scale == kAbsent;
    s.a_at = layout.ReserveBytes(own_a ? static_cast<std::size_t>(s.m * s.k) : 0);
    s.zero_at = layout.Reserve<std::int32_t>(s.n);
    s.scale_at = layout.Reserve<float>(s.n);
    s.bias_at = layout.Reserve<float>(std::max(s.m, s.n));
    s.c_at = layout.Reserve<float>(s.m * s.n);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    math::IgemmArgs args;
    args.lda = s.k;
    args.ldc = s.n;
    args.c = y.raw_mutable();
    const float a_scale = SetLeft(context, s, scratch, &args);
    SetRight(context, s, scratch, &args);
    SetScale(context, s, a_scale, y.type(), scratch, &args);
    if (gemm_) {
      RunGemm(context, s, scratch, args, y);
    } else {
      RunToFloat(context, s, scratch, args, y);
    }
  }

 private:
  template <typename Context>
  static AddKind AddKindOf(const Context& context, const State& s,
                           std::span<const std::int64_t> c) {
    const std::int64_t rows = c.size() < 2 ? 1 : c[c.size() - 2];
    const std::int64_t columns = c.empty() ? 1 : c.back();
    if (c.size() > 2 || (rows != 1 && rows != s.m) || (columns != 1 && columns != s.n))
      context.Fail("C has dims " + DimsToString(c));
    if (rows == 1) return columns == 1 ? AddKind::kScalar : AddKind::kPerColumn;
    return columns == 1 ? AddKind::kPerRow : AddKind::kFull;
  }

  // The codes of A and their zero point; answers what they count in.
  float SetLeft(OpKernelContext& context, const State& s, std::byte* scratch,
                math::IgemmArgs* args) const {
    const Tensor& a = context.Input(in_.a);
    args->a = a.raw();
    if (in_.a_scale == kAbsent) {
      args->a = scratch + s.a_at;
      return Quantize(context, a, scratch + s.a_at, args);
    }
    args->a_signed = a.type() == DataType::kInt8;
    const QuantParameter zero{context.OptionalInput(in_.a_zero)};
    if (!zero.is_one()) context.Fail("zero point of A is " + zero.tensor->Describe());
    args->a_zero = static_cast<std::int32_t>(zero.At(0));
    if (trans_a_) {
      const auto* from = static_cast<const std::byte*>(a.raw());
      std::byte* to = scratch + s.a_at;
      ParallelItems(context, s.m, static_cast<double>(s.k),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        for (std::int64_t i = 0; i < s.k; ++i) to[r * s.k + i] = from[i * s.m + r];
                      }
                    });
      args->a = to;
    }
    return static_cast<float>(ReadScalar(context, in_.a_scale));
  }

  // As DynamicQuantizeLinear does: codes of 0 to 255.
  float Quantize(OpKernelContext& context, const Tensor& a, std::byte* to,
                 math::IgemmArgs* args) const {
    float low = 0, high = 0;
    if (a.size() != 0) {
      const std::int64_t dims[1] = {a.size()};
      const bool reduced[1] = {true};
      math::ReducePlan plan;
      if (!math::MakeReducePlan(dims, reduced, &plan)) context.Fail("no reduction plan");
      math::RunReduce(min_, plan, a.raw(), &low, 0, 1);
      math::RunReduce(max_, plan, a.raw(), &high, 0, 1);
    }
    float scale = 1;
    std::uint8_t zero = 0;
    math::DynamicQuantParams(low, high, &scale, &zero);
    math::QuantArgs quant;
    quant.level = level_;
    quant.scale = &scale;
    quant.zero_point = &zero;
    ParallelItems(context, (a.size() + 7) / 8, 4, [&](std::int64_t begin, std::int64_t end) {
      math::RunQuantize(quant, a.raw(), to, begin * 8, std::min(end * 8, a.size()));
    });
    args->a_zero = zero;
    return scale;
  }

  void SetRight(OpKernelContext& context, const State& s, std::byte* scratch,
                math::IgemmArgs* args) const {
    args->b = packed_ >= 0 ? context.Packed(packed_)
                           : static_cast<const std::byte*>(context.Input(in_.b).raw());
    args->ldb = trans_b_ ? s.k : s.n;
    args->b_signed = b_signed_;
    const QuantParameter zero{context.OptionalInput(in_.b_zero)};
    args->b_zero = static_cast<std::int32_t>(zero.At(0));
    if (zero.is_one()) return;
    if (zero.size() != s.n)
      context.Fail("zero point " + zero.tensor->Describe() + " for " + std::to_string(s.n) +
                   " columns");
    auto* zeros = reinterpret_cast<std::int32_t*>(scratch + s.zero_at);
    zero.Read(0, std::span(zeros, static_cast<std::size_t>(s.n)));
    args->b_zero_cols = zeros;
  }

  // What a sum counts in; in units of Y where Y is quantised.
  void SetScale(OpKernelContext& context, const State& s, float a_scale, DataType result,
                std::byte* scratch, math::IgemmArgs* args) const {
    const QuantParameter b{&context.Input(in_.b_scale)};
    if (!b.is_one() && b.size() != s.n)
      context.Fail("scale " + b.tensor->Describe() + " for " + std::to_string(s.n) + " columns");
    float divisor = 1;
    if (gemm_ && context.has_input(in_.y_scale)) {
      divisor = static_cast<float>(ReadScalar(context, in_.y_scale));
      args->result = ByteResult(result);
      if (context.has_input(in_.y_zero))
        args->c_zero = static_cast<std::int32_t>(ReadScalar(context, in_.y_zero));
    } else {
      args->result = math::IgemmResult::kFloat;
    }
    args->scale = alpha_ * a_scale * b.At(0) / divisor;
    if (b.is_one()) return;
    auto* scales = reinterpret_cast<float*>(scratch + s.scale_at);
    for (std::int64_t i = 0; i < s.n; ++i) scales[i] = alpha_ * a_scale * b.At(i) / divisor;
    args->scale_cols = scales;
  }

  void RunToFloat(OpKernelContext& context, const State& s, std::byte* scratch,
                  math::IgemmArgs args, Tensor& y) const {
    if (const Tensor* bias = context.OptionalInput(in_.bias); bias != nullptr) {
      if (bias->size() != s.n) context.Fail("bias " + bias->Describe());
      auto* values = reinterpret_cast<float*>(scratch + s.bias_at);
      QuantParameter{bias}.Read(0, std::span(values, static_cast<std::size_t>(s.n)));
      args.float_bias_col = values;
    }
    const bool narrow = y.type() == DataType::kFloat16;
    if (narrow) args.c = scratch + s.c_at;
    RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
    if (!narrow) return;
    const auto* from = reinterpret_cast<const float*>(scratch + s.c_at);
    auto* to = y.data_mutable<Float16>();
    ParallelItems(context, y.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = Narrow<Float16>(from[i]);
    });
  }

  // C is int32 in units of the product and broadcasts.
  void RunGemm(OpKernelContext& context, const State& s, std::byte* scratch, math::IgemmArgs args,
               Tensor& y) const {
    const Tensor* addend = context.OptionalInput(in_.bias);
    if (s.add == AddKind::kNone || addend == nullptr) {
      RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
      return;
    }
    const auto* values = addend->data<std::int32_t>();
    if (s.add == AddKind::kFull) {
      RunWithFullAddend(context, s, scratch, args, values, y);
      return;
    }
    const bool per_row = s.add == AddKind::kPerRow;
    auto* bias = reinterpret_cast<std::int32_t*>(scratch + s.bias_at);
    for (std::int64_t i = 0; i < (per_row ? s.m : s.n); ++i)
      bias[i] = values[addend->size() == 1 ? 0 : i];
    (per_row ? args.bias_row : args.bias_col) = bias;
    RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
  }

  // Sums first: an addend of its own per element is no part of the product's epilogue.
  void RunWithFullAddend(OpKernelContext& context, const State& s, std::byte* scratch,
                         math::IgemmArgs args, const std::int32_t* addend, Tensor& y) const {
    const math::IgemmResult result = args.result;
    args.result = math::IgemmResult::kSums;
    args.c = scratch + s.c_at;
    RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
    const auto* sums = reinterpret_cast<const std::int32_t*>(scratch + s.c_at);
    const double low = (result == math::IgemmResult::kInt8 ? -128 : 0) - args.c_zero;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                                 static_cast<std::uint32_t>(addend[i]));
      const float scale = args.scale_cols != nullptr ? args.scale_cols[i % s.n] : args.scale;
      if (result == math::IgemmResult::kFloat) {
        y.data_mutable<float>()[i] = static_cast<float>(sum) * scale;
        continue;
      }
      const double v = static_cast<double>(sum) * static_cast<double>(scale);
      const double clipped = v > low ? std::min(v, low + 255) : low;
      static_cast<std::byte*>(y.raw_mutable())[i] =
          static_cast<std::byte>(static_cast<std::int32_t>(std::nearbyint(clipped)) + args.c_zero);
    }
  }

  Inputs in_;
  bool gemm_, trans_a_, trans_b_;
  bool b_signed_ = false;
  float alpha_;
  math::IsaLevel level_;
  const math::IgemmOps& ops_;
  math::ReduceKernel min_, max_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const auto on = [](const char* name) { return KernelCreateInfo::For(name, "com.microsoft"); };
  registry.Register(
      on("MatMulIntegerToFloat").Input(0, kByteTypes).Input(1, kByteTypes).Make<IntegerProduct>());
  registry.Register(on("DynamicQuantizeMatMul")
                        .Input(0, DataType::kFloat)
                        .Input(1, kByteTypes)
                        .Make<IntegerProduct>());
  registry.Register(on("QGemm").Input(0, kByteTypes).Input(3, kByteTypes).Make<IntegerProduct>());
}

}  // namespace switchyard::cpu::kernels::integer_to_float
