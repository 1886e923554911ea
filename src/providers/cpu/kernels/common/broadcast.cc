#include "providers/cpu/kernels/common/broadcast.h"

namespace switchyard::cpu {

void MakePlan(const PrepareContext& context, std::span<const std::int64_t> out,
              std::initializer_list<std::span<const std::int64_t>> operands,
              math::BroadcastPlan* plan) {
  math::BroadcastInput inputs[math::BroadcastPlan::kMaxInputs];
  std::size_t count = 0;
  for (const auto& dims : operands) inputs[count++] = {dims, {}};
  if (!math::MakeBroadcastPlan(out, {inputs, count}, plan)) {
    std::string text = "no broadcast onto " + DimsToString(out) + " of";
    for (const auto& dims : operands) text += " " + DimsToString(dims);
    context.Fail(text);
  }
}

}  // namespace switchyard::cpu
