// If and Loop: other blocks of the same plan, run by the executor.

#include <algorithm>

#include "base/format.h"
#include "runtime/body_sinks.h"

namespace switchyard {
namespace {

template <typename T>
T ReadScalar(const OrtValue& value, const Step& step, const char* what) {
  if (!value.is_tensor() || value.tensor().size() != 1) {
    Throw(ErrorCode::kInvalidArgument, "{}: {} must hold one element, it is {}",
          step.node->Describe(), what, value.is_tensor() ? value.tensor().Describe() : "no tensor");
  }
  return *value.tensor().data<T>();
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

// One execution of a Loop.
class Executor::LoopRun {
 public:
  LoopRun(Executor& executor, const Step& step)
      : run_(executor),
        step_(step),
        plan_(executor.setup_.plan),
        body_(plan_.blocks[static_cast<std::size_t>(step.bodies[0])]),
        states_(step.num_inputs < 2 ? 0 : step.num_inputs - 2),
        condition_sink_(executor.setup_.spaces.allocator(kHostSpace)) {
    Check();
    MakeSinks();
    Start();
  }
  ~LoopRun() { run_.LeaveBody(OnDevice()); }

  void Run() {
    const Dims iteration_dims = ScalarDims(0), condition_dims = ScalarDims(1);
    auto& values = run_.frame_->values;
    for (std::int64_t iteration = 0; iteration < trips_ && go_on_; ++iteration) {
      run_.CheckTerminated();
      run_.WaitForUploads();
      values[body_.inputs[0]] = OrtValue(Tensor(DataType::kInt64, iteration_dims, &iteration));
      values[body_.inputs[1]] = OrtValue(Tensor(DataType::kBool, condition_dims, &go_on_));
      for (std::size_t i = 0; i < states_; ++i) values[body_.inputs[i + 2]] = carried_[i];
      run_.RunBlock(step_.bodies[0], sinks_);
      go_on_ = Turn();
    }
    run_.WaitForUploads();
    if (OnDevice()) run_.state_.WaitForStreams();
    Yield();
    run_.DropInputs(body_);
  }

 private:
  bool OnDevice() const {
    return std::any_of(state_sinks_.begin(), state_sinks_.end(),
                       [](const StateSink& sink) { return sink.wanted_space() != kHostSpace; });
  }

  void Check() const {
    if (body_.inputs.size() != states_ + 2 || body_.outputs.size() < states_ + 1) {
      Throw(ErrorCode::kInvalidGraph,
            "{}: its body has {} inputs and {} outputs, {} loop-carried values need {} and at "
            "least {}",
            step_.node->Describe(), body_.inputs.size(), body_.outputs.size(), states_, states_ + 2,
            states_ + 1);
    }
    if (step_.num_outputs + 1 > body_.outputs.size()) {
      Throw(ErrorCode::kInvalidGraph, "{}: it has {} outputs, its body has {} after the condition",
            step_.node->Describe(), step_.num_outputs, body_.outputs.size() - 1);
    }
  }

  void MakeSinks() {
    state_sinks_.reserve(states_);
    scan_sinks_.reserve(body_.outputs.size());
    for (std::size_t i = 0; i < states_; ++i) {
      state_sinks_.emplace_back(run_.state_, run_.setup_.spaces,
                                plan_.values[body_.outputs[i + 1]].space);
    }
    for (std::size_t i = states_ + 1; i < body_.outputs.size(); ++i) {
      scan_sinks_.emplace_back(run_.setup_.spaces.allocator(kHostSpace),
                               *plan_.values[body_.outputs[i]].arg);
    }
    sinks_.push_back(&condition_sink_);
    for (StateSink& sink : state_sinks_) sinks_.push_back(&sink);
    for (ScanSink& sink : scan_sinks_) sinks_.push_back(&sink);
  }

  void Start() {
    const auto given = [&](std::uint32_t i) {
      return step_.num_inputs > i && run_.HasArgument(step_.inputs + i) &&
             run_.Argument(step_.inputs + i).has_value();
    };
    if (given(0)) {
      trips_ = ReadScalar<std::int64_t>(run_.Argument(step_.inputs), step_, "the trip count");
    }
    if (given(1))
      go_on_ = ReadScalar<bool>(run_.Argument(step_.inputs + 1), step_, "the condition");
    carried_.resize(states_);
    for (std::size_t i = 0; i < states_; ++i) {
      const std::uint32_t at = step_.inputs + 2 + static_cast<std::uint32_t>(i);
      if (run_.HasArgument(at)) carried_[i] = run_.Argument(at);
    }
  }

  Dims ScalarDims(std::size_t input) const {
    const Shape& shape = plan_.values[body_.inputs[input]].arg->type().shape;
    return shape.ranked() && shape.rank() == 1 ? Dims{1} : Dims{};
  }

  // After an iteration: whether there is to be another.
  bool Turn() {
    const auto& values = run_.frame_->values;
    const bool next = ReadScalar<bool>(values[body_.outputs[0]], step_, "the body's condition");
    for (std::size_t i = 0; i < states_; ++i) {
      carried_[i] = run_.CarryOver(body_.outputs[i + 1], carried_[i], state_sinks_[i]);
      state_sinks_[i].Flip();
    }
    for (std::size_t i = 0; i < scan_sinks_.size(); ++i) {
      scan_sinks_[i].Take(values[body_.outputs[states_ + 1 + i]]);
    }
    return next;
  }

  void Yield() {
    for (std::uint32_t i = 0; i < step_.num_outputs; ++i) {
      if (!run_.HasArgument(step_.outputs + i)) continue;
      run_.Argument(step_.outputs + i) =
          i < states_ ? carried_[i] : scan_sinks_[i - states_].Stacked();
      run_.state_.used_heap.push_back(plan_.arguments[step_.outputs + i]);
    }
  }

  Executor& run_;
  const Step& step_;
  const Plan& plan_;
  const Block& body_;
  std::size_t states_;
  ScratchSink condition_sink_;
  std::vector<StateSink> state_sinks_;
  std::vector<ScanSink> scan_sinks_;
  std::vector<OutputSink*> sinks_;
  std::vector<OrtValue> carried_;
  std::int64_t trips_ = INT64_MAX;
  bool go_on_ = true;
};

void Executor::RunLoop(const Step& step) { LoopRun(*this, step).Run(); }

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
  if (!tensor.device().is_host()) state_.WaitForStreams();
  Tensor copy = sink.Place(tensor.type(), tensor.dims(), sink.wanted_space());
  setup_.spaces.Copy(tensor, copy, nullptr);
  return OrtValue(std::move(copy));
}

// The buffers of a body go away: nothing queued may still use them, whatever has happened.
void Executor::LeaveBody(bool on_device) noexcept {
  try {
    WaitForUploads();
    if (on_device) state_.WaitForStreams();
  } catch (...) {  // an error is being thrown already
  }
}

void Executor::DropInputs(const Block& body) {
  for (PlanValueId id : body.inputs) frame_->values[id] = OrtValue();
}

}  // namespace switchyard
