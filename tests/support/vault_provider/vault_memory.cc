#include "support/vault_provider/vault_memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "base/format.h"
#include "support/vault_provider/vault_queue.h"

namespace switchyard::test {
namespace {

constexpr std::size_t kAlignment = 64;

std::uint64_t Key(std::uint64_t seed, std::uintptr_t word) {
  std::uint64_t x = (static_cast<std::uint64_t>(word) + seed) * 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 32);
}

}  // namespace

VaultMemory::VaultMemory(OrtDevice device, std::size_t limit)
    : Allocator({"Vault", OrtAllocatorType::kDevice, device, kAlignment}),
      seed_(0x5DEECE66Du + static_cast<std::uint64_t>(device.id) * 7919) {
  stats_.limit = static_cast<std::int64_t>(limit);
}

VaultMemory::~VaultMemory() {
  for (const auto& [address, bytes] : blocks_) {
    ::operator delete(reinterpret_cast<void*>(address), std::align_val_t(kAlignment));
  }
}

void* VaultMemory::Alloc(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (stats_.limit != 0 && stats_.bytes_in_use + wanted > stats_.limit) {
    Throw(ErrorCode::kRuntimeException, "{}: {} bytes asked for, {} in use, the limit is {}",
          info().device.ToString(), bytes, stats_.bytes_in_use, stats_.limit);
  }
  void* block = ::operator new(bytes, std::align_val_t(kAlignment));
  std::memset(block, 0xA5, bytes);
  blocks_.emplace(reinterpret_cast<std::uintptr_t>(block), bytes);
  stats_.bytes_in_use += wanted;
  stats_.max_in_use = std::max(stats_.max_in_use, stats_.bytes_in_use);
  ++stats_.num_allocs;
  return block;
}

void VaultMemory::Free(void* block) noexcept {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(block));
  if (found == blocks_.end()) return;
  std::memset(block, 0x5A, found->second);
  stats_.bytes_in_use -= static_cast<std::int64_t>(found->second);
  blocks_.erase(found);
  ::operator delete(block, std::align_val_t(kAlignment));
}

AllocatorStats VaultMemory::Stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::size_t VaultMemory::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

void VaultMemory::Check(const void* address, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(at);
  const bool inside = next != blocks_.begin() && (--next, at + bytes <= next->first + next->second);
  if (!inside) {
    Throw(ErrorCode::kEpFail, "{} bytes at an address that is not in the memory of {}", bytes,
          info().device.ToString());
  }
}

void VaultMemory::Mix(const std::byte* from, std::byte* to, std::uintptr_t address,
                      std::size_t bytes) const {
  std::size_t i = 0;
  while (i < bytes) {
    const std::uint64_t key = Key(seed_, (address + i) >> 3);
    const std::size_t shift = (address + i) & 7;
    if (shift == 0 && bytes - i >= 8) {
      std::uint64_t word;
      std::memcpy(&word, from + i, 8);
      word ^= key;
      std::memcpy(to + i, &word, 8);
      i += 8;
      continue;
    }
    to[i] = from[i] ^ static_cast<std::byte>(key >> (8 * shift));
    ++i;
  }
}

void VaultMemory::Store(const void* host, void* vault, std::size_t bytes) const {
  if (bytes == 0) return;
  Check(vault, bytes);
  Mix(static_cast<const std::byte*>(host), static_cast<std::byte*>(vault),
      reinterpret_cast<std::uintptr_t>(vault), bytes);
}

void VaultMemory::Load(const void* vault, void* host, std::size_t bytes) const {
  if (bytes == 0) return;
  Check(vault, bytes);
  Mix(static_cast<const std::byte*>(vault), static_cast<std::byte*>(host),
      reinterpret_cast<std::uintptr_t>(vault), bytes);
}

bool VaultTransfer::CanCopy(const OrtDevice& source, const OrtDevice& destination) const {
  const OrtDevice& own = memory_->info().device;
  const bool from = source == own, to = destination == own;
  return (from && to) || (from && destination.is_host()) || (to && source.is_host());
}

void VaultTransfer::Copy(const Tensor& source, Tensor& destination, Stream* stream) const {
  if (!CanCopy(source.device(), destination.device())) {
    Throw(ErrorCode::kEpFail, "{} can't copy from {} to {}", memory_->info().device.ToString(),
          source.device().ToString(), destination.device().ToString());
  }
  const bool in = source.device().is_host(), out = destination.device().is_host();
  const std::size_t bytes = source.bytes();
  ++(in ? traffic_->in : out ? traffic_->out : traffic_->inside);
  (in ? traffic_->in_bytes : out ? traffic_->out_bytes : traffic_->inside_bytes) += bytes;
  const auto move = [memory = memory_, in, out, bytes, from = source.raw(),
                     to = destination.raw_mutable()] {
    if (in) return memory->Store(from, to, bytes);
    if (out) return memory->Load(from, to, bytes);
    std::vector<std::byte> plain(bytes);
    memory->Load(from, plain.data(), bytes);
    memory->Store(plain.data(), to, bytes);
  };
  if (auto* queue = dynamic_cast<VaultStream*>(stream)) {
    queue->Add(move);
  } else {
    move();
  }
}

}  // namespace switchyard::test
