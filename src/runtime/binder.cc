#include "runtime/binder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/format.h"
#include "ir/in_node.h"
#include "runtime/parts.h"

namespace switchyard {
namespace {

// Contents that shapes depend on are compared whole up to this size.
constexpr std::size_t kMaxRead = 1 << 16;
// More than any machine has, so that sums of requests can't overflow.
constexpr std::size_t kMaxRequest = std::size_t{1} << 46;

bool OwnsPlannedMemory(const Plan& plan, const PlanValue& value) {
  if (!value.is_tensor || value.root != kAbsent || value.is_followed) return false;
  if (!value.is_block_output) return true;
  return plan.blocks[static_cast<std::size_t>(value.block)].kind == BlockKind::kBranch;
}

void StoreFollowed(const ValueInfo& info, std::vector<std::int64_t>* storage, OrtValue* value) {
  const Dims dims = info.type.shape.concrete();
  const std::size_t count = info.value.size();
  storage->resize(std::max<std::size_t>(count, 1));
  const std::size_t width = static_cast<std::size_t>(BitsOf(info.type.elem)) / 8;
  auto* bytes = reinterpret_cast<std::byte*>(storage->data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t element = info.value[i].value();
    std::memcpy(bytes + i * width, &element, width);  // little-endian: the low bytes
  }
  if (!value->is_tensor()) *value = OrtValue(Tensor());
  value->tensor().Rebind(info.type.elem, dims, bytes, OrtDevice());
}

class Preparation final : public PrepareContext {
 public:
  Preparation(const Plan& plan, Frame& frame, const Step& step, int team)
      : plan_(plan), frame_(frame), step_(step), team_(team) {}

  const Node& node() const override { return *step_.node; }
  bool has_input(std::size_t i) const override { return i < step_.num_inputs && In(i) != kAbsent; }
  DataType input_elem(std::size_t i) const override { return plan_.values[In(i)].arg->type().elem; }
  std::span<const std::int64_t> input_dims(std::size_t i) const override {
    const OrtValue& value = frame_.values[In(i)];
    return value.is_tensor() ? value.tensor().dims() : std::span<const std::int64_t>();
  }
  const Tensor* input_value(std::size_t i) const override {
    if (!has_input(i)) return nullptr;
    const PlanValue& value = plan_.values[In(i)];
    if (!value.is_constant && !value.is_followed) return nullptr;
    if (value.space != kHostSpace) return nullptr;
    const OrtValue& held = frame_.values[In(i)];
    return held.is_tensor() ? &held.tensor() : nullptr;
  }
  std::span<const std::int64_t> output_dims(std::size_t i, bool* known) const override {
    const PlanValueId id = i < step_.num_outputs ? plan_.arguments[step_.outputs + i] : kAbsent;
    const bool is_known =
        id != kAbsent && frame_.infos[id].type.shape.is_concrete() && frame_.values[id].is_tensor();
    if (known != nullptr) *known = is_known;
    return is_known ? frame_.values[id].tensor().dims() : std::span<const std::int64_t>();
  }
  void SetScratch(std::size_t bytes) override { scratch_ = bytes; }
  void OutputIsPart(std::size_t output, std::size_t offset) override {
    if (step_.part_views && output < step_.num_outputs) AddPart(output, offset);
  }
  void InputIsPart(std::size_t input, std::size_t offset) override {
    if (step_.part_inputs && input < step_.num_inputs) AddPart(input, offset);
  }
  void* state() override { return static_cast<std::byte*>(frame_.state.get()) + step_.state; }
  int team_size() const override { return team_; }
  std::size_t scratch() const { return scratch_; }

