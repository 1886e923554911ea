#include "switchyard/base/thread_team.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/float_mode.h"
#include "base/format.h"
#include "switchyard/base/cpu_features.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace switchyard {
namespace {

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

// About 50-200 us: longer than the gap between the loops of one Run.
constexpr int kSpins = 4000;

constexpr int kMaxThreads = 1024;

thread_local const void* current_team = nullptr;

}  // namespace

// A loop is published by opening the gate and raising `epoch`. A worker joins by counting itself
// into the gate, which only works while it is open; the caller closes it when nobody is inside.
// A worker that comes late may find the next loop instead, or nothing left to do. Chunks of home
// thread t are t*count/size .. (t+1)*count/size; every home range has its own cursor, and who is
// done with its own range goes on with the others'.
struct ThreadTeam::Shared {
  struct alignas(64) Cursor {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  explicit Shared(int size) : cursors(static_cast<std::size_t>(size)) {}

  using Body = FunctionRef<void(std::int64_t, int)>;

  alignas(64) std::atomic<std::uint64_t> epoch{0};
  static constexpr int kClosed = -1;
  alignas(64) std::atomic<int> gate{kClosed};  // workers inside the current loop
  std::atomic<bool> busy{false};
  std::atomic<bool> failed{false};
  std::atomic<bool> stop{false};
  std::atomic<bool> spin{true};
  std::atomic<int> sleepers{0};
  const Body* body = nullptr;
  std::uint32_t float_mode = 0;  // the caller's: all threads of a loop compute alike
  std::exception_ptr error;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Cursor> cursors;
  std::vector<std::thread> threads;

  void End() {
    {
      const std::lock_guard lock(mutex);
      stop.store(true);
      wake.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
  }

  void Work(int worker) {
    const int size = static_cast<int>(cursors.size());
    for (int i = 0; i < size; ++i) {
      Cursor& cursor = cursors[static_cast<std::size_t>((worker + i) % size)];
      while (!failed.load(std::memory_order_relaxed)) {
        if (cursor.next.load(std::memory_order_relaxed) >= cursor.end) break;
        const std::int64_t chunk = cursor.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= cursor.end) break;
        try {
          (*body)(chunk, worker);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
          failed.store(true, std::memory_order_relaxed);
        }
      }
    }
  }
};

namespace {

int CheckedSize(int threads, int most) {
  if (threads > most) {
    Throw(ErrorCode::kInvalidArgument, "a team of {} threads: expected at most {}", threads, most);
  }
  return std::max(1, threads);
}

}  // namespace

ThreadTeam::ThreadTeam(int threads, bool allow_spinning)
    : size_(CheckedSize(threads, kMaxThreads)), shared_(std::make_unique<Shared>(size_)) {
  shared_->spin.store(allow_spinning && size_ <= DetectCpuFeatures().physical_cores);
  try {
    shared_->threads.reserve(static_cast<std::size_t>(size_ - 1));
    for (int i = 1; i < size_; ++i) {
      shared_->threads.emplace_back([this, i] { WorkerLoop(i); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = shared_->threads.size() + 1;
    shared_->End();
    Throw(ErrorCode::kRuntimeException, "a team of {} threads can't be started, only {}: {}", size_,
          started, error.what());
  } catch (...) {
    shared_->End();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { shared_->End(); }

void ThreadTeam::StopSpinning() { shared_->spin.store(false); }

void ThreadTeam::WorkerLoop(int index) {
  Shared& s = *shared_;
  current_team = &s;
  std::uint64_t seen = 0;
  while (true) {
    const int spins = s.spin.load(std::memory_order_relaxed) ? kSpins : 0;
    bool fresh = false;
    for (int i = 0; i < spins && !fresh; ++i) {
      fresh =
          s.epoch.load(std::memory_order_acquire) != seen || s.stop.load(std::memory_order_relaxed);
      if (!fresh) Pause();
    }
    if (!fresh) {
      std::unique_lock lock(s.mutex);
      s.sleepers.fetch_add(1);
      s.wake.wait(lock,
                  [&] { return s.epoch.load(std::memory_order_seq_cst) != seen || s.stop.load(); });
      s.sleepers.fetch_sub(1);
    }
    if (s.stop.load()) return;
    seen = s.epoch.load(std::memory_order_acquire);
    int inside = s.gate.load(std::memory_order_relaxed);
    while (inside != Shared::kClosed &&
           !s.gate.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) {
    }
    if (inside == Shared::kClosed) continue;
    if (FloatMode() != s.float_mode) SetFloatMode(s.float_mode);
    s.Work(index);
    s.gate.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadTeam::ParallelFor(std::int64_t count,
                             FunctionRef<void(std::int64_t chunk, int worker)> body) {
  if (count <= 0) return;
  Shared& s = *shared_;
  bool expected = false;
  if (size_ == 1 || count == 1 || current_team == &s ||
      !s.busy.compare_exchange_strong(expected, true, std::memory_order_acquire)) {
    for (std::int64_t chunk = 0; chunk < count; ++chunk) body(chunk, 0);
    return;
  }
  for (int t = 0; t < size_; ++t) {
    Shared::Cursor& cursor = s.cursors[static_cast<std::size_t>(t)];
    cursor.next.store(count * t / size_, std::memory_order_relaxed);
    cursor.end = count * (t + 1) / size_;
  }
  s.failed.store(false, std::memory_order_relaxed);
  s.error = nullptr;
  s.body = &body;
  s.float_mode = FloatMode();
  s.gate.store(0, std::memory_order_release);
  s.epoch.fetch_add(1, std::memory_order_seq_cst);
  if (s.sleepers.load(std::memory_order_seq_cst) > 0) {
    // Under the mutex: a worker between its last look and its sleep must not miss this.
    const std::lock_guard lock(s.mutex);
    s.wake.notify_all();
  }
  const void* outer = current_team;
  current_team = &s;
  s.Work(0);
  current_team = outer;
  int spins = 0;
  for (int empty = 0;
       !s.gate.compare_exchange_weak(empty, Shared::kClosed, std::memory_order_acq_rel);
       empty = 0) {
    // A worker inside may have lost its processor.
    if (++spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
  const std::exception_ptr error = s.error;
  s.error = nullptr;
  s.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void ThreadTeam::ParallelRange(std::int64_t total, std::int64_t grain,
                               FunctionRef<void(std::int64_t begin, std::int64_t end)> body) {
  if (total <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t most = std::int64_t{4} * size_;
  const std::int64_t chunks = size_ == 1 ? 1 : std::clamp<std::int64_t>(total / grain, 1, most);
  if (chunks == 1) {
    body(0, total);
    return;
  }
  ParallelFor(chunks, [&](std::int64_t chunk, int) {
    const std::int64_t begin = total / chunks * chunk + std::min(total % chunks, chunk);
    const std::int64_t end = begin + total / chunks + (chunk < total % chunks ? 1 : 0);
    body(begin, end);
  });
}

}  // namespace switchyard
