#include "providers/cpu/math/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {

extern const ConvOps kConvWidePortable;

namespace {

struct Level {
  std::string name;
  const ConvOps* ops;
};

std::vector<Level> Levels() {
  std::vector<Level> levels;
  for (IsaLevel isa : TestableLevels()) levels.push_back({LevelName(isa), &ConvFor(isa)});
  levels.push_back({"wide portable", &kConvWidePortable});
  return levels;
}

std::vector<float> Random(std::int64_t n, std::uint32_t seed) {
  std::minstd_rand rng(seed + 1);
  std::uniform_real_distribution<float> dist(-1.0f, 1.0f);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = dist(rng);
  return v;
}

std::int64_t Volume(const std::int64_t (&d)[3]) { return d[0] * d[1] * d[2]; }

// pad_end completes the shape.
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
        (size[i] + pad[i] + pad_end[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
  return s;
}

std::vector<double> Reference(const ConvShape& s, const std::vector<float>& x,
                              const std::vector<float>& w, std::vector<double>* magnitude) {
  std::vector<double> y(static_cast<std::size_t>(s.batch * s.out_channels * Volume(s.out)));
  magnitude->assign(y.size(), 0);
  const std::int64_t gi = s.in_channels / s.groups;
  const std::int64_t go = s.out_channels / s.groups;
  std::size_t at = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      for (std::int64_t p = 0; p < Volume(s.out); ++p, ++at) {
        const std::int64_t pos[3] = {p / (s.out[1] * s.out[2]), p / s.out[2] % s.out[1],
                                     p % s.out[2]};
        for (std::int64_t c = 0; c < gi; ++c) {
          for (std::int64_t k = 0; k < Volume(s.kernel); ++k) {
            const std::int64_t tap[3] = {k / (s.kernel[1] * s.kernel[2]),
                                         k / s.kernel[2] % s.kernel[1], k % s.kernel[2]};
            std::int64_t index = n * s.in_channels + o / go * gi + c;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const std::int64_t i = pos[d] * s.stride[d] - s.pad[d] + tap[d] * s.dilation[d];
              inside = inside && i >= 0 && i < s.in[d];
              index = index * s.in[d] + i;
            }
            if (!inside) continue;
            const double product =
                static_cast<double>(x[static_cast<std::size_t>(index)]) *
                static_cast<double>(
                    w[static_cast<std::size_t>((o * gi + c) * Volume(s.kernel) + k)]);
            y[at] += product;
            (*magnitude)[at] += std::abs(product);
          }
        }
      }
    }
  }
  return y;
}

std::vector<float> Compute(const ConvOps& ops, ConvShape s, const std::vector<float>& x,
                           const std::vector<float>& w, const Epilogue* e, bool packed) {
  s.weight_packed = packed;
  std::vector<float> pw(ops.packed_weight_elements(s));
  for (std::int64_t i = 0; i < ops.weight_panels(s); ++i)
    ops.pack_weight(s, w.data(), i, i + 1, pw.data());
  const ConvPlan plan = ops.plan(s);
  std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_channels * Volume(s.out)) + 8,
                       -77.0f);
  ConvArgs args;
  args.input = x.data();
  args.weight = packed ? pw.data() : w.data();
  args.output = y.data();
  args.epilogue = e;
  std::vector<double> scratch(plan.scratch_bytes / 8);
  for (std::int64_t i = plan.chunks - 1; i >= 0; --i) ops.run_chunk(plan, args, i, scratch.data());
  for (std::size_t i = y.size() - 8; i < y.size(); ++i) EXPECT_EQ(y[i], -77.0f);
  y.resize(y.size() - 8);
  return y;
}

