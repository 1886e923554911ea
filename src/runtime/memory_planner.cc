#include "runtime/memory_planner.h"

#include <algorithm>
#include <queue>

#include "base/format.h"

namespace switchyard {
namespace {

struct FreeBlock {
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t freed_at;  // larger: more recent
};

class FreeList {
 public:
  // The most recently freed block that fits, its front used and its rest kept; false: none.
  bool Take(std::size_t bytes, std::size_t* offset) {
    std::size_t best = blocks_.size();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].bytes < bytes) continue;
      if (best == blocks_.size() || blocks_[i].freed_at > blocks_[best].freed_at) best = i;
    }
    if (best == blocks_.size()) return false;
    *offset = blocks_[best].offset;
    blocks_[best].offset += bytes;
    blocks_[best].bytes -= bytes;
    if (blocks_[best].bytes == 0)
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(best));
    return true;
  }

  // Extends the block that ends at `total`, if there is one; answers where the new block starts.
  std::size_t Extend(std::size_t bytes, std::size_t* total) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].offset + blocks_[i].bytes != *total) continue;
      const std::size_t offset = blocks_[i].offset;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      *total = offset + bytes;
      return offset;
    }
    const std::size_t offset = *total;
    *total += bytes;
    return offset;
  }

  void Free(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    const auto at =
        std::lower_bound(blocks_.begin(), blocks_.end(), offset,
                         [](const FreeBlock& b, std::size_t o) { return b.offset < o; });
    auto i = static_cast<std::size_t>(at - blocks_.begin());
    blocks_.insert(at, {offset, bytes, ++clock_});
    if (i + 1 < blocks_.size() && offset + bytes == blocks_[i + 1].offset) Merge(i);
    if (i > 0 && blocks_[i - 1].offset + blocks_[i - 1].bytes == offset) Merge(i - 1);
  }

 private:
  void Merge(std::size_t i) {
    blocks_[i].bytes += blocks_[i + 1].bytes;
    blocks_[i].freed_at = std::max(blocks_[i].freed_at, blocks_[i + 1].freed_at);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  std::vector<FreeBlock> blocks_;  // by offset
  std::uint64_t clock_ = 0;
};

}  // namespace

MemoryLayout PlanMemory(std::span<const MemoryRequest> requests) {
  MemoryLayout layout;
  layout.offsets.resize(requests.size());
  FreeList free_list;
  using Ending = std::pair<std::int32_t, std::size_t>;  // last step, request
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const MemoryRequest& request = requests[i];
    SY_CHECK(request.last >= request.first && (i == 0 || requests[i - 1].first <= request.first));
    while (!live.empty() && live.top().first < request.first) {
      const std::size_t ended = live.top().second;
      live.pop();
      free_list.Free(layout.offsets[ended], (requests[ended].bytes + kMemoryAlignment - 1) /
                                                kMemoryAlignment * kMemoryAlignment);
    }
    const std::size_t bytes =
        (request.bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    if (bytes == 0) continue;
    if (!free_list.Take(bytes, &layout.offsets[i])) {
      layout.offsets[i] = free_list.Extend(bytes, &layout.total);
    }
    live.emplace(request.last, i);
  }
  return layout;
}

}  // namespace switchyard
