#include "providers/opencl/address_space.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mutex>

#include "base/format.h"

namespace switchyard::opencl {
namespace {

constexpr std::size_t kPage = 4096;

// Reads a pointer at any address without a fault.
bool ReadPointer(const void* address, const void** value) {
  iovec to{value, sizeof *value}, from{const_cast<void*>(address), sizeof *value};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(sizeof *value);
}

}  // namespace

AddressSpace::~AddressSpace() {
  for (const auto& [base, range] : ranges_) {
    munmap(reinterpret_cast<void*>(base), range.reserved);
    Cl().clReleaseMemObject(range.buffer);
  }
}

void* AddressSpace::Add(cl_mem buffer, std::size_t bytes) {
  const std::size_t reserved = (bytes + kPage) / kPage * kPage;
  void* base =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    Cl().clReleaseMemObject(buffer);
    Throw(ErrorCode::kRuntimeException, "OpenCL: no address space for a buffer of {} bytes", bytes);
  }
  const std::unique_lock lock(mutex_);
  ranges_.emplace(reinterpret_cast<std::uintptr_t>(base), Range{reserved, bytes, buffer});
  return base;
}

void AddressSpace::Remove(void* base) noexcept {
  Range range;
  {
    const std::unique_lock lock(mutex_);
    const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(base));
    if (found == ranges_.end()) return;
    range = found->second;
    ranges_.erase(found);
  }
  munmap(base, range.reserved);
  Cl().clReleaseMemObject(range.buffer);
}

Place AddressSpace::Find(const void* address, std::size_t bytes) const {
  if (address == nullptr && bytes == 0) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  bool known = false;
  {
    const std::shared_lock lock(mutex_);
    auto next = ranges_.upper_bound(at);
    if (next != ranges_.begin()) {
      --next;
      const std::size_t offset = at - next->first;
      if (offset + bytes <= next->second.bytes) return {next->second.buffer, offset};
      known = offset < next->second.bytes;
    }
  }
  if (!known && IsBuffer(address, bytes))
    return {static_cast<cl_mem>(const_cast<void*>(address)), 0};
  Throw(ErrorCode::kEpFail, "OpenCL: {} bytes at an address that is not in the device's memory",
        bytes);
}

// Objects of one platform begin with a pointer to the platform's table of functions: only what
// begins like our context is shown to the platform.
bool AddressSpace::IsBuffer(const void* handle, std::size_t bytes) const {
  const void *table = nullptr, *own_table = nullptr;
  if (handle == nullptr || !ReadPointer(handle, &table) || !ReadPointer(context_, &own_table) ||
      table != own_table)
    return false;
  auto* buffer = static_cast<cl_mem>(const_cast<void*>(handle));
  cl_context context = nullptr;
  std::size_t held = 0;
  return Cl().clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, nullptr) ==
             CL_SUCCESS &&
         context == context_ &&
         Cl().clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof held, &held, nullptr) == CL_SUCCESS &&
         held >= bytes;
}

bool AddressSpace::Contains(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(mutex_);
  auto next = ranges_.upper_bound(at);
  if (next == ranges_.begin()) return false;
  --next;
  return at - next->first < next->second.bytes;
}

std::size_t AddressSpace::size() const {
  const std::shared_lock lock(mutex_);
  return ranges_.size();
}

}  // namespace switchyard::opencl