 private:
  PlanValueId In(std::size_t i) const { return plan_.arguments[step_.inputs + i]; }
  void AddPart(std::size_t argument, std::size_t offset) {
    frame_.parts[static_cast<std::size_t>(&step_ - plan_.steps.data())].push_back(
        {static_cast<std::uint32_t>(argument), offset});
  }
  const Plan& plan_;
  Frame& frame_;
  const Step& step_;
  int team_;
  std::size_t scratch_ = 0;
};

// One segment being bound.
class SegmentBinder {
 public:
  SegmentBinder(const BindEnvironment& env, RunState& state, Frame& frame, std::int32_t block,
                std::size_t ordinal, std::uint32_t first_item)
      : env_(env),
        plan_(env.plan),
        state_(state),
        frame_(frame),
        block_id_(block),
        block_(plan_.blocks[static_cast<std::size_t>(block)]),
        ordinal_(ordinal),
        first_item_(first_item),
        seg_(frame.blocks[static_cast<std::size_t>(block)].segments[ordinal]) {}

  void Run() {
    seg_.bound = false;
    seg_.open = false;
    seg_.first_item = first_item_;
    seg_.reads.clear();
    seg_.placed.clear();
    seg_.outside.clear();
    seg_.scratch.clear();
    state_.requests.clear();
    state_.request_spaces.clear();
    first_step_ = FirstStep();
    end_ = first_item_;
    while (end_ < block_.items.size() && !closed_) {
      const BlockItem item = block_.items[end_];
      if (!item.is_step) {
        const FollowedNode& node = plan_.followed[item.index];
        InNode(*node.node, [&] { BindFollowed(node); });
        ++end_;
      } else if (InNode(*plan_.steps[item.index].node, [&] { return BindStep(item.index); })) {
        ++end_;
      }
    }
    seg_.end_item = end_;
    NestParts(plan_, state_, frame_, seg_, std::min(first_step_, EndStep()), EndStep());
    Lay();
    seg_.bound = repeatable_;
  }

 private:
  std::int32_t FirstStep() const {
    for (std::size_t i = first_item_; i < block_.items.size(); ++i) {
      if (block_.items[i].is_step) return static_cast<std::int32_t>(block_.items[i].index);
    }
    return kForever;
  }

  std::int32_t EndStep() const {
    for (std::size_t i = end_; i-- > first_item_;) {
      if (block_.items[i].is_step) return static_cast<std::int32_t>(block_.items[i].index) + 1;
    }
    return 0;
  }

  // Its contents exist now: made before this segment.
  bool Available(PlanValueId id) const {
    const PlanValue& value = plan_.values[id];
    if (value.is_constant || value.is_followed) return true;
    return value.block != block_id_ || value.producer < first_step_;
  }

  void GatherInputs(std::uint32_t at, std::uint32_t count) {
    state_.inferred_inputs.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      const PlanValueId id = plan_.arguments[at + i];
      if (id == kAbsent) {
        state_.inferred_inputs.push_back(nullptr);
        continue;
      }
      ValueInfo& info = frame_.infos[id];
      const PlanValue& value = plan_.values[id];
      if (!value.is_constant) {
        const bool readable = !value.is_followed && value.space == kHostSpace && Available(id) &&
                              frame_.values[id].is_tensor();
        info.tensor = readable ? &frame_.values[id].tensor() : nullptr;
      }
      state_.inferred_inputs.push_back(&info);
    }
  }

  std::uint64_t Infer(const Node& node, InferenceFn infer, std::uint32_t inputs,
                      std::uint32_t num_inputs, std::uint32_t num_outputs) {
    GatherInputs(inputs, num_inputs);
    for (std::uint32_t i = 0; i < num_outputs; ++i) {
      state_.inferred[i].type = ValueType();
      state_.inferred[i].has_value = false;
      state_.inferred[i].tensor = nullptr;
    }
    InferenceContext context(node, *block_.graph, state_.inferred_inputs,
                             std::span(state_.inferred).first(num_outputs));
    infer(context);
    return context.value_reads();
  }

