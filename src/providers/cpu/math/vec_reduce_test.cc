#include "providers/cpu/math/vec_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_norm.h"
#include "providers/cpu/math/vec_softmax.h"
#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

const std::vector<ReduceOp> kOps = {ReduceOp::kSum,      ReduceOp::kMean, ReduceOp::kProd,
                                    ReduceOp::kMin,      ReduceOp::kMax,  ReduceOp::kSumSquare,
                                    ReduceOp::kL1,       ReduceOp::kL2,   ReduceOp::kLogSum,
                                    ReduceOp::kLogSumExp};

double Reference(ReduceOp op, const std::vector<double>& v) {
  double sum = 0, prod = 1, lo = HUGE_VAL, hi = -HUGE_VAL, square = 0, l1 = 0, e = 0;
  for (double x : v) {
    sum += x, prod *= x, square += x * x, l1 += std::fabs(x), e += std::exp(x);
    lo = std::min(lo, x), hi = std::max(hi, x);
  }
  switch (op) {
    case ReduceOp::kSum:
      return sum;
    case ReduceOp::kMean:
      return sum / static_cast<double>(v.size());
    case ReduceOp::kProd:
      return prod;
    case ReduceOp::kMin:
      return lo;
    case ReduceOp::kMax:
      return hi;
    case ReduceOp::kSumSquare:
      return square;
    case ReduceOp::kL1:
      return l1;
    case ReduceOp::kL2:
      return std::sqrt(square);
    case ReduceOp::kLogSum:
      return std::log(sum);
    case ReduceOp::kLogSumExp:
      return std::log(e);
  }
  return 0;
}

// Elements of each output, by the definition.
std::vector<std::vector<double>> Groups(const std::vector<int64_t>& dims, const bool* reduced,
                                        const std::vector<float>& x) {
  int64_t outs = 1;
  for (size_t i = 0; i < dims.size(); ++i) outs *= reduced[i] ? 1 : dims[i];
  std::vector<std::vector<double>> groups(static_cast<size_t>(outs));
  for (size_t k = 0; k < x.size(); ++k) {
    int64_t rest = static_cast<int64_t>(k), out = 0, stride = 1;
    for (size_t b = 0; b < dims.size(); ++b) {
      const size_t i = dims.size() - 1 - b;
      if (!reduced[i]) out += rest % dims[i] * stride, stride *= dims[i];
      rest /= dims[i];
    }
    groups[static_cast<size_t>(out)].push_back(x[k]);
  }
  return groups;
}

TEST(VecReduce, AnyAxesOfAnyShape) {
  std::mt19937 rng(11);
  for (int round = 0; round < 200; ++round) {
    const size_t rank = 1 + rng() % 4;
    std::vector<int64_t> dims(rank);
    auto reduced = std::make_unique<bool[]>(rank);
    int64_t size = 1;
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = 1 + static_cast<int64_t>(rng() % (round % 4 == 0 ? 40 : 7));
      reduced[i] = rng() % 2;
      size *= dims[i];
    }
    std::vector<float> x(static_cast<size_t>(size));
    std::uniform_real_distribution<float> dist(0.5f, 1.5f);
    for (float& v : x) v = dist(rng);
    ReducePlan plan;
    ASSERT_TRUE(MakeReducePlan(dims, {reduced.get(), rank}, &plan));
    const auto groups = Groups(dims, reduced.get(), x);
    ASSERT_EQ(plan.out_size, static_cast<int64_t>(groups.size()));
    std::vector<double> wide(x.begin(), x.end());
    for (ReduceOp op : kOps) {
      for (IsaLevel level : TestLevels()) {
        std::vector<float> out(groups.size()), split(groups.size());
        RunReduce(GetReduce(op, ElemType::kFloat, level), plan, x.data(), out.data(), 0,
                  plan.out_size);
        const int64_t cut = static_cast<int64_t>(rng()) % (plan.out_size + 1);
        RunReduce(GetReduce(op, ElemType::kFloat, level), plan, x.data(), split.data(), cut,
                  plan.out_size);
        RunReduce(GetReduce(op, ElemType::kFloat, level), plan, x.data(), split.data(), 0, cut);
        ASSERT_EQ(std::memcmp(out.data(), split.data(), out.size() * 4), 0);
        std::vector<double> dout(groups.size());
        RunReduce(GetReduce(op, ElemType::kDouble, level), plan, wide.data(), dout.data(), 0,
                  plan.out_size);
        for (size_t i = 0; i < groups.size(); ++i) {
          const double want = Reference(op, groups[i]);
          ASSERT_NEAR(out[i], want, 2e-5 * std::max(1.0, std::fabs(want)))
              << static_cast<int>(op) << " of " << groups[i].size();
          ASSERT_NEAR(dout[i], want, 1e-11 * std::max(1.0, std::fabs(want)));
        }
      }
    }
  }
}

