#include "switchyard/session/environment.h"

#include <gtest/gtest.h>

#include <thread>

namespace switchyard {
namespace {

TEST(Environment, ItsSeverityMayChangeWhileOthersLog) {
  Environment environment;
  std::thread setter([&] {
    for (int i = 0; i < 2000; ++i)
      environment.set_log_severity(i % 2 == 0 ? Severity::kError : Severity::kFatal);
  });
  for (int i = 0; i < 2000; ++i)
    environment.logger().Log(Severity::kVerbose, "test", "nobody sees this");
  setter.join();
  EXPECT_EQ(environment.logger().minimum(), Severity::kFatal);
}

}  // namespace
}  // namespace switchyard
