#include "providers/cpu/math/igemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {

extern const IgemmOps kIgemmWidePortable;

namespace {

struct Level {
  std::string name;
  const IgemmOps* ops;
};

std::vector<Level> Levels() {
  std::vector<Level> levels;
  for (IsaLevel isa : TestableLevels()) levels.push_back({LevelName(isa), &IgemmFor(isa, true)});
  levels.push_back({"wide portable", &kIgemmWidePortable});
  return levels;
}

std::int32_t Value(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}

void Check(std::int64_t m, std::int64_t n, std::int64_t k, int variant, bool extreme) {
  const bool a_signed = variant & 1;
  const bool b_signed = variant & 2;
  const bool transposed = variant & 4;
  const bool per_axis = variant & 8;
  std::minstd_rand rng(static_cast<std::uint32_t>(m * 7 + n * 3 + k + variant + 1));
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  std::vector<std::uint8_t> a(size(m * k)), b(size(k * n));
  for (auto& x : a) x = static_cast<std::uint8_t>(extreme ? (a_signed ? 0x80 : 0xff) : rng() >> 8);
  for (auto& x : b) x = static_cast<std::uint8_t>(extreme ? (b_signed ? 0x80 : 0xff) : rng() >> 8);
  std::vector<std::int32_t> za(size(m)), zb(size(n)), bias(size(n));
  for (auto& x : za) x = per_axis ? static_cast<std::int32_t>(rng() % 100) : 7;
  for (auto& x : zb) x = per_axis ? static_cast<std::int32_t>(rng() % 100) - 50 : -3;
  for (auto& x : bias) x = static_cast<std::int32_t>(rng() % 1000);
  for (const Level& level : Levels()) {
    for (bool packed : {false, true}) {
      GemmShape shape{m, n, k};
      shape.b = transposed ? MatrixForm::kTransposed : MatrixForm::kRowMajor;
      IgemmArgs args;
      args.a = a.data();
      args.lda = k;
      args.a_signed = a_signed;
      args.b = b.data();
      args.ldb = transposed ? k : n;
      args.b_signed = b_signed;
      args.a_zero = 7;
      args.b_zero = -3;
      if (per_axis) {
        args.a_zero_rows = za.data();
        args.b_zero_cols = zb.data();
      }
      args.bias_col = bias.data();
      std::vector<std::int64_t> pb(level.ops->packed_b_bytes(k, n) / 8 + 1);
      if (packed) {
        for (std::int64_t i = 0; i < level.ops->b_panels(n); ++i) {
          level.ops->pack_b(b.data(), b_signed, args.ldb, shape.b, k, n, i, i + 1, pb.data());
        }
        args.b = pb.data();
        shape.b = MatrixForm::kPacked;
      }
      const GemmPlan plan = level.ops->plan(shape);
      std::vector<std::int32_t> c(size(m * n));
      args.c = c.data();
      args.ldc = n;
      std::vector<std::int64_t> scratch(plan.scratch_bytes / 8 + 1);
      for (std::int64_t i = 0; i < plan.chunks; ++i) {
        level.ops->run_chunk(plan, args, i, scratch.data());
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          std::int64_t want = bias[size(j)];
          for (std::int64_t t = 0; t < k; ++t) {
            want += static_cast<std::int64_t>(Value(a[size(i * k + t)], a_signed) - za[size(i)]) *
                    (Value(b[size(transposed ? j * k + t : t * n + j)], b_signed) - zb[size(j)]);
          }
          ASSERT_EQ(c[size(i * n + j)], static_cast<std::int32_t>(want))
              << level.name << " " << m << "x" << n << "x" << k << " variant " << variant
              << " packed " << packed << " at " << i << "," << j;
        }
      }
    }
  }
}

