// sy.Map: an elementwise program over broadcast float inputs, one pass over memory. Attributes:
// `steps`, five integers each (kind, operation, a, b, c), and `params`, two floats each; the last
// step is the result.

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/math/vec_program.h"

namespace switchyard::cpu::kernels::map {
namespace {

class Map final : public OpKernel {
 public:
  explicit Map(OpKernelInfo& info) {
    const auto steps = info.attributes().Ints("steps");
    const auto params = info.attributes().Floats("params");
    if (steps.empty() || steps.size() % 5 != 0 || params.size() != steps.size() / 5 * 2) {
      info.Fail("a program of " + std::to_string(steps.size()) + " integers and " +
                std::to_string(params.size()) + " parameters");
    }
    std::vector<math::ProgramStep> program;
    for (std::size_t s = 0; s < steps.size() / 5; ++s) {
      math::ProgramStep step;
      step.kind = static_cast<math::ProgramStep::Kind>(steps[s * 5]);
      step.op = static_cast<int>(steps[s * 5 + 1]);
      step.a = static_cast<int>(steps[s * 5 + 2]);
      step.b = static_cast<int>(steps[s * 5 + 3]);
      step.c = static_cast<int>(steps[s * 5 + 4]);
      step.p0 = params[s * 2];
      step.p1 = params[s * 2 + 1];
      program.push_back(step);
    }
    const std::vector<math::ElemType> inputs(info.num_inputs(), math::ElemType::kFloat);
    const math::ProgramOutput result{static_cast<int>(inputs.size() + program.size()) - 1};
    if (!math::CompileProgram(inputs, program, {&result, 1}, IsaOf(info), &program_)) {
      info.Fail("the program can't be compiled", ErrorCode::kNotImplemented);
    }
    cost_ = 0.15 * static_cast<double>(inputs.size()) + 0.15 * static_cast<double>(program.size());
  }

  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    Dims out(context.input_dims(0));
    math::BroadcastInput inputs[math::Program::kMaxInputs];
    for (int i = 0; i < program_.num_inputs; ++i) {
      const auto dims = context.input_dims(static_cast<std::size_t>(i));
      inputs[i] = {dims, {}};
      if (i > 0) out = BroadcastDimsOf(context, out, dims);
    }
    StoreDims(context, out, &state.out);
    const auto count = static_cast<std::size_t>(program_.num_inputs);
    if (!math::MakeBroadcastPlan(out, {inputs, count}, &state.plan)) {
      context.Fail("more dimensions than a plan can hold");
    }
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const void* inputs[math::Program::kMaxInputs];
    for (int i = 0; i < program_.num_inputs; ++i) {
      inputs[i] = context.Input(static_cast<std::size_t>(i)).raw();
    }
    void* output = context.Output(0, state.out.span()).raw_mutable();
    ParallelItems(context, state.plan.size, cost_, [&](std::int64_t begin, std::int64_t end) {
      math::RunProgram(program_, state.plan, inputs, &output, begin, end);
    });
  }

  std::string Variant() const override {
    return "program of " + std::to_string(program_.num_steps) + " steps";
  }

 private:
  math::Program program_;
  double cost_ = 1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  KernelCreateInfo info = KernelCreateInfo::For("Map", "sy");
  info.Output(0, DataType::kFloat).Make<Map>();
  for (std::size_t i = 0; i < math::Program::kMaxInputs; ++i) {
    info.Input(i, DataType::kFloat).MayAlias(i, 0);
  }
  registry.Register(std::move(info));
}

}  // namespace switchyard::cpu::kernels::map
