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

TEST(NestedRequests, APartLivesInItsWhole) {
  std::vector<MemoryRequest> requests = {{64, 0, 2}, {64, 1, 2}, {128, 2, 3}};
  NestedRequests nested;
  nested.Start(requests, 0, 4);
  EXPECT_TRUE(nested.Join(0, 2, 64));
  EXPECT_TRUE(nested.Join(1, 2, 0));
  EXPECT_FALSE(nested.Join(1, 2, 0)) << "it lies there already";
  EXPECT_FALSE(nested.Join(2, 1, 0)) << "a circle";
  nested.Finish();
  EXPECT_EQ(nested.Find(0).request, 2u);
  EXPECT_EQ(nested.Find(0).offset, 64u);
  EXPECT_EQ(requests[2].first, 0);
  EXPECT_EQ(PlanMemory(requests).total, 128u);
}

TEST(NestedRequests, NotWhereMoreWouldBeNeededAtOnce) {
  // The part is made long before the rest of the whole, and much is alive in between.
  std::vector<MemoryRequest> requests = {{64, 0, 9}, {5000, 1, 2}, {64, 8, 9}, {128, 9, 10}};
  NestedRequests nested;
  nested.Start(requests, 0, 11);
  EXPECT_TRUE(nested.Join(2, 3, 64));
  EXPECT_FALSE(nested.Join(0, 3, 0));
  nested.Finish();
  EXPECT_EQ(requests[3].first, 8);
  EXPECT_EQ(PlanMemory(requests).total, 5120u);
}

// Each joined request lies inside its whole, which lives as long; others keep apart; no more bytes
// are alive at once than before.
TEST(NestedRequests, RandomNesting) {
  std::mt19937 random(11);
  const auto most_at_once = [](std::span<const MemoryRequest> requests) {
    std::size_t most = 0;
    for (std::int32_t s = 0; s < 100; ++s) {
      std::size_t bytes = 0;
      for (const auto& r : requests) bytes += r.first <= s && s <= r.last ? r.bytes : 0;
      most = std::max(most, bytes);
    }
    return most;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<MemoryRequest> requests(2 + random() % 60);
    for (MemoryRequest& r : requests) {
      r.bytes = random() % 5000;
      r.first = static_cast<std::int32_t>(random() % 60);
      r.last = r.first + static_cast<std::int32_t>(random() % 20);
    }
    const std::vector<MemoryRequest> before = requests;
    NestedRequests nested;
    nested.Start(requests, 0, 80);
    struct Joined {
      std::uint32_t part, whole;
      std::size_t offset;
    };
    std::vector<Joined> joined;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto part = static_cast<std::uint32_t>(random() % requests.size());
      const auto whole = static_cast<std::uint32_t>(random() % requests.size());
      if (part == whole || before[part].bytes > before[whole].bytes) continue;
      const std::size_t offset = random() % (before[whole].bytes - before[part].bytes + 1);
      if (nested.Join(part, whole, offset)) joined.push_back({part, whole, offset});
    }
    nested.Finish();
    EXPECT_LE(most_at_once(requests), most_at_once(before));
    const MemoryLayout layout = PlanMemory(requests);
    Verify(requests, layout);
    const auto address = [&](std::uint32_t i) {
      const NestedRequests::Place at = nested.Find(i);
      return layout.offsets[at.request] + at.offset;
    };
    for (const Joined& j : joined) {
      EXPECT_EQ(address(j.part), address(j.whole) + j.offset);
      const MemoryRequest& holder = requests[nested.Find(j.part).request];
      EXPECT_LE(holder.first, std::min(before[j.part].first, before[j.whole].first));
      EXPECT_GE(holder.last, std::max(before[j.part].last, before[j.whole].last));
      EXPECT_LE(nested.Find(j.part).offset + before[j.part].bytes, holder.bytes);
    }
  }
}

}  // namespace
}  // namespace switchyard
