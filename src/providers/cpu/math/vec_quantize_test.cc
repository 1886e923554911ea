#include "providers/cpu/math/vec_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

int64_t ScaleIndex(const QuantLayout& l, int64_t e) {
  if (l.kind == QuantLayout::Kind::kTensor) return 0;
  const int64_t a = (e / l.inner) % l.axis;
  if (l.kind == QuantLayout::Kind::kAxis) return a;
  const int64_t blocks = (l.axis + l.block - 1) / l.block;
  return (e / l.inner / l.axis * blocks + a / l.block) * l.inner + e % l.inner;
}

template <class Q>
void Check(const QuantLayout& layout, ElemType type, int64_t outer, int low, int high) {
  std::mt19937 rng(13);
  const int64_t n = outer * layout.axis * layout.inner;
  std::vector<float> x(n), scale(n), back(n);
  std::vector<int32_t> zero(n);
  for (float& v : x) v = static_cast<float>(static_cast<int>(rng() % 4000) - 2000) / 8;
  for (float& v : scale) v = 0.25f * static_cast<float>(1 + rng() % 4);
  for (int32_t& v : zero) v = low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
  std::vector<uint8_t> raw_zero(n * 2 + 8), q(n * 2 + 8), split(n * 2 + 8);
  for (IsaLevel level : TestLevels()) {
    RunCast(GetCast(ElemType::kInt32, type, level), zero.data(), raw_zero.data(), 0, n);
    QuantArgs a;
    a.level = level, a.layout = layout, a.quant = type;
    a.scale = scale.data(), a.zero_point = raw_zero.data();
    ASSERT_TRUE(RunQuantize(a, x.data(), q.data(), 0, n));
    const int64_t cut = n / 16 * 8;
    ASSERT_TRUE(RunQuantize(a, x.data(), split.data(), cut, n));
    ASSERT_TRUE(RunQuantize(a, x.data(), split.data(), 0, cut));
    ASSERT_EQ(q, split);
    std::vector<int32_t> got(n);
    RunCast(GetCast(type, ElemType::kInt32, level), q.data(), got.data(), 0, n);
    ASSERT_TRUE(RunDequantize(a, q.data(), back.data(), 0, n));
    for (int64_t e = 0; e < n; ++e) {
      const int64_t k = ScaleIndex(layout, e);
      const float r = std::nearbyint(x[e] / scale[k]) + static_cast<float>(zero[k]);
      const int32_t want = static_cast<int32_t>(std::min<float>(std::max<float>(r, low), high));
      ASSERT_EQ(got[e], want) << e;
      ASSERT_EQ(back[e], static_cast<float>(want - zero[k]) * scale[k]);
    }
  }
}

TEST(VecQuantize, EveryLayoutAndWidth) {
  using Kind = QuantLayout::Kind;
  for (const QuantLayout& l :
       {QuantLayout{Kind::kTensor, 67, 1, 1}, QuantLayout{Kind::kAxis, 5, 13, 1},
        QuantLayout{Kind::kAxis, 67, 1, 1}, QuantLayout{Kind::kBlocked, 70, 1, 16},
        QuantLayout{Kind::kBlocked, 9, 7, 4}, QuantLayout{Kind::kAxis, 3, 700, 1}}) {
    Check<uint8_t>(l, ElemType::kUint8, 3, 0, 255);
    Check<int8_t>(l, ElemType::kInt8, 3, -128, 127);
    Check<uint16_t>(l, ElemType::kUint16, 3, 0, 65535);
    Check<int16_t>(l, ElemType::kInt16, 3, -32768, 32767);
    Check<uint8_t>(l, ElemType::kUint4, 3, 0, 15);
    Check<uint8_t>(l, ElemType::kInt4, 3, -8, 7);
    Check<uint8_t>(l, ElemType::kInt2, 3, -2, 1);
  }
}

TEST(VecQuantize, SpecialValuesFloat8AndHalf) {
  const float inf = HUGE_VALF, nan = std::numeric_limits<float>::quiet_NaN();
  const float x[6] = {inf, -inf, nan, 2.5f, 3.5f, -0.5f};
  const float one = 1;
  for (IsaLevel level : TestLevels()) {
    QuantArgs a;
    a.level = level, a.scale = &one, a.quant = ElemType::kInt8;
    int8_t q[6];
    ASSERT_TRUE(RunQuantize(a, x, q, 0, 6));
    EXPECT_EQ(std::vector<int>(q, q + 6), (std::vector<int>{127, -128, -128, 2, 4, 0}));
    a.quant = ElemType::kFloat8E4M3FN;
    uint8_t f8[6];
    ASSERT_TRUE(RunQuantize(a, x, f8, 0, 6));
    EXPECT_EQ(f8[0], 0x7e);
    EXPECT_EQ(f8[3], 0x42);
    a.quant = ElemType::kInt8, a.real = ElemType::kFloat16;
    uint16_t h[6];
    ASSERT_TRUE(RunDequantize(a, q, h, 0, 6));
    EXPECT_EQ(h[3], 0x4000);
    const int32_t acc[3] = {1000, -3, 25};
    const float m = 0.1f;
    uint8_t r[3];
    RequantizeRow(acc, &m, false, 3, ElemType::kUint8, r, 3, level);
    EXPECT_EQ(std::vector<int>(r, r + 3), (std::vector<int>{103, 3, 5}));
  }
  float scale;
  uint8_t zero;
  DynamicQuantParams(-1, 2, &scale, &zero);
  EXPECT_FLOAT_EQ(scale, 3.0f / 255);
  EXPECT_EQ(zero, 85);
}

}  // namespace
}  // namespace switchyard::cpu::math
