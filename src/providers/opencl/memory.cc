#include "providers/opencl/memory.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard::opencl {
namespace {

constexpr std::size_t kAlignment = 256;  // of blocks: no device asks for more
constexpr std::size_t kFirstChunk = std::size_t{1} << 20;

std::size_t RoundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

OrtMemoryInfo DeviceInfo(const DeviceContext& context) {
  return {"OpenCL", OrtAllocatorType::kArena, context.device(), 64};
}

OrtMemoryInfo PinnedInfo(const DeviceContext& context) {
  OrtDevice device = context.device();
  device.memory = OrtDevice::kHostAccessible;
  return {"OpenCLPinned", OrtAllocatorType::kDevice, device, 64};
}

}  // namespace

DeviceArena::DeviceArena(std::shared_ptr<DeviceContext> context, std::shared_ptr<StreamSet> streams,
                         std::size_t limit, ExtendStrategy strategy)
    : Allocator(DeviceInfo(*context)),
      context_(std::move(context)),
      streams_(std::move(streams)),
      limit_(limit),
      strategy_(strategy),
      next_chunk_(kFirstChunk) {
  stats_.limit = static_cast<std::int64_t>(limit);
  queue_ = context_->MakeQueue(false);
}

DeviceArena::~DeviceArena() {
  for (const auto& [base, chunk] : chunks_)
    context_->addresses().Remove(reinterpret_cast<void*>(base));
  Cl().clReleaseCommandQueue(queue_);
}

void* DeviceArena::Alloc(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  context_->CheckAlive();
  const std::lock_guard lock(mutex_);
  const std::size_t largest = context_->facts().largest_buffer;
  if (bytes > largest) {
    Throw(ErrorCode::kRuntimeException,
          "OpenCL: {} bytes asked for, the largest buffer of {} has {} bytes", bytes,
          context_->facts().name, largest);
  }
  const std::size_t rounded = RoundUp(bytes, kAlignment);
  Reclaim();
  void* block = Take(rounded);
  if (block == nullptr) {
    Grow(rounded);
    block = Take(rounded);
  }
  SY_CHECK(block != nullptr);
  ++stats_.num_allocs;
  stats_.max_in_use = std::max(stats_.max_in_use, stats_.bytes_in_use);
  return block;
}

// The smallest free piece that is large enough; the rest of it stays free.
void* DeviceArena::Take(std::size_t bytes) {
  const auto found = free_.lower_bound(bytes);
  if (found == free_.end()) return nullptr;
  const std::uintptr_t address = found->second;
  free_.erase(found);
  Chunk& chunk = *ChunkOf(address);
  Piece& piece = chunk.pieces.at(address);
  if (piece.bytes > bytes) {
    const Piece rest{address + bytes, piece.bytes - bytes, false};
    piece.bytes = bytes;
    chunk.pieces.emplace(rest.address, rest);
    free_.emplace(rest.bytes, rest.address);
  }
  piece.used = true;
  stats_.bytes_in_use += static_cast<std::int64_t>(bytes);
  return reinterpret_cast<void*>(address);
}

void DeviceArena::Grow(std::size_t bytes) {
  std::size_t wanted = bytes;
  if (strategy_ == ExtendStrategy::kNextPowerOfTwo) {
    wanted = std::max(wanted, next_chunk_);
    wanted = std::min(wanted, std::max(bytes, context_->facts().largest_buffer));
  }
  const auto fits = [&](std::size_t size) { return limit_ == 0 || reserved_ + size <= limit_; };
  if (!fits(wanted)) wanted = bytes;
  if (!fits(wanted)) DropEmpty();
  if (!fits(wanted)) {
    Throw(ErrorCode::kRuntimeException,
          "OpenCL: out of memory on {}: {} bytes asked for, {} in use, {} held, the limit "
          "(mem_limit) is {}",
          context_->facts().name, bytes, stats_.bytes_in_use, reserved_, limit_);
  }
  if (AddChunk(wanted)) {
    next_chunk_ = std::min(std::max(next_chunk_, wanted) * 2, std::size_t{1} << 30);
    return;
  }
  DropEmpty();
  if (!AddChunk(bytes)) {
    Throw(ErrorCode::kRuntimeException,
          "OpenCL: out of memory on {}: {} bytes asked for, {} in use, {} held",
          context_->facts().name, bytes, stats_.bytes_in_use, reserved_);
  }
}

