// MatMul and Gemm over float, double and the 16-bit floats (computed in float), and over integers.
// A constant right-hand matrix is packed at load.

#include "providers/cpu/kernels/common/packed_matrix.h"

namespace switchyard::cpu::kernels::matmul {
namespace {

using math::ElemType;
using math::GemmPlan;
using math::GemmShape;
using math::MatrixForm;

// Sizes of one product, batch broadcasting included.
struct Sizes {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  PodDims out, a_batch, b_batch, batch_dims;  // batch dims are empty where there is no batch
  bool shared_b = true;                       // one right-hand matrix: the batch is folded into m
};

template <typename Context>
Sizes MatMulSizes(const Context& context, std::span<const std::int64_t> a,
                  std::span<const std::int64_t> b) {
  if (a.empty() || b.empty()) context.Fail("a scalar operand");
  Sizes s;
  s.m = a.size() == 1 ? 1 : a[a.size() - 2];
  s.k = a.back();
  s.n = b.size() == 1 ? 1 : b.back();
  const std::int64_t bk = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (s.k != bk) context.Fail("cannot multiply " + DimsToString(a) + " by " + DimsToString(b));
  const auto a_batch = a.first(a.size() > 2 ? a.size() - 2 : 0);
  const auto b_batch = b.first(b.size() > 2 ? b.size() - 2 : 0);
  Dims out = BroadcastDimsOf(context, a_batch, b_batch);
  s.shared_b = Product(b_batch) == 1;
  if (s.shared_b) {
    s.m *= Product(a_batch);
  } else {
    StoreDims(context, a_batch, &s.a_batch);
    StoreDims(context, b_batch, &s.b_batch);
    StoreDims(context, out, &s.batch_dims);
    s.batch = Product(out);
  }
  if (a.size() > 1) out.push_back(a[a.size() - 2]);
  if (b.size() > 1) out.push_back(s.n);
  StoreDims(context, out, &s.out);
  return s;
}

// Offsets of each batch entry of one operand, in elements.
void FillOffsets(const PodDims& own, const PodDims& out, std::int64_t matrix, std::int64_t count,
                 std::int64_t* offsets) {
  Dims strides(static_cast<std::size_t>(out.rank), 0), at(static_cast<std::size_t>(out.rank), 0);
  std::int64_t stride = matrix;
  for (std::int32_t back = 0; back < own.rank; ++back) {
    const std::int64_t d = own.d[own.rank - 1 - back];
    if (d != 1) strides[static_cast<std::size_t>(out.rank - 1 - back)] = stride;
    stride *= d;
  }
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    offsets[i] = offset;
    for (std::int32_t k = out.rank; k-- > 0;) {
      const auto at_k = static_cast<std::size_t>(k);
      offset += strides[at_k];
      if (++at[at_k] < out.d[k]) break;
      offset -= strides[at_k] * out.d[k];
      at[at_k] = 0;
    }
  }
}

// What Gemm adds: transposes, factors, a third operand.
struct Terms {
  bool is_gemm = false;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
};

Terms TermsOf(const OpKernelInfo& info) {
  Terms t;
  if (info.node().OpType() != "Gemm") return t;
  t.is_gemm = true;
  t.trans_a = info.attributes().Int("transA", 0) != 0;
  t.trans_b = info.attributes().Int("transB", 0) != 0;
  t.alpha = info.attributes().Float("alpha", 1.0f);
  t.beta = info.attributes().Float("beta", 1.0f);
  return t;
}

// How the third operand lies on the output.
enum class AddKind : std::uint8_t { kNone, kPerColumn, kPerRow, kScalar, kFull };

template <typename Context>
Sizes GemmSizes(const Context& context, const Terms& terms, std::span<const std::int64_t> a,
                std::span<const std::int64_t> b) {
  if (a.size() != 2 || b.size() != 2)
    context.Fail("operands must be matrices, are " + DimsToString(a) + " and " + DimsToString(b));
  Sizes s;
  s.m = a[terms.trans_a ? 1 : 0];
  s.k = a[terms.trans_a ? 0 : 1];
  s.n = b[terms.trans_b ? 0 : 1];
  if (b[terms.trans_b ? 1 : 0] != s.k)
    context.Fail("cannot multiply " + DimsToString(a) + " by " + DimsToString(b));
  const std::int64_t out[2] = {s.m, s.n};
  StoreDims(context, out, &s.out);
  return s;
}

template <typename Context>
AddKind AddKindOf(const Context& context, const Sizes& s, std::span<const std::int64_t> c) {
  const std::int64_t rows = c.size() < 2 ? 1 : c[c.size() - 2];
  const std::int64_t columns = c.empty() ? 1 : c.back();
  const bool fits = (rows == 1 || rows == s.m) && (columns == 1 || columns == s.n) && c.size() <= 2;
  if (!fits)
    context.Fail("C of dims " + DimsToString(c) + " does not broadcast to " +
                 DimsToString(s.out.span()));
  if (rows == s.m && columns == s.n && s.m != 1 && s.n != 1) return AddKind::kFull;
  if (columns == s.n && rows == 1 && s.n != 1) return AddKind::kPerColumn;
  if (rows == s.m && columns == 1 && s.m != 1) return AddKind::kPerRow;
  if (rows == 1 && columns == 1) return AddKind::kScalar;
  return rows == 1 ? AddKind::kPerColumn : AddKind::kPerRow;
}

template <typename C>
const math::GemmOpsT<C>& OpsFor(math::IsaLevel level) {
  if constexpr (std::is_same_v<C, double>) {
    return math::GemmF64For(level);
  } else {
    return math::GemmFor(level);
  }
}

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

template <typename T>
class FloatProduct final : public OpKernel {
  using C = ComputeOf<T>;
  static constexpr bool kConverts = kIsHalf<T>;

