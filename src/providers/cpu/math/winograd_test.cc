#include "providers/cpu/math/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {

extern const WinogradOps kWinogradWidePortable;

namespace {

std::vector<float> Random(std::int64_t n, std::uint32_t seed) {
  std::minstd_rand rng(seed + 1);
  std::uniform_real_distribution<float> dist(-1.0f, 1.0f);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = dist(rng);
  return v;
}

void Check(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t h, std::int64_t w,
           std::int64_t pad_y, std::int64_t pad_x, std::int64_t end_y, std::int64_t end_x) {
  ConvShape s;
  s.batch = batch;
  s.in_channels = in;
  s.out_channels = out;
  s.in[1] = h;
  s.in[2] = w;
  s.kernel[1] = s.kernel[2] = 3;
  s.pad[1] = pad_y;
  s.pad[2] = pad_x;
  s.out[1] = h + pad_y + end_y - 2;
  s.out[2] = w + pad_x + end_x - 2;
  const std::int64_t pixels = s.out[1] * s.out[2];
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::vector<float> x = Random(batch * in * h * w, 1);
  const std::vector<float> weight = Random(out * in * 9, 2);
  const std::vector<float> bias = Random(out, 3);
  const std::vector<float> residual = Random(batch * out * pixels, 4);
  std::vector<double> want(residual.size());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t at = (n * out + o) * pixels + p;
        double sum = static_cast<double>(bias[size(o)]) + static_cast<double>(residual[size(at)]);
        for (std::int64_t c = 0; c < in; ++c) {
          for (std::int64_t tap = 0; tap < 9; ++tap) {
            const std::int64_t y = p / s.out[2] - pad_y + tap / 3;
            const std::int64_t z = p % s.out[2] - pad_x + tap % 3;
            if (y < 0 || y >= h || z < 0 || z >= w) continue;
            sum += static_cast<double>(x[size(((n * in + c) * h + y) * w + z)]) *
                   static_cast<double>(weight[size((o * in + c) * 9 + tap)]);
          }
        }
        want[size(at)] = std::max(0.0, sum);
      }
    }
  }
  std::vector<std::pair<std::string, const WinogradOps*>> levels;
  for (IsaLevel isa : TestableLevels()) levels.emplace_back(LevelName(isa), &WinogradFor(isa));
  levels.emplace_back("wide portable", &kWinogradWidePortable);
  for (const auto& [name, ops] : levels) {
    ASSERT_TRUE(ops->applies(s));
    std::vector<float> packed(ops->packed_weight_elements(s));
    for (std::int64_t i = 0; i < ops->weight_panels(s); ++i) {
      ops->pack_weight(s, weight.data(), i, i + 1, packed.data());
    }
    const WinogradPlan plan = ops->plan(s);
    std::vector<float> y(want.size() + 8, -77.0f);
    std::vector<double> scratch(plan.scratch_bytes / 8 + 1);
    Epilogue e;
    e.bias_row = bias.data();
    e.residual = residual.data();
    e.residual_ld = pixels;
    e.residual_batch_stride = out * pixels;
    e.activation = Activation::kRelu;
    const ConvArgs args{x.data(), packed.data(), y.data(), &e};
    for (std::int64_t i = plan.chunks - 1; i >= 0; --i) {
      ops->run_chunk(plan, args, i, scratch.data());
    }
    // Each of the 36 products is a running sum over the channels, whose rounding grows with their
    // number; the transforms amplify it by some tens. The same algorithm in single precision in
    // plain loops has 2e-5, 2e-4 and 6e-4 for 5, 64 and 400 channels over far fewer outputs.
    const double tolerance = 2e-5 * (1 + static_cast<double>(in) / 4);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(y[i], want[i], tolerance)
          << name << " " << in << "x" << h << "x" << w << " at " << i;
    }
    for (std::size_t i = want.size(); i < y.size(); ++i) ASSERT_EQ(y[i], -77.0f) << name;
  }
}

TEST(Winograd, MatchesReference) {
  for (std::int64_t size : {3, 4, 5, 7, 14, 17, 30, 56, 67}) {
    Check(2, 3, 7, size, size + 2, 1, 1, 1, 1);
    Check(1, 5, 30, size + 1, size, 0, 2, 2, 0);
    if (HasFatalFailure()) return;
  }
  Check(1, 64, 64, 28, 28, 1, 1, 1, 1);
  Check(1, 400, 130, 14, 14, 1, 1, 1, 1);
}

}  // namespace
}  // namespace switchyard::cpu::math
