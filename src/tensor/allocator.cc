#include "switchyard/tensor/allocator.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/format.h"

namespace switchyard {

Allocator::~Allocator() = default;

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHeader = 64;

// Each block is preceded by its size, so that Free can count.
class HostAllocator final : public Allocator {
 public:
  explicit HostAllocator(std::size_t limit) : Allocator(OrtMemoryInfo{}), limit_(limit) {}

  void* Alloc(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    std::size_t total = 0;
    if (__builtin_add_overflow(bytes, kHeader, &total)) Exhausted(bytes);
    const std::int64_t used =
        in_use_.fetch_add(static_cast<std::int64_t>(bytes)) + static_cast<std::int64_t>(bytes);
    if (limit_ != 0 && used > static_cast<std::int64_t>(limit_)) {
      in_use_.fetch_sub(static_cast<std::int64_t>(bytes));
      Exhausted(bytes);
    }
    const bool huge = total >= kHugePage;
    const std::size_t align = huge ? kHugePage : kHeader;
    if (total > SIZE_MAX - align) {
      in_use_.fetch_sub(static_cast<std::int64_t>(bytes));
      Exhausted(bytes);
    }
    total = (total + align - 1) / align * align;
    void* block = std::aligned_alloc(align, total);
    if (block == nullptr) {
      in_use_.fetch_sub(static_cast<std::int64_t>(bytes));
      Exhausted(bytes);
    }
    if (huge) madvise(block, total, MADV_HUGEPAGE);
    *static_cast<std::size_t*>(block) = bytes;
    count_.fetch_add(1, std::memory_order_relaxed);
    std::int64_t seen = max_.load(std::memory_order_relaxed);
    while (used > seen && !max_.compare_exchange_weak(seen, used)) {
    }
    return static_cast<std::byte*>(block) + kHeader;
  }

  void Free(void* block) noexcept override {
    if (block == nullptr) return;
    void* start = static_cast<std::byte*>(block) - kHeader;
    in_use_.fetch_sub(static_cast<std::int64_t>(*static_cast<std::size_t*>(start)));
    std::free(start);
  }

  AllocatorStats Stats() const override {
    return {in_use_.load(), max_.load(), count_.load(), static_cast<std::int64_t>(limit_)};
  }

 private:
  [[noreturn]] void Exhausted(std::size_t bytes) const {
    Throw(ErrorCode::kRuntimeException, "out of memory: {} bytes asked for, {} in use, limit {}",
          bytes, in_use_.load(), limit_ == 0 ? "none" : std::to_string(limit_));
  }

  std::size_t limit_;
  std::atomic<std::int64_t> in_use_{0};
  std::atomic<std::int64_t> max_{0};
  std::atomic<std::int64_t> count_{0};
};

}  // namespace

AllocatorPtr MakeHostAllocator(std::size_t limit) {
  if (limit != 0) return std::make_shared<HostAllocator>(limit);
  static const AllocatorPtr unlimited = std::make_shared<HostAllocator>(0);
  return unlimited;
}

}  // namespace switchyard