  void BindFollowed(const FollowedNode& node) {
    Infer(*node.node, node.infer, node.inputs, node.num_inputs, node.num_outputs);
    for (std::uint32_t i = 0; i < node.num_outputs; ++i) {
      const PlanValueId id = plan_.arguments[node.outputs + i];
      if (id == kAbsent) continue;
      const ValueInfo& found = state_.inferred[i];
      const bool all = found.has_value && found.type.shape.is_concrete() &&
                       std::all_of(found.value.begin(), found.value.end(),
                                   [](const Dim& d) { return d.is_value(); });
      if (!all) {
        Throw(ErrorCode::kRuntimeException,
              "{}: '{}' can't be computed from the shapes of this run", node.node->Describe(),
              plan_.values[id].arg->Name());
      }
      frame_.infos[id].type.shape = found.type.shape;
      frame_.infos[id].has_value = true;
      frame_.infos[id].value = found.value;
      frame_.infos[id].type.elem = plan_.values[id].arg->type().elem;
      StoreFollowed(frame_.infos[id], &frame_.followed[id], &frame_.values[id]);
    }
  }

  // false: the step needs contents that this segment makes, so it starts the next one.
  bool BindStep(std::uint32_t index) {
    const Step& step = plan_.steps[index];
    bool known = true;
    if (step.kind == StepKind::kCopy) {
      CopyShape(step);
    } else if (step.kind != StepKind::kKernel || step.infer == nullptr) {
      known = false;
    } else if (!step.is_static) {
      const std::uint64_t reads =
          Infer(*step.node, step.infer, step.inputs, step.num_inputs, step.num_outputs);
      known = StoreShapes(step);
      if (!known && end_ > first_item_ && WaitsForContents(step, reads)) {
        closed_ = true;
        return false;
      }
      RememberReads(step, reads);
    }
    if (!known) {
      closed_ = true;
      seg_.open = true;
      for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
        const PlanValueId id = plan_.arguments[step.outputs + i];
        if (id != kAbsent) frame_.infos[id].type.shape = Shape();
      }
    }
    ShapeOutputs(step, known);
    Prepare(index, step);
    return true;
  }

  void CopyShape(const Step& step) {
    const PlanValueId from = plan_.arguments[step.inputs], to = plan_.arguments[step.outputs];
    frame_.infos[to].type = frame_.infos[from].type;
  }