  struct State {
    Sizes sizes;
    GemmPlan plan;
    AddKind add = AddKind::kNone;
    // Parts of the scratch memory, in bytes.
    std::size_t offsets_at, bias_at, a_at, b_at, c_at;
  };

 public:
  explicit FloatProduct(OpKernelInfo& info)
      : terms_(TermsOf(info)), level_(IsaOf(info)), ops_(OpsFor<C>(level_)) {
    if constexpr (kConverts) {
      const auto type = static_cast<ElemType>(DataTypeOf<T>);
      widen_ = math::GetCast(type, ElemType::kFloat, level_);
      narrow_ = math::GetCast(ElemType::kFloat, type, level_);
    }
    if (const Constant* b = PackableMatrix(info, 1); b != nullptr)
      packed_ = info.RequestPacked(1, PackedMatrix<T>(*b, level_, terms_.trans_b));
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    state = State();
    Sizes& s = state.sizes;
    const auto a = context.input_dims(0), b = context.input_dims(1);
    s = terms_.is_gemm ? GemmSizes(context, terms_, a, b) : MatMulSizes(context, a, b);
    if (terms_.is_gemm && context.has_input(2))
      state.add = AddKindOf(context, s, context.input_dims(2));
    GemmShape shape{s.m,
                    s.n,
                    s.k,
                    s.batch,
                    terms_.trans_a ? MatrixForm::kTransposed : MatrixForm::kRowMajor,
                    packed_ >= 0     ? MatrixForm::kPacked
                    : terms_.trans_b ? MatrixForm::kTransposed
                                     : MatrixForm::kRowMajor};
    state.plan = ops_.plan(shape);
    std::size_t bytes =
        RoundUp(state.plan.scratch_bytes) * static_cast<std::size_t>(context.team_size());
    const auto reserve = [&](std::size_t* at, std::int64_t elements, std::size_t size) {
      *at = bytes;
      bytes += RoundUp(static_cast<std::size_t>(elements) * size);
    };
    reserve(&state.offsets_at, s.shared_b ? 0 : 2 * s.batch, sizeof(std::int64_t));
    reserve(&state.bias_at, state.add == AddKind::kNone ? 0 : std::max(s.m, s.n), sizeof(C));
    const std::int64_t out = Product(s.out.span());
    reserve(&state.a_at, kConverts ? Product(a) : 0, sizeof(C));
    reserve(&state.b_at, kConverts && packed_ < 0 ? Product(b) : 0, sizeof(C));
    reserve(&state.c_at, kConverts ? out : 0, sizeof(C));
    context.SetScratch(bytes);
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    const Sizes& s = state.sizes;
    const Tensor& a = context.Input(0);
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    math::GemmArgsT<C> args;
    args.a = Widened(context, a, scratch + state.a_at);
    args.lda = terms_.trans_a ? s.m : s.k;
    if (packed_ >= 0) {
      args.b = reinterpret_cast<const C*>(context.Packed(packed_));
    } else {
      args.b = Widened(context, context.Input(1), scratch + state.b_at);
      args.ldb = terms_.trans_b ? s.k : s.n;
    }
    args.c =
        kConverts ? reinterpret_cast<C*>(scratch + state.c_at) : static_cast<C*>(y.raw_mutable());
    args.ldc = s.n;
    args.alpha = static_cast<C>(terms_.alpha);
    SetBatch(state, scratch, &args);
    math::EpilogueT<C> epilogue;
    if (state.add != AddKind::kNone) SetAddend(context, state, scratch, &args, &epilogue);
    if (s.k == 0) {
      Degenerate(state, args, epilogue);
    } else {
      args.epilogue = &epilogue;
      RunChunks(context, state.plan, args, scratch);
    }
    if constexpr (kConverts) {
      ParallelItems(context, y.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(narrow_, args.c, y.raw_mutable(), begin, end);
      });
    }
  }

