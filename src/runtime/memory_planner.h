#pragma once
// Offsets in one arena for blocks with lifetimes; and blocks that are laid into others first.
// Bytes freed most recently are taken first if they fit: they are the warmest in the cache.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace switchyard {

struct MemoryRequest {
  std::size_t bytes = 0;
  std::int32_t first = 0;  // step that writes it
  std::int32_t last = 0;   // last step that reads it, >= first
};

struct MemoryLayout {
  std::vector<std::size_t> offsets;  // one per request, multiples of kMemoryAlignment
  std::size_t total = 0;
};

inline constexpr std::size_t kMemoryAlignment = 64;

// Two requests overlap in memory only if their lifetimes do not overlap; a request that ends at a
// step may not give its bytes to one that starts there.
MemoryLayout PlanMemory(std::span<const MemoryRequest> requests);

// Requests laid into others. Whether the contents allow it is the caller's knowledge; here only
// sizes, lifetimes and the bytes needed at once count. Keeps its memory from use to use.
class NestedRequests {
 public:
  struct Place {
    std::uint32_t request;
    std::size_t offset;
  };

  // Nothing is nested yet. Steps of the requests are in [first_step, end_step), later ends allowed.
  void Start(std::span<MemoryRequest> requests, std::int32_t first_step, std::int32_t end_step);
  // Lays all of `part` into `whole` from `offset` on; `whole` then lives as long as both. False,
  // and nothing happens: the part already lies in another, or more bytes would be needed at once
  // than without any nesting.
  bool Join(std::uint32_t part, std::uint32_t whole, std::size_t offset);
  // The request needs no memory.
  void Drop(std::uint32_t request);
  bool IsNested(std::uint32_t request) const { return places_[request].request != request; }
  // The outermost request and where in it.
  Place Find(std::uint32_t request) const;
  // Nested requests ask for nothing of their own from now on.
  void Finish();

 private:
  std::span<std::int64_t> Live(const MemoryRequest& request);
  void Add(const MemoryRequest& request, std::int64_t sign);
  std::span<MemoryRequest> requests_;
  std::vector<Place> places_;
  std::vector<std::int64_t> live_;  // bytes by step
  std::int64_t peak_ = 0;
  std::int32_t first_step_ = 0;
};

}  // namespace switchyard
