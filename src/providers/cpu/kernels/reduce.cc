// Reductions over sets of axes, arg-reductions, pools over all spatial dimensions, running sums and
// products.

#include <atomic>

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_reduce.h"

namespace switchyard::cpu::kernels::reduce {
namespace {

using math::ElemType;
using math::ReduceOp;

ElemType Elem(DataType type) {
  // Order and storage of bool are those of uint8.
  return static_cast<ElemType>(type == DataType::kBool ? DataType::kUint8 : type);
}

// A planned reduction; `parts` partial results are combined where outputs are few.
struct State {
  bool planned = false;
  bool in_parts = false;
  PodDims out;
  math::ReducePlan plan;
};

template <typename Context>
void MakePlan(const Context& context, std::span<const std::int64_t> dims,
              std::span<const bool> reduced, bool keep, State* state) {
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) {
      out.push_back(dims[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  StoreDims(context, out, &state->out);
  if (!math::MakeReducePlan(dims, reduced, &state->plan)) context.Fail("too many dimensions");
  state->planned = true;
}

// Worth cutting: few outputs of many elements each.
void PlanParts(PrepareContext& context, State* state) {
  const auto& plan = state->plan;
  state->in_parts = plan.parts > 1 && plan.out_size < 64 && plan.count * plan.out_size > 65536;
  if (state->in_parts) context.SetScratch(static_cast<std::size_t>(plan.parts * plan.out_size) * 8);
}

void Run(OpKernelContext& context, const math::ReduceKernel& kernel, const State& state,
         const void* in, void* out) {
  const auto& plan = state.plan;
  if (state.in_parts && context.scratch() != nullptr) {
    auto* acc = static_cast<std::byte*>(context.scratch());
    context.team().ParallelFor(plan.parts, [&](std::int64_t part, int) {
      math::RunReducePart(kernel, plan, in, part, acc);
    });
    math::FinishReduce(kernel, plan, acc, out);
    return;
  }
  ParallelItems(context, plan.out_size, 1 + 0.2 * static_cast<double>(plan.count),
                [&](std::int64_t begin, std::int64_t end) {
                  math::RunReduce(kernel, plan, in, out, begin, end);
                });
}

class Reduce final : public OpKernel {
 public:
  Reduce(OpKernelInfo& info, ReduceOp op)
      : kernel_(math::GetReduce(op, Elem(info.input_type(0).elem), IsaOf(info))),
        keep_(info.attributes().Int("keepdims", 1) != 0),
        noop_(info.attributes().Int("noop_with_empty_axes", 0) != 0),
        from_input_(info.has_input(1)),
        axes_(info.attributes().Ints("axes")) {
    if (!kernel_.valid) info.Fail("no vector kernel", ErrorCode::kNotImplemented);
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    state = State();
    Dims axes = axes_;
    if (from_input_) {
      const Tensor* value = context.input_value(1);
      if (value == nullptr || !ReadIntegers(*value, &axes)) return;
    }
    Plan(context, context.input_dims(0), axes, &state);
    PlanParts(context, &state);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const State* state = &context.State<State>();
    State late;
    if (!state->planned) {
      Plan(context, x.dims(), from_input_ ? ReadIntegers(context, 1) : axes_, &late);
      state = &late;
    }
    Tensor& y = context.Output(0, state->out.span());
    Run(context, kernel_, *state, x.raw(), y.raw_mutable());
  }

 private:
  template <typename Context>
  void Plan(const Context& context, std::span<const std::int64_t> dims, const Dims& axes,
            State* state) const {
    bool reduced[64] = {};
    if (dims.size() > std::size(reduced)) context.Fail("too many dimensions");
    if (axes.empty() && !noop_) std::fill_n(reduced, dims.size(), true);
    for (std::int64_t axis : axes) reduced[NormalizeAxis(context, axis, dims.size())] = true;
    MakePlan(context, dims, {reduced, dims.size()}, keep_, state);
  }

  math::ReduceKernel kernel_;
  bool keep_, noop_, from_input_;
  Dims axes_;
};

// GlobalAveragePool, GlobalMaxPool, GlobalLpPool.
class GlobalPool final : public OpKernel {
 public:
  GlobalPool(OpKernelInfo& info, ReduceOp op)
      : kernel_(math::GetReduce(op, Elem(info.input_type(0).elem), IsaOf(info))) {
    if (!kernel_.valid) info.Fail("no vector kernel", ErrorCode::kNotImplemented);
  }
  std::size_t state_bytes() const override { return sizeof(State); }
  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    bool reduced[PodDims::kMax] = {};
    if (dims.size() < 2 || dims.size() > std::size(reduced))
      context.Fail("input dims are " + DimsToString(dims));
    std::fill(reduced + 2, reduced + dims.size(), true);
    auto& state = context.State<State>();
    state = State();
    MakePlan(context, dims, {reduced, dims.size()}, true, &state);
    PlanParts(context, &state);
  }
  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    Tensor& y = context.Output(0, state.out.span());
    Run(context, kernel_, state, context.Input(0).raw(), y.raw_mutable());
  }

 private:
  math::ReduceKernel kernel_;
};

// The general power of GlobalLpPool.
class GlobalPower final : public OpKernel {
 public:
  GlobalPower(OpKernelInfo&, double power) : power_(power) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) context.Fail("the input is " + x.Describe());
    Dims dims(x.rank(), 1);
    dims[0] = x.dim(0);
    dims[1] = x.dim(1);
    Tensor& y = context.Output(0, dims);
    const std::int64_t plane = Product(x.dims().subspan(2));
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      T* to = y.data_mutable<T>();
      ParallelItems(context, y.size(), 20.0 * static_cast<double>(plane),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        double sum = 0;
                        for (std::int64_t k = 0; k < plane; ++k)
                          sum += std::pow(std::abs(static_cast<double>(Widen(from[i * plane + k]))),
                                          power_);
                        to[i] = Narrow<T>(static_cast<ComputeOf<T>>(std::pow(sum, 1 / power_)));
                      }
                    });
    });
  }

 private:
  double power_;
};

