#include "providers/cpu/math/conv_transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {

extern const ConvTransposeOps kConvTransposeWidePortable;

namespace {

std::vector<float> Random(std::int64_t n, std::uint32_t seed) {
  std::minstd_rand rng(seed + 1);
  std::uniform_real_distribution<float> dist(-1.0f, 1.0f);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = dist(rng);
  return v;
}

std::int64_t Volume(const std::int64_t (&d)[3]) { return d[0] * d[1] * d[2]; }

ConvShape Shape(std::int64_t batch, std::int64_t groups, std::int64_t in, std::int64_t out,
                std::vector<std::int64_t> size, std::vector<std::int64_t> kernel,
                std::vector<std::int64_t> stride, std::vector<std::int64_t> dilation,
                std::vector<std::int64_t> pad, std::vector<std::int64_t> pad_end) {
  ConvShape s;
  s.batch = batch;
  s.groups = groups;
  s.in_channels = in;
  s.out_channels = out;
  const std::size_t skip = 3 - size.size();
  for (std::size_t i = 0; i < size.size(); ++i) {
    s.in[skip + i] = size[i];
    s.kernel[skip + i] = kernel[i];
    s.stride[skip + i] = stride[i];
    s.dilation[skip + i] = dilation[i];
    s.pad[skip + i] = pad[i];
    s.out[skip + i] =
        (size[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - pad[i] - pad_end[i];
  }
  return s;
}

std::vector<double> Reference(const ConvShape& s, const std::vector<float>& x,
                              const std::vector<float>& w) {
  std::vector<double> y(static_cast<std::size_t>(s.batch * s.out_channels * Volume(s.out)));
  const std::int64_t gi = s.in_channels / s.groups;
  const std::int64_t go = s.out_channels / s.groups;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t c = 0; c < s.in_channels; ++c) {
      for (std::int64_t p = 0; p < Volume(s.in); ++p) {
        const std::int64_t pos[3] = {p / (s.in[1] * s.in[2]), p / s.in[2] % s.in[1], p % s.in[2]};
        for (std::int64_t o = 0; o < go; ++o) {
          for (std::int64_t k = 0; k < Volume(s.kernel); ++k) {
            const std::int64_t tap[3] = {k / (s.kernel[1] * s.kernel[2]),
                                         k / s.kernel[2] % s.kernel[1], k % s.kernel[2]};
            std::int64_t index = n * s.out_channels + c / gi * go + o;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const std::int64_t i = pos[d] * s.stride[d] + tap[d] * s.dilation[d] - s.pad[d];
              inside = inside && i >= 0 && i < s.out[d];
              index = index * s.out[d] + i;
            }
            if (!inside) continue;
            y[static_cast<std::size_t>(index)] +=
                static_cast<double>(
                    x[static_cast<std::size_t>((n * s.in_channels + c) * Volume(s.in) + p)]) *
                static_cast<double>(
                    w[static_cast<std::size_t>((c * go + o) * Volume(s.kernel) + k)]);
          }
        }
      }
    }
  }
  return y;
}

void Check(const ConvShape& s) {
  const std::vector<float> x = Random(s.batch * s.in_channels * Volume(s.in), 1);
  const std::vector<float> w =
      Random(s.in_channels * s.out_channels / s.groups * Volume(s.kernel), 2);
  const std::vector<float> bias = Random(s.out_channels, 3);
  const std::vector<double> want = Reference(s, x, w);
  std::vector<std::pair<std::string, const ConvTransposeOps*>> levels;
  for (IsaLevel isa : TestableLevels()) levels.emplace_back(LevelName(isa), &ConvTransposeFor(isa));
  levels.emplace_back("wide portable", &kConvTransposeWidePortable);
  const auto pixels = static_cast<std::size_t>(Volume(s.out));
  for (const auto& [name, ops] : levels) {
    std::vector<float> packed(ops->packed_weight_elements(s));
    for (std::int64_t i = 0; i < ops->weight_panels(s); ++i) {
      ops->pack_weight(s, w.data(), i, i + 1, packed.data());
    }
    const ConvTransposePlan plan = ops->plan(s);
    std::vector<float> y(want.size() + 8, -77.0f);
    std::vector<double> scratch(plan.scratch_bytes / 8 + 1);
    Epilogue e;
    e.bias_row = bias.data();
    e.activation = Activation::kRelu;
    const ConvArgs args{x.data(), packed.data(), y.data(), &e};
    for (std::int64_t i = plan.chunks - 1; i >= 0; --i) {
      ops->run_chunk(plan, args, i, scratch.data());
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double v =
          std::max(0.0, want[i] + static_cast<double>(
                                      bias[i / pixels % static_cast<std::size_t>(s.out_channels)]));
      ASSERT_NEAR(y[i], v, 2e-5) << name << " at " << i << " kernel " << s.kernel[1] << "x"
                                 << s.kernel[2] << " stride " << s.stride[2];
    }
    for (std::size_t i = want.size(); i < y.size(); ++i) ASSERT_EQ(y[i], -77.0f) << name;
  }
}

TEST(ConvTranspose, TwoDimensional) {
  for (std::int64_t k : {1, 2, 3, 4, 5}) {
    for (std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t dilation : {1, 2}) {
        for (std::int64_t pad = 0; pad <= std::min<std::int64_t>(2, k / 2); ++pad) {
          Check(Shape(2, 1, 5, 13, {6, 19}, {k, k}, {stride, stride}, {dilation, dilation},
                      {pad, pad}, {pad, pad}));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(ConvTranspose, OtherShapes) {
  Check(Shape(1, 1, 64, 32, {14, 14}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}));
  Check(Shape(1, 1, 100, 8, {5, 40}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}));
  Check(Shape(2, 2, 6, 8, {7, 9}, {3, 2}, {1, 3}, {2, 1}, {1, 0}, {0, -2}));
  Check(Shape(1, 4, 4, 4, {7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}));
  Check(Shape(1, 1, 7, 3, {50}, {16}, {8}, {1}, {4}, {4}));
  Check(Shape(1, 1, 3, 4, {3, 4, 5}, {2, 3, 3}, {2, 1, 2}, {1, 2, 1}, {0, 1, 1}, {1, 0, 0}));
  Check(Shape(1, 1, 3, 4, {1, 1}, {5, 5}, {4, 4}, {1, 1}, {3, 3}, {1, 1}));
}

}  // namespace
}  // namespace switchyard::cpu::math
