#include "providers/opencl/stream.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard::opencl {
namespace {

constexpr std::size_t kMaxTimes = 1 << 16;

}  // namespace

std::shared_ptr<StreamSet::Progress> StreamSet::Add() {
  auto progress = std::make_shared<Progress>();
  const std::lock_guard lock(mutex_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const auto& stream) { return stream.expired(); }),
                 streams_.end());
  streams_.push_back(progress);
  return progress;
}

StreamSet::Mark StreamSet::Now() const {
  Mark mark;
  const std::lock_guard lock(mutex_);
  for (const auto& weak : streams_) {
    const auto stream = weak.lock();
    if (!stream) continue;
    const std::uint64_t queued = stream->queued.load(std::memory_order_relaxed);
    if (stream->done.load(std::memory_order_acquire) < queued) mark.emplace_back(weak, queued);
  }
  return mark;
}

bool StreamSet::Passed(const Mark& mark) const {
  return std::all_of(mark.begin(), mark.end(), [](const auto& point) {
    const auto stream = point.first.lock();
    return !stream || stream->done.load(std::memory_order_acquire) >= point.second;
  });
}

void ClEvent::HostWait() {
  context_->CheckAlive();
  context_->counters().host_waits.fetch_add(1, std::memory_order_relaxed);
  context_->Check(Cl().clWaitForEvents(1, &event_), "waiting for an event");
}

ClStream::ClStream(std::shared_ptr<DeviceContext> context,
                   const std::shared_ptr<StreamSet>& streams, bool profile)
    : Stream(context->device()),
      context_(std::move(context)),
      progress_(streams->Add()),
      profile_(profile) {
  queue_ = context_->MakeQueue(profile);
}

ClStream::~ClStream() {
  Cl().clFinish(queue_);
  for (const auto& [name, event] : launched_) Cl().clReleaseEvent(event);
  Cl().clReleaseCommandQueue(queue_);
}

std::unique_ptr<Event> ClStream::Record() {
  context_->CheckAlive();
  cl_event event = nullptr;
  context_->Check(Cl().clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &event), "recording");
  // Another queue may wait for it: it must be on its way.
  context_->Check(Cl().clFlush(queue_), "recording");
  return std::make_unique<ClEvent>(context_, event);
}

bool ClStream::Wait(Event& event) {
  auto* own = dynamic_cast<ClEvent*>(&event);
  if (own == nullptr || &own->context() != context_.get()) return false;
  const cl_event waited = own->event();
  context_->Check(Cl().clEnqueueBarrierWithWaitList(queue_, 1, &waited, nullptr),
                  "waiting for another queue");
  Queued();
  return true;
}

void ClStream::Synchronize() {
  context_->CheckAlive();
  context_->counters().host_waits.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t queued = progress_->queued.load(std::memory_order_relaxed);
  context_->Check(Cl().clFinish(queue_), "waiting for the device");
  progress_->done.store(queued, std::memory_order_release);
  if (profile_) ReadTimes();
}

void ClStream::Launched(const std::string& kernel, cl_event event) {
  launched_.emplace_back(kernel, event);
}

void ClStream::ReadTimes() {
  for (const auto& [name, event] : launched_) {
    cl_ulong start = 0, end = 0;
    Cl().clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr);
    Cl().clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
    Cl().clReleaseEvent(event);
    if (times_.size() < kMaxTimes) times_.push_back({name, start, end});
  }
  launched_.clear();
}

std::vector<KernelTime> ClStream::TakeTimes() { return std::exchange(times_, {}); }

}  // namespace switchyard::opencl