  bool StoreShapes(const Step& step) {
    bool known = true;
    for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
      const PlanValueId id = plan_.arguments[step.outputs + i];
      if (id == kAbsent) continue;
      const ValueType& declared = plan_.values[id].arg->type();
      if (declared.known() && !declared.is_tensor()) continue;
      ValueInfo& info = frame_.infos[id];
      info.type.shape = state_.inferred[i].type.shape;
      info.has_value = false;
      known &= info.type.shape.is_concrete() && declared.elem != DataType::kUndefined;
    }
    return known;
  }

  bool WaitsForContents(const Step& step, std::uint64_t reads) const {
    for (std::uint32_t i = 0; i < step.num_inputs && i < 64; ++i) {
      const PlanValueId id = plan_.arguments[step.inputs + i];
      if (((reads >> i) & 1) == 0 || id == kAbsent) continue;
      if (plan_.values[id].space == kHostSpace && !Available(id) && !frame_.infos[id].has_value)
        return true;
    }
    return false;
  }

  void RememberReads(const Step& step, std::uint64_t reads) {
    for (std::uint32_t i = 0; i < step.num_inputs && i < 64 && reads != 0; ++i) {
      const PlanValueId id = plan_.arguments[step.inputs + i];
      if (((reads >> i) & 1) == 0 || id == kAbsent || plan_.values[id].is_constant) continue;
      if (frame_.infos[id].has_value || frame_.infos[id].tensor == nullptr) continue;
      const Tensor& tensor = *frame_.infos[id].tensor;
      if (tensor.type() == DataType::kString || tensor.bytes() > kMaxRead) {
        repeatable_ = false;
        continue;
      }
      const auto* bytes = static_cast<const std::byte*>(tensor.raw());
      seg_.reads.push_back({id, std::vector<std::byte>(bytes, bytes + tensor.bytes())});
    }
  }

  // Gives outputs their dims and asks for the memory that the plan owns.
  void ShapeOutputs(const Step& step, bool known) {
    if (step.kind >= StepKind::kIf) return;
    const std::int32_t now = static_cast<std::int32_t>(&step - plan_.steps.data());
    for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
      const PlanValueId id = plan_.arguments[step.outputs + i];
      if (id == kAbsent) continue;
      const PlanValue& value = plan_.values[id];
      if (!value.is_tensor || !known || !frame_.infos[id].type.shape.is_concrete()) continue;
      OrtValue& held = frame_.values[id];
      if (!held.is_tensor()) held = OrtValue(Tensor());
      const Dims dims = frame_.infos[id].type.shape.concrete();
      static_cast<void>(ElementCount(dims));  // more than can be counted is an error
      held.tensor().Rebind(value.arg->type().elem, dims, held.tensor().raw_mutable(),
                           env_.spaces.device(value.space));
      if (MayHoldParts(step, value))
        seg_.placed.push_back({id, Ask(0, now, kForever, value.space), 0, PlacedKind::kOutput});
      if (!OwnsPlannedMemory(plan_, value) && !Outgrows(step, id)) continue;
      const PlanValue& owner = value.root == kAbsent ? value : plan_.values[value.root];
      seg_.placed.push_back(
          {id, Ask(held.tensor().bytes(), now, LastUse(owner, now), value.space)});
    }
  }

  // Dims of one name may differ in a Run, and then an output is larger than the input whose memory
  // it was to take over.
  bool Outgrows(const Step& step, PlanValueId id) const {
    for (const auto& [output, source] : step.views) {
      if (output != id) continue;
      return frame_.values[source].is_tensor() &&
             frame_.values[id].tensor().bytes() > frame_.values[source].tensor().bytes();
    }
    return false;
  }

  std::int32_t LastUse(const PlanValue& value, std::int32_t now) const {
    if (value.is_captured || value.is_block_output) return kForever;
    return std::max(now, value.last_use);
  }

  std::uint32_t Ask(std::size_t bytes, std::int32_t first, std::int32_t last, int space) {
    if (bytes > kMaxRequest)
      Throw(ErrorCode::kRuntimeException, "out of memory: a step needs {} bytes", bytes);
    state_.requests.push_back({bytes, first, last});
    state_.request_spaces.push_back(space);
    return static_cast<std::uint32_t>(state_.requests.size() - 1);
  }

  void Prepare(std::uint32_t index, const Step& step) {
    if (step.kind != StepKind::kKernel) return;
    if (!step.is_static || !frame_.prepared[index]) {
      frame_.parts[index].clear();
      Preparation context(plan_, frame_, step, env_.team.size());
      step.kernel->Prepare(context);
      frame_.scratch_bytes[index] = context.scratch();
      frame_.prepared[index] = true;
    }
    const auto now = static_cast<std::int32_t>(index);
    seg_.scratch.push_back({index, Ask(frame_.scratch_bytes[index], now, now, kHostSpace)});
  }

  // Reuses the arena's plan if it covers this binding; otherwise plans anew, with room to grow.
  void Lay() {
    std::vector<SegmentArena>& arenas = state_.arenas[static_cast<std::size_t>(block_id_)];
    if (arenas.size() <= ordinal_) arenas.resize(ordinal_ + 1);
    SegmentArena& arena = arenas[ordinal_];
    const bool same = arena.version != 0 && arena.first_item == first_item_ &&
                      arena.end_item == end_ && arena.covered.size() == state_.requests.size();
    bool covered = same;
    for (std::size_t i = 0; covered && i < state_.requests.size(); ++i) {
      const MemoryRequest& wanted = state_.requests[i];
      const MemoryRequest& held = arena.covered[i];
      covered = wanted.bytes == 0 || (wanted.bytes <= held.bytes && wanted.first >= held.first &&
                                      wanted.last <= held.last);
    }
    if (!covered) {
      try {
        Replan(arena, same);
      } catch (...) {  // whoever was bound to it before must bind again
        arena = SegmentArena();
        arena.generation = ++state_.clock;
        throw;
      }
    }
    PlaceSegment(plan_, env_.spaces, state_, frame_, block_id_, ordinal_);
  }

  void Replan(SegmentArena& arena, bool same) {
    arena.first_item = first_item_;
    arena.end_item = end_;
    arena.covered.resize(same ? arena.covered.size() : 0);
    arena.covered.resize(state_.requests.size(), {0, kForever, -1});
    for (std::size_t i = 0; i < state_.requests.size(); ++i) {
      MemoryRequest& held = arena.covered[i];
      const MemoryRequest& wanted = state_.requests[i];
      if (wanted.bytes == 0 && held.bytes != 0) continue;
      if (wanted.bytes > held.bytes)
        held.bytes = same ? wanted.bytes + wanted.bytes / 4 : wanted.bytes;
      held.first = std::min(held.first, wanted.first);
      held.last = std::max(held.last, wanted.last);
    }
    const auto spaces = static_cast<std::size_t>(env_.spaces.size());
    arena.offsets.assign(arena.covered.size(), 0);
    arena.chunks.resize(spaces);
    for (std::size_t space = 0; space < spaces; ++space) LaySpace(arena, static_cast<int>(space));
    arena.version = ++state_.clock;
    if (!same) arena.generation = arena.version;
    env_.counters.plannings.fetch_add(1, std::memory_order_relaxed);
  }

  void LaySpace(SegmentArena& arena, int space) {
    std::vector<MemoryRequest> requests;
    for (std::size_t i = 0; i < state_.requests.size(); ++i) {
      if (state_.request_spaces[i] == space) requests.push_back(arena.covered[i]);
    }
    const MemoryLayout layout = PlanMemory(requests);
    std::size_t next = 0;
    for (std::size_t i = 0; i < state_.requests.size(); ++i) {
      if (state_.request_spaces[i] == space) arena.offsets[i] = layout.offsets[next++];
    }
    SegmentArena::Chunk& chunk = arena.chunks[static_cast<std::size_t>(space)];
    if (layout.total <= chunk.bytes) return;
    const AllocatorPtr& allocator = env_.spaces.allocator(space);
    state_.WaitForStreams();  // of a body's earlier iterations
    chunk.storage.reset();
    chunk.bytes = 0;
    void* block = nullptr;
    try {
      block = allocator->Alloc(layout.total);
    } catch (const Error& error) {
      throw error.WithContext(LargestAsker(space));
    } catch (const std::bad_alloc&) {
      Throw(ErrorCode::kRuntimeException, "{}: out of memory: {} bytes asked for",
            LargestAsker(space), layout.total);
    }
    chunk.storage = StoragePtr(block, [allocator](void* p) { allocator->Free(p); });
    chunk.bytes = layout.total;
    std::uint64_t seen = env_.counters.arena_bytes.load();
    while (layout.total > seen &&
           !env_.counters.arena_bytes.compare_exchange_weak(seen, layout.total)) {
    }
  }

  // The step that needs most of the working memory in a space, for an error.
  std::string LargestAsker(int space) const {
    std::size_t most = 0;
    std::int32_t step = -1;
    const auto look = [&](std::uint32_t request, std::int32_t who) {
      if (state_.request_spaces[request] != space || state_.requests[request].bytes < most) return;
      most = state_.requests[request].bytes;
      step = who;
    };
    for (const auto& placed : seg_.placed)
      look(placed.request, plan_.values[placed.value].producer);
    for (const auto& scratch : seg_.scratch)
      look(scratch.request, static_cast<std::int32_t>(scratch.step));
    if (step < 0) return "working memory";
    return fmt::format("{}, which needs {} bytes of the working memory",
                       plan_.steps[static_cast<std::size_t>(step)].node->Describe(), most);
  }

  const BindEnvironment& env_;
  const Plan& plan_;
  RunState& state_;
  Frame& frame_;
  std::int32_t block_id_;
  const Block& block_;
  std::size_t ordinal_;
  std::uint32_t first_item_;
  SegmentBinding& seg_;
  std::int32_t first_step_ = 0;
  std::uint32_t end_ = 0;
  bool closed_ = false;
  bool repeatable_ = true;  // all that was read can be compared in the next Run
};

}  // namespace

