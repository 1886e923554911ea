#pragma once
// An in-order command queue as a Stream, and the streams of a provider with how far each has come.

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "providers/opencl/device.h"
#include "switchyard/ep/stream.h"

namespace switchyard::opencl {

// How much was queued on each live stream, and how much of it is known to be done. Thread-safe.
class StreamSet {
 public:
  struct Progress {
    std::atomic<std::uint64_t> queued{0}, done{0};
  };
  // Points in the queues of the streams that had unfinished work.
  using Mark = std::vector<std::pair<std::weak_ptr<Progress>, std::uint64_t>>;

  std::shared_ptr<Progress> Add();
  Mark Now() const;
  // All work before the mark is done (or its stream is gone, which waits for it).
  bool Passed(const Mark& mark) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Progress>> streams_;
};

class ClEvent final : public Event {
 public:
  ClEvent(std::shared_ptr<DeviceContext> context, cl_event event)
      : context_(std::move(context)), event_(event) {}
  ~ClEvent() override { Cl().clReleaseEvent(event_); }
  void HostWait() override;
  cl_event event() const { return event_; }
  const DeviceContext& context() const { return *context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  cl_event event_;
};

// With profiling, the device's own times of what was launched, by kernel name.
struct KernelTime {
  std::string name;
  std::uint64_t start_ns = 0, end_ns = 0;
};

class ClStream final : public Stream {
 public:
  ClStream(std::shared_ptr<DeviceContext> context, const std::shared_ptr<StreamSet>& streams,
           bool profile);
  ~ClStream() override;
  std::unique_ptr<Event> Record() override;
  bool Wait(Event& event) override;
  void Synchronize() override;
  void* handle() const override { return queue_; }  // the cl_command_queue

  cl_command_queue queue() const { return queue_; }
  DeviceContext& context() const { return *context_; }
  // Something is about to be queued.
  void Queued() { progress_->queued.fetch_add(1, std::memory_order_relaxed); }
  bool profiles() const { return profile_; }
  void Launched(const std::string& kernel, cl_event event);
  // What was timed up to the last Synchronize, taken out.
  std::vector<KernelTime> TakeTimes();

 private:
  void ReadTimes();
  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<StreamSet::Progress> progress_;
  cl_command_queue queue_ = nullptr;
  bool profile_;
  std::vector<std::pair<std::string, cl_event>> launched_;
  std::vector<KernelTime> times_;
};

}  // namespace switchyard::opencl
