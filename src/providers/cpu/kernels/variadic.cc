// Max, Min, Sum and Mean of any number of inputs under broadcasting.

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::variadic {
namespace {

using math::BinaryOp;
using math::ElemType;

class Variadic final : public OpKernel {
 public:
  Variadic(OpKernelInfo& info, BinaryOp op, bool mean) : count_(info.num_inputs()), mean_(mean) {
    const auto type = static_cast<ElemType>(info.input_type(0).elem);
    kernel_ = math::GetBinary(op, type, IsaOf(info));
    if (kernel_.fn == nullptr) {
      info.Fail("no vector kernel for " + std::string(DataTypeName(info.input_type(0).elem)),
                ErrorCode::kNotImplemented);
    }
    if (mean_) divide_ = math::GetBinary(BinaryOp::kDiv, type, IsaOf(info));
  }

  std::size_t state_bytes() const override {
    return sizeof(PodDims) + (count_ > 1 ? count_ - 1 : 0) * sizeof(math::BroadcastPlan);
  }

  void Prepare(PrepareContext& context) const override {
    auto* out = static_cast<PodDims*>(context.state());
    auto* plans = reinterpret_cast<math::BroadcastPlan*>(out + 1);
    Dims dims(context.input_dims(0));
    for (std::size_t i = 1; i < count_; ++i) {
      dims = BroadcastDimsOf(context, dims, context.input_dims(i));
    }
    StoreDims(context, dims, out);
    for (std::size_t i = 1; i < count_; ++i) {
      const std::span<const std::int64_t> first =
          i == 1 ? context.input_dims(0) : std::span<const std::int64_t>(dims);
      MakePlan(context, dims, {first, context.input_dims(i)}, &plans[i - 1]);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const PodDims& dims = context.State<PodDims>();
    const auto* plans = reinterpret_cast<const math::BroadcastPlan*>(&dims + 1);
    Tensor& out = context.Output(0, dims.span());
    if (count_ == 1) {
      CopyTensor(context, context.Input(0), out);
      return;
    }
    const auto total = out.size();
    ParallelItems(context, total, 0.35 * static_cast<double>(count_),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t at = begin; at < end; at += kBlock) {
                      RunBlock(context, plans, out, at, std::min(end, at + kBlock));
                    }
                  });
  }

 private:
  // Of the accumulating output: stays in the first-level cache.
  static constexpr std::int64_t kBlock = 2048;

  void RunBlock(OpKernelContext& context, const math::BroadcastPlan* plans, Tensor& out,
                std::int64_t begin, std::int64_t end) const {
    void* base = out.raw_mutable();
    for (std::size_t i = 1; i < count_; ++i) {
      const void* left = i == 1 ? context.Input(0).raw() : base;
      math::RunBinary(kernel_, plans[i - 1], left, context.Input(i).raw(), base, begin, end);
    }
    if (!mean_) return;
    DispatchType(out.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T n = Narrow<T>(static_cast<ComputeOf<T>>(count_));
      T* at = static_cast<T*>(base) + begin;
      math::RunBinary(divide_, at, &n, at, end - begin, math::Span::kVectorScalar);
    });
  }

  math::BinaryKernel kernel_, divide_;
  std::size_t count_;
  bool mean_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  struct Row {
    const char* op_type;
    BinaryOp op;
    TypeSet types;
  };
  static constexpr Row kRows[] = {{"Max", BinaryOp::kMax, types::kNumeric},
                                  {"Min", BinaryOp::kMin, types::kNumeric},
                                  {"Sum", BinaryOp::kAdd, types::kFloats},
                                  {"Mean", BinaryOp::kAdd, types::kFloats}};
  for (const Row& row : kRows) {
    const bool mean = std::string_view(row.op_type) == "Mean";
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Input(0, row.types)
                          .Create([&row, mean](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Variadic>(info, row.op, mean);
                          }));
  }
}

}  // namespace switchyard::cpu::kernels::variadic
