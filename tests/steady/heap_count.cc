#include "steady/heap_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> requests{0};

[[maybe_unused]] void Count() {
  if (counting.load(std::memory_order_relaxed)) requests.fetch_add(1, std::memory_order_relaxed);
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

EXPORTED void* malloc(std::size_t bytes) {
  Count();
  return __libc_malloc(bytes);
}
EXPORTED void* calloc(std::size_t count, std::size_t bytes) {
  Count();
  return __libc_calloc(count, bytes);
}
EXPORTED void* realloc(void* block, std::size_t bytes) {
  Count();
  return __libc_realloc(block, bytes);
}
EXPORTED void* memalign(std::size_t alignment, std::size_t bytes) {
  Count();
  return __libc_memalign(alignment, bytes);
}
EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  Count();
  return __libc_memalign(alignment, bytes);
}
EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  Count();
  *block = __libc_memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
}
#endif

namespace switchyard::test {

bool HeapCountingWorks() { return kReplaced; }

void StartHeapCount() {
  requests = 0;
  counting = true;
}

std::uint64_t StopHeapCount() {
  counting = false;
  return requests;
}

}  // namespace switchyard::test
