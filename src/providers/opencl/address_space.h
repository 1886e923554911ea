#pragma once
// Addresses for memory that has none. The core plans blocks and hands out `base + offset`, but a
// cl_mem is a handle. So each buffer gets a reserved range of the process's address space that
// nothing is mapped to: an address stands for (buffer, byte offset), arithmetic works, and a look
// from the host faults at once. A cl_mem of the caller's own may stand for its first byte itself.

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

#include "providers/opencl/api.h"

namespace switchyard::opencl {

// Where an address points: kernels take the buffer and the offset as two arguments.
struct Place {
  cl_mem buffer = nullptr;
  std::size_t offset = 0;  // bytes
};

// Thread-safe.
class AddressSpace {
 public:
  explicit AddressSpace(cl_context context) : context_(context) {}
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Takes over one reference to the buffer. Throws RuntimeException without address space.
  void* Add(cl_mem buffer, std::size_t bytes);
  // Releases the buffer that Add answered `base` for; anything else is ignored.
  void Remove(void* base) noexcept;
  // Throws EpFail unless [address, address + bytes) lies in one buffer, or the address is a cl_mem
  // of this context with so many bytes. nullptr with 0 bytes: none.
  Place Find(const void* address, std::size_t bytes) const;
  bool Contains(const void* address) const;
  std::size_t size() const;

 private:
  bool IsBuffer(const void* handle, std::size_t bytes) const;
  struct Range {
    std::size_t reserved, bytes;
    cl_mem buffer;
  };
  cl_context context_;
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};

}  // namespace switchyard::opencl