std::unique_ptr<Frame> MakeFrame(const Plan& plan, const AllocatorPtr& host) {
  auto frame = std::make_unique<Frame>();
  frame->values.resize(plan.values.size());
  frame->infos.resize(plan.values.size());
  frame->followed.resize(plan.values.size());
  frame->scratch.resize(plan.steps.size(), nullptr);
  frame->scratch_bytes.resize(plan.steps.size(), 0);
  frame->prepared.resize(plan.steps.size(), false);
  frame->parts.resize(plan.steps.size());
  frame->part_views.resize(plan.steps.size());
  frame->blocks.resize(plan.blocks.size());
  if (plan.state_bytes != 0) {
    void* block = host->Alloc(plan.state_bytes);
    frame->state = StoragePtr(block, [host](void* p) { host->Free(p); });
  }
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    const PlanValue& value = plan.values[v];
    ValueInfo& info = frame->infos[v];
    info.type = value.arg->type();
    if (value.is_constant) {
      info = value.arg->info();
      const Constant& constant = *value.arg->constant();
      info.type.shape = Shape(constant.dims());
      // Where only packed forms are read there are dims but no bytes.
      frame->values[v] = OrtValue(Tensor());
      frame->values[v].tensor().Rebind(constant.type(), constant.dims(), nullptr, OrtDevice());
    } else if (!value.is_static) {
      info.type.shape = Shape();
    } else if (value.is_tensor) {
      const Dims dims = info.type.shape.concrete();
      static_cast<void>(ElementCount(dims));
      frame->values[v] = OrtValue(Tensor());
      frame->values[v].tensor().Rebind(info.type.elem, dims, nullptr, OrtDevice());
    }
    info.tensor = nullptr;
  }
  for (const auto& [id, tensor] : plan.constants) {
    frame->values[id] = OrtValue(*tensor);
    if (plan.values[id].space == kHostSpace) frame->infos[id].tensor = &frame->values[id].tensor();
  }
  frame->arguments.reserve(plan.arguments.size());
  for (PlanValueId id : plan.arguments)
    frame->arguments.push_back(id == kAbsent ? nullptr : &frame->values[id]);
  return frame;
}

