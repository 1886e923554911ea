// If, Loop and Scan: other blocks of the same plan, run by the executor.

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "runtime/executor.h"

namespace switchyard {
namespace {

// Grows by doubling; contents are kept.
struct GrowingBuffer {
  StoragePtr storage;
  std::size_t bytes = 0;

  std::byte* data() const { return static_cast<std::byte*>(storage.get()); }
  void Reserve(std::size_t wanted, const AllocatorPtr& allocator, std::size_t keep) {
    if (wanted <= bytes) return;
    const std::size_t capacity = std::max(wanted, keep == 0 ? wanted : bytes * 2);
    void* block = allocator->Alloc(capacity);
    StoragePtr bigger(block, [allocator](void* p) { allocator->Free(p); });
    if (keep != 0) std::memcpy(block, storage.get(), keep);
    storage = std::move(bigger);
    bytes = capacity;
  }
};

// One loop-carried value: alternates between two buffers.
class StateSink final : public OutputSink {
 public:
  StateSink(const MemorySpaces& spaces, int space) : spaces_(spaces), space_(space) {}
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int space) override {
    SY_CHECK(space == space_);
    GrowingBuffer& buffer = buffers_[parity_];
    buffer.Reserve(std::max<std::size_t>(BytesOf(type, ElementCount(dims)), 1),
                   spaces_.allocator(space_), 0);
    return Tensor(type, dims, buffer.data(), spaces_.device(space_), buffer.storage);
  }
  int wanted_space() const override { return space_; }
  void Flip() { parity_ ^= 1; }

 private:
  const MemorySpaces& spaces_;
  int space_;
  int parity_ = 0;
  GrowingBuffer buffers_[2];
};

// One scan output: slices one behind the other in host memory. Strings are kept as values.
class ScanSink final : public OutputSink {
 public:
  ScanSink(const AllocatorPtr& host, const NodeArg& value) : host_(host), value_(value) {}

  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    Begin(type, dims);
    const std::size_t at = slice_bytes_ * static_cast<std::size_t>(count_);
    buffer_.Reserve(std::max<std::size_t>(at + slice_bytes_, 1), host_, at);
    return Tensor(type, dims, buffer_.data() + at, OrtDevice());
  }

  // The slice of this iteration has been written, or is `value` elsewhere.
  void Take(const OrtValue& value) {
    const Tensor& tensor = value.tensor();
    if (tensor.type() == DataType::kString) {
      Begin(tensor.type(), tensor.dims());
      strings_.insert(strings_.end(), tensor.data<std::string>(),
                      tensor.data<std::string>() + tensor.size());
    } else {
      const bool in_place =
          started_ && buffer_.data() != nullptr &&
          tensor.raw() == buffer_.data() + slice_bytes_ * static_cast<std::size_t>(count_) &&
          std::equal(dims_.begin(), dims_.end(), tensor.dims().begin(), tensor.dims().end());
      if (!in_place) {
        Tensor slice = Place(tensor.type(), tensor.dims(), kHostSpace);
        if (tensor.size() != 0) std::memcpy(slice.raw_mutable(), tensor.raw(), tensor.bytes());
      }
    }
    ++count_;
  }

  // [count, dims...]; dims of a loop that never ran as far as the model tells, else 0.
  OrtValue Stacked() {
    if (!started_) {
      type_ = value_.type().elem;
      const Shape& shape = value_.type().shape;
      if (shape.ranked()) {
        for (const Dim& d : shape) dims_.push_back(d.is_value() ? d.value() : 0);
      }
    }
    Dims dims;
    dims.push_back(count_);
    for (std::int64_t d : dims_) dims.push_back(d);
    if (type_ == DataType::kString) return OrtValue::FromData<std::string>(dims, strings_);
    if (!buffer_.storage) buffer_.Reserve(1, host_, 0);
    return OrtValue(Tensor(type_, dims, buffer_.data(), OrtDevice(), buffer_.storage));
  }
  std::int64_t count() const { return count_; }