class ArgReduce final : public OpKernel {
 public:
  ArgReduce(OpKernelInfo& info, bool largest)
      : largest_(largest),
        last_(info.attributes().Int("select_last_index", 0) != 0),
        keep_(info.attributes().Int("keepdims", 1) != 0),
        axis_(info.attributes().Int("axis", 0)),
        level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto axis =
        static_cast<std::size_t>(x.rank() == 0 ? 0 : NormalizeAxis(context, axis_, x.rank()));
    const std::int64_t size = x.rank() == 0 ? 1 : x.dim(axis);
    Dims dims(x.dims());
    if (x.rank() != 0) {
      dims[axis] = 1;
      if (!keep_) dims.erase(dims.begin() + axis);
    }
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    if (size == 0)
      context.Fail("axis " + std::to_string(axis_) + " of " + x.Describe() + " is empty");
    const std::int64_t inner = x.rank() == 0 ? 1 : Product(x.dims().subspan(axis + 1));
    ParallelItems(context, y.size(), 0.5 * static_cast<double>(size),
                  [&](std::int64_t begin, std::int64_t end) {
                    math::RunArgReduce(largest_, last_, Elem(x.type()), level_, x.raw(),
                                       y.data_mutable<std::int64_t>(), size, inner, begin, end);
                  });
  }

 private:
  bool largest_, last_, keep_;
  std::int64_t axis_;
  math::IsaLevel level_;
};

class Cumulative final : public OpKernel {
 public:
  Cumulative(OpKernelInfo& info, bool product)
      : product_(product),
        exclusive_(info.attributes().Int("exclusive", 0) != 0),
        reverse_(info.attributes().Int("reverse", 0) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() == 0) context.Fail("the input is a scalar");
    const auto axis =
        static_cast<std::size_t>(NormalizeAxis(context, ReadIntegerScalar(context, 1), x.rank()));
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const std::int64_t outer = Product(x.dims().first(axis));
    const std::int64_t inner = Product(x.dims().subspan(axis + 1));
    const auto run = product_ ? &math::RunCumProd : &math::RunCumSum;
    std::atomic<bool> known{true};
    ParallelItems(context, outer, 1.0 * static_cast<double>(x.dim(axis) * inner),
                  [&](std::int64_t begin, std::int64_t end) {
                    if (!run(Elem(x.type()), exclusive_, reverse_, x.raw(), y.raw_mutable(),
                             x.dim(axis), inner, begin, end))
                      known = false;
                  });
    if (!known) context.Fail("no kernel for " + x.Describe(), ErrorCode::kNotImplemented);
  }

 private:
  bool product_, exclusive_, reverse_;
};

struct Row {
  const char* op_type;
  ReduceOp op;
};
constexpr Row kRows[] = {
    {"ReduceSum", ReduceOp::kSum},       {"ReduceMean", ReduceOp::kMean},
    {"ReduceProd", ReduceOp::kProd},     {"ReduceMin", ReduceOp::kMin},
    {"ReduceMax", ReduceOp::kMax},       {"ReduceSumSquare", ReduceOp::kSumSquare},
    {"ReduceL1", ReduceOp::kL1},         {"ReduceL2", ReduceOp::kL2},
    {"ReduceLogSum", ReduceOp::kLogSum}, {"ReduceLogSumExp", ReduceOp::kLogSumExp}};
constexpr Row kGlobalRows[] = {{"GlobalAveragePool", ReduceOp::kMean},
                               {"GlobalMaxPool", ReduceOp::kMax}};

std::unique_ptr<OpKernel> MakeGlobalLpPool(OpKernelInfo& info) {
  const double p = info.node().SinceVersion() == 1
                       ? static_cast<double>(info.attributes().Float("p", 2.0f))
                       : static_cast<double>(info.attributes().Int("p", 2));
  if (p == 1) return std::make_unique<GlobalPool>(info, ReduceOp::kL1);
  if (p == 2) return std::make_unique<GlobalPool>(info, ReduceOp::kL2);
  return std::make_unique<GlobalPower>(info, p);
}

}  // namespace

void Register(KernelRegistry& registry) {
  for (const Row& row : kRows) {
    const bool ordered = row.op == ReduceOp::kMin || row.op == ReduceOp::kMax;
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Input(0, ordered ? types::kNumeric | types::kBool : types::kNumeric)
                          .HostInput(1)
                          .Create([&row](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Reduce>(info, row.op);
                          }));
  }
  for (const Row& row : kGlobalRows) {
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Input(0, types::kFloats)
                          .Create([&row](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<GlobalPool>(info, row.op);
                          }));
  }
  registry.Register(
      KernelCreateInfo::For("GlobalLpPool").Input(0, types::kFloats).Create(MakeGlobalLpPool));
  for (const bool largest : {true, false}) {
    registry.Register(KernelCreateInfo::For(largest ? "ArgMax" : "ArgMin")
                          .Input(0, types::kNumeric)
                          .Create([largest](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<ArgReduce>(info, largest);
                          }));
    registry.Register(KernelCreateInfo::For(largest ? "CumSum" : "CumProd")
                          .Input(0, types::kNumeric)
                          .HostInput(1)
                          .Create([largest](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Cumulative>(info, !largest);
                          }));
  }
}

}  // namespace switchyard::cpu::kernels::reduce
