#pragma once
// Offsets in one arena for blocks with lifetimes: pure functions, no state.
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

// Requests must be ordered by `first`. Two requests overlap in memory only if their lifetimes do
// not overlap; a request that ends at a step may not give its bytes to one that starts there.
MemoryLayout PlanMemory(std::span<const MemoryRequest> requests);

}  // namespace switchyard
