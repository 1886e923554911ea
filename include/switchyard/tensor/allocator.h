#pragma once
// Bytes of one memory type.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "switchyard/base/export.h"
#include "switchyard/tensor/device.h"

namespace switchyard {

struct AllocatorStats {
  std::int64_t bytes_in_use = 0;
  std::int64_t max_in_use = 0;
  std::int64_t num_allocs = 0;
  std::int64_t limit = 0;  // 0: none
};

// Thread-safe. Alloc throws RuntimeException naming the bytes asked for, those in use and the limit
// when memory is exhausted; Alloc(0) gives nullptr. Blocks are aligned to info().alignment.
class SWITCHYARD_API Allocator {
 public:
  explicit Allocator(OrtMemoryInfo info) : info_(std::move(info)) {}
  virtual ~Allocator();
  virtual void* Alloc(std::size_t bytes) = 0;
  virtual void Free(void* block) noexcept = 0;
  virtual AllocatorStats Stats() const { return {}; }
  const OrtMemoryInfo& info() const { return info_; }

 private:
  OrtMemoryInfo info_;
};
using AllocatorPtr = std::shared_ptr<Allocator>;
using IAllocator = Allocator;

// Plain aligned host memory; large blocks (>= 2 MiB) ask the system for huge pages.
// limit: bytes in use at once, 0 for none.
SWITCHYARD_API AllocatorPtr MakeHostAllocator(std::size_t limit = 0);

}  // namespace switchyard
