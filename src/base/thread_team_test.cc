#include "switchyard/base/thread_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

class Teams : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Teams, testing::Values(1, 2, 3, 4));

TEST_P(Teams, EveryChunkRunsOnce) {
  ThreadTeam team(GetParam());
  EXPECT_EQ(team.size(), GetParam());
  for (int count : {0, 1, 2, 3, 4, 5, 7, 64, 1001}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    std::atomic<int> bad_worker{0};
    for (int round = 0; round < 20; ++round) {
      team.ParallelFor(count, [&](std::int64_t chunk, int worker) {
        seen[static_cast<std::size_t>(chunk)].fetch_add(1);
        if (worker < 0 || worker >= team.size()) bad_worker.fetch_add(1);
      });
    }
    for (const auto& times : seen) EXPECT_EQ(times.load(), 20);
    EXPECT_EQ(bad_worker.load(), 0);
  }
}

TEST_P(Teams, RangesCoverTheWholeWithoutOverlap) {
  ThreadTeam team(GetParam());
  for (std::int64_t total : {0, 1, 9, 10, 11, 1000, 4097}) {
    for (std::int64_t grain : {0, 1, 10, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(total));
      std::atomic<int> too_small{0};
      team.ParallelRange(total, grain, [&](std::int64_t begin, std::int64_t end) {
        if (end - begin < std::min(grain, total)) too_small.fetch_add(1);
        for (std::int64_t i = begin; i < end; ++i) seen[static_cast<std::size_t>(i)].fetch_add(1);
      });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
      EXPECT_EQ(too_small.load(), 0) << total << " by " << grain;
    }
  }
}

TEST_P(Teams, TheFirstErrorComesOutAndTheTeamLivesOn) {
  ThreadTeam team(GetParam());
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    EXPECT_THROW(team.ParallelFor(100,
                                  [&](std::int64_t chunk, int) {
                                    ran.fetch_add(1);
                                    if (chunk % 10 == 3) throw std::runtime_error("chunk");
                                  }),
                 std::runtime_error);
    EXPECT_GE(ran.load(), 1);
    std::atomic<int> after{0};
    team.ParallelFor(10, [&](std::int64_t, int) { after.fetch_add(1); });
    EXPECT_EQ(after.load(), 10);
  }
}

TEST_P(Teams, NestedLoopsRunOnTheirThread) {
  ThreadTeam team(GetParam());
  std::atomic<int> inner{0};
  std::atomic<int> elsewhere{0};
  team.ParallelFor(16, [&](std::int64_t, int) {
    const std::thread::id outer = std::this_thread::get_id();
    team.ParallelFor(8, [&](std::int64_t, int worker) {
      inner.fetch_add(1);
      if (worker != 0 || std::this_thread::get_id() != outer) elsewhere.fetch_add(1);
    });
  });
  EXPECT_EQ(inner.load(), 16 * 8);
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST_P(Teams, CallersAtTheSameTimeAllFinish) {
  ThreadTeam team(GetParam());
  std::vector<std::thread> callers;
  std::vector<std::int64_t> sums(4, 0);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<std::int64_t> sum{0};
        team.ParallelFor(32, [&](std::int64_t chunk, int) { sum.fetch_add(chunk); });
        sums[c] += sum.load();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::int64_t sum : sums) EXPECT_EQ(sum, 200 * 31 * 32 / 2);
}

TEST(ThreadTeam, WorkersThatSleepWakeUp) {
  ThreadTeam team(3, false);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    team.ParallelFor(6, [&](std::int64_t, int) { ran.fetch_add(1); });
    ASSERT_EQ(ran.load(), 6);
  }
  team.StopSpinning();
  std::atomic<int> ran{0};
  team.ParallelFor(6, [&](std::int64_t, int) { ran.fetch_add(1); });
  EXPECT_EQ(ran.load(), 6);
}

TEST(ThreadTeam, OneTeamInsideAnother) {
  ThreadTeam outer(2), inner(2);
  std::atomic<int> ran{0};
  outer.ParallelFor(4, [&](std::int64_t, int) {
    inner.ParallelFor(4, [&](std::int64_t, int) {
      outer.ParallelFor(2, [&](std::int64_t, int) { ran.fetch_add(1); });
    });
  });
  EXPECT_EQ(ran.load(), 32);
}

TEST(ThreadTeam, SizesBelowOneMeanTheCaller) { EXPECT_EQ(ThreadTeam(-3).size(), 1); }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[noreturn]] void StartMoreThanFit() {
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = rlim_t{1} << 28;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
  try {
    const ThreadTeam team(200);
  } catch (const Error& error) {
    std::_Exit(error.code() == ErrorCode::kRuntimeException ? 0 : 2);
  }
  std::_Exit(1);
}

TEST(ThreadTeamDeathTest, TooManyThreadsAreAnError) {
  EXPECT_EXIT(StartMoreThanFit(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace switchyard