void BlockKey(const Plan&, const Frame& frame, const Block& block, std::vector<std::int64_t>* key) {
  key->clear();
  for (PlanValueId id : block.inputs) {
    const OrtValue& value = frame.values[id];
    if (!value.is_tensor()) {
      key->push_back(value.has_value() ? -1 : -2);
      continue;
    }
    key->push_back(static_cast<std::int64_t>(value.tensor().rank()));
    for (std::int64_t d : value.tensor().dims()) key->push_back(d);
  }
}

void StartBlock(const BindEnvironment& env, RunState& state, Frame& frame, std::int32_t block_id) {
  const Block& block = env.plan.blocks[static_cast<std::size_t>(block_id)];
  BlockBinding& binding = frame.blocks[static_cast<std::size_t>(block_id)];
  BlockKey(env.plan, frame, block, &binding.key);
  for (PlanValueId id : block.inputs) {
    ValueInfo& info = frame.infos[id];
    info.has_value = false;
    if (frame.values[id].is_tensor()) info.type.shape = Shape(frame.values[id].tensor().dims());
  }
  binding.used = 0;
  binding.version = ++state.clock;
  binding.parent_version =
      block.parent < 0 ? 0 : frame.blocks[static_cast<std::size_t>(block.parent)].version;
}

void BindSegment(const BindEnvironment& env, RunState& state, Frame& frame, std::int32_t block_id,
                 std::size_t ordinal, std::uint32_t first_item) {
  BlockBinding& binding = frame.blocks[static_cast<std::size_t>(block_id)];
  const Block& block = env.plan.blocks[static_cast<std::size_t>(block_id)];
  if (binding.segments.size() <= ordinal) binding.segments.resize(ordinal + 1);
  SegmentBinding& seg = binding.segments[ordinal];
  binding.used = ordinal;
  binding.version = ++state.clock;
  seg.entry.clear();
  if (first_item > 0 && block.items[first_item - 1].is_step) {
    const Step& step = env.plan.steps[block.items[first_item - 1].index];
    for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
      const PlanValueId id = env.plan.arguments[step.outputs + i];
      if (id == kAbsent) continue;
      ValueInfo& info = frame.infos[id];
      const OrtValue& value = frame.values[id];
      seg.entry.push_back(value.is_tensor() ? static_cast<std::int64_t>(value.tensor().rank())
                                            : -1);
      if (!value.is_tensor()) continue;
      info.type.shape = Shape(value.tensor().dims());
      info.has_value = false;
      for (std::int64_t d : value.tensor().dims()) seg.entry.push_back(d);
    }
  }
  SegmentBinder(env, state, frame, block_id, ordinal, first_item).Run();
  binding.used = ordinal + 1;
  env.counters.bindings.fetch_add(1, std::memory_order_relaxed);
}

