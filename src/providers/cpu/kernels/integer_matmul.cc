// MatMulInteger and QLinearMatMul: exact products of 8-bit integers. A constant right-hand matrix
// is packed at load; sums are requantised while they are in registers.

#include "providers/cpu/kernels/common/integer_product.h"

namespace switchyard::cpu::kernels::integer_matmul {
namespace {

using math::MatrixForm;

class MatMul final : public OpKernel {
  struct State {
    PodDims out, a_batch, b_batch, batch;
    std::int64_t m, n, k;  // of one product
    bool shared_b;         // one right-hand matrix for all: the batch is part of m
    math::GemmPlan plan;
    std::size_t product_at, a_zero_at, b_zero_at, scale_at, sums_at;
  };

 public:
  explicit MatMul(OpKernelInfo& info)
      : linear_(info.node().OpType() == "QLinearMatMul"),
        level_(IsaOf(info)),
        ops_(IgemmOf(level_)) {
    const Constant* b = info.stored(b_at());
    if (b != nullptr && b->dims().size() == 2 && b->size() != 0)
      packed_ = info.RequestPacked(b_at(), PackedBytes(*b, level_, false));
    b_signed_ = info.input_type(b_at()).elem == DataType::kInt8;
  }
  std::size_t state_bytes() const override { return sizeof(State); }
  std::string Variant() const override { return packed_ >= 0 ? "packed right-hand matrix" : ""; }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    const auto a = context.input_dims(0), b = context.input_dims(b_at());
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
    s.shared_b = Product(b_batch) == 1;
    if (s.shared_b) s.m *= Product(a_batch);
    s.plan = ops_.plan({s.m, s.n, s.k, 1, MatrixForm::kRowMajor,
                        packed_ >= 0 ? MatrixForm::kPacked : MatrixForm::kRowMajor});
    ScratchLayout layout;
    s.product_at = layout.ReserveBytes(ProductScratch(s.plan, context.team_size()));
    s.a_zero_at = layout.Reserve<std::int32_t>(s.m);
    s.b_zero_at = layout.Reserve<std::int32_t>(s.n);
    s.scale_at = layout.Reserve<float>(std::max(s.m, s.n));
    s.sums_at = layout.Reserve<std::int32_t>(ScalesBothSides(context) ? s.m * s.n : 0);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    const Tensor& a = context.Input(0);
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    math::IgemmArgs args;
    args.lda = s.k;
    args.a_signed = a.type() == DataType::kInt8;
    args.ldb = args.ldc = s.n;
    args.b_signed = b_signed_;
    const std::int64_t entries = s.shared_b ? 1 : Product(s.batch.span());
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t at_a = s.shared_b ? 0 : Entry(s.a_batch, s.batch, i),
                         at_b = s.shared_b ? 0 : Entry(s.b_batch, s.batch, i);
      args.a = static_cast<const std::byte*>(a.raw()) + at_a * s.m * s.k;
      if (packed_ >= 0) {
        args.b = context.Packed(packed_);
      } else {
        args.b = static_cast<const std::byte*>(context.Input(b_at()).raw()) + at_b * s.k * s.n;
      }
      SetZeros(context, s, at_a, at_b, scratch, &args);
      if (linear_) {
        RunLinear(context, s, at_a, at_b, static_cast<std::byte*>(y.raw_mutable()) + i * s.m * s.n,
                  scratch, args);
      } else {
        args.c = y.data_mutable<std::int32_t>() + i * s.m * s.n;
        RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
      }
    }
  }

 private:
  std::size_t b_at() const { return linear_ ? 3 : 1; }

