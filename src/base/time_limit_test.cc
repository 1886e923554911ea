#include "base/time_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

TEST(TimeLimit, HoldsForOneThreadAndItsTime) {
  EXPECT_EQ(TimeLimit::Current(), nullptr);
  CheckTimeLimit();
  {
    const TimeLimit none(0, "key");
    EXPECT_EQ(TimeLimit::Current(), nullptr);
    const TimeLimit limit(1, "key");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::thread([] { CheckTimeLimit(); }).join();
    try {
      CheckTimeLimit();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFail);
      EXPECT_NE(error.message().find("1 ms of key"), std::string::npos);
    }
    const TimeLimit longest(INT64_MAX, "key");
    CheckTimeLimit();
  }
  EXPECT_EQ(TimeLimit::Current(), nullptr);
}

}  // namespace
}  // namespace switchyard