TEST(VecReduce, PartsEqualTheWhole) {
  std::mt19937 rng(2);
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{1, 300000}, std::vector<int64_t>{150000, 4}}) {
    std::vector<float> x(static_cast<size_t>(dims[0] * dims[1]));
    for (float& v : x) v = static_cast<float>(rng() % 1000) / 999;
    const bool rows[2] = {false, true}, columns[2] = {true, false};
    ReducePlan plan;
    ASSERT_TRUE(MakeReducePlan(dims, {dims[0] == 1 ? rows : columns, 2}, &plan));
    ASSERT_GT(plan.parts, 1);
    for (ReduceOp op : kOps) {
      const ReduceKernel k = GetReduce(op, ElemType::kFloat, TestLevels().back());
      std::vector<double> acc(static_cast<size_t>(plan.parts * plan.out_size));
      std::vector<float> a(4), b(4);
      RunReduce(k, plan, x.data(), a.data(), 0, plan.out_size);
      for (int64_t p = plan.parts - 1; p >= 0; --p) RunReducePart(k, plan, x.data(), p, acc.data());
      FinishReduce(k, plan, acc.data(), b.data());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(plan.out_size) * 4), 0);
    }
  }
}

TEST(VecReduce, IntegersNanAndEmpty) {
  const int32_t x[6] = {2147483647, 1, -5, 7, -3, 4};
  const int64_t dims[2] = {2, 3};
  const bool last[2] = {false, true};
  ReducePlan plan;
  ASSERT_TRUE(MakeReducePlan(dims, last, &plan));
  int32_t o[2];
  RunReduce(GetReduce(ReduceOp::kSum, ElemType::kInt32, IsaLevel::kBaseline), plan, x, o, 0, 2);
  EXPECT_EQ(o[0], static_cast<int32_t>(2147483643));
  EXPECT_EQ(o[1], 8);
  RunReduce(GetReduce(ReduceOp::kMean, ElemType::kInt32, IsaLevel::kBaseline), plan, x, o, 0, 2);
  EXPECT_EQ(o[1], 2);
  const uint64_t big[6] = {1, ~0ULL, 5, 0, 2, 1};
  uint64_t u[2];
  RunReduce(GetReduce(ReduceOp::kMax, ElemType::kUint64, IsaLevel::kBaseline), plan, big, u, 0, 2);
  EXPECT_EQ(u[0], ~0ULL);
  EXPECT_EQ(u[1], 2u);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (IsaLevel level : TestLevels()) {
    for (size_t n = 1; n < 68; ++n) {
      for (size_t at = 0; at < n; at += 5) {
        std::vector<float> v(n, 1.0f);
        v[at] = nan;
        const int64_t row[1] = {static_cast<int64_t>(n)};
        const bool all[1] = {true};
        ASSERT_TRUE(MakeReducePlan(row, all, &plan));
        float m;
        RunReduce(GetReduce(ReduceOp::kMax, ElemType::kFloat, level), plan, v.data(), &m, 0, 1);
        ASSERT_TRUE(std::isnan(m));
        RunReduce(GetReduce(ReduceOp::kMin, ElemType::kFloat, level), plan, v.data(), &m, 0, 1);
        ASSERT_TRUE(std::isnan(m));
      }
    }
  }
  const int64_t empty[2] = {3, 0};
  ASSERT_TRUE(MakeReducePlan(empty, last, &plan));
  float e[3];
  RunReduce(GetReduce(ReduceOp::kSum, ElemType::kFloat, IsaLevel::kBaseline), plan, x, e, 0, 3);
  EXPECT_EQ(e[2], 0.0f);
  RunReduce(GetReduce(ReduceOp::kMax, ElemType::kFloat, IsaLevel::kBaseline), plan, x, e, 0, 3);
  EXPECT_EQ(e[2], -HUGE_VALF);
  RunReduce(GetReduce(ReduceOp::kLogSumExp, ElemType::kFloat, IsaLevel::kBaseline), plan, x, e, 0,
            3);
  EXPECT_EQ(e[0], -HUGE_VALF);
}