// Results in bytes and floats, from rows packed before or not; scales and biases of either side.
void CheckResults(std::int64_t m, std::int64_t n, std::int64_t k, int variant) {
  const bool a_signed = variant & 1, b_signed = variant & 2, packed_a = variant & 4;
  const bool by_rows = variant & 8, result_signed = variant & 16;
  std::minstd_rand rng(static_cast<std::uint32_t>(m * 31 + n * 5 + k + variant + 1));
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  std::vector<std::uint8_t> a(size(m * k)), b(size(k * n));
  for (auto& x : a) x = static_cast<std::uint8_t>(rng() >> 8);
  for (auto& x : b) x = static_cast<std::uint8_t>(rng() >> 8);
  std::vector<std::int32_t> bias(size(by_rows ? m : n));
  std::vector<float> scales(bias.size()), float_bias(size(n));
  for (auto& x : bias) x = static_cast<std::int32_t>(rng() % 1000) - 500;
  for (auto& x : scales) x = static_cast<float>(rng() % 100 + 1) / 4096.0f;
  for (auto& x : float_bias) x = static_cast<float>(rng() % 100);
  for (const Level& level : Levels()) {
    GemmShape shape{m, n, k};
    IgemmArgs args;
    args.a = a.data();
    args.lda = k;
    args.a_signed = a_signed;
    args.b = b.data();
    args.ldb = n;
    args.b_signed = b_signed;
    args.ldc = n;
    args.a_zero = 3;
    args.b_zero = 5;
    (by_rows ? args.bias_row : args.bias_col) = bias.data();
    (by_rows ? args.scale_rows : args.scale_cols) = scales.data();
    args.float_bias_col = float_bias.data();
    args.c_zero = result_signed ? -7 : 120;
    std::vector<std::int64_t> pa(level.ops->packed_a_bytes(m, k) / 8 + 1);
    if (packed_a) {
      level.ops->pack_a(a.data(), a_signed, k, m, k, 0, m / 2, pa.data());
      level.ops->pack_a(a.data(), a_signed, k, m, k, m / 2, m, pa.data());
      args.a = pa.data();
      shape.a = MatrixForm::kPacked;
    }
    const GemmPlan plan = level.ops->plan(shape);
    std::vector<std::int64_t> scratch(plan.scratch_bytes / 8 + 1);
    const auto run = [&](IgemmResult result, void* c) {
      args.result = result;
      args.c = c;
      for (std::int64_t i = 0; i < plan.chunks; ++i)
        level.ops->run_chunk(plan, args, i, scratch.data());
    };
    std::vector<std::int32_t> sums(size(m * n));
    std::vector<std::uint8_t> bytes(size(m * n) + 1, 0xcd);
    std::vector<float> floats(size(m * n));
    run(IgemmResult::kSums, sums.data());
    run(result_signed ? IgemmResult::kInt8 : IgemmResult::kUint8, bytes.data());
    run(IgemmResult::kFloat, floats.data());
    ASSERT_EQ(bytes.back(), 0xcd) << level.name;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::size_t at = size(i * n + j), line = size(by_rows ? i : j);
        const std::int32_t sum = sums[at];
        std::int64_t want = bias[line];
        for (std::int64_t t = 0; t < k; ++t) {
          want += (Value(a[size(i * k + t)], a_signed) - std::int64_t{3}) *
                  (Value(b[size(t * n + j)], b_signed) - 5);
        }
        ASSERT_EQ(sum, want) << level.name;
        double scaled =
            std::nearbyint(static_cast<double>(sum) * static_cast<double>(scales[line]));
        scaled = std::clamp(scaled + args.c_zero, result_signed ? -128.0 : 0.0,
                            result_signed ? 127.0 : 255.0);
        ASSERT_EQ(Value(bytes[at], result_signed), scaled)
            << level.name << " " << m << "x" << n << "x" << k << " variant " << variant;
        ASSERT_EQ(floats[at], static_cast<float>(sum) * scales[line] + float_bias[size(j)])
            << level.name;
      }
    }
  }
}

TEST(Igemm, ResultsAreRoundedAndScaled) {
  for (int variant = 0; variant < 32; ++variant) {
    CheckResults(7, 19, 21, variant);
    CheckResults(1, 5, 130, variant);
    CheckResults(101, 70, 9, variant);
    CheckResults(13, 300, 0, variant);
    if (HasFatalFailure()) return;
  }
}

TEST(Igemm, ExactOnOddShapes) {
  for (std::int64_t m : {0, 1, 2, 5, 6, 7, 13}) {
    for (std::int64_t n : {0, 1, 3, 8, 15, 16, 17, 65}) {
      for (std::int64_t k : {0, 1, 2, 3, 4, 5, 33, 130}) {
        for (int variant = 0; variant < 16; ++variant) {
          Check(m, n, k, variant, false);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Igemm, ExactAcrossChunksAndAtTheExtremes) {
  for (int variant = 0; variant < 16; ++variant) {
    Check(100, 300, 257, variant, false);
    Check(3, 20, 3000, variant, true);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