 private:
  void Begin(DataType type, std::span<const std::int64_t> dims) {
    if (!started_) {
      started_ = true;
      type_ = type;
      dims_ = Dims(dims);
      slice_bytes_ = type == DataType::kString ? 0 : BytesOf(type, ElementCount(dims));
      if (IsPacked(type))
        Throw(ErrorCode::kNotImplemented, "scan output '{}' of packed type {}", value_.Name(),
              DataTypeName(type));
      return;
    }
    if (!std::equal(dims_.begin(), dims_.end(), dims.begin(), dims.end())) {
      Throw(ErrorCode::kInvalidArgument,
            "scan output '{}' has shape {} in iteration {}, it was {} before", value_.Name(),
            DimsToString(dims), count_, DimsToString(dims_));
    }
  }
  AllocatorPtr host_;
  const NodeArg& value_;
  bool started_ = false;
  DataType type_ = DataType::kUndefined;
  Dims dims_;
  std::size_t slice_bytes_ = 0;
  std::int64_t count_ = 0;
  GrowingBuffer buffer_;
  std::vector<std::string> strings_;
};

// A small value that only the executor reads.
class ScratchSink final : public OutputSink {
 public:
  explicit ScratchSink(const AllocatorPtr& host) : host_(host) {}
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    buffer_.Reserve(std::max<std::size_t>(BytesOf(type, ElementCount(dims)), 1), host_, 0);
    return Tensor(type, dims, buffer_.data(), OrtDevice());
  }

 private:
  AllocatorPtr host_;
  GrowingBuffer buffer_;
};

template <typename T>
T ReadScalar(const OrtValue& value, const Step& step, const char* what) {
  if (!value.is_tensor() || value.tensor().size() != 1) {
    Throw(ErrorCode::kInvalidArgument, "{}: {} must hold one element, it is {}",
          step.node->Describe(), what, value.is_tensor() ? value.tensor().Describe() : "no tensor");
  }
  return *value.tensor().data<T>();
}

// Copies the slices [index] of `axis` (dims without it) between a stack and a dense block.
void CopySlice(const Tensor& stack, std::size_t axis, std::int64_t index, std::byte* dense,
               bool to_dense) {
  const auto dims = stack.dims();
  std::size_t outer = 1, inner = static_cast<std::size_t>(BitsOf(stack.type())) / 8;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(dims[i]);
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
  auto* base = static_cast<std::byte*>(const_cast<void*>(stack.raw()));
  for (std::size_t o = 0; o < outer; ++o) {
    std::byte* at =
        base + (o * static_cast<std::size_t>(dims[axis]) + static_cast<std::size_t>(index)) * inner;
    std::memcpy(to_dense ? dense + o * inner : at, to_dense ? at : dense + o * inner, inner);
  }
}

}  // namespace

void Executor::RunIf(const Step& step) {
  const bool taken = ReadScalar<bool>(Argument(step.inputs), step, "the condition");
  const std::int32_t body = step.bodies[taken ? 0 : 1];
  const Block& block = setup_.plan.blocks[static_cast<std::size_t>(body)];
  if (block.outputs.size() < step.num_outputs) {
    Throw(ErrorCode::kInvalidGraph, "{}: it has {} outputs, the branch taken has {}",
          step.node->Describe(), step.num_outputs, block.outputs.size());
  }
  RunBlock(body, {});
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    if (!HasArgument(step.outputs + i)) continue;
    const OrtValue& made = frame_->values[block.outputs[i]];
    const PlanValueId id = setup_.plan.arguments[step.outputs + i];
    Argument(step.outputs + i) = made;
    if (!made.is_tensor() || made.tensor().storage()) state_.used_heap.push_back(id);
  }
}

