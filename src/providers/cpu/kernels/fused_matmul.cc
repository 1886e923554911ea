// com.microsoft FusedMatMul, TransposeMatMul and FusedGemm: products with transposes, a factor, an
// addend and an activation.

#include "providers/cpu/kernels/common/packed_matrix.h"
#include "providers/cpu/kernels/common/typed_kernel.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::fused_matmul {
namespace {

using math::ElemType;
using math::MatrixForm;
using math::UnaryOp;

struct Function {
  std::string_view name;
  UnaryOp op;
};
constexpr Function kFunctions[] = {
    {"Relu", UnaryOp::kRelu},
    {"LeakyRelu", UnaryOp::kLeakyRelu},
    {"Sigmoid", UnaryOp::kSigmoid},
    {"Tanh", UnaryOp::kTanh},
    {"Elu", UnaryOp::kElu},
    {"HardSigmoid", UnaryOp::kHardSigmoid},
    {"Softplus", UnaryOp::kSoftplus},
    {"Softsign", UnaryOp::kSoftsign},
    {"ThresholdedRelu", UnaryOp::kThresholdedRelu},
    {"Selu", UnaryOp::kSelu},
    {"Celu", UnaryOp::kCelu},
    {"Affine", UnaryOp::kAffine},
};

// One operand: a matrix per batch entry.
struct Side {
  std::int64_t rows = 1, columns = 1, ld = 1;  // as stored
  PodDims batch, strides;                      // of the batch dims
};

template <typename T>
class Product final : public OpKernel {
  using C = ComputeOf<T>;
  struct State {
    PodDims out, batch_dims;
    Side a, b;
    std::int64_t batch;
    math::GemmPlan plan;
    std::size_t product_at, a_at, b_at, c_at, out_at, offsets_at;
  };

 public:
  explicit Product(OpKernelInfo& info)
      : gemm_(info.node().OpType() == "FusedGemm"),
        trans_{info.attributes().Int("transA", 0) != 0, info.attributes().Int("transB", 0) != 0},
        rotated_{info.attributes().Int("transBatchA", 0) != 0,
                 info.attributes().Int("transBatchB", 0) != 0},
        alpha_(info.attributes().Float("alpha", 1)),
        beta_(info.attributes().Float("beta", 1)),
        level_(IsaOf(info)),
        ops_(GemmOpsOf<C>(level_)),
        widening_(level_) {
    if (gemm_) SetFunction(info);
    if (const Constant* b = PackableMatrix(info, 1); b != nullptr)
      packed_ = info.RequestPacked(1, PackedMatrix<T>(*b, level_, trans_[1]));
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    const auto a = context.input_dims(0), b = context.input_dims(1);
    s.a = SideOf(context, a, rotated_[0]);
    s.b = SideOf(context, b, rotated_[1]);
    const std::int64_t m = trans_[0] ? s.a.columns : s.a.rows;
    const std::int64_t k = trans_[0] ? s.a.rows : s.a.columns;
    const std::int64_t n = trans_[1] ? s.b.rows : s.b.columns;
    if ((trans_[1] ? s.b.columns : s.b.rows) != k || (gemm_ && (a.size() != 2 || b.size() != 2)))
      context.Fail("cannot multiply " + DimsToString(a) + " by " + DimsToString(b));
    Dims out = BroadcastDimsOf(context, s.a.batch.span(), s.b.batch.span());
    StoreDims(context, out, &s.batch_dims);
    s.batch = switchyard::cpu::Product(out);
    if (a.size() > 1) out.push_back(m);
    if (b.size() > 1) out.push_back(n);
    StoreDims(context, out, &s.out);
    const auto form = [](bool transposed) {
      return transposed ? MatrixForm::kTransposed : MatrixForm::kRowMajor;
    };
    s.plan = ops_.plan(
        {m, n, k, s.batch, form(trans_[0]), packed_ >= 0 ? MatrixForm::kPacked : form(trans_[1])});
    ScratchLayout layout;
    s.product_at = layout.ReserveBytes(ProductScratch(s.plan, context.team_size()));
    s.a_at = layout.Reserve<C>(Widening<T>::Room(switchyard::cpu::Product(a)));
    s.b_at = layout.Reserve<C>(Widening<T>::Room(switchyard::cpu::Product(b)));
    s.c_at = layout.Reserve<C>(Widening<T>::Room(
        context.has_input(2) ? switchyard::cpu::Product(context.input_dims(2)) : 0));
    s.out_at = layout.Reserve<C>(Widening<T>::Room(s.batch * m * n));
    s.offsets_at = layout.Reserve<std::int64_t>(2 * s.batch);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    const std::int64_t m = s.plan.shape.m, n = s.plan.shape.n;
    C* out = Widening<T>::Target(y, scratch + s.out_at);
    math::GemmArgsT<C> args;
    args.a = widening_.Read(context, context.Input(0), scratch + s.a_at);
    args.lda = s.a.ld;
    args.b = packed_ >= 0 ? reinterpret_cast<const C*>(context.Packed(packed_))
                          : widening_.Read(context, context.Input(1), scratch + s.b_at);
    args.ldb = s.b.ld;
    args.c = out;
    args.ldc = n;
    args.c_batch_stride = m * n;
    args.alpha = static_cast<C>(alpha_);
    auto* offsets = reinterpret_cast<std::int64_t*>(scratch + s.offsets_at);
    FillOffsets(s.a, s.batch_dims, s.batch, offsets);
    FillOffsets(s.b, s.batch_dims, s.batch, offsets + s.batch);
    args.a_batch_offsets = offsets;
    if (packed_ < 0) args.b_batch_offsets = offsets + s.batch;
    if (const Tensor* c = gemm_ ? context.OptionalInput(2) : nullptr; c != nullptr && beta_ != 0) {
      FillAddend(context, *c, widening_.Read(context, *c, scratch + s.c_at), m, n, out);
      args.beta = static_cast<C>(beta_);
    }
    if (s.plan.shape.k > 0) {
      RunProduct(context.team(), ops_, s.plan, args, scratch + s.product_at);
    } else {
      for (std::int64_t i = 0; i < y.size(); ++i)
        out[i] = args.beta != 0 ? args.beta * out[i] : C(0);
    }
    if (function_.fn != nullptr) {
      ParallelItems(context, y.size(), 1, [&](std::int64_t begin, std::int64_t end) {
        math::RunUnary(function_, out + begin, out + begin, end - begin, parameters_[0],
                       parameters_[1]);
      });
    }
    widening_.Finish(context, out, y);
  }

