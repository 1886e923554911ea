#pragma once
// The memory of a vault: bytes of this process, but scrambled by a key that depends on the address
// and on the vault, so that a missing copy or a look from the host yields garbage. Addresses may be
// added to: every byte of a block is reached from the block's address. Not a place for strings.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "switchyard/ep/data_transfer.h"
#include "switchyard/tensor/allocator.h"

namespace switchyard::test {

// What crossed the border of a vault, or moved inside, since it was made.
struct VaultTraffic {
  std::atomic<std::uint64_t> in{0}, out{0}, inside{0};
  std::atomic<std::uint64_t> in_bytes{0}, out_bytes{0}, inside_bytes{0};
  std::uint64_t copies() const { return in + out + inside; }
};

// Thread-safe.
class VaultMemory final : public Allocator {
 public:
  // limit: bytes in use at once, 0 for none.
  VaultMemory(OrtDevice device, std::size_t limit);
  ~VaultMemory() override;
  void* Alloc(std::size_t bytes) override;
  void Free(void* block) noexcept override;
  AllocatorStats Stats() const override;

  // Between plain host bytes and an address inside a live block. Anything else: EpFail.
  void Store(const void* host, void* vault, std::size_t bytes) const;
  void Load(const void* vault, void* host, std::size_t bytes) const;
  std::size_t live_blocks() const;

 private:
  void Check(const void* address, std::size_t bytes) const;
  void Mix(const std::byte* from, std::byte* to, std::uintptr_t address, std::size_t bytes) const;

  std::uint64_t seed_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
  AllocatorStats stats_;
};

// Host to vault, vault to host, and within one vault.
class VaultTransfer final : public IDataTransfer {
 public:
  VaultTransfer(std::shared_ptr<VaultMemory> memory, std::shared_ptr<VaultTraffic> traffic)
      : memory_(std::move(memory)), traffic_(std::move(traffic)) {}
  bool CanCopy(const OrtDevice& source, const OrtDevice& destination) const override;
  void Copy(const Tensor& source, Tensor& destination, Stream* stream) const override;

 private:
  std::shared_ptr<VaultMemory> memory_;
  std::shared_ptr<VaultTraffic> traffic_;
};

}  // namespace switchyard::test