void Executor::RunLoop(const Step& step) {
  const Block& body = setup_.plan.blocks[static_cast<std::size_t>(step.bodies[0])];
  const AllocatorPtr& host = setup_.spaces.allocator(kHostSpace);
  const std::size_t states = step.num_inputs < 2 ? 0 : step.num_inputs - 2;
  if (body.inputs.size() != states + 2 || body.outputs.size() < states + 1) {
    Throw(
        ErrorCode::kInvalidGraph,
        "{}: its body has {} inputs and {} outputs, {} loop-carried values need {} and at least {}",
        step.node->Describe(), body.inputs.size(), body.outputs.size(), states, states + 2,
        states + 1);
  }
  if (step.num_outputs + 1 > body.outputs.size()) {
    Throw(ErrorCode::kInvalidGraph, "{}: it has {} outputs, its body has {} after the condition",
          step.node->Describe(), step.num_outputs, body.outputs.size() - 1);
  }
  std::int64_t trips = INT64_MAX;
  if (step.num_inputs > 0 && HasArgument(step.inputs) && Argument(step.inputs).has_value()) {
    trips = ReadScalar<std::int64_t>(Argument(step.inputs), step, "the trip count");
  }
  bool go_on = true;
  if (step.num_inputs > 1 && HasArgument(step.inputs + 1) &&
      Argument(step.inputs + 1).has_value()) {
    go_on = ReadScalar<bool>(Argument(step.inputs + 1), step, "the condition");
  }
  ScratchSink condition_sink(host);
  std::vector<StateSink> state_sinks;
  std::vector<ScanSink> scan_sinks;
  state_sinks.reserve(states);
  scan_sinks.reserve(body.outputs.size());
  for (std::size_t i = 0; i < states; ++i) {
    state_sinks.emplace_back(setup_.spaces, setup_.plan.values[body.outputs[i + 1]].space);
  }
  for (std::size_t i = states + 1; i < body.outputs.size(); ++i) {
    scan_sinks.emplace_back(host, *setup_.plan.values[body.outputs[i]].arg);
  }
  std::vector<OutputSink*> sinks{&condition_sink};
  for (StateSink& sink : state_sinks) sinks.push_back(&sink);
  for (ScanSink& sink : scan_sinks) sinks.push_back(&sink);

  std::vector<OrtValue> carried(states);
  for (std::size_t i = 0; i < states; ++i) {
    if (HasArgument(step.inputs + 2 + static_cast<std::uint32_t>(i)))
      carried[i] = Argument(step.inputs + 2 + static_cast<std::uint32_t>(i));
  }
  const auto scalar_dims = [&](std::size_t input) {
    const Shape& shape = setup_.plan.values[body.inputs[input]].arg->type().shape;
    return shape.ranked() && shape.rank() == 1 ? Dims{1} : Dims{};
  };
  const Dims iteration_dims = scalar_dims(0), condition_dims = scalar_dims(1);
  std::int64_t iteration = 0;
  for (; iteration < trips && go_on; ++iteration) {
    CheckTerminated();
    frame_->values[body.inputs[0]] = OrtValue(Tensor(DataType::kInt64, iteration_dims, &iteration));
    frame_->values[body.inputs[1]] = OrtValue(Tensor(DataType::kBool, condition_dims, &go_on));
    for (std::size_t i = 0; i < states; ++i) frame_->values[body.inputs[i + 2]] = carried[i];
    RunBlock(step.bodies[0], sinks);
    const bool next =
        ReadScalar<bool>(frame_->values[body.outputs[0]], step, "the body's condition");
    for (std::size_t i = 0; i < states; ++i) {
      carried[i] = CarryOver(body.outputs[i + 1], carried[i], state_sinks[i]);
      state_sinks[i].Flip();
    }
    for (std::size_t i = 0; i < scan_sinks.size(); ++i) {
      scan_sinks[i].Take(frame_->values[body.outputs[states + 1 + i]]);
    }
    go_on = next;
  }
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    if (!HasArgument(step.outputs + i)) continue;
    Argument(step.outputs + i) = i < states ? carried[i] : scan_sinks[i - states].Stacked();
    state_.used_heap.push_back(setup_.plan.arguments[step.outputs + i]);
  }
  DropInputs(body);
}

