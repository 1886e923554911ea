#pragma once
// The queues of an asynchronous vault. A queue has a thread of its own, which does nothing until
// somebody waits: whoever forgets to wait reads what was there before, every time and not only when
// the machine is busy.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "switchyard/ep/stream.h"

namespace switchyard::test {

// Thread-safe. Work that fails stops what is queued behind it; the next to wait gets the exception.
class VaultQueue {
 public:
  VaultQueue();
  ~VaultQueue();                                  // what nobody waited for is dropped
  std::uint64_t Add(std::function<void()> work);  // its number
  std::uint64_t last() const;
  void WaitFor(std::uint64_t number);
  std::uint64_t waits() const;

 private:
  void Work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t added_ = 0, done_ = 0, wanted_ = 0, waits_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

class VaultEvent final : public Event {
 public:
  VaultEvent(std::shared_ptr<VaultQueue> queue, std::uint64_t number)
      : queue_(std::move(queue)), number_(number) {}
  void HostWait() override { queue_->WaitFor(number_); }

 private:
  friend class VaultStream;
  std::shared_ptr<VaultQueue> queue_;
  std::uint64_t number_;
};

class VaultStream final : public Stream {
 public:
  explicit VaultStream(OrtDevice device) : Stream(device), queue_(std::make_shared<VaultQueue>()) {}
  std::unique_ptr<Event> Record() override {
    return std::make_unique<VaultEvent>(queue_, queue_->last());
  }
  // Only what another vault recorded.
  bool Wait(Event& event) override;
  void Synchronize() override { queue_->WaitFor(queue_->last()); }
  void* handle() const override { return queue_.get(); }

  void Add(std::function<void()> work) { queue_->Add(std::move(work)); }

 private:
  std::shared_ptr<VaultQueue> queue_;
};

}  // namespace switchyard::test
