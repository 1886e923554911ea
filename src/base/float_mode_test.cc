#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "switchyard/base/thread_team.h"

namespace switchyard {
namespace {

bool KeepsDenormals() {
  volatile float tiny = 1e-39f;
  return tiny * 2 != 0;
}

TEST(DenormalMode, HoldsForItsTimeOnly) {
  ASSERT_TRUE(KeepsDenormals());
  {
    const DenormalMode flush(true);
    EXPECT_EQ(KeepsDenormals(), FloatMode() == 0);
    {
      const DenormalMode keep(false);
      EXPECT_TRUE(KeepsDenormals());
    }
    EXPECT_EQ(KeepsDenormals(), FloatMode() == 0);
  }
  EXPECT_TRUE(KeepsDenormals());
}

TEST(DenormalMode, IsTheCallersOnAllThreadsOfALoop) {
  ThreadTeam team(3);
  for (const bool flush : {true, false, true, false}) {
    const DenormalMode mode(flush);
    const bool expected = KeepsDenormals();
    std::atomic<int> others{0};
    team.ParallelFor(64, [&](std::int64_t, int) {
      if (KeepsDenormals() != expected) ++others;
    });
    EXPECT_EQ(others.load(), 0);
  }
}

}  // namespace
}  // namespace switchyard