  std::string Variant() const override { return packed_ >= 0 ? "packed right-hand matrix" : ""; }

 private:
  const C* Widened(OpKernelContext& context, const Tensor& tensor, std::byte* at) const {
    if constexpr (kConverts) {
      ParallelItems(context, tensor.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(widen_, tensor.raw(), at, begin, end);
      });
      return reinterpret_cast<const C*>(at);
    } else {
      return static_cast<const C*>(tensor.raw());
    }
  }

  static void SetBatch(const State& state, std::byte* scratch, math::GemmArgsT<C>* args) {
    const Sizes& s = state.sizes;
    args->c_batch_stride = s.m * s.n;
    if (s.shared_b) return;
    auto* a_offsets = reinterpret_cast<std::int64_t*>(scratch + state.offsets_at);
    FillOffsets(s.a_batch, s.batch_dims, s.m * s.k, s.batch, a_offsets);
    FillOffsets(s.b_batch, s.batch_dims, s.k * s.n, s.batch, a_offsets + s.batch);
    args->a_batch_offsets = a_offsets;
    args->b_batch_offsets = a_offsets + s.batch;
  }

  // beta * C as a bias, or as the old contents of the output.
  void SetAddend(OpKernelContext& context, const State& state, std::byte* scratch,
                 math::GemmArgsT<C>* args, math::EpilogueT<C>* epilogue) const {
    const Tensor& c = context.Input(2);
    const T* values = c.data<T>();
    const auto beta = static_cast<C>(terms_.beta);
    if (beta == 0) return;
    if (state.add == AddKind::kFull) {
      if constexpr (kConverts) {
        math::RunCast(widen_, values, args->c, 0, c.size());
      } else {
        std::memcpy(args->c, values, c.bytes());
      }
      args->beta = beta;
      return;
    }
    auto* bias = reinterpret_cast<C*>(scratch + state.bias_at);
    const std::int64_t count = state.add == AddKind::kPerRow ? state.sizes.m : state.sizes.n;
    for (std::int64_t i = 0; i < count; ++i) {
      bias[i] = beta * Widen(values[c.size() == 1 ? 0 : i]);
    }
    (state.add == AddKind::kPerRow ? epilogue->bias_row : epilogue->bias_col) = bias;
  }

  // No products at all: what is left is the addend.
  static void Degenerate(const State& state, const math::GemmArgsT<C>& args,
                         const math::EpilogueT<C>& epilogue) {
    const Sizes& s = state.sizes;
    for (std::int64_t r = 0; r < s.batch * s.m; ++r) {
      for (std::int64_t i = 0; i < s.n; ++i) {
        C& v = args.c[r * s.n + i];
        v = args.beta != 0 ? args.beta * v : C(0);
        if (epilogue.bias_row != nullptr) v += epilogue.bias_row[r];
        if (epilogue.bias_col != nullptr) v += epilogue.bias_col[i];
      }
    }
  }

  void RunChunks(OpKernelContext& context, const GemmPlan& plan, const math::GemmArgsT<C>& args,
                 std::byte* scratch) const {
    constexpr double kFlopsWorthAThread = 4e5;
    const std::size_t slice = RoundUp(plan.scratch_bytes);
    if (plan.flops_per_chunk * static_cast<double>(plan.chunks) < kFlopsWorthAThread) {
      for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk)
        ops_.run_chunk(plan, args, chunk, scratch);
      return;
    }
    context.team().ParallelFor(plan.chunks, [&](std::int64_t chunk, int worker) {
      ops_.run_chunk(plan, args, chunk, scratch + slice * static_cast<std::size_t>(worker));
    });
  }

  Terms terms_;
  math::IsaLevel level_;
  const math::GemmOpsT<C>& ops_;
  math::CastKernel widen_, narrow_;
  int packed_ = -1;
};

