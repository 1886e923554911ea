#include "support/vault_provider/vault_queue.h"

#include <algorithm>
#include <utility>

namespace switchyard::test {

VaultQueue::VaultQueue() : thread_([this] { Work(); }) {}

VaultQueue::~VaultQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t VaultQueue::Add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  return ++added_;
}

std::uint64_t VaultQueue::last() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::uint64_t VaultQueue::waits() const {
  const std::lock_guard lock(mutex_);
  return waits_;
}

void VaultQueue::WaitFor(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  ++waits_;
  wanted_ = std::max(wanted_, number);
  changed_.notify_all();
  changed_.wait(lock, [&] { return done_ >= number || error_; });
  if (!error_) return;
  waiting_.clear();
  done_ = added_;
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void VaultQueue::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || (done_ < wanted_ && !waiting_.empty() && !error_); });
    if (stop_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    ++done_;
    error_ = error;
    changed_.notify_all();
  }
}

bool VaultStream::Wait(Event& event) {
  const auto* other = dynamic_cast<VaultEvent*>(&event);
  if (other == nullptr) return false;
  queue_->Add([queue = other->queue_, number = other->number_] { queue->WaitFor(number); });
  return true;
}

}  // namespace switchyard::test
