// LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization.

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/math/vec_elementwise.h"
#include "providers/cpu/math/vec_norm.h"

namespace switchyard::cpu::kernels::norm {
namespace {

using math::ElemType;

bool SameDims(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Rows of everything from `axis` on. Scale and bias of just that shape go into the rows; other
// broadcasts follow in a second sweep.
class RowNorm final : public OpKernel {
 public:
  RowNorm(OpKernelInfo& info, bool rms)
      : rms_(rms),
        axis_(info.attributes().Int("axis", -1)),
        epsilon_(info.attributes().Float("epsilon", 1e-5f)),
        type_(static_cast<ElemType>(info.input_type(0).elem)),
        level_(IsaOf(info)),
        multiply_(math::GetBinary(math::BinaryOp::kMul, type_, level_)),
        add_(math::GetBinary(math::BinaryOp::kAdd, type_, level_)) {}

  struct State {
    math::BroadcastPlan plan[2];
    bool fused[2];
  };
  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    const auto x = context.input_dims(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.size()));
    const auto tail = x.subspan(axis);
    for (std::size_t i = 0; i < 2; ++i) {
      state.fused[i] = true;
      if (!context.has_input(i + 1)) continue;
      auto dims = context.input_dims(i + 1);
      while (dims.size() > tail.size() && dims[0] == 1) dims = dims.subspan(1);
      state.fused[i] = SameDims(dims, tail);
      if (!state.fused[i]) MakePlan(context, x, {x, context.input_dims(i + 1)}, &state.plan[i]);
    }
    if (!state.fused[0]) state.fused[1] = false;  // the scale comes first
    if (!state.fused[1] && context.has_input(2)) {
      MakePlan(context, x, {x, context.input_dims(2)}, &state.plan[1]);
    }
    const std::int64_t rows = Product(x.first(axis));
    context.SetScratch(static_cast<std::size_t>(rows) * 16);
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    Dims stat_dims(x.dims().first(axis));
    stat_dims.resize(x.rank(), 1);
    const std::int64_t rows = Product(x.dims().first(axis));
    math::LayerNormArgs args;
    args.type = type_;
    args.level = level_;
    args.width = Product(x.dims().subspan(axis));
    args.epsilon = epsilon_;
    args.rms = rms_;
    args.in = x.raw();
    if (const Tensor* scale = context.OptionalInput(1); scale != nullptr && state.fused[0])
      args.scale = scale->raw();
    if (const Tensor* bias = context.OptionalInput(2); bias != nullptr && state.fused[1])
      args.bias = bias->raw();
    args.out = y.raw_mutable();
    // Simplified forms have the inverse deviation as second output.
    const std::size_t inv_at = rms_ ? 1 : 2;
    auto* statistics = static_cast<std::byte*>(context.scratch());
    if (!rms_ && context.has_output(1)) args.mean = statistics;
    if (context.has_output(inv_at)) args.inv_std = statistics + rows * 8;
    if (y.size() != 0) {
      ParallelItems(
          context, rows, 0.5 * static_cast<double>(args.width),
          [&](std::int64_t begin, std::int64_t end) { math::RunLayerNorm(args, begin, end); });
      SecondSweep(context, state, y);
    }
    if (args.mean != nullptr) StoreStatistic(args.mean, rows, context.Output(1, stat_dims));
    if (args.inv_std != nullptr)
      StoreStatistic(args.inv_std, rows, context.Output(inv_at, stat_dims));
  }

 private:
  void SecondSweep(OpKernelContext& context, const State& state, Tensor& y) const {
    const math::BinaryKernel* kernels[2] = {&multiply_, &add_};
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* operand = context.OptionalInput(i + 1);
      if (operand == nullptr || state.fused[i]) continue;
      ParallelItems(context, y.size(), 0.4, [&](std::int64_t begin, std::int64_t end) {
        math::RunBinary(*kernels[i], state.plan[i], y.raw(), operand->raw(), y.raw_mutable(), begin,
                        end);
      });
    }
  }

  void StoreStatistic(const void* values, std::int64_t count, Tensor& to) const {
    DispatchType(to.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < count; ++i) {
        const double v = type_ == ElemType::kDouble
                             ? static_cast<const double*>(values)[i]
                             : static_cast<double>(static_cast<const float*>(values)[i]);
        to.data_mutable<T>()[i] = Narrow<T>(static_cast<ComputeOf<T>>(v));
      }
    });
  }

  bool rms_;
  std::int64_t axis_;
  float epsilon_;
  ElemType type_;
  math::IsaLevel level_;
  math::BinaryKernel multiply_, add_;
};

// Groups of channels, each normalised over its channels and all positions. Instance normalisation
// has one channel per group.
class GroupNorm final : public OpKernel {
 public:
  explicit GroupNorm(OpKernelInfo& info)
      : per_instance_(info.node().OpType() == "InstanceNormalization"),
        per_group_(!per_instance_ && info.node().SinceVersion() < 21),
        groups_(info.attributes().Int("num_groups", 0)),
        epsilon_(info.attributes().Float("epsilon", 1e-5f)),
        level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor& bias = context.Input(2);
    if (x.rank() < 2) context.Fail("the input is " + x.Describe());
    const std::int64_t channels = x.dim(1);
    const std::int64_t groups = per_instance_ ? channels : groups_;
    if (groups < 1 ? channels != 0 : channels % groups != 0) {
      context.Fail(std::to_string(channels) + " channels in " + std::to_string(groups) + " groups");
    }
    const std::int64_t wanted = per_group_ ? groups : channels;
    if (scale.size() != wanted || bias.size() != wanted) {
      context.Fail("scale " + scale.Describe() + " and bias " + bias.Describe() + " for " +
                   std::to_string(wanted) + " channels");
    }
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    math::GroupNormArgs args;
    args.type = static_cast<ElemType>(x.type());
    args.level = level_;
    args.groups = groups;
    args.channels_per_group = channels / groups;
    args.spatial = Product(x.dims().subspan(2));
    args.epsilon = epsilon_;
    args.per_group = per_group_;
    args.in = x.raw();
    args.scale = scale.raw();
    args.bias = bias.raw();
    args.out = y.raw_mutable();
    const std::int64_t rows = x.dim(0) * groups;
    ParallelItems(
        context, rows, 0.5 * static_cast<double>(x.size() / rows),
        [&](std::int64_t begin, std::int64_t end) { math::RunGroupNorm(args, begin, end); });
  }

 private:
  bool per_instance_, per_group_;
  std::int64_t groups_;
  float epsilon_;
  math::IsaLevel level_;
};

std::string SameTypes(const Node& node) {
  const DataType type = node.inputs()[0]->type().elem;
  for (const NodeArg* input : node.inputs()) {
    if (input != nullptr && input->type().elem != type)
      return "scale or bias of another type than the input";
  }
  return {};
}

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name :
       {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"}) {
    const bool rms = std::string_view(name) != "LayerNormalization";
    registry.Register(KernelCreateInfo::For(name)
                          .Input(0, types::kFloats)
                          .Accepts(SameTypes)
                          .Create([rms](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<RowNorm>(info, rms);
                          }));
  }
  for (const char* name : {"InstanceNormalization", "GroupNormalization"}) {
    registry.Register(
        KernelCreateInfo::For(name).Input(0, types::kFloats).Accepts(SameTypes).Make<GroupNorm>());
  }
}

}  // namespace switchyard::cpu::kernels::norm