// False: the device has no memory left.
bool DeviceArena::AddChunk(std::size_t bytes) {
  cl_int status = CL_SUCCESS;
  cl_mem buffer =
      Cl().clCreateBuffer(context_->context(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  if (IsOutOfMemory(status) || status == CL_INVALID_BUFFER_SIZE) return false;
  context_->Check(status, fmt::format("no buffer of {} bytes", bytes));
  // Libraries allocate when a buffer is first used. That use is here: memory that is not there is
  // found out about now, and a queued copy and the enqueueing of a kernel don't race for it.
  const cl_uchar zero = 0;
  status = Cl().clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, 1, &zero, 0, nullptr, nullptr);
  // A blocking write may return before the byte has arrived; late, it would fall on a constant.
  if (status == CL_SUCCESS) status = Cl().clFinish(queue_);
  if (status != CL_SUCCESS) {
    Cl().clReleaseMemObject(buffer);
    if (IsOutOfMemory(status)) return false;
    context_->Check(status, "the first use of a buffer");
  }
  const auto base = reinterpret_cast<std::uintptr_t>(context_->addresses().Add(buffer, bytes));
  Chunk chunk{base, bytes, {}};
  chunk.pieces.emplace(base, Piece{base, bytes, false});
  chunks_.emplace(base, std::move(chunk));
  free_.emplace(bytes, base);
  reserved_ += bytes;
  return true;
}

DeviceArena::Chunk* DeviceArena::ChunkOf(std::uintptr_t address) {
  auto next = chunks_.upper_bound(address);
  if (next == chunks_.begin()) return nullptr;
  --next;
  return address - next->first < next->second.bytes ? &next->second : nullptr;
}

void DeviceArena::Free(void* block) noexcept {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  StreamSet::Mark mark = streams_->Now();
  if (mark.empty()) {
    Release(address);
  } else {
    retired_.push_back({address, std::move(mark)});
  }
}

// Free again, joined with free neighbours.
void DeviceArena::Release(std::uintptr_t address) noexcept {
  Chunk* chunk = ChunkOf(address);
  if (chunk == nullptr) return;
  auto piece = chunk->pieces.find(address);
  if (piece == chunk->pieces.end() || !piece->second.used) return;
  stats_.bytes_in_use -= static_cast<std::int64_t>(piece->second.bytes);
  piece->second.used = false;
  const auto forget = [&](const Piece& gone) {
    auto [first, last] = free_.equal_range(gone.bytes);
    for (; first != last; ++first) {
      if (first->second != gone.address) continue;
      free_.erase(first);
      return;
    }
  };
  const auto next = std::next(piece);
  if (next != chunk->pieces.end() && !next->second.used) {
    forget(next->second);
    piece->second.bytes += next->second.bytes;
    chunk->pieces.erase(next);
  }
  if (piece != chunk->pieces.begin()) {
    const auto before = std::prev(piece);
    if (!before->second.used) {
      forget(before->second);
      before->second.bytes += piece->second.bytes;
      chunk->pieces.erase(piece);
      piece = before;
    }
  }
  free_.emplace(piece->second.bytes, piece->second.address);
}

void DeviceArena::Reclaim() noexcept {
  if (retired_.empty()) return;
  std::vector<Retired> waiting;
  for (Retired& retired : retired_) {
    if (streams_->Passed(retired.mark)) {
      Release(retired.address);
    } else {
      waiting.push_back(std::move(retired));
    }
  }
  retired_ = std::move(waiting);
}

void DeviceArena::DropEmpty() noexcept {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const Pieces& pieces = chunk->second.pieces;
    if (pieces.size() != 1 || pieces.begin()->second.used) {
      ++chunk;
      continue;
    }
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      if (piece->second != chunk->first) continue;
      free_.erase(piece);
      break;
    }
    reserved_ -= chunk->second.bytes;
    context_->addresses().Remove(reinterpret_cast<void*>(chunk->first));
    chunk = chunks_.erase(chunk);
  }
}

AllocatorStats DeviceArena::Stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::size_t DeviceArena::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

PinnedAllocator::PinnedAllocator(std::shared_ptr<DeviceContext> context)
    : Allocator(PinnedInfo(*context)), context_(std::move(context)) {
  queue_ = context_->MakeQueue(false);
}