void Check(const ConvShape& s) {
  const std::int64_t gi = s.in_channels / s.groups;
  const std::vector<float> x = Random(s.batch * s.in_channels * Volume(s.in), 1);
  const std::vector<float> w = Random(s.out_channels * gi * Volume(s.kernel), 2);
  const std::vector<float> bias = Random(s.out_channels, 3);
  const std::int64_t pixels = Volume(s.out);
  const std::vector<float> residual = Random(s.batch * s.out_channels * pixels, 4);
  std::vector<double> magnitude;
  const std::vector<double> want = Reference(s, x, w, &magnitude);
  for (const Level& level : Levels()) {
    for (int variant = 0; variant < 4; ++variant) {
      Epilogue e;
      if (variant > 0) e.bias_row = bias.data();
      if (variant > 1) {
        e.residual = residual.data();
        e.residual_ld = pixels;
        e.residual_batch_stride = s.out_channels * pixels;
        e.activation = variant == 2 ? Activation::kRelu : Activation::kHardSwish;
      }
      const std::vector<float> y =
          Compute(*level.ops, s, x, w, variant > 0 ? &e : nullptr, variant % 2 == 0);
      ASSERT_EQ(y.size(), want.size());
      for (std::size_t i = 0; i < y.size(); ++i) {
        double v = want[i];
        if (variant > 0) {
          v +=
              bias[i / static_cast<std::size_t>(pixels) % static_cast<std::size_t>(s.out_channels)];
        }
        if (variant > 1) v += residual[i];
        if (variant == 2) v = std::max(v, 0.0);
        if (variant == 3) v *= std::min(1.0, std::max(0.0, v / 6 + 0.5));
        ASSERT_NEAR(y[i], v, 1e-6 + 4e-7 * (magnitude[i] + 1) * 2)
            << level.name << " variant " << variant << " in " << s.in_channels << "x" << s.in[0]
            << "x" << s.in[1] << "x" << s.in[2] << " kernel " << s.kernel[1] << "x" << s.kernel[2]
            << " at " << i;
      }
    }
  }
}

TEST(Conv, TwoDimensional) {
  for (std::int64_t k : {1, 2, 3, 5, 7}) {
    for (std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t size : {7, 14, 19, 33}) {
        Check(Shape(2, 1, 3, 10, {size, size + 1}, {k, k}, {stride, stride}, {1, 1}, {k / 2, k / 2},
                    {k / 2, (k - 1) / 2}));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Conv, AsymmetricEverything) {
  Check(Shape(1, 1, 5, 13, {11, 17}, {3, 2}, {2, 1}, {2, 3}, {0, 3}, {4, 1}));
  Check(Shape(1, 1, 5, 13, {11, 17}, {2, 3}, {1, 2}, {3, 2}, {5, 0}, {0, 5}));
  Check(Shape(2, 2, 6, 8, {9, 40}, {1, 7}, {1, 1}, {1, 1}, {0, 3}, {0, 3}));
  Check(Shape(1, 1, 2, 4, {5, 5}, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
  Check(Shape(1, 1, 4, 4, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {-1, -2}, {-2, 0}));
  Check(Shape(1, 1, 4, 4, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {6, 6}, {6, 6}));
  Check(Shape(1, 1, 3, 20, {32, 32}, {16, 16}, {16, 16}, {1, 1}, {0, 0}, {0, 0}));
}

TEST(Conv, OneAndThreeDimensional) {
  Check(Shape(2, 1, 7, 9, {50}, {5}, {1}, {1}, {2}, {2}));
  Check(Shape(2, 1, 80, 30, {100}, {3}, {2}, {1}, {1}, {1}));
  Check(Shape(1, 3, 6, 9, {41}, {4}, {3}, {2}, {1}, {4}));
  Check(Shape(1, 1, 3, 8, {6, 9, 10}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  Check(Shape(2, 2, 4, 6, {5, 7, 9}, {2, 3, 1}, {2, 1, 2}, {1, 2, 1}, {1, 0, 2}, {0, 3, 1}));
  Check(Shape(1, 4, 4, 4, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
}

TEST(Conv, PointwiseAndDeep) {
  Check(Shape(2, 1, 65, 70, {13, 15}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
  Check(Shape(1, 1, 900, 33, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
  Check(Shape(1, 1, 64, 128, {14, 14}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}));
  Check(Shape(1, 1, 70, 200, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
  Check(Shape(1, 1, 48, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
  Check(Shape(1, 1, 48, 20, {16, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
  Check(Shape(1, 8, 64, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
}

TEST(Conv, Depthwise) {
  for (std::int64_t k : {2, 3, 4, 5, 7}) {
    for (std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t size : {5, 14, 23, 56}) {
        Check(Shape(2, 6, 6, 6, {size, size}, {k, k}, {stride, stride}, {1, 1}, {k / 2, k / 2},
                    {k / 2, k / 2}));
        if (HasFatalFailure()) return;
      }
    }
  }
  Check(Shape(1, 4, 4, 12, {17, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
  Check(Shape(1, 4, 4, 4, {17, 30}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}));
  Check(Shape(1, 4, 4, 4, {17, 30}, {3, 3}, {2, 1}, {1, 1}, {2, 0}, {0, 1}));
  Check(Shape(1, 4, 4, 4, {1, 100}, {1, 5}, {1, 1}, {1, 1}, {0, 2}, {0, 2}));
  Check(Shape(2, 5, 5, 5, {77}, {9}, {1}, {1}, {4}, {4}));
  Check(Shape(1, 3, 3, 3, {200, 210}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
}

}  // namespace
}  // namespace switchyard::cpu::math