bool SegmentHolds(const Plan& plan, const Frame& frame, std::int32_t block_id, std::size_t ordinal,
                  std::uint32_t first_item) {
  const BlockBinding& binding = frame.blocks[static_cast<std::size_t>(block_id)];
  if (ordinal >= binding.used) return false;
  const SegmentBinding& seg = binding.segments[ordinal];
  if (!seg.bound || seg.first_item != first_item) return false;
  for (const SegmentBinding::Read& read : seg.reads) {
    const OrtValue& value = frame.values[read.value];
    if (!value.is_tensor() || value.tensor().bytes() != read.bytes.size()) return false;
    if (!read.bytes.empty() &&
        std::memcmp(value.tensor().raw(), read.bytes.data(), read.bytes.size()) != 0)
      return false;
  }
  if (first_item == 0) return true;
  const Block& block = plan.blocks[static_cast<std::size_t>(block_id)];
  if (!block.items[first_item - 1].is_step) return true;
  const Step& step = plan.steps[block.items[first_item - 1].index];
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    const PlanValueId id = plan.arguments[step.outputs + i];
    if (id == kAbsent) continue;
    const OrtValue& value = frame.values[id];
    const std::int64_t rank =
        value.is_tensor() ? static_cast<std::int64_t>(value.tensor().rank()) : -1;
    if (at >= seg.entry.size() || seg.entry[at++] != rank) return false;
    for (std::int64_t d = 0; d < rank; ++d) {
      if (at >= seg.entry.size() ||
          seg.entry[at++] != value.tensor().dim(static_cast<std::size_t>(d)))
        return false;
    }
  }
  return at == seg.entry.size();
}

void PlaceSegment(const Plan& plan, const MemorySpaces& spaces, RunState& state, Frame& frame,
                  std::int32_t block_id, std::size_t ordinal) {
  SegmentArena& arena = state.arenas[static_cast<std::size_t>(block_id)][ordinal];
  SegmentBinding& seg = frame.blocks[static_cast<std::size_t>(block_id)].segments[ordinal];
  const auto address = [&](int space, std::uint32_t request, std::size_t offset) -> void* {
    const SegmentArena::Chunk& chunk = arena.chunks[static_cast<std::size_t>(space)];
    if (!chunk.storage) return nullptr;
    return static_cast<std::byte*>(chunk.storage.get()) + arena.offsets[request] + offset;
  };
  for (const SegmentBinding::Placed& placed : seg.placed) {
    if (placed.kind != PlacedKind::kArena) continue;
    const int space = plan.values[placed.value].space;
    Tensor& tensor = frame.values[placed.value].tensor();
    tensor.Rebind(tensor.type(), tensor.dims(), address(space, placed.request, placed.offset),
                  spaces.device(space));
  }
  for (const SegmentBinding::Scratch& scratch : seg.scratch) {
    frame.scratch[scratch.step] = address(kHostSpace, scratch.request, 0);
  }
  seg.arena_version = arena.version;
  seg.arena_generation = arena.generation;
}

}  // namespace switchyard
