#include "runtime/memory_planner.h"

#include <algorithm>
#include <numeric>
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
  std::vector<std::uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return requests[a].first < requests[b].first;
  });
  for (const std::uint32_t i : order) {
    const MemoryRequest& request = requests[i];
    SY_CHECK(request.last >= request.first);
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

void NestedRequests::Start(std::span<MemoryRequest> requests, std::int32_t first_step,
                           std::int32_t end_step) {
  requests_ = requests;
  first_step_ = first_step;
  places_.resize(requests.size());
  live_.assign(static_cast<std::size_t>(std::max(end_step - first_step, 0)) + 1, 0);
  // Differences first: one pass over the steps whatever the lifetimes.
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    places_[i] = {i, 0};
    const auto live = Live(requests[i]);
    if (live.empty()) continue;
    live.front() += static_cast<std::int64_t>(requests[i].bytes);
    if (&live.back() != &live_.back())
      *(&live.back() + 1) -= static_cast<std::int64_t>(requests[i].bytes);
  }
  std::partial_sum(live_.begin(), live_.end(), live_.begin());
  peak_ = *std::max_element(live_.begin(), live_.end());
}

std::span<std::int64_t> NestedRequests::Live(const MemoryRequest& request) {
  const auto end = static_cast<std::int32_t>(live_.size());
  const std::int32_t first = std::clamp(request.first - first_step_, 0, end);
  const std::int32_t last = std::clamp(request.last - first_step_, -1, end - 1);
  if (last < first) return {};
  return std::span(live_).subspan(static_cast<std::size_t>(first),
                                  static_cast<std::size_t>(last - first + 1));
}

void NestedRequests::Add(const MemoryRequest& request, std::int64_t sign) {
  for (std::int64_t& bytes : Live(request)) {
    bytes += sign * static_cast<std::int64_t>(request.bytes);
  }
}

NestedRequests::Place NestedRequests::Find(std::uint32_t request) const {
  std::size_t offset = 0;
  while (places_[request].request != request) {
    offset += places_[request].offset;
    request = places_[request].request;
  }
  return {request, offset};
}

bool NestedRequests::Join(std::uint32_t part, std::uint32_t whole, std::size_t offset) {
  const Place at = Find(whole);
  if (IsNested(part) || at.request == part) return false;
  MemoryRequest& target = requests_[at.request];
  const MemoryRequest before = target;
  Add(requests_[part], -1);
  Add(before, -1);
  target.first = std::min(target.first, requests_[part].first);
  target.last = std::max(target.last, requests_[part].last);
  Add(target, 1);
  const auto live = Live(target);
  if (std::any_of(live.begin(), live.end(), [&](std::int64_t b) { return b > peak_; })) {
    Add(target, -1);
    target = before;
    Add(before, 1);
    Add(requests_[part], 1);
    return false;
  }
  places_[part] = {at.request, at.offset + offset};
  return true;
}

void NestedRequests::Drop(std::uint32_t request) {
  Add(requests_[request], -1);
  requests_[request].bytes = 0;
}

void NestedRequests::Finish() {
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    if (IsNested(i)) requests_[i].bytes = 0;
  }
}

}  // namespace switchyard