  std::string Variant() const override { return packed_ >= 0 ? "packed right-hand matrix" : ""; }

 private:
  void SetFunction(OpKernelInfo& info) {
    const std::string name = info.attributes().String("activation", "");
    if (name.empty()) return;
    for (const Function& f : kFunctions) {
      if (f.name == name)
        function_ = math::GetUnary(f.op, static_cast<ElemType>(DataTypeOf<C>), level_);
    }
    if (function_.fn == nullptr)
      info.Fail("the activation '" + name + "' is not known", ErrorCode::kNotImplemented);
    parameters_[0] = info.attributes().Float("activation_alpha", name == "LeakyRelu" ? 0.01f : 0);
    parameters_[1] =
        info.attributes().Float(name == "Selu" ? "activation_gamma" : "activation_beta", 0);
  }

  template <typename Context>
  static Side SideOf(const Context& context, std::span<const std::int64_t> dims, bool rotated) {
    if (dims.empty()) context.Fail("a scalar operand");
    Side side;
    const std::size_t rank = dims.size();
    side.columns = dims.back();
    side.ld = side.columns;
    if (rank < 2) return side;  // a row for A, a column for B: MatMul's rule on vectors
    Dims batch, strides;
    std::int64_t stride = side.columns;
    if (rotated && rank > 2) {
      // The first dim is the rows; the dims between are the batch.
      side.rows = dims[0];
      for (std::size_t i = rank - 1; i-- > 1;) {
        batch.push_back(dims[i]);
        strides.push_back(stride);
        stride *= dims[i];
      }
      side.ld = stride;
    } else {
      side.rows = dims[rank - 2];
      stride *= side.rows;
      for (std::size_t i = rank - 2; i-- > 0;) {
        batch.push_back(dims[i]);
        strides.push_back(stride);
        stride *= dims[i];
      }
    }
    std::reverse(batch.begin(), batch.end());
    std::reverse(strides.begin(), strides.end());
    StoreDims(context, batch, &side.batch);
    StoreDims(context, strides, &side.strides);
    return side;
  }

  static void FillOffsets(const Side& side, const PodDims& out, std::int64_t count,
                          std::int64_t* offsets) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, offset = 0;
      for (std::int32_t back = 0; back < out.rank; ++back) {
        const std::int64_t at = rest % out.d[out.rank - 1 - back];
        rest /= out.d[out.rank - 1 - back];
        if (back >= side.batch.rank) continue;
        const std::int32_t own = side.batch.rank - 1 - back;
        if (side.batch.d[own] != 1) offset += at * side.strides.d[own];
      }
      offsets[i] = offset;
    }
  }

  static void FillAddend(OpKernelContext& context, const Tensor& c, const C* values, std::int64_t m,
                         std::int64_t n, C* out) {
    const std::int64_t rows = c.rank() < 2 ? 1 : c.dim(c.rank() - 2);
    const std::int64_t columns = c.rank() < 1 ? 1 : c.dim(c.rank() - 1);
    if ((rows != 1 && rows != m) || (columns != 1 && columns != n) || c.size() != rows * columns)
      context.Fail("C of dims " + DimsToString(c.dims()) + " does not broadcast");
    for (std::int64_t r = 0; r < m; ++r) {
      const C* row = values + (rows == 1 ? 0 : r * columns);
      if (columns == 1) {
        std::fill_n(out + r * n, n, row[0]);
      } else {
        std::copy_n(row, n, out + r * n);
      }
    }
  }

  bool gemm_, trans_[2], rotated_[2];
  float alpha_, beta_;
  math::IsaLevel level_;
  const math::GemmOpsT<C>& ops_;
  Widening<T> widening_;
  math::UnaryKernel function_;
  float parameters_[2] = {};
  int packed_ = -1;
};

// The rule of MatMul on vectors is left to MatMul itself.
std::string NoVectors(const Node& node) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = node.inputs()[i]->type().shape;
    if (shape.ranked() && shape.rank() < 2) return "a vector operand";
  }
  return {};
}

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name : {"FusedMatMul", "TransposeMatMul", "FusedGemm"}) {
    registry.Register(ByFirstInput<Product>(
        KernelCreateInfo::For(name, "com.microsoft").Accepts(NoVectors), FloatTypes{}));
  }
}

}  // namespace switchyard::cpu::kernels::fused_matmul
