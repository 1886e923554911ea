#include "providers/cpu/math/vec_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

TEST(VecPool, WindowsOfEveryLengthAndStride) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> values(-2, 2);
  for (IsaLevel level : TestLevels()) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t kernel : {1, 2, 3, 5}) {
        for (int64_t dilation : {1, 2}) {
          for (int64_t n = 0; n < 40; ++n) {
            // Exactly as long as needed: an overrun is a finding for the sanitizers.
            std::vector<float> row(
                n == 0 ? 0
                       : static_cast<std::size_t>((n - 1) * stride + (kernel - 1) * dilation + 1));
            for (float& v : row) v = random() % 17 == 0 ? NAN : values(random);
            std::vector<float> most(static_cast<std::size_t>(n)), sum(most);
            MaxWindows(row.data(), most.data(), n, stride, kernel, dilation, level);
            SumWindows(row.data(), sum.data(), n, stride, kernel, dilation, level);
            for (int64_t i = 0; i < n; ++i) {
              float best = -INFINITY, total = row[static_cast<std::size_t>(i * stride)];
              bool nan = false;
              for (int64_t k = 0; k < kernel; ++k) {
                const float v = row[static_cast<std::size_t>(i * stride + k * dilation)];
                nan |= std::isnan(v);
                best = std::max(best, v);
                if (k > 0) total += v;
              }
              const float got = most[static_cast<std::size_t>(i)];
              if (nan) {
                EXPECT_TRUE(std::isnan(got));
              } else {
                EXPECT_EQ(got, best);
                EXPECT_EQ(sum[static_cast<std::size_t>(i)], total);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
