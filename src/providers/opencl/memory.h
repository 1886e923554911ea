#pragma once
// The device's memory by address, pinned host memory, and the queue that the transfers without a
// stream use.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "providers/opencl/device.h"
#include "providers/opencl/stream.h"
#include "switchyard/ep/data_transfer.h"
#include "switchyard/tensor/allocator.h"

namespace switchyard::opencl {

enum class ExtendStrategy { kNextPowerOfTwo, kSameAsRequested };

// Blocks cut out of a few large buffers. Thread-safe. A block that is freed while queued work may
// still use it is given out again only when that work is done.
class DeviceArena final : public Allocator {
 public:
  // limit: bytes of buffers held at once, 0 for none.
  DeviceArena(std::shared_ptr<DeviceContext> context, std::shared_ptr<StreamSet> streams,
              std::size_t limit, ExtendStrategy strategy);
  ~DeviceArena() override;
  void* Alloc(std::size_t bytes) override;
  void Free(void* block) noexcept override;
  AllocatorStats Stats() const override;
  std::size_t reserved() const;

 private:
  struct Piece {
    std::uintptr_t address;
    std::size_t bytes;
    bool used;
  };
  using Pieces = std::map<std::uintptr_t, Piece>;
  struct Chunk {
    std::uintptr_t base;
    std::size_t bytes;
    Pieces pieces;
  };
  struct Retired {
    std::uintptr_t address;
    StreamSet::Mark mark;
  };

  void* Take(std::size_t bytes);
  void Grow(std::size_t bytes);
  bool AddChunk(std::size_t bytes);
  void Release(std::uintptr_t address) noexcept;
  void Reclaim() noexcept;
  void DropEmpty() noexcept;
  Chunk* ChunkOf(std::uintptr_t address);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<StreamSet> streams_;
  cl_command_queue queue_ = nullptr;  // for the first touch of a buffer
  std::size_t limit_;
  ExtendStrategy strategy_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Chunk> chunks_;
  std::multimap<std::size_t, std::uintptr_t> free_;  // bytes, address
  std::vector<Retired> retired_;
  std::size_t reserved_ = 0, next_chunk_;
  AllocatorStats stats_;
};

// Host memory that the device reads and writes fast: buffers of CL_MEM_ALLOC_HOST_PTR, mapped as
// long as they live. Thread-safe.
class PinnedAllocator final : public Allocator {
 public:
  explicit PinnedAllocator(std::shared_ptr<DeviceContext> context);
  ~PinnedAllocator() override;
  void* Alloc(std::size_t bytes) override;
  void Free(void* block) noexcept override;
  AllocatorStats Stats() const override;

 private:
  struct Block {
    cl_mem buffer;
    std::size_t bytes;
  };
  std::shared_ptr<DeviceContext> context_;
  cl_command_queue queue_ = nullptr;
  mutable std::mutex mutex_;
  std::map<void*, Block> blocks_;
  AllocatorStats stats_;
};

// Host to device, device to host, within the device. With a stream of this device everything is
// queued: the host memory of a copy must stay as it is until the stream was waited for.
class ClTransfer final : public IDataTransfer {
 public:
  explicit ClTransfer(std::shared_ptr<DeviceContext> context);
  ~ClTransfer() override;
  bool CanCopy(const OrtDevice& source, const OrtDevice& destination) const override;
  void Copy(const Tensor& source, Tensor& destination, Stream* stream) const override;

 private:
  std::shared_ptr<DeviceContext> context_;
  cl_command_queue queue_ = nullptr;
};

}  // namespace switchyard::opencl
