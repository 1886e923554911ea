#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/format.h"
#include "ir/in_node.h"

namespace switchyard {
namespace {

constexpr std::size_t kMaxFrames = 4;

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool SameDims(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

class Executor::Context final : public OpKernelContext {
 public:
  Context(Executor& executor, const Step& step, std::uint32_t index)
      : executor_(executor), step_(step) {
    const Plan& plan = executor.setup_.plan;
    Frame& frame = *executor.frame_;
    node_ = step.node;
    num_inputs_ = step.num_inputs;
    num_outputs_ = step.num_outputs;
    inputs_ = frame.arguments.data() + step.inputs;
    outputs_ = frame.arguments.data() + step.outputs;
    scratch_ = frame.scratch[index];
    state_ = static_cast<const std::byte*>(frame.state.get()) + step.state;
    packed_ = plan.packed.data() + step.packed;
    team_ = &executor.setup_.team;
    stream_ = executor.state_.streams[static_cast<std::size_t>(step.provider)].get();
    run_options_ = &executor.options_;
  }

 private:
  Tensor& AllocateOutput(std::size_t i, std::span<const std::int64_t> dims) override {
    if (!has_output(i)) Missing(i);
    const PlanValueId id = executor_.setup_.plan.arguments[step_.outputs + i];
    const ValueInfo& info = executor_.frame_->infos[id];
    OrtValue& value = executor_.frame_->values[id];
    if (info.type.shape.is_concrete() && value.is_tensor()) {
      if (!SameDims(value.tensor().dims(), dims)) {
        Fail(fmt::format("output {} ('{}') has shape {}, inference said {}", i,
                         executor_.setup_.plan.values[id].arg->Name(), DimsToString(dims),
                         DimsToString(value.tensor().dims())),
             ErrorCode::kRuntimeException);
      }
      return value.tensor();
    }
    return executor_.Allocate(id, dims);
  }
  void StoreOutput(std::size_t i, OrtValue value) override {
    if (!has_output(i)) Missing(i);
    const PlanValueId id = executor_.setup_.plan.arguments[step_.outputs + i];
    executor_.frame_->values[id] = std::move(value);
    executor_.state_.used_heap.push_back(id);
  }
  Executor& executor_;
  const Step& step_;
};

Executor::Executor(const Setup& setup, RunState& state, const RunOptions& options,
                   const StepObserver* observer)
    : setup_(setup),
      state_(state),
      options_(options),
      observer_(observer),
      env_{setup.plan, setup.spaces, setup.team, setup.counters} {}

void Executor::CheckTerminated() const {
  if (options_.terminated()) {
    throw Error(ErrorCode::kFail,
                "Exiting due to terminate flag being set to true. The run was terminated.");
  }
}

void Executor::Run(std::span<const OrtValue* const> inputs, std::span<OutputSink* const> sinks,
                   std::span<OrtValue> results) {
  const Block& main = setup_.plan.blocks[0];
  std::fill(state_.stream_busy.begin(), state_.stream_busy.end(), false);
  state_.placed.assign(main.outputs.size(), nullptr);
  try {
    Feed(inputs);
    RunBlock(0, sinks);
    for (std::size_t i = 0; i < main.outputs.size(); ++i) {
      if (sinks[i] == nullptr) continue;
      PlanValueId id = main.outputs[i];
      const PlanValue& value = setup_.plan.values[id];
      if (sinks[i]->wanted_space() != value.space && value.producer >= 0) {
        const Step& step = setup_.plan.steps[static_cast<std::size_t>(value.producer)];
        if (step.for_caller) id = setup_.plan.arguments[step.inputs];
      }
      const auto index = static_cast<std::int32_t>(i);
      const bool own = id == main.outputs[i] ? value.output_index == index
                                             : setup_.plan.values[id].caller_output == index;
      Deliver(id, sinks[i], own ? state_.placed[i] : nullptr, &results[i]);
    }
    state_.WaitForStreams();
    ReleaseHeap();
  } catch (...) {
    for (std::size_t p = 0; p < state_.streams.size(); ++p) {
      try {
        state_.WaitForStreams();         // goes on behind the one that failed
      } catch (const std::exception&) {  // the first error is the one to report
      }
    }
    ReleaseHeap();
    throw;
  }
}

// Values on the heap and blocks handed to the caller are let go; planned dims stay.
void Executor::ReleaseHeap() {
  if (frame_ == nullptr) return;
  for (PlanValueId id : state_.used_heap) {
    OrtValue& value = frame_->values[id];
    if (value.is_tensor() && setup_.plan.values[id].is_tensor) {
      value.tensor().set_storage(nullptr);
      value.tensor().set_data(nullptr);
    } else {
      value = OrtValue();
    }
  }
  state_.used_heap.clear();
  // Backwards: where one was redirected twice the first entry holds its own place.
  for (auto row = state_.redirected.rbegin(); row != state_.redirected.rend(); ++row) {
    Tensor& tensor = frame_->values[row->first].tensor();
    tensor.set_storage(nullptr);
    tensor.set_data(row->second);
  }
  state_.redirected.clear();
}

// Chooses the frame that has seen these shapes, else the one unused for longest.
void Executor::Feed(std::span<const OrtValue* const> inputs) {
  const Plan& plan = setup_.plan;
  const Block& main = plan.blocks[0];
  std::vector<std::int64_t>& key = state_.key;
  key.clear();
  const auto input_of = [&](std::size_t i) -> const Tensor* {
    if (inputs[i] != nullptr) return inputs[i]->is_tensor() ? &inputs[i]->tensor() : nullptr;
    for (const auto& [id, tensor] : plan.defaults) {
      if (id == main.inputs[i]) return tensor;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < main.inputs.size(); ++i) {
    const Tensor* tensor = input_of(i);
    if (tensor == nullptr) {
      key.push_back(inputs[i] != nullptr && inputs[i]->has_value() ? -1 : -2);
      continue;
    }
    key.push_back(static_cast<std::int64_t>(tensor->rank()));
    for (std::int64_t d : tensor->dims()) key.push_back(d);
  }
  frame_ = &ChooseFrame();
  for (std::size_t i = 0; i < main.inputs.size(); ++i) {
    const Tensor* tensor = input_of(i);
    OrtValue& value = frame_->values[main.inputs[i]];
    if (tensor == nullptr) {
      value = inputs[i] != nullptr ? *inputs[i] : OrtValue();
      state_.used_heap.push_back(main.inputs[i]);
    } else if (tensor->device().is_host() || !plan.values[main.inputs[i]].read_on_host) {
      if (!value.is_tensor()) value = OrtValue(Tensor());
      // One element may be fed for a scalar.
      const PlanValue& input = plan.values[main.inputs[i]];
      const bool as_scalar = input.is_static && input.arg->type().shape.rank() == 0;
      value.tensor().Rebind(tensor->type(),
                            as_scalar ? std::span<const std::int64_t>() : tensor->dims(),
                            const_cast<void*>(tensor->raw()), tensor->device());
    } else {
      Tensor host(tensor->type(), tensor->dims(), setup_.spaces.allocator(kHostSpace));
      setup_.spaces.Copy(*tensor, host, nullptr);
      setup_.counters.copies.fetch_add(1, std::memory_order_relaxed);
      setup_.counters.copied_bytes.fetch_add(host.bytes(), std::memory_order_relaxed);
      value = OrtValue(std::move(host));
      state_.used_heap.push_back(main.inputs[i]);
    }
  }
}

Frame& Executor::ChooseFrame() {
  Frame* oldest = nullptr;
  for (const auto& frame : state_.frames) {
    const BlockBinding& main = frame->blocks[0];
    if (main.used > 0 && main.key == state_.key) {
      frame->last_used = ++state_.clock;
      return *frame;
    }
    if (oldest == nullptr || frame->last_used < oldest->last_used) oldest = frame.get();
  }
  // A model whose shapes are all fixed needs but one frame.
  if (state_.frames.size() < kMaxFrames) {
    state_.frames.push_back(MakeFrame(setup_.plan, setup_.spaces.allocator(kHostSpace)));
    oldest = state_.frames.back().get();
  }
  oldest->blocks[0].used = 0;
  oldest->blocks[0].key.clear();
  oldest->last_used = ++state_.clock;
  return *oldest;
}

void Executor::RunBlock(std::int32_t block_id, std::span<OutputSink* const> sinks) {
  const Block& block = setup_.plan.blocks[static_cast<std::size_t>(block_id)];
  BlockBinding& binding = frame_->blocks[static_cast<std::size_t>(block_id)];
  const std::uint64_t parent =
      block.parent < 0 ? 0 : frame_->blocks[static_cast<std::size_t>(block.parent)].version;
  bool same = binding.version != 0 && binding.parent_version == parent;
  if (same) {
    BlockKey(setup_.plan, *frame_, block, &state_.key);
    same = state_.key == binding.key;
  }
  if (!same) StartBlock(env_, state_, *frame_, block_id);
  const std::span<OutputSink* const> outer_sinks = sinks_;
  sinks_ = sinks;
  std::uint32_t item = 0;
  for (std::size_t ordinal = 0; item < block.items.size(); ++ordinal) {
    if (!SegmentHolds(setup_.plan, *frame_, block_id, ordinal, item) ||
        binding.segments[ordinal].arena_generation !=
            state_.arenas[static_cast<std::size_t>(block_id)][ordinal].generation) {
      BindSegment(env_, state_, *frame_, block_id, ordinal, item);
    } else if (binding.segments[ordinal].arena_version !=
               state_.arenas[static_cast<std::size_t>(block_id)][ordinal].version) {
      PlaceSegment(setup_.plan, setup_.spaces, state_, *frame_, block_id, ordinal);
    }
    const SegmentBinding& segment = binding.segments[ordinal];
    const std::uint32_t end = segment.end_item;
    // The next iteration of a body may make other shapes than the one before.
    if (segment.open) ForgetOutputs(setup_.plan.steps[block.items[end - 1].index]);
    PlaceOutputs(block, segment);
    for (; item < end; ++item) {
      if (block.items[item].is_step) RunStep(block.items[item].index);
    }
  }
  sinks_ = outer_sinks;
}

void Executor::ForgetOutputs(const Step& step) {
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    const PlanValueId id = setup_.plan.arguments[step.outputs + i];
    if (id != kAbsent) frame_->values[id] = OrtValue();
  }
}

// Outputs whose dims are bound get their memory before the segment runs.
void Executor::PlaceOutputs(const Block& block, const SegmentBinding& segment) {
  if (block.kind == BlockKind::kBranch) return;
  const auto first_step = [&](std::uint32_t item) {
    while (item < block.items.size() && !block.items[item].is_step) ++item;
    return item < block.items.size() ? static_cast<std::int32_t>(block.items[item].index)
                                     : INT32_MAX;
  };
  const std::int32_t first = first_step(segment.first_item), end = first_step(segment.end_item);
  const auto bound_here = [&](PlanValueId id) {
    const PlanValue& value = setup_.plan.values[id];
    return value.producer >= first && value.producer < end && value.is_tensor &&
           frame_->infos[id].type.shape.is_concrete() && frame_->values[id].is_tensor();
  };
  for (std::size_t i = 0; i < block.outputs.size(); ++i) {
    const PlanValueId id = block.outputs[i];
    const PlanValue& value = setup_.plan.values[id];
    if (value.output_index != static_cast<std::int32_t>(i)) continue;
    if (value.producer >= 0 &&
        setup_.plan.steps[static_cast<std::size_t>(value.producer)].for_caller) {
      const Step& copy = setup_.plan.steps[static_cast<std::size_t>(value.producer)];
      const PlanValueId source = setup_.plan.arguments[copy.inputs];
      if (bound_here(source)) Redirect(source, sinks_[i]);
    }
    if (!bound_here(id)) continue;
    const auto place = [&] { Allocate(id, frame_->values[id].tensor().dims()); };
    if (value.producer < 0) {
      place();
    } else {
      InNode(*setup_.plan.steps[static_cast<std::size_t>(value.producer)].node, place);
    }
  }
  PlaceOutside(segment);
}

// Parts of outputs are written before the step that would have gathered them there. A buffer that
// is an input too must keep its contents until then: the output is made elsewhere and delivered.
void Executor::PlaceOutside(const SegmentBinding& segment) {
  for (const SegmentBinding::Outside& outside : segment.outside) {
    if (HoldsInput(frame_->values[outside.whole].tensor())) {
      const PlanValue& value = setup_.plan.values[outside.whole];
      state_.placed[static_cast<std::size_t>(value.output_index)] = nullptr;
      UseOwnRoom(outside.whole, Dims(frame_->values[outside.whole].tensor().dims()));
    }
    Tensor& part = frame_->values[outside.value].tensor();
    part.set_data(static_cast<std::byte*>(frame_->values[outside.whole].tensor().raw_mutable()) +
                  outside.offset);
  }
}

bool Executor::HoldsInput(const Tensor& output) const {
  const auto* begin = static_cast<const std::byte*>(output.raw());
  const std::less<> before;
  for (PlanValueId id : setup_.plan.blocks[0].inputs) {
    const OrtValue& input = frame_->values[id];
    if (!input.is_tensor() || input.tensor().bytes() == 0) continue;
    const auto* other = static_cast<const std::byte*>(input.tensor().raw());
    if (before(begin, other + input.tensor().bytes()) && before(other, begin + output.bytes()))
      return true;
  }
  return false;
}

void Executor::Redirect(PlanValueId id, OutputSink* sink) {
  const PlanValue& value = setup_.plan.values[id];
  if (sink == nullptr || sink->wanted_space() != value.space || value.root != kAbsent) return;
  OrtValue& held = frame_->values[id];
  state_.redirected.emplace_back(id, held.tensor().raw_mutable());
  held = OrtValue(sink->Place(value.arg->type().elem, Dims(held.tensor().dims()), value.space));
  state_.placed[static_cast<std::size_t>(value.caller_output)] = held.tensor().raw();
}

Tensor& Executor::Allocate(PlanValueId id, std::span<const std::int64_t> dims) {
  const PlanValue& value = setup_.plan.values[id];
  const DataType type = value.arg->type().elem;
  OrtValue& held = frame_->values[id];
  const Dims own(dims);
  if (!value.is_tensor) {
    held = OrtValue(Tensor(type, own, setup_.spaces.allocator(kHostSpace)));
    state_.used_heap.push_back(id);
    return held.tensor();
  }
  const auto caller = static_cast<std::size_t>(value.caller_output);
  if (value.caller_output >= 0 && sinks_.size() > caller && sinks_[caller] != nullptr &&
      sinks_[caller]->wanted_space() == value.space) {
    held = OrtValue(sinks_[caller]->Place(type, own, value.space));
    state_.placed[caller] = held.tensor().raw();
    state_.used_heap.push_back(id);
    return held.tensor();
  }
  const bool is_output =
      value.is_block_output && sinks_.size() > static_cast<std::size_t>(value.output_index) &&
      setup_.plan.blocks[static_cast<std::size_t>(value.block)].kind != BlockKind::kBranch;
  OutputSink* sink = is_output ? sinks_[static_cast<std::size_t>(value.output_index)] : nullptr;
  if (sink != nullptr && sink->wanted_space() == value.space) {
    held = OrtValue(sink->Place(type, own, value.space));
    if (value.block == 0)
      state_.placed[static_cast<std::size_t>(value.output_index)] = held.tensor().raw();
    state_.used_heap.push_back(id);
    return held.tensor();
  }
  return UseOwnRoom(id, own);
}

Tensor& Executor::UseOwnRoom(PlanValueId id, const Dims& dims) {
  const PlanValue& value = setup_.plan.values[id];
  const DataType type = value.arg->type().elem;
  OrtValue& held = frame_->values[id];
  const std::size_t bytes = BytesOf(type, ElementCount(dims));
  RunState::Dynamic& room = state_.dynamic[id];
  if (bytes > room.bytes) {
    const AllocatorPtr& allocator = setup_.spaces.allocator(value.space);
    if (value.space != kHostSpace) state_.WaitForStreams();
    room.storage.reset();
    room.bytes = 0;
    const std::size_t capacity = room.ever ? bytes + bytes / 4 : bytes;
    void* block = allocator->Alloc(capacity);
    room.storage = StoragePtr(block, [allocator](void* p) { allocator->Free(p); });
    room.bytes = capacity;
    room.ever = true;
  }
  if (!held.is_tensor()) held = OrtValue(Tensor());
  held.tensor().Rebind(type, dims, room.storage.get(), setup_.spaces.device(value.space));
  return held.tensor();
}

void Executor::RunStep(std::uint32_t index) {
  const Step& step = setup_.plan.steps[index];
  CheckTerminated();
  const std::int64_t start = observer_ != nullptr ? Now() : 0;
  switch (step.kind) {
    case StepKind::kKernel: {
      AssignOutputs(step, index);
      Context context(*this, step, index);
      InNode(*step.node, [&] { step.kernel->Compute(context); });
      if (context.stream() != nullptr)
        state_.stream_busy[static_cast<std::size_t>(step.provider)] = true;
      break;
    }
    case StepKind::kCopy:
      RunCopy(step);
      break;
    case StepKind::kIf:
      RunIf(step);
      break;
    case StepKind::kLoop:
      InNode(*step.node, [&] { RunLoop(step); });
      break;
    case StepKind::kScan:
      InNode(*step.node, [&] { RunScan(step); });
      break;
  }
  if (observer_ != nullptr) (*observer_)(step, start, Now());
}

// Views show the memory of their input as it is now; strings live on the heap.
void Executor::AssignOutputs(const Step& step, std::uint32_t index) {
  for (const auto& [output, source] : step.views) {
    OrtValue& view = frame_->values[output];
    const OrtValue& owner = frame_->values[source];
    if (view.is_tensor() && owner.is_tensor() && view.tensor().bytes() <= owner.tensor().bytes())
      view.tensor().set_data(const_cast<void*>(owner.tensor().raw()));
  }
  for (const PartView& part : frame_->part_views[index]) {
    Tensor& view = frame_->values[part.output].tensor();
    const OrtValue& owner = frame_->values[part.source];
    if (view.bytes() == 0) continue;
    if (!owner.is_tensor() || owner.tensor().bytes() < part.offset + view.bytes()) {
      Throw(ErrorCode::kRuntimeException, "{}: '{}' is not what its shape was said to be",
            step.node->Describe(), setup_.plan.values[part.source].arg->Name());
    }
    view.set_data(static_cast<std::byte*>(const_cast<void*>(owner.tensor().raw())) + part.offset);
  }
  if (!step.has_heap_outputs) return;
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    const PlanValueId id = setup_.plan.arguments[step.outputs + i];
    if (id == kAbsent) continue;
    const ValueType& type = frame_->infos[id].type;
    const ValueType& declared = setup_.plan.values[id].arg->type();
    if (declared.is_tensor() && declared.elem == DataType::kString) {
      frame_->values[id] = OrtValue();
      if (type.shape.is_concrete()) Allocate(id, type.shape.concrete());
    }
  }
}

void Executor::RunCopy(const Step& step) {
  const PlanValueId from = setup_.plan.arguments[step.inputs],
                    to = setup_.plan.arguments[step.outputs];
  if (step.for_caller) {
    const PlanValue& value = setup_.plan.values[to];
    OutputSink* sink = sinks_[static_cast<std::size_t>(value.output_index)];
    if (sink == nullptr || sink->wanted_space() != kHostSpace) return;
  }
  const OrtValue& source_value = frame_->values[from];
  if (!source_value.is_tensor()) {
    if (source_value.has_value()) {
      throw Error(ErrorCode::kEpFail, "value '" + setup_.plan.values[from].arg->Name() +
                                          "' is no tensor and can't cross between devices");
    }
    frame_->values[to] = OrtValue();
    return;
  }
  const Tensor& source = source_value.tensor();
  const int target_space = setup_.plan.values[to].space;
  Tensor& target = frame_->values[to].tensor();
  if (source.device() == setup_.spaces.device(target_space)) {  // fed where it is wanted
    state_.redirected.emplace_back(to, target.raw_mutable());
    target.set_data(const_cast<void*>(source.raw()));
    BlockBinding& binding = frame_->blocks[static_cast<std::size_t>(setup_.plan.values[to].block)];
    for (SegmentBinding& segment : binding.segments)
      segment.arena_version = 0;  // for this Run only
    return;
  }
  Stream* stream = nullptr;
  std::size_t provider = state_.streams.size();  // none
  for (std::size_t p = 0; p < state_.streams.size() && stream == nullptr; ++p) {
    const int space = setup_.spaces.OfProvider(static_cast<int>(p));
    if (space != kHostSpace &&
        space == (target_space != kHostSpace ? target_space : setup_.plan.values[from].space)) {
      stream = state_.streams[p].get();
      provider = p;
    }
  }
  // Work of the source's device that is still queued elsewhere comes first.
  for (std::size_t p = 0; p < state_.streams.size(); ++p) {
    if (p == provider || !state_.stream_busy[p] ||
        setup_.spaces.OfProvider(static_cast<int>(p)) != setup_.plan.values[from].space)
      continue;
    const std::unique_ptr<Event> event = state_.streams[p]->Record();
    if (stream == nullptr || !stream->Wait(*event)) event->HostWait();
  }
  setup_.spaces.Copy(source, target, stream);
  if (stream != nullptr) {
    state_.stream_busy[provider] = true;
    if (source.device().is_host()) host_is_read_ = true;
    if (target_space == kHostSpace && !step.for_caller) {
      stream->Synchronize();
      state_.stream_busy[provider] = false;
    }
  }
  setup_.counters.copies.fetch_add(1, std::memory_order_relaxed);
  setup_.counters.copied_bytes.fetch_add(source.bytes(), std::memory_order_relaxed);
}

// Results become the caller's own: what a kernel wrote into its sink as it is, anything else
// copied.
void Executor::Deliver(PlanValueId id, OutputSink* sink, const void* placed, OrtValue* result) {
  OrtValue& value = frame_->values[id];
  if (!value.is_tensor()) {
    *result = value;
    return;
  }
  const Tensor& tensor = value.tensor();
  if (placed != nullptr && setup_.plan.values[id].is_tensor && placed == tensor.raw() &&
      tensor.storage()) {
    *result = value;
    return;
  }
  if (tensor.type() == DataType::kString && !sink->takes_strings()) {
    *result = OrtValue(tensor.Clone(setup_.spaces.allocator(kHostSpace)));
    return;
  }
  const int space = sink->wanted_space();
  Tensor copy = sink->Place(tensor.type(), tensor.dims(), space);
  if (copy.raw() != tensor.raw()) {
    if (!tensor.device().is_host() || !copy.device().is_host()) state_.WaitForStreams();
    setup_.spaces.Copy(tensor, copy, nullptr);
    if (!tensor.device().is_host() || !copy.device().is_host()) {
      setup_.counters.copies.fetch_add(1, std::memory_order_relaxed);
      setup_.counters.copied_bytes.fetch_add(tensor.bytes(), std::memory_order_relaxed);
    }
  }
  *result = OrtValue(std::move(copy));
}

}  // namespace switchyard
