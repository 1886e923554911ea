// QuantizeLinear, DequantizeLinear (per tensor, axis or block) and DynamicQuantizeLinear.

#include <atomic>

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_quantize.h"
#include "providers/cpu/math/vec_reduce.h"

namespace switchyard::cpu::kernels::quantize {
namespace {

using math::ElemType;
using math::QuantLayout;

class Linear final : public OpKernel {
 public:
  explicit Linear(OpKernelInfo& info)
      : quantize_(info.node().OpType() == "QuantizeLinear"),
        axis_(info.attributes().Int("axis", 1)),
        block_(info.attributes().Int("block_size", 0)),
        saturate_(info.attributes().Int("saturate", 1) != 0),
        level_(IsaOf(info)) {
    if (block_ < 0) info.Fail("block_size is " + std::to_string(block_));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor* zero = context.OptionalInput(2);
    if (zero != nullptr &&
        !std::equal(zero->dims().begin(), zero->dims().end(), scale.dims().begin(),
                    scale.dims().end()) &&
        !(zero->size() == 1 && scale.size() == 1)) {
      context.Fail("zero point " + zero->Describe() + " for scale " + scale.Describe());
    }
    Tensor& y = context.Output(0, x.dims());
    math::QuantArgs args;
    args.level = level_;
    args.layout = LayoutOf(context, x, scale);
    args.real = static_cast<ElemType>((quantize_ ? x : y).type());
    args.quant = static_cast<ElemType>((quantize_ ? y : x).type());
    args.scale_type = static_cast<ElemType>(scale.type());
    args.scale = scale.raw();
    args.zero_point = zero != nullptr ? zero->raw() : nullptr;
    args.saturate = saturate_;
    const auto run = quantize_ ? &math::RunQuantize : &math::RunDequantize;
    std::atomic<bool> known{true};
    ParallelItems(context, (x.size() + 7) / 8, 5, [&](std::int64_t begin, std::int64_t end) {
      if (!run(args, x.raw(), y.raw_mutable(), begin * 8, std::min(end * 8, x.size())))
        known = false;
    });
    if (!known)
      context.Fail("no kernel for " + x.Describe() + " with scale " + scale.Describe() + " to " +
                       y.Describe(),
                   ErrorCode::kNotImplemented);
  }

 private:
  QuantLayout LayoutOf(const OpKernelContext& context, const Tensor& x, const Tensor& scale) const {
    QuantLayout layout;
    if (scale.size() == 1 && (scale.rank() <= 1 || block_ == 0)) return layout;
    if (x.rank() == 0) context.Fail("scale " + scale.Describe() + " for a scalar");
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    layout.axis = x.dim(axis);
    layout.inner = Product(x.dims().subspan(axis + 1));
    bool fits = true;
    if (block_ == 0) {
      layout.kind = QuantLayout::Kind::kAxis;
      fits = scale.size() == x.dim(axis) && scale.rank() == 1;
    } else {
      layout.kind = QuantLayout::Kind::kBlocked;
      layout.block = block_;
      fits = scale.rank() == x.rank();
      for (std::size_t i = 0; fits && i < x.rank(); ++i) {
        fits = scale.dim(i) ==
               (i == axis ? (x.dim(i) == 0 ? 0 : (x.dim(i) - 1) / block_ + 1) : x.dim(i));
      }
    }
    if (!fits)
      context.Fail("scale " + scale.Describe() + " does not fit " + x.Describe() + ", axis " +
                   std::to_string(axis_) + ", block_size " + std::to_string(block_));
    return layout;
  }

  bool quantize_;
  std::int64_t axis_, block_;
  bool saturate_;
  math::IsaLevel level_;
};

class Dynamic final : public OpKernel {
 public:
  explicit Dynamic(OpKernelInfo& info)
      : level_(IsaOf(info)),
        min_(math::GetReduce(math::ReduceOp::kMin, ElemType::kFloat, level_)),
        max_(math::GetReduce(math::ReduceOp::kMax, ElemType::kFloat, level_)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    float low = 0, high = 0;
    if (x.size() != 0) {
      const std::int64_t dims[1] = {x.size()};
      const bool reduced[1] = {true};
      math::ReducePlan plan;
      if (!math::MakeReducePlan(dims, reduced, &plan)) context.Fail("no reduction plan");
      math::RunReduce(min_, plan, x.raw(), &low, 0, 1);
      math::RunReduce(max_, plan, x.raw(), &high, 0, 1);
    }
    float scale = 1;
    std::uint8_t zero = 0;
    math::DynamicQuantParams(low, high, &scale, &zero);
    Tensor& y = context.Output(0, x.dims());
    *context.Output(1, {}).data_mutable<float>() = scale;
    *context.Output(2, {}).data_mutable<std::uint8_t>() = zero;
    math::QuantArgs args;
    args.level = level_;
    args.scale = &scale;
    args.zero_point = &zero;
    ParallelItems(context, (x.size() + 7) / 8, 4, [&](std::int64_t begin, std::int64_t end) {
      math::RunQuantize(args, x.raw(), y.raw_mutable(), begin * 8, std::min(end * 8, x.size()));
    });
  }

 private:
  math::IsaLevel level_;
  math::ReduceKernel min_, max_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("QuantizeLinear").Make<Linear>());
  registry.Register(KernelCreateInfo::For("DequantizeLinear").Make<Linear>());
  registry.Register(
      KernelCreateInfo::For("DynamicQuantizeLinear").Input(0, DataType::kFloat).Make<Dynamic>());
}

}  // namespace switchyard::cpu::kernels::quantize
