#pragma once
// One loop over the steps of a block; If, Loop and Scan are steps that run other blocks.

#include <functional>
#include <memory>
#include <span>

#include "runtime/binder.h"

namespace switchyard {

// Where the outputs of a block go. Place is asked once per output and Run, before its bytes are
// written; it answers a tensor of these dims in that space.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual Tensor Place(DataType type, std::span<const std::int64_t> dims, int space) = 0;
  // Another space than the plan's: the value is taken before its copy for the caller.
  virtual int wanted_space() const { return kHostSpace; }
  // Whether what it places holds strings already made.
  virtual bool takes_strings() const { return false; }
};

// Called around each step when a profile or a trace is wanted.
using StepObserver =
    std::function<void(const Step& step, std::int64_t start_ns, std::int64_t end_ns)>;

class Executor {
 public:
  struct Setup {
    const Plan& plan;
    const ExecutionProviders& providers;
    const MemorySpaces& spaces;
    ThreadTeam& team;
    RunCounters& counters;
  };
  Executor(const Setup& setup, RunState& state, const RunOptions& options,
           const StepObserver* observer);

  // inputs: one per input of the main graph, without a value where a default serves. sinks: one per
  // output, nullptr where nobody wants it. results: one per output, filled in.
  void Run(std::span<const OrtValue* const> inputs, std::span<OutputSink* const> sinks,
           std::span<OrtValue> results);

 private:
  class Context;
  class LoopRun;
  class ScanRun;
  friend class Context;

  void Feed(std::span<const OrtValue* const> inputs);
  Frame& ChooseFrame();
  void RunBlock(std::int32_t block, std::span<OutputSink* const> sinks);
  void RunStep(std::uint32_t index);
  void RunCopy(const Step& step);
  void RunIf(const Step& step);
  void RunLoop(const Step& step);
  void RunScan(const Step& step);
  void AssignOutputs(const Step& step, std::uint32_t index);
  void Deliver(PlanValueId id, OutputSink* sink, const void* placed, OrtValue* result);
  void ForgetOutputs(const Step& step);
  void PlaceOutputs(const Block& block, const SegmentBinding& segment);
  void PlaceOutside(const SegmentBinding& segment);
  bool HoldsInput(const Tensor& output) const;
  // A value that the caller wants where it is made goes into the sink instead of the arena.
  void Redirect(PlanValueId id, OutputSink* sink);
  // Memory for an output whose dims the step itself tells.
  Tensor& Allocate(PlanValueId id, std::span<const std::int64_t> dims);
  Tensor& UseOwnRoom(PlanValueId id, const Dims& dims);
  void ReleaseHeap();
  OrtValue& Argument(std::uint32_t at) { return frame_->values[setup_.plan.arguments[at]]; }
  bool HasArgument(std::uint32_t at) const { return setup_.plan.arguments[at] != kAbsent; }
  void CheckTerminated() const;
  OrtValue CarryOver(PlanValueId made, const OrtValue& before, OutputSink& sink);
  void DropInputs(const Block& body);
  void LeaveBody(bool on_device) noexcept;
  // Before a body runs again: queued copies may still read what it is about to write.
  void WaitForUploads() {
    if (host_is_read_) state_.WaitForStreams();
    host_is_read_ = false;
  }

  Setup setup_;
  RunState& state_;
  const RunOptions& options_;
  const StepObserver* observer_;
  BindEnvironment env_;
  Frame* frame_ = nullptr;
  std::span<OutputSink* const> sinks_;  // of the block that is running
  bool host_is_read_ = false;           // by copies that are still queued
};

}  // namespace switchyard
