#pragma once
// Shapes of broadcasting operators, as Prepare leaves them for Compute; the axis/broadcast
// attributes of operators before opset 7 included.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_broadcast.h"

namespace switchyard::cpu {

struct BroadcastState {
  PodDims out;
  math::BroadcastPlan plan;
};

// How the second operand lines up with the first. Opset 7 on: NumPy's rule.
class OperandAlignment {
 public:
  explicit OperandAlignment(const OpKernelInfo& info)
      : legacy_(info.node().SinceVersion() < 7 && info.node().Domain().empty()),
        broadcast_(info.attributes().Int("broadcast", 0) != 0),
        has_axis_(info.attributes().Has("axis")),
        axis_(info.attributes().Int("axis", 0)) {}

  // The second operand's dims, ones appended where an axis attribute says so.
  template <typename Context>
  Dims Align(const Context& context, std::span<const std::int64_t> a,
             std::span<const std::int64_t> b) const {
    Dims aligned(b);
    if (!legacy_) return aligned;
    if (!broadcast_ && !std::equal(a.begin(), a.end(), b.begin(), b.end())) {
      context.Fail("shapes " + DimsToString(a) + " and " + DimsToString(b) +
                   " differ and the attribute broadcast is not set");
    }
    if (!has_axis_ || b.size() > a.size()) return aligned;
    const std::int64_t axis = axis_ < 0 ? axis_ + static_cast<std::int64_t>(a.size()) : axis_;
    if (axis < 0 || axis + b.size() > a.size()) {
      context.Fail("axis " + std::to_string(axis_) + " does not place " + DimsToString(b) + " in " +
                   DimsToString(a));
    }
    while (static_cast<std::size_t>(axis) + aligned.size() < a.size()) aligned.push_back(1);
    return aligned;
  }

 private:
  bool legacy_, broadcast_, has_axis_;
  std::int64_t axis_;
};

// Makes the plan of up to three operands onto `out`.
void MakePlan(const PrepareContext& context, std::span<const std::int64_t> out,
              std::initializer_list<std::span<const std::int64_t>> operands,
              math::BroadcastPlan* plan);

}  // namespace switchyard::cpu