// Wraps around like the other integer operators.
class IntegerProduct final : public OpKernel {
 public:
  explicit IntegerProduct(OpKernelInfo& info) : terms_(TermsOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const Sizes s = terms_.is_gemm ? GemmSizes(context, terms_, a.dims(), b.dims())
                                   : MatMulSizes(context, a.dims(), b.dims());
    const Tensor* c = terms_.is_gemm ? context.OptionalInput(2) : nullptr;
    const AddKind add = c != nullptr ? AddKindOf(context, s, c->dims()) : AddKind::kNone;
    Tensor& y = context.Output(0, s.out.span());
    DispatchType(y.type(), TypeList<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>{},
                 [&](auto tag) {
                   using T = typename decltype(tag)::type;
                   Run<T>(context, s, add, a.data<T>(), b.data<T>(),
                          c != nullptr ? c->data<T>() : nullptr, y.data_mutable<T>());
                 });
  }

 private:
  static std::int64_t BatchOffset(const PodDims& own, const PodDims& out, std::int64_t matrix,
                                  std::int64_t index) {
    std::int64_t offset = 0, stride = matrix;
    for (std::int32_t back = 0; back < own.rank; ++back) {
      const std::int64_t d = own.d[own.rank - 1 - back], o = out.d[out.rank - 1 - back];
      offset += (d == 1 ? 0 : index % o) * stride;
      index /= o;
      stride *= d;
    }
    return offset;
  }

  template <typename T>
  void Run(OpKernelContext& context, const Sizes& s, AddKind add, const T* a, const T* b,
           const T* c, T* y) const {
    using U = std::make_unsigned_t<T>;
    const double ns = 0.5 * static_cast<double>(s.n * s.k) + 1;
    ParallelItems(context, s.batch * s.m, ns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t row = r % s.m, entry = r / s.m;
        const T* x = a + (s.shared_b ? 0 : BatchOffset(s.a_batch, s.batch_dims, s.m * s.k, entry));
        const T* w = b + (s.shared_b ? 0 : BatchOffset(s.b_batch, s.batch_dims, s.k * s.n, entry));
        U* out = reinterpret_cast<U*>(y + r * s.n);
        std::fill_n(out, s.n, U(0));
        for (std::int64_t k = 0; k < s.k; ++k) {
          const auto v = static_cast<U>(x[terms_.trans_a ? k * s.m + row : row * s.k + k]);
          for (std::int64_t i = 0; i < s.n; ++i) {
            out[i] += v * static_cast<U>(w[terms_.trans_b ? i * s.k + k : k * s.n + i]);
          }
        }
        if (terms_.is_gemm) Scale(s, add, c, row, reinterpret_cast<T*>(out));
      }
    });
  }

  template <typename T>
  void Scale(const Sizes& s, AddKind add, const T* c, std::int64_t row, T* out) const {
    using U = std::make_unsigned_t<T>;
    for (std::int64_t i = 0; i < s.n; ++i) {
      T v = out[i];
      if (terms_.alpha != 1)
        v = static_cast<T>(static_cast<double>(terms_.alpha) * static_cast<double>(v));
      if (add != AddKind::kNone) {
        const std::int64_t at = add == AddKind::kFull     ? row * s.n + i
                                : add == AddKind::kPerRow ? row
                                : add == AddKind::kScalar ? 0
                                                          : i;
        T addend = c[at];
        if (terms_.beta != 1)
          addend = static_cast<T>(static_cast<double>(terms_.beta) * static_cast<double>(addend));
        v = static_cast<T>(static_cast<U>(v) + static_cast<U>(addend));
      }
      out[i] = v;
    }
  }

  Terms terms_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name : {"MatMul", "Gemm"}) {
    registry.Register(
        KernelCreateInfo::For(name).Input(0, DataType::kFloat).Make<FloatProduct<float>>());
    registry.Register(
        KernelCreateInfo::For(name).Input(0, DataType::kDouble).Make<FloatProduct<double>>());
    registry.Register(
        KernelCreateInfo::For(name).Input(0, DataType::kFloat16).Make<FloatProduct<Float16>>());
    registry.Register(
        KernelCreateInfo::For(name).Input(0, DataType::kBFloat16).Make<FloatProduct<BFloat16>>());
    registry.Register(
        KernelCreateInfo::For(name)
            .Input(0, DataType::kInt32 | DataType::kInt64 | DataType::kUint32 | DataType::kUint64)
            .Make<IntegerProduct>());
  }
}

}  // namespace switchyard::cpu::kernels::matmul