TEST(VecReduce, ArgIndices) {
  std::mt19937 rng(4);
  for (int64_t axis : {1, 5, 67, 2500}) {
    for (int64_t inner : {1, 3, 300}) {
      std::vector<float> x(static_cast<size_t>(2 * axis * inner));
      for (float& v : x) v = static_cast<float>(rng() % 20);
      for (bool largest : {true, false}) {
        for (bool last : {true, false}) {
          std::vector<int64_t> out(static_cast<size_t>(2 * inner));
          RunArgReduce(largest, last, ElemType::kFloat, TestLevels().back(), x.data(), out.data(),
                       axis, inner, 0, 2 * inner);
          for (int64_t c = 0; c < 2 * inner; ++c) {
            const float* p = x.data() + (c / inner) * axis * inner + c % inner;
            int64_t best = 0;
            for (int64_t k = 1; k < axis; ++k) {
              const float a = p[k * inner], b = p[best * inner];
              if ((largest ? a > b : a < b) || (last && a == b)) best = k;
            }
            ASSERT_EQ(out[static_cast<size_t>(c)], best);
          }
        }
      }
    }
  }
}

TEST(VecReduce, CumulativeSums) {
  const int32_t x[4] = {1, 2, 3, 4};
  int32_t o[4];
  ASSERT_TRUE(RunCumSum(ElemType::kInt32, false, false, x, o, 4, 1, 0, 1));
  EXPECT_EQ(std::vector<int32_t>(o, o + 4), (std::vector<int32_t>{1, 3, 6, 10}));
  ASSERT_TRUE(RunCumSum(ElemType::kInt32, true, true, x, o, 4, 1, 0, 1));
  EXPECT_EQ(std::vector<int32_t>(o, o + 4), (std::vector<int32_t>{9, 7, 4, 0}));
  ASSERT_TRUE(RunCumSum(ElemType::kInt32, true, false, x, o, 2, 2, 0, 1));
  EXPECT_EQ(std::vector<int32_t>(o, o + 4), (std::vector<int32_t>{0, 0, 1, 2}));
}

