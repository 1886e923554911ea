#pragma once
// The inside of InferenceSession: the built model, the pool of run slots, counters.

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "session/builder.h"
#include "session/profiler.h"

namespace switchyard {

struct RunSlot;

struct BoundArguments {
  struct Input {
    int index;
    OrtValue value;
  };
  struct Output {
    int index;
    OrtValue given;  // without a value: allocated on `device` by each Run
    OrtDevice device;
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<OrtValue> results;
};

// Counts per step of the plan. Thread-safe.
struct StepTimes {
  struct Count {
    std::atomic<std::uint64_t> runs{0}, nanoseconds{0};
  };
  explicit StepTimes(std::size_t steps) : counts(steps) {}
  void Add(std::size_t step, std::int64_t nanoseconds) {
    counts[step].runs.fetch_add(1, std::memory_order_relaxed);
    counts[step].nanoseconds.fetch_add(static_cast<std::uint64_t>(nanoseconds),
                                       std::memory_order_relaxed);
  }
  std::vector<Count> counts;
};

struct SessionCore {
  SessionCore(std::shared_ptr<Environment> environment, const SessionOptions& options,
              const std::string* path, std::span<const std::byte> bytes);
  ~SessionCore();

  void Run(const RunOptions& options, std::span<const std::string> input_names,
           std::span<const OrtValue> inputs, std::span<const std::string> output_names,
           std::vector<OrtValue>* results);
  void RunBound(const RunOptions& options, BoundArguments& bound);
  // Index among the main graph's inputs. Throws InvalidArgument listing the names.
  int InputIndex(std::string_view name) const;
  int OutputIndex(std::string_view name) const;
  void CheckInput(std::size_t index, const OrtValue& value) const;
  MemoryReport ReportMemory();
  // With what the last Run shows.
  SessionReport Report();
  std::vector<NodeTime> ReportTimes() const;

  std::shared_ptr<Environment> environment;
  std::unique_ptr<BuiltModel> model;
  std::unique_ptr<Profiler> profiler;
  std::unique_ptr<StepTimes> times;  // nullptr: not counted
  RunCounters counters;
  std::shared_ptr<OutputPool> pool;

 private:
  std::unique_ptr<RunSlot> Acquire();
  void Release(std::unique_ptr<RunSlot> slot);
  void Execute(RunSlot& slot, const RunOptions& options);
  void Observe(const Step& step, std::int64_t from, std::int64_t to);
  void UsePool(RunSlot& slot, std::size_t output);
  void CollectSharedDims();
  void CheckSharedDims(std::span<const OrtValue* const> inputs) const;

  // A name that stands for several dims of the inputs.
  struct SharedDim {
    std::string name;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // input, axis
  };

  std::vector<const SessionArg*> main_input_args;
  std::vector<bool> main_input_required;
  std::vector<SharedDim> shared_dims;
  std::unordered_map<std::string, int> input_by_name, output_by_name;
  std::mutex slots_mutex;
  std::vector<std::unique_ptr<RunSlot>> slots;
  std::size_t slots_made = 0;
};

}  // namespace switchyard
