#include "providers/cpu/kernels/common/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace switchyard::cpu {
namespace {

using Complex = Fourier::Complex;

TEST(Fourier, EqualsTheSumForEveryKindOfLength) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 8, 12, 30, 61, 64, 67, 97, 128, 134, 200, 201}) {
    for (const bool inverse : {false, true}) {
      std::vector<Complex> in(static_cast<std::size_t>(n)), out(in.size());
      std::vector<Complex> table(static_cast<std::size_t>(Fourier::TableSize(n)));
      std::vector<Complex> work(static_cast<std::size_t>(Fourier::WorkSize(n)));
      for (std::int64_t i = 0; i < n; ++i) {
        const auto x = static_cast<double>(i);
        in[static_cast<std::size_t>(i)] = {std::sin(1 + x * x), std::cos(2 + 3 * x)};
      }
      const Fourier fourier(n, inverse, table.data());
      fourier.Run(in.data(), out.data(), work.data());
      for (std::int64_t k = 0; k < n; ++k) {
        Complex sum;
        for (std::int64_t i = 0; i < n; ++i) {
          const double angle = (inverse ? 2 : -2) * std::numbers::pi *
                               static_cast<double>(i * k % n) / static_cast<double>(n);
          sum += in[static_cast<std::size_t>(i)] * Complex(std::cos(angle), std::sin(angle));
        }
        EXPECT_NEAR(std::abs(out[static_cast<std::size_t>(k)] - sum), 0.0, 1e-10)
            << "length " << n << ", bin " << k;
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu
