#include "runtime/run_report.h"

#include <algorithm>
#include <map>

#include "switchyard/ep/bound_variant.h"

namespace switchyard {
namespace {

class SegmentReader {
 public:
  SegmentReader(const Plan& plan, const Frame& frame, const Block& block,
                const SegmentBinding& segment, const SegmentArena& arena)
      : plan_(plan), frame_(frame), block_(block), segment_(segment), arena_(arena) {}

  void Read(int ordinal, std::vector<ArenaUse>* uses) {
    std::map<std::uint32_t, std::vector<PlanValueId>> values;  // by request
    for (const SegmentBinding::Placed& placed : segment_.placed) {
      if (placed.kind == PlacedKind::kArena) values[placed.request].push_back(placed.value);
    }
    for (auto& [request, ids] : values)
      Add(plan_.values[ids[0]].space, request, NamesOf(ids), false);
    for (const SegmentBinding::Scratch& scratch : segment_.scratch)
      Add(kHostSpace, scratch.request, plan_.steps[scratch.step].node->Name(), true);
    for (auto& [space, use] : by_space_) {
      use.graph = block_.graph;
      use.segment = ordinal;
      use.space = space;
      std::stable_sort(use.rows.begin(), use.rows.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      uses->push_back(std::move(use));
    }
  }

 private:
  std::size_t BytesOfValue(PlanValueId id) const {
    const OrtValue& value = frame_.values[id];
    return value.is_tensor() ? value.tensor().bytes() : 0;
  }

  std::string NamesOf(std::vector<PlanValueId>& ids) const {
    std::stable_sort(ids.begin(), ids.end(), [this](PlanValueId a, PlanValueId b) {
      return BytesOfValue(a) > BytesOfValue(b);
    });
    std::string names;
    for (const PlanValueId id : ids)
      names += (names.empty() ? "" : ", ") + plan_.values[id].arg->Name();
    return names;
  }

  std::int32_t Local(std::int32_t step) const {
    const auto first = static_cast<std::int32_t>(block_.first_step);
    const auto end = static_cast<std::int32_t>(block_.end_step);
    return std::clamp(step, first, std::max(end - 1, first)) - first;
  }

  void Add(int space, std::uint32_t request, std::string name, bool scratch) {
    const MemoryRequest& held = arena_.covered[request];
    if (held.bytes == 0) return;
    ArenaUse& use = by_space_[space];
    const std::uint64_t offset = arena_.offsets[request];
    use.bytes = std::max<std::uint64_t>(use.bytes, offset + held.bytes);
    use.rows.push_back(
        {std::move(name), scratch, offset, held.bytes, Local(held.first), Local(held.last)});
  }

  const Plan& plan_;
  const Frame& frame_;
  const Block& block_;
  const SegmentBinding& segment_;
  const SegmentArena& arena_;
  std::map<int, ArenaUse> by_space_;
};

const Frame* LastFrame(const RunState& state) {
  const Frame* last = nullptr;
  for (const auto& frame : state.frames) {
    if (last == nullptr || frame->last_used > last->last_used) last = frame.get();
  }
  return last;
}

// Calls visit(block, segment number, segment, arena) for what is bound in the frame.
template <typename Visit>
void ForEachSegment(const Frame& frame, const RunState& state, const Visit& visit) {
  for (std::size_t b = 0; b < frame.blocks.size() && b < state.arenas.size(); ++b) {
    const BlockBinding& binding = frame.blocks[b];
    const std::size_t count = std::min(binding.used, state.arenas[b].size());
    for (std::size_t s = 0; s < count; ++s) {
      const SegmentArena& arena = state.arenas[b][s];
      if (binding.segments[s].arena_generation == arena.generation)
        visit(b, static_cast<int>(s), binding.segments[s], arena);
    }
  }
}

}  // namespace

std::vector<ArenaUse> ReportArenas(const Plan& plan, const RunState& state) {
  std::vector<ArenaUse> uses;
  if (const Frame* last = LastFrame(state)) {
    ForEachSegment(
        *last, state, [&](std::size_t block, int ordinal, const auto& segment, const auto& arena) {
          SegmentReader(plan, *last, plan.blocks[block], segment, arena).Read(ordinal, &uses);
        });
  }
  return uses;
}

std::vector<std::pair<const Node*, std::string>> ReportVariants(const Plan& plan,
                                                                const RunState& state) {
  std::vector<std::pair<const Node*, std::string>> variants;
  const Frame* last = LastFrame(state);
  if (last == nullptr) return variants;
  ForEachSegment(*last, state, [&](std::size_t, int, const SegmentBinding& segment, const auto&) {
    for (const SegmentBinding::Scratch& prepared : segment.scratch) {
      const Step& step = plan.steps[prepared.step];
      const auto* bound = dynamic_cast<const IBoundVariant*>(step.kernel);
      if (bound == nullptr) continue;
      const auto* bytes = static_cast<const std::byte*>(last->state.get()) + step.state;
      if (std::string text = bound->BoundVariant(bytes); !text.empty())
        variants.emplace_back(step.node, std::move(text));
    }
  });
  return variants;
}

}  // namespace switchyard