// What the body yields for a state: where its sink put it, or a copy there if the body merely
// passes on something that will change.
OrtValue Executor::CarryOver(PlanValueId made, const OrtValue& before, OutputSink& sink) {
  const OrtValue& value = frame_->values[made];
  if (!value.is_tensor() || value.tensor().type() == DataType::kString) return value;
  const Tensor& tensor = value.tensor();
  const PlanValue& info = setup_.plan.values[made];
  const bool own = info.is_block_output && info.producer >= 0 && tensor.storage() != nullptr;
  if (own) return value;
  if (before.is_tensor() && before.tensor().raw() == tensor.raw() &&
      before.tensor().storage() != nullptr) {
    OrtValue kept(Tensor(tensor.type(), tensor.dims(), const_cast<void*>(tensor.raw()),
                         tensor.device(), before.tensor().storage()));
    static_cast<StateSink&>(sink).Flip();  // stays where it is: the next flip comes back here
    return kept;
  }
  Tensor copy = sink.Place(tensor.type(), tensor.dims(), sink.wanted_space());
  setup_.spaces.Copy(tensor, copy, nullptr);
  return OrtValue(std::move(copy));
}

void Executor::DropInputs(const Block& body) {
  for (PlanValueId id : body.inputs) frame_->values[id] = OrtValue();
}

void Executor::RunScan(const Step& step) {
  const Block& body = setup_.plan.blocks[static_cast<std::size_t>(step.bodies[0])];
  const Attributes& attributes = step.node->attributes();
  const AllocatorPtr& host = setup_.spaces.allocator(kHostSpace);
  const auto scans =
      static_cast<std::size_t>(std::max<std::int64_t>(attributes.Int("num_scan_inputs", 0), 0));
  if (step.node->SinceVersion() < 9) {
    Throw(ErrorCode::kNotImplemented,
          "{}: the batched Scan of opset 8 can't be run; convert the model to opset 9 or later",
          step.node->Describe());
  }
  if (scans == 0 || scans > step.num_inputs || body.inputs.size() != step.num_inputs ||
      body.outputs.size() != step.num_outputs || step.num_outputs < step.num_inputs - scans) {
    Throw(ErrorCode::kInvalidGraph,
          "{}: {} inputs, {} of them scanned, do not fit a body with {} inputs and {} outputs",
          step.node->Describe(), step.num_inputs, scans, body.inputs.size(), body.outputs.size());
  }
  const std::size_t states = step.num_inputs - scans;
  const auto option = [&](const char* name, std::size_t i) -> std::int64_t {
    const auto values = attributes.Ints(name);
    return i < values.size() ? values[i] : 0;
  };
  std::vector<std::size_t> axes(scans);
  std::int64_t length = -1;
  for (std::size_t i = 0; i < scans; ++i) {
    const Tensor& tensor = Argument(step.inputs + static_cast<std::uint32_t>(states + i)).tensor();
    const auto rank = static_cast<std::int64_t>(tensor.rank());
    std::int64_t axis = option("scan_input_axes", i);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      Throw(ErrorCode::kInvalidArgument, "{}: scan axis {} of {}", step.node->Describe(), axis,
            tensor.Describe());
    axes[i] = static_cast<std::size_t>(axis);
    const std::int64_t here = tensor.dim(axes[i]);
    if (length >= 0 && here != length) {
      Throw(ErrorCode::kInvalidArgument, "{}: scan inputs have {} and {} slices",
            step.node->Describe(), length, here);
    }
    length = here;
    if (tensor.type() == DataType::kString || IsPacked(tensor.type())) {
      Throw(ErrorCode::kNotImplemented, "{}: scanning {}", step.node->Describe(),
            tensor.Describe());
    }
  }
  std::vector<StateSink> state_sinks;
  std::vector<ScanSink> scan_sinks;
  state_sinks.reserve(states);
  scan_sinks.reserve(body.outputs.size());
  std::vector<OutputSink*> sinks;
  for (std::size_t i = 0; i < states; ++i) {
    state_sinks.emplace_back(setup_.spaces, setup_.plan.values[body.outputs[i]].space);
    sinks.push_back(&state_sinks.back());
  }
  for (std::size_t i = states; i < body.outputs.size(); ++i) {
    scan_sinks.emplace_back(host, *setup_.plan.values[body.outputs[i]].arg);
    sinks.push_back(&scan_sinks.back());
  }
  std::vector<OrtValue> carried(states);
  for (std::size_t i = 0; i < states; ++i)
    carried[i] = Argument(step.inputs + static_cast<std::uint32_t>(i));
  std::vector<GrowingBuffer> slices(scans);
  for (std::int64_t t = 0; t < length; ++t) {
    CheckTerminated();
    for (std::size_t i = 0; i < states; ++i) frame_->values[body.inputs[i]] = carried[i];
    for (std::size_t i = 0; i < scans; ++i) {
      const Tensor& tensor =
          Argument(step.inputs + static_cast<std::uint32_t>(states + i)).tensor();
      const std::int64_t index = option("scan_input_directions", i) != 0 ? length - 1 - t : t;
      Dims dims(tensor.dims());
      dims.erase(dims.begin() + axes[i]);
      const std::size_t bytes = BytesOf(tensor.type(), ElementCount(dims));
      slices[i].Reserve(std::max<std::size_t>(bytes, 1), host, 0);
      if (bytes != 0) CopySlice(tensor, axes[i], index, slices[i].data(), true);
      frame_->values[body.inputs[states + i]] =
          OrtValue(Tensor(tensor.type(), dims, slices[i].data()));
    }
    RunBlock(step.bodies[0], sinks);
    for (std::size_t i = 0; i < states; ++i) {
      carried[i] = CarryOver(body.outputs[i], carried[i], state_sinks[i]);
      state_sinks[i].Flip();
    }
    for (std::size_t i = 0; i < scan_sinks.size(); ++i)
      scan_sinks[i].Take(frame_->values[body.outputs[states + i]]);
  }
  for (std::uint32_t i = 0; i < step.num_outputs; ++i) {
    if (!HasArgument(step.outputs + i)) continue;
    if (i < states) {
      Argument(step.outputs + i) = carried[i];
    } else {
      const std::size_t k = i - states;
      Argument(step.outputs + i) = Arrange(scan_sinks[k].Stacked(), option("scan_output_axes", k),
                                           option("scan_output_directions", k) != 0, *step.node);
    }
    state_.used_heap.push_back(setup_.plan.arguments[step.outputs + i]);
  }
  DropInputs(body);
}

