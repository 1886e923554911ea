#include "switchyard/base/version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace switchyard {
namespace {

TEST(Version, HasThreeParts) {
  const std::string_view version = Version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
}

}  // namespace
}  // namespace switchyard
