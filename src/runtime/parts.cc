#include "runtime/parts.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard {
namespace {

class Nesting {
 public:
  Nesting(const Plan& plan, RunState& state, Frame& frame, SegmentBinding& segment,
          std::int32_t first_step)
      : plan_(plan), state_(state), frame_(frame), segment_(segment), first_step_(first_step) {
    for (std::size_t i = 0; i < segment.placed.size(); ++i) {
      const PlanValueId id = segment.placed[i].value;
      state.placed_at[id] = static_cast<std::uint32_t>(i);
      state.reach[id] = plan.values[id].reach;
    }
  }

  // The output is bytes of the input: it becomes a view, wherever the input lies.
  void ShowPart(std::uint32_t index, const PreparedPart& part) {
    const Step& step = plan_.steps[index];
    const PlanValueId to = plan_.arguments[step.outputs + part.argument];
    const PlanValueId from = plan_.arguments[step.inputs];
    if (to == kAbsent || plan_.values[to].part_of == kAbsent) return;
    SegmentBinding::Placed* own = Placed(to);
    if (own == nullptr || own->kind != PlacedKind::kArena) return;
    if (part.offset + Bytes(to) > Bytes(from)) return;
    const SegmentBinding::Placed* source = Holder(from);
    if (source == nullptr) {
      state_.nested.Drop(own->request);
      own->kind = PlacedKind::kElsewhere;
    } else if (!state_.nested.Join(own->request, source->request, part.offset)) {
      return;
    }
    frame_.part_views[index].push_back({to, from, part.offset});
  }

  // Nearest producers first: those far away are the ones that may need too much memory.
  void MovePartsIn(std::uint32_t index) {
    const Step& step = plan_.steps[index];
    const PlanValueId whole = plan_.arguments[step.outputs];
    const SegmentBinding::Placed* target = whole == kAbsent ? nullptr : Placed(whole);
    if (target == nullptr) return;
    std::vector<PreparedPart>& parts = frame_.parts[index];
    std::sort(parts.begin(), parts.end(), [&](const PreparedPart& a, const PreparedPart& b) {
      return First(step, a) != First(step, b) ? First(step, a) > First(step, b)
                                              : a.offset < b.offset;
    });
    for (const PreparedPart& part : parts) MoveIn(index, part, whole, target->request);
  }

  // Every placed value learns where it lies.
  void Finish() {
    state_.nested.Finish();
    for (const SegmentBinding::Placed& whole : segment_.placed) {
      if (whole.kind != PlacedKind::kOutput) continue;
      for (SegmentBinding::Placed& placed : segment_.placed) {
        if (placed.kind != PlacedKind::kArena) continue;
        const NestedRequests::Place at = state_.nested.Find(placed.request);
        if (at.request != whole.request) continue;
        segment_.outside.push_back({placed.value, whole.value, at.offset});
        placed.kind = PlacedKind::kElsewhere;
      }
    }
    for (SegmentBinding::Placed& placed : segment_.placed) {
      if (placed.kind != PlacedKind::kArena) continue;
      const NestedRequests::Place at = state_.nested.Find(placed.request);
      placed.request = at.request;
      placed.offset = at.offset;
    }
  }

 private:
  void MoveIn(std::uint32_t index, const PreparedPart& part, PlanValueId whole,
              std::uint32_t target) {
    const Step& step = plan_.steps[index];
    const PlanValueId from = plan_.arguments[step.inputs + part.argument];
    if (from == kAbsent || part.offset + Bytes(from) > Bytes(whole)) return;
    const PlanValueId root = plan_.values[from].root == kAbsent ? from : plan_.values[from].root;
    const PlanValue& owner = plan_.values[root];
    const PlanValue& output = plan_.values[whole];
    if (!owner.may_move || owner.block != output.block || owner.space != output.space) return;
    // All that is written to the part comes before, and all that is written to the whole after the
    // part's last reader.
    if (owner.last_write >= static_cast<std::int32_t>(index)) return;
    const SegmentBinding::Placed* placed = Placed(root);
    if (placed == nullptr || placed->kind != PlacedKind::kArena) return;
    if (state_.reach[root] >= output.rewritten) return;
    if (Holder(from) != placed || Bytes(root) != Bytes(from)) return;
    if (state_.nested.Join(placed->request, target, part.offset))
      state_.reach[whole] = std::max(state_.reach[whole], state_.reach[root]);
  }

  std::size_t Bytes(PlanValueId id) const {
    return frame_.values[id].is_tensor() ? frame_.values[id].tensor().bytes() : 0;
  }
  std::int32_t First(const Step& step, const PreparedPart& part) const {
    const PlanValueId id = plan_.arguments[step.inputs + part.argument];
    if (id == kAbsent) return -1;
    const PlanValueId root = plan_.values[id].root;
    return plan_.values[root == kAbsent ? id : root].producer;
  }

  SegmentBinding::Placed* Placed(PlanValueId id) {
    const std::uint32_t at = state_.placed_at[id];
    return at < segment_.placed.size() && segment_.placed[at].value == id ? &segment_.placed[at]
                                                                          : nullptr;
  }

  // The value of this segment whose request the value lies in, past views that keep its size;
  // nullptr: memory from elsewhere, or a view that lies in a part only.
  SegmentBinding::Placed* Holder(PlanValueId id) {
    while (true) {
      if (SegmentBinding::Placed* placed = Placed(id))
        return placed->kind == PlacedKind::kElsewhere ? nullptr : placed;
      const PlanValue& value = plan_.values[id];
      if (value.root == kAbsent || value.producer < first_step_) return nullptr;
      id = SourceOf(id);
      if (id == kAbsent) return nullptr;
    }
  }
  PlanValueId SourceOf(PlanValueId id) const {
    const Step& step = plan_.steps[static_cast<std::size_t>(plan_.values[id].producer)];
    for (const auto& [output, source] : step.views) {
      if (output == id) return source;
    }
    return kAbsent;
  }

  const Plan& plan_;
  RunState& state_;
  Frame& frame_;
  SegmentBinding& segment_;
  std::int32_t first_step_;
};

}  // namespace

bool MayHoldParts(const Step& step, const PlanValue& output) {
  return step.part_inputs && output.is_block_output && output.block == 0 && output.is_tensor;
}

void NestParts(const Plan& plan, RunState& state, Frame& frame, SegmentBinding& segment,
               std::int32_t first_step, std::int32_t end_step) {
  bool any = false;
  for (std::int32_t s = first_step; s < end_step; ++s) {
    frame.part_views[static_cast<std::size_t>(s)].clear();
    any |= !frame.parts[static_cast<std::size_t>(s)].empty();
  }
  if (!any) return;
  state.nested.Start(state.requests, first_step, end_step);
  Nesting nesting(plan, state, frame, segment, first_step);
  for (std::int32_t s = first_step; s < end_step; ++s) {
    const auto index = static_cast<std::uint32_t>(s);
    if (frame.parts[index].empty()) continue;
    if (plan.steps[index].part_inputs) nesting.MovePartsIn(index);
    if (!plan.steps[index].part_views) continue;
    for (const PreparedPart& part : frame.parts[index]) nesting.ShowPart(index, part);
  }
  nesting.Finish();
}

}  // namespace switchyard
