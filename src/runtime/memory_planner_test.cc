#include "runtime/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace switchyard {
namespace {

// Independent of the planner: any two blocks alive at the same step must not share a byte.
void Verify(std::span<const MemoryRequest> requests, const MemoryLayout& layout) {
  ASSERT_EQ(layout.offsets.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(layout.offsets[i] % kMemoryAlignment, 0u);
    EXPECT_LE(layout.offsets[i] + requests[i].bytes, layout.total);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
      if (!together || requests[i].bytes == 0 || requests[j].bytes == 0) continue;
      const bool apart = layout.offsets[i] + requests[i].bytes <= layout.offsets[j] ||
                         layout.offsets[j] + requests[j].bytes <= layout.offsets[i];
      EXPECT_TRUE(apart) << i << " and " << j;
    }
  }
}

TEST(MemoryPlanner, ChainUsesTwoBlocks) {
  std::vector<MemoryRequest> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1000, i, i + 1});
  const MemoryLayout layout = PlanMemory(chain);
  Verify(chain, layout);
  EXPECT_EQ(layout.total, 2048u);
}

TEST(MemoryPlanner, TakesTheMostRecentlyFreedThatFits) {
  const std::vector<MemoryRequest> requests = {{64, 0, 3}, {128, 0, 1}, {64, 0, 2}, {64, 4, 5}};
  const MemoryLayout layout = PlanMemory(requests);
  Verify(requests, layout);
  EXPECT_EQ(layout.offsets[3], 0u);
}

TEST(MemoryPlanner, RandomLifetimes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryRequest> requests(1 + random() % 120);
    for (MemoryRequest& r : requests) {
      r.bytes = random() % 3 == 0 ? 0 : random() % 5000;
      r.first = static_cast<std::int32_t>(random() % 60);
      r.last = r.first + static_cast<std::int32_t>(random() % 20);
    }
    std::sort(requests.begin(), requests.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    Verify(requests, PlanMemory(requests));
  }
}

}  // namespace
}  // namespace switchyard