TEST(VecSoftmax, AnyAxis) {
  std::mt19937 rng(9);
  std::normal_distribution<float> dist(0, 8);
  for (int64_t axis : {1, 2, 17, 66, 700}) {
    for (int64_t inner : {1, 2, 9, 260}) {
      std::vector<float> x(static_cast<size_t>(3 * axis * inner)), y(x.size()), z(x.size());
      for (float& v : x) v = dist(rng);
      for (IsaLevel level : TestLevels()) {
        for (SoftmaxKind kind : {SoftmaxKind::kSoftmax, SoftmaxKind::kLogSoftmax}) {
          ASSERT_TRUE(RunSoftmax(kind, ElemType::kFloat, level, x.data(), y.data(), axis, inner, 0,
                                 3 * inner));
          const int64_t cut = 3 * inner / 2;
          RunSoftmax(kind, ElemType::kFloat, level, x.data(), z.data(), axis, inner, cut,
                     3 * inner);
          RunSoftmax(kind, ElemType::kFloat, level, x.data(), z.data(), axis, inner, 0, cut);
          ASSERT_EQ(std::memcmp(y.data(), z.data(), y.size() * 4), 0);
          for (int64_t c = 0; c < 3 * inner; ++c) {
            const int64_t base = (c / inner) * axis * inner + c % inner;
            double top = -HUGE_VAL, sum = 0;
            for (int64_t k = 0; k < axis; ++k) top = std::max<double>(top, x[base + k * inner]);
            for (int64_t k = 0; k < axis; ++k) sum += std::exp(x[base + k * inner] - top);
            for (int64_t k = 0; k < axis; ++k) {
              const double l = x[base + k * inner] - top - std::log(sum);
              const double want = kind == SoftmaxKind::kSoftmax ? std::exp(l) : l;
              ASSERT_NEAR(y[base + k * inner], want, 2e-6 * std::max(1.0, std::fabs(want)));
            }
          }
        }
      }
    }
  }
}

TEST(VecNorm, LayerAndGroup) {
  std::mt19937 rng(1);
  std::normal_distribution<float> dist(3, 2);
  for (int64_t width : {1, 3, 31, 67, 768, 1500}) {
    std::vector<float> x(static_cast<size_t>(2 * width)), skip(x.size()), scale(width), bias(width);
    for (auto* v : {&x, &skip, &scale, &bias}) {
      for (float& f : *v) f = dist(rng);
    }
    for (IsaLevel level : TestLevels()) {
      for (bool rms : {false, true}) {
        std::vector<float> y(x.size()), sum(x.size());
        LayerNormArgs a;
        a.level = level, a.width = width, a.rms = rms, a.in = x.data(), a.skip = skip.data();
        a.scale = scale.data(), a.bias = bias.data(), a.out = y.data(), a.sum = sum.data();
        ASSERT_TRUE(RunLayerNorm(a, 0, 2));
        for (int64_t r = 0; r < 2; ++r) {
          double mean = 0, square = 0;
          for (int64_t i = 0; i < width; ++i) mean += x[r * width + i] + skip[r * width + i];
          mean = rms ? 0 : mean / static_cast<double>(width);
          for (int64_t i = 0; i < width; ++i) {
            const double c = x[r * width + i] + skip[r * width + i] - mean;
            square += c * c;
          }
          const double inv = 1 / std::sqrt(square / static_cast<double>(width) + 1e-5);
          for (int64_t i = 0; i < width; ++i) {
            const double s = x[r * width + i] + skip[r * width + i];
            ASSERT_NEAR(sum[r * width + i], s, 1e-5);
            const double want = (s - mean) * inv * scale[i] + bias[i];
            ASSERT_NEAR(y[r * width + i], want, 2e-4 + 2e-4 * std::fabs(want)) << width;
          }
        }
      }
      std::vector<float> y(x.size());
      GroupNormArgs g;
      g.level = level, g.groups = 1, g.channels_per_group = 1, g.spatial = width;
      g.in = x.data(), g.scale = scale.data(), g.bias = bias.data(), g.out = y.data();
      ASSERT_TRUE(RunGroupNorm(g, 0, 2));
      double mean = 0, square = 0;
      for (int64_t i = 0; i < width; ++i) mean += x[i];
      mean /= static_cast<double>(width);
      for (int64_t i = 0; i < width; ++i) square += (x[i] - mean) * (x[i] - mean);
      const double inv = 1 / std::sqrt(square / static_cast<double>(width) + 1e-5);
      for (int64_t i = 0; i < width; ++i) {
        ASSERT_NEAR(y[i], (x[i] - mean) * inv * scale[0] + bias[0], 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