// Moves the stacking axis 0 to `axis`, reversed if the slices were to be prepended.
OrtValue Executor::Arrange(OrtValue stacked, std::int64_t axis, bool reversed, const Node& node) {
  const Tensor& tensor = stacked.tensor();
  const auto rank = static_cast<std::int64_t>(tensor.rank());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank)
    Throw(ErrorCode::kInvalidArgument, "{}: scan output axis {} of rank {}", node.Describe(), axis,
          rank);
  if (axis == 0 && !reversed) return stacked;
  if (tensor.type() == DataType::kString)
    Throw(ErrorCode::kNotImplemented, "{}: strings stacked on axis {}", node.Describe(), axis);
  Dims dims(tensor.dims());
  const std::int64_t length = tensor.dim(0);
  dims.erase(dims.begin());
  dims.insert(dims.begin() + axis, length);
  Tensor out(tensor.type(), dims, setup_.spaces.allocator(kHostSpace));
  const std::size_t slice = length == 0 ? 0 : tensor.bytes() / static_cast<std::size_t>(length);
  if (slice == 0) return OrtValue(std::move(out));
  for (std::int64_t t = 0; t < length; ++t) {
    auto* source = static_cast<std::byte*>(const_cast<void*>(tensor.raw())) +
                   static_cast<std::size_t>(t) * slice;
    CopySlice(out, static_cast<std::size_t>(axis), reversed ? length - 1 - t : t, source, false);
  }
  return OrtValue(std::move(out));
}

}  // namespace switchyard