  // One multiplier for a row and another for a column do not fit the product's own rounding.
  bool ScalesBothSides(const PrepareContext& context) const {
    return linear_ && Product(context.input_dims(1)) != 1 && Product(context.input_dims(4)) != 1;
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

  // One number, one per row or column, or one per row or column of every matrix.
  static QuantParameter Parameter(const OpKernelContext& context, std::size_t input,
                                  std::int64_t all) {
    const QuantParameter p{context.OptionalInput(input)};
    if (!p.is_one() && (p.size() == 0 || all % p.size() != 0))
      context.Fail("scale or zero point is " + p.tensor->Describe());
    return p;
  }
  // How many rows all left-hand matrices have, columns all right-hand ones.
  static std::int64_t AllRows(const State& s) {
    return s.shared_b ? s.m : s.m * Product(s.a_batch.span());
  }
  static std::int64_t AllColumns(const State& s) { return s.n * Product(s.b_batch.span()); }

  void SetZeros(OpKernelContext& context, const State& s, std::int64_t at_a, std::int64_t at_b,
                std::byte* scratch, math::IgemmArgs* args) const {
    const QuantParameter a = Parameter(context, 2, AllRows(s));
    const QuantParameter b = Parameter(context, b_at() + 2, AllColumns(s));
    args->a_zero = static_cast<std::int32_t>(a.At(0));
    args->b_zero = static_cast<std::int32_t>(b.At(0));
    if (!a.is_one()) {
      auto* to = reinterpret_cast<std::int32_t*>(scratch + s.a_zero_at);
      a.Read(at_a * s.m, std::span(to, static_cast<std::size_t>(s.m)));
      args->a_zero_rows = to;
    }
    if (!b.is_one()) {
      auto* to = reinterpret_cast<std::int32_t*>(scratch + s.b_zero_at);
      b.Read(at_b * s.n, std::span(to, static_cast<std::size_t>(s.n)));
      args->b_zero_cols = to;
    }
  }

  void RunLinear(OpKernelContext& context, const State& s, std::int64_t at_a, std::int64_t at_b,
                 std::byte* y, std::byte* scratch, math::IgemmArgs args) const {
    const QuantParameter a = Parameter(context, 1, AllRows(s));
    const QuantParameter b = Parameter(context, 4, AllColumns(s));
    if (context.Input(6).size() != 1 || context.Input(7).size() != 1)
      context.Fail("y_scale and y_zero_point must be scalars", ErrorCode::kNotImplemented);
    const auto y_scale = static_cast<float>(ReadScalar(context, 6));
    args.c_zero = static_cast<std::int32_t>(ReadScalar(context, 7));
    const DataType type = context.Input(7).type();
    if (!a.is_one() && !b.is_one()) {
      args.c = scratch + s.sums_at;
      RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
      const auto* sums = reinterpret_cast<const std::int32_t*>(scratch + s.sums_at);
      for (std::int64_t r = 0; r < s.m; ++r) {
        for (std::int64_t i = 0; i < s.n; ++i) {
          const float scale = a.At(at_a * s.m + r) * b.At(at_b * s.n + i) / y_scale;
          y[r * s.n + i] = RoundToByte(sums[r * s.n + i], scale, args.c_zero, type);
        }
      }
      return;
    }
    auto* scales = reinterpret_cast<float*>(scratch + s.scale_at);
    args.scale = a.At(0) * b.At(0) / y_scale;
    if (!a.is_one()) {
      for (std::int64_t r = 0; r < s.m; ++r) scales[r] = a.At(at_a * s.m + r) * b.At(0) / y_scale;
      args.scale_rows = scales;
    } else if (!b.is_one()) {
      for (std::int64_t i = 0; i < s.n; ++i) scales[i] = a.At(0) * b.At(at_b * s.n + i) / y_scale;
      args.scale_cols = scales;
    }
    args.result = ByteResult(type);
    args.c = y;
    RunIntegerProduct(context, ops_, s.plan, args, scratch + s.product_at);
  }

  static std::byte RoundToByte(std::int32_t sum, float scale, std::int32_t zero, DataType type) {
    const double low = type == DataType::kInt8 ? -128 : 0, high = low + 255;
    const double v = std::nearbyint(static_cast<double>(sum) * static_cast<double>(scale)) + zero;
    const double clipped = !(v > low) ? low : std::min(v, high);
    return static_cast<std::byte>(static_cast<std::int32_t>(clipped));
  }

  bool linear_;
  bool b_signed_ = false;
  math::IsaLevel level_;
  const math::IgemmOps& ops_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("MatMulInteger")
                        .Input(0, kByteTypes)
                        .Input(1, kByteTypes)
                        .Make<MatMul>());
  registry.Register(KernelCreateInfo::For("QLinearMatMul")
                        .Input(0, kByteTypes)
                        .Input(3, kByteTypes)
                        .Output(0, kByteTypes)
                        .Make<MatMul>());
}

}  // namespace switchyard::cpu::kernels::integer_matmul