PinnedAllocator::~PinnedAllocator() {
  for (const auto& [block, held] : blocks_) {
    Cl().clEnqueueUnmapMemObject(queue_, held.buffer, block, 0, nullptr, nullptr);
    Cl().clReleaseMemObject(held.buffer);
  }
  Cl().clFinish(queue_);
  Cl().clReleaseCommandQueue(queue_);
}

void* PinnedAllocator::Alloc(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  context_->CheckAlive();
  cl_int status = CL_SUCCESS;
  cl_mem buffer =
      Cl().clCreateBuffer(context_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                          RoundUp(bytes, kAlignment), nullptr, &status);
  context_->Check(status, fmt::format("no pinned memory of {} bytes", bytes));
  void* block = Cl().clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                        bytes, 0, nullptr, nullptr, &status);
  if (status != CL_SUCCESS) {
    Cl().clReleaseMemObject(buffer);
    context_->Check(status, fmt::format("pinned memory of {} bytes can't be mapped", bytes));
  }
  const std::lock_guard lock(mutex_);
  blocks_.emplace(block, Block{buffer, bytes});
  stats_.bytes_in_use += static_cast<std::int64_t>(bytes);
  stats_.max_in_use = std::max(stats_.max_in_use, stats_.bytes_in_use);
  ++stats_.num_allocs;
  return block;
}

void PinnedAllocator::Free(void* block) noexcept {
  if (block == nullptr) return;
  Block held{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return;
    held = found->second;
    blocks_.erase(found);
    stats_.bytes_in_use -= static_cast<std::int64_t>(held.bytes);
  }
  Cl().clEnqueueUnmapMemObject(queue_, held.buffer, block, 0, nullptr, nullptr);
  Cl().clReleaseMemObject(held.buffer);
}

AllocatorStats PinnedAllocator::Stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

ClTransfer::ClTransfer(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
  queue_ = context_->MakeQueue(false);
}

ClTransfer::~ClTransfer() { Cl().clReleaseCommandQueue(queue_); }

bool ClTransfer::CanCopy(const OrtDevice& source, const OrtDevice& destination) const {
  const OrtDevice own = context_->device();
  const bool from = source == own, to = destination == own;
  return (from && to) || (from && destination.is_host()) || (to && source.is_host());
}

void ClTransfer::Copy(const Tensor& source, Tensor& destination, Stream* stream) const {
  if (!CanCopy(source.device(), destination.device())) {
    Throw(ErrorCode::kEpFail, "{} can't copy from {} to {}", context_->device().ToString(),
          source.device().ToString(), destination.device().ToString());
  }
  const std::size_t bytes = source.bytes();
  if (bytes == 0) return;
  context_->CheckAlive();
  auto* own = stream != nullptr && stream->device() == context_->device()
                  ? static_cast<ClStream*>(stream)
                  : nullptr;
  cl_command_queue queue = own != nullptr ? own->queue() : queue_;
  const AddressSpace& addresses = context_->addresses();
  context_->counters().copies.fetch_add(1, std::memory_order_relaxed);
  if (own != nullptr) {
    own->Queued();
  } else {
    context_->counters().host_waits.fetch_add(1, std::memory_order_relaxed);
  }
  if (source.device().is_host()) {
    const Place to = addresses.Find(destination.raw(), bytes);
    context_->Check(Cl().clEnqueueWriteBuffer(queue, to.buffer, CL_FALSE, to.offset, bytes,
                                              source.raw(), 0, nullptr, nullptr),
                    "copy to the device");
  } else if (destination.device().is_host()) {
    const Place from = addresses.Find(source.raw(), bytes);
    context_->Check(Cl().clEnqueueReadBuffer(queue, from.buffer, CL_FALSE, from.offset, bytes,
                                             destination.raw_mutable(), 0, nullptr, nullptr),
                    "copy from the device");
  } else {
    const Place from = addresses.Find(source.raw(), bytes);
    const Place to = addresses.Find(destination.raw(), bytes);
    context_->Check(Cl().clEnqueueCopyBuffer(queue, from.buffer, to.buffer, from.offset, to.offset,
                                             bytes, 0, nullptr, nullptr),
                    "copy on the device");
  }
  // A blocking write of some libraries is seen by other queues only later; a finished queue is not.
  if (own == nullptr) context_->Check(Cl().clFinish(queue), "waiting for a copy");
}

}  // namespace switchyard::opencl
