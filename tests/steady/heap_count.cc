#include "steady/heap_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> requests{0};
std::atomic<std::uint64_t> first_failure{0}, last_failure{0};

// Counts a request and says whether it may be served.
[[maybe_unused]] bool Admit() {
  if (!counting.load(std::memory_order_relaxed)) return true;
  const std::uint64_t number = requests.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < first_failure.load(std::memory_order_relaxed) ||
      number > last_failure.load(std::memory_order_relaxed))
    return true;
  errno = ENOMEM;
  return false;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
namespace {
constexpr bool kReplaced = false;
}
#else
namespace {
constexpr bool kReplaced = true;
}
#define EXPORTED __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

EXPORTED void* malloc(std::size_t bytes) { return Admit() ? __libc_malloc(bytes) : nullptr; }
EXPORTED void* calloc(std::size_t count, std::size_t bytes) {
  return Admit() ? __libc_calloc(count, bytes) : nullptr;
}
EXPORTED void* realloc(void* block, std::size_t bytes) {
  return Admit() ? __libc_realloc(block, bytes) : nullptr;
}
EXPORTED void* memalign(std::size_t alignment, std::size_t bytes) {
  return Admit() ? __libc_memalign(alignment, bytes) : nullptr;
}
EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return Admit() ? __libc_memalign(alignment, bytes) : nullptr;
}
EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = Admit() ? __libc_memalign(alignment, bytes) : nullptr;
  return *block == nullptr ? ENOMEM : 0;
}
}
#endif

namespace switchyard::test {

bool HeapCountingWorks() { return kReplaced; }

void StartHeapCount() { StartHeapFailures(1, 0); }

void StartHeapFailures(std::uint64_t first, std::uint64_t last) {
  requests = 0;
  first_failure = first;
  last_failure = last;
  counting = true;
}

std::uint64_t StopHeapCount() {
  counting = false;
  return requests;
}

}  // namespace switchyard::test
