#include "providers/cpu/math/vec_elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

constexpr float kInf = HUGE_VALF;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance in units of the last place of the exact value; special values must match.
double UlpError(float got, double want) {
  const float w = static_cast<float>(want);
  if (std::isnan(w)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(w) || std::isinf(got)) return w == got ? 0 : 1e9;
  const double ulp =
      std::max(std::ldexp(1.0, std::ilogb(w == 0 ? 1e-45 : w) - 23), std::ldexp(1.0, -149));
  return std::fabs(got - want) / ulp;
}

std::vector<float> Arguments() {
  std::vector<float> v = {0.0f,        -0.0f,       1.0f,      -1.0f,   kInf,     -kInf,  kNan,
                          1e-45f,      -1e-45f,     1.17e-38f, 1e-30f,  -1e-30f,  1e-10f, -1e-10f,
                          88.72f,      -87.33f,     -103.9f,   -104.5f, 88.73f,   1e5f,   -1e6f,
                          1e20f,       -3.4e38f,    3.4e38f,   0.65f,   0.64999f, 0.92f,  4.1f,
                          3.14159274f, 1.57079637f, 0.5f,      20.0f};
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> small(-4, 4), wide(-100, 100), exponent(-44, 38);
  for (int i = 0; i < 6000; ++i) v.push_back(small(rng));
  for (int i = 0; i < 3000; ++i) v.push_back(wide(rng));
  for (int i = 0; i < 3000; ++i) {
    v.push_back((i & 1 ? -1 : 1) * std::pow(10.0f, exponent(rng)));
  }
  return v;
}

struct Case {
  const char* name;
  UnaryOp op;
  double ulps;
  std::function<double(double)> want;
  float p0 = 0, p1 = 0;
  double absolute = 0;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Gated(double x, double gate) { return std::isinf(x) && x < 0 ? -0.0 : x * gate; }

std::vector<Case> Cases() {
  using F = double (*)(double);
  return {
      {"sqrt", UnaryOp::kSqrt, 0.5, F(std::sqrt)},
      {"exp", UnaryOp::kExp, 1.5, F(std::exp)},
      {"expm1", UnaryOp::kExpm1, 2.5, F(std::expm1)},
      {"log", UnaryOp::kLog, 1.5, F(std::log)},
      {"sin", UnaryOp::kSin, 0.6, F(std::sin)},
      {"cos", UnaryOp::kCos, 0.6, F(std::cos)},
      {"tan", UnaryOp::kTan, 0.6, F(std::tan)},
      {"asin", UnaryOp::kAsin, 0.6, F(std::asin)},
      {"acos", UnaryOp::kAcos, 0.6, F(std::acos)},
      {"atan", UnaryOp::kAtan, 0.6, F(std::atan)},
      {"sinh", UnaryOp::kSinh, 0.6, F(std::sinh)},
      {"cosh", UnaryOp::kCosh, 0.6, F(std::cosh)},
      {"asinh", UnaryOp::kAsinh, 0.6, F(std::asinh)},
      {"acosh", UnaryOp::kAcosh, 0.6, F(std::acosh)},
      {"atanh", UnaryOp::kAtanh, 0.6, F(std::atanh)},
      {"tanh", UnaryOp::kTanh, 2.5, F(std::tanh)},
      {"erf", UnaryOp::kErf, 2.5, F(std::erf)},
      {"sigmoid", UnaryOp::kSigmoid, 3.0, Sigmoid},
      {"softplus", UnaryOp::kSoftplus, 3.0, Softplus},
      {"silu", UnaryOp::kSilu, 4.0, [](double x) { return Gated(x, Sigmoid(x)); }, 1.0f, 0, 2e-43},
      {"gelu", UnaryOp::kGeluErf, 4.0,
       [](double x) { return Gated(x, 0.5 * std::erfc(-x * 0.70710678118654752)); }, 0, 0, 3e-7},
      {"gelu_tanh", UnaryOp::kGeluTanh, 4.0,
       [](double x) { return Gated(x, Sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))); },
       0, 0, 3e-7},
      {"mish", UnaryOp::kMish, 4.0, [](double x) { return Gated(x, std::tanh(Softplus(x))); }, 0, 0,
       2e-43},
      {"elu", UnaryOp::kElu, 3.0, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, 0.5f},
      {"celu", UnaryOp::kCelu, 4.0, [](double x) { return x < 0 ? 2.0 * std::expm1(x / 2.0) : x; },
       2.0f},
      {"softsign", UnaryOp::kSoftsign, 1.5,
       [](double x) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x)); }},
      {"round", UnaryOp::kRound, 0.0, F(std::nearbyint)},
      {"floor", UnaryOp::kFloor, 0.0, F(std::floor)},
      {"ceil", UnaryOp::kCeil, 0.0, F(std::ceil)},
      {"trunc", UnaryOp::kTrunc, 0.0, F(std::trunc)},
      {"relu", UnaryOp::kRelu, 0.0, [](double x) { return x < 0 ? 0.0 : x; }},
      {"reciprocal", UnaryOp::kReciprocal, 0.5, [](double x) { return 1 / x; }},
  };
}

TEST(VecUnary, MatchesLibmAtEveryLevel) {
  const std::vector<float> x = Arguments();
  std::vector<float> y(x.size());
  for (const Case& c : Cases()) {
    for (IsaLevel level : TestLevels()) {
      RunUnary(GetUnary(c.op, ElemType::kFloat, level), x.data(), y.data(),
               static_cast<int64_t>(x.size()), c.p0, c.p1);
      double worst = 0;
      float at = 0, got = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = c.want(x[i]);
        double e = UlpError(y[i], want);
        if (e > c.ulps && std::fabs(y[i] - want) <= c.absolute) e = 0;
        if (e > worst) worst = e, at = x[i], got = y[i];
      }
      EXPECT_LE(worst, c.ulps + 0.01) << c.name << " level " << static_cast<int>(level) << " at "
                                      << at << " got " << got << " want " << c.want(at);
    }
  }
}

TEST(VecUnary, TailsEqualTheWholeRange) {
  const std::vector<float> x = Arguments();
  for (const Case& c : Cases()) {
    for (IsaLevel level : TestLevels()) {
      const UnaryKernel k = GetUnary(c.op, ElemType::kFloat, level);
      std::vector<float> whole(256), part(256);
      RunUnary(k, x.data(), whole.data(), 256, c.p0, c.p1);
      for (int64_t n = 0; n < 68; ++n) {
        std::fill(part.begin(), part.end(), 77.0f);
        RunUnary(k, x.data() + 3, part.data(), n, c.p0, c.p1);
        ASSERT_EQ(std::memcmp(part.data(), whole.data() + 3, static_cast<size_t>(n) * 4), 0)
            << c.name << " " << n;
        ASSERT_EQ(part[static_cast<size_t>(n)], 77.0f) << c.name << " wrote past " << n;
      }
    }
  }
}

TEST(VecBinary, PowMatchesLibm) {
  std::vector<float> base = {0.0f, -0.0f, 1.0f,  -1.0f,  2.0f, -2.0f, kInf,    -kInf,
                             kNan, 0.5f,  -0.5f, 1e-40f, 3.7f, -3.7f, 1.0001f, 1e30f};
  std::vector<float> expo = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f,  3.0f,   -3.0f, 0.5f,   -0.5f,
                             kInf, -kInf, kNan, 2.5f,  1e10f, -1e10f, 33.0f, -0.333f};
  std::vector<float> a, b;
  for (float x : base) {
    for (float y : expo) a.push_back(x), b.push_back(y);
  }
  std::vector<float> o(a.size());
  for (IsaLevel level : TestLevels()) {
    RunBinary(GetBinary(BinaryOp::kPow, ElemType::kFloat, level), a.data(), b.data(), o.data(),
              static_cast<int64_t>(a.size()), Span::kVectorVector);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_LE(UlpError(o[i], std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]))), 0.6)
          << a[i] << " ^ " << b[i] << " = " << o[i];
    }
  }
}

template <class T>
void CheckBinary(BinaryOp op, ElemType type, IsaLevel level, const std::vector<T>& a,
                 const std::vector<T>& b, const std::function<T(T, T)>& want) {
  const BinaryKernel k = GetBinary(op, type, level);
  ASSERT_NE(k.fn, nullptr);
  for (size_t n = 0; n < 68; ++n) {
    std::vector<T> o(n + 1, T(9));
    RunBinary(k, a.data(), b.data(), o.data(), static_cast<int64_t>(n), Span::kVectorVector);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(o[i], want(a[i], b[i])) << i;
    ASSERT_EQ(o[n], T(9));
    RunBinary(k, a.data(), b.data() + 1, o.data(), static_cast<int64_t>(n), Span::kVectorScalar);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(o[i], want(a[i], b[1])) << i;
    RunBinary(k, a.data() + 1, b.data(), o.data(), static_cast<int64_t>(n), Span::kScalarVector);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(o[i], want(a[1], b[i])) << i;
  }
}

template <class T>
void CheckInteger(ElemType type) {
  std::mt19937_64 rng(3);
  std::vector<T> a(80), b(80);
  for (T& v : a) v = static_cast<T>(rng());
  for (T& v : b) v = static_cast<T>(rng()) == 0 ? T(1) : static_cast<T>(rng() | 1);
  a[0] = std::numeric_limits<T>::min();
  b[0] = static_cast<T>(-1);
  using U = std::make_unsigned_t<T>;
  for (IsaLevel level : TestLevels()) {
    CheckBinary<T>(BinaryOp::kAdd, type, level, a, b,
                   [](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
    CheckBinary<T>(BinaryOp::kMul, type, level, a, b, [](T x, T y) {
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    });
    CheckBinary<T>(BinaryOp::kMin, type, level, a, b, [](T x, T y) { return std::min(x, y); });
    CheckBinary<T>(BinaryOp::kMax, type, level, a, b, [](T x, T y) { return std::max(x, y); });
    CheckBinary<T>(BinaryOp::kDiv, type, level, a, b, [](T x, T y) {
      if (std::is_signed_v<T> && y == static_cast<T>(-1))
        return static_cast<T>(U(0) - static_cast<U>(x));
      return static_cast<T>(x / y);
    });
  }
}

TEST(VecBinary, Integers) {
  CheckInteger<int8_t>(ElemType::kInt8);
  CheckInteger<uint8_t>(ElemType::kUint8);
  CheckInteger<int16_t>(ElemType::kInt16);
  CheckInteger<uint16_t>(ElemType::kUint16);
  CheckInteger<int32_t>(ElemType::kInt32);
  CheckInteger<uint32_t>(ElemType::kUint32);
  CheckInteger<int64_t>(ElemType::kInt64);
  CheckInteger<uint64_t>(ElemType::kUint64);
}

TEST(VecBinary, DivisionByZeroIsReported) {
  const int32_t a[3] = {1, 2, 3}, b[3] = {1, 0, 2};
  int32_t o[3];
  for (BinaryOp op : {BinaryOp::kDiv, BinaryOp::kMod, BinaryOp::kFmod}) {
    EXPECT_EQ(RunBinary(GetBinary(op, ElemType::kInt32, IsaLevel::kBaseline), a, b, o, 3,
                        Span::kVectorVector),
              kDivideByZero);
  }
  const int32_t x[4] = {-7, 7, -7, 7}, y[4] = {3, -3, -3, 3};
  int32_t m[4];
  RunBinary(GetBinary(BinaryOp::kMod, ElemType::kInt32, IsaLevel::kBaseline), x, y, m, 4,
            Span::kVectorVector);
  EXPECT_EQ(std::vector<int32_t>(m, m + 4), (std::vector<int32_t>{2, -2, -1, 1}));
  RunBinary(GetBinary(BinaryOp::kFmod, ElemType::kInt32, IsaLevel::kBaseline), x, y, m, 4,
            Span::kVectorVector);
  EXPECT_EQ(std::vector<int32_t>(m, m + 4), (std::vector<int32_t>{-1, 1, -1, 1}));
}

TEST(VecBinary, MinMaxPropagateNan) {
  const float a[4] = {kNan, 1, -0.0f, kInf}, b[4] = {1, kNan, 2, kNan};
  float o[4];
  for (IsaLevel level : TestLevels()) {
    for (BinaryOp op : {BinaryOp::kMin, BinaryOp::kMax}) {
      RunBinary(GetBinary(op, ElemType::kFloat, level), a, b, o, 4, Span::kVectorVector);
      EXPECT_TRUE(std::isnan(o[0]) && std::isnan(o[1]) && std::isnan(o[3]));
    }
  }
}

TEST(VecBinary, ComparisonsAndHalf) {
  std::vector<float> a(70), b(70);
  for (size_t i = 0; i < 70; ++i) {
    a[i] = static_cast<float>(i % 7) - 3;
    b[i] = static_cast<float>(i % 5) - 2;
  }
  a[4] = kNan;
  std::vector<uint16_t> ha(70), hb(70), ho(70);
  std::vector<uint8_t> o(70);
  for (IsaLevel level : TestLevels()) {
    RunBinary(GetBinary(BinaryOp::kGreater, ElemType::kFloat, level), a.data(), b.data(), o.data(),
              70, Span::kVectorVector);
    for (size_t i = 0; i < 70; ++i) EXPECT_EQ(o[i], a[i] > b[i]);
    RunBinary(GetBinary(BinaryOp::kGreaterOrEqual, ElemType::kFloat, level), a.data(), b.data(),
              o.data(), 70, Span::kVectorScalar);
    for (size_t i = 0; i < 70; ++i) EXPECT_EQ(o[i], a[i] >= b[0]);
    GetConvert(ElemType::kFloat, ElemType::kFloat16, level)(a.data(), ha.data(), 70);
    GetConvert(ElemType::kFloat, ElemType::kFloat16, level)(b.data(), hb.data(), 70);
    RunBinary(GetBinary(BinaryOp::kLess, ElemType::kFloat16, level), ha.data(), hb.data(), o.data(),
              70, Span::kVectorVector);
    for (size_t i = 0; i < 70; ++i) EXPECT_EQ(o[i], a[i] < b[i]);
    RunBinary(GetBinary(BinaryOp::kAdd, ElemType::kFloat16, level), ha.data(), hb.data(), ho.data(),
              70, Span::kScalarVector);
    std::vector<float> back(70);
    GetConvert(ElemType::kFloat16, ElemType::kFloat, level)(ho.data(), back.data(), 70);
    for (size_t i = 0; i < 70; ++i) EXPECT_EQ(back[i], a[0] + b[i]);
  }
}

TEST(VecBroadcast, AnySplitOfAnyShape) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; ++round) {
    const int rank = 1 + static_cast<int>(rng() % 5);
    std::vector<int64_t> out(rank), da(rank), db(rank);
    for (int i = 0; i < rank; ++i) {
      out[i] = 1 + static_cast<int64_t>(rng() % (i == rank - 1 && round % 3 == 0 ? 70 : 5));
      da[i] = rng() % 3 ? out[i] : 1;
      db[i] = rng() % 3 ? out[i] : 1;
      if (da[i] != out[i] && db[i] != out[i]) da[i] = out[i];
    }
    int64_t na = 1, nb = 1, no = 1;
    for (int i = 0; i < rank; ++i) na *= da[i], nb *= db[i], no *= out[i];
    std::vector<float> a(na), b(nb), o(no), c(no);
    for (float& v : a) v = static_cast<float>(rng() % 1000);
    for (float& v : b) v = static_cast<float>(rng() % 1000);
    const BroadcastInput in[2] = {{da, {}}, {db, {}}};
    BroadcastPlan plan;
    ASSERT_TRUE(MakeBroadcastPlan(out, in, &plan));
    const BinaryKernel k = GetBinary(BinaryOp::kSub, ElemType::kFloat, TestLevels().back());
    RunBinary(k, plan, a.data(), b.data(), o.data(), 0, no);
    const int64_t cut = static_cast<int64_t>(rng()) % no;
    RunBinary(k, plan, a.data(), b.data(), c.data(), cut, no);
    RunBinary(k, plan, a.data(), b.data(), c.data(), 0, cut);
    for (int64_t i = 0; i < no; ++i) {
      int64_t rest = i, ia = 0, ib = 0, sa = 1, sb = 1;
      for (int d = rank - 1; d >= 0; --d) {
        const int64_t p = rest % out[d];
        rest /= out[d];
        if (da[d] != 1) ia += p * sa;
        if (db[d] != 1) ib += p * sb;
        sa *= da[d], sb *= db[d];
      }
      ASSERT_EQ(o[i], a[ia] - b[ib]);
      ASSERT_EQ(c[i], o[i]);
    }
  }
}

TEST(VecBroadcast, WhereSelects) {
  const uint8_t cond[2] = {1, 0};
  const int64_t dc[2] = {2, 1}, dx[1] = {3}, out[2] = {2, 3};
  const int32_t x[3] = {1, 2, 3}, y = 9;
  const BroadcastInput in[3] = {{dc, {}}, {dx, {}}, {{}, {}}};
  BroadcastPlan plan;
  ASSERT_TRUE(MakeBroadcastPlan(out, in, &plan));
  int32_t o[6];
  RunWhere(plan, cond, x, &y, o, 4, 0, 6);
  EXPECT_EQ(std::vector<int32_t>(o, o + 6), (std::vector<int32_t>{1, 2, 3, 9, 9, 9}));
}

TEST(VecCast, NarrowFloatsRoundTripAndRoundToEven) {
  for (IsaLevel level : TestLevels()) {
    for (ElemType t : {ElemType::kFloat16, ElemType::kBfloat16}) {
      std::vector<uint16_t> all(65536), back(65536);
      std::vector<float> f(65536);
      for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
      GetConvert(t, ElemType::kFloat, level)(all.data(), f.data(), 65536);
      GetConvert(ElemType::kFloat, t, level)(f.data(), back.data(), 65536);
      for (int i = 0; i < 65536; ++i) {
        if (std::isnan(f[i])) continue;
        ASSERT_EQ(back[i], all[i]);
      }
      for (int i = 0; i + 1 < 0x7c00 && t == ElemType::kFloat16; ++i) {
        const float mid = (f[i] + f[i + 1]) / 2;
        const float in[3] = {mid, std::nextafter(mid, 0.0f), std::nextafter(mid, kInf)};
        uint16_t got[3];
        GetConvert(ElemType::kFloat, t, level)(in, got, 3);
        if (i + 1 < 0x7c00) {
          ASSERT_EQ(got[0], i + (i & 1)) << i;
          ASSERT_EQ(got[1], i);
          ASSERT_EQ(got[2], i + 1);
        }
      }
    }
    for (ElemType t : {ElemType::kFloat8E4M3FN, ElemType::kFloat8E4M3FNUZ, ElemType::kFloat8E5M2,
                       ElemType::kFloat8E5M2FNUZ, ElemType::kFloat8E8M0}) {
      std::vector<uint8_t> all(256), back(256);
      std::vector<float> f(256);
      for (int i = 0; i < 256; ++i) all[i] = static_cast<uint8_t>(i);
      GetConvert(t, ElemType::kFloat, level)(all.data(), f.data(), 256);
      const CastKernel k = GetCast(ElemType::kFloat, t, level, false, RoundMode::kNearest);
      RunCast(k, f.data(), back.data(), 0, 256);
      for (int i = 0; i < 256; ++i) {
        if (std::isnan(f[i])) continue;
        ASSERT_EQ(back[i], all[i]) << static_cast<int>(t);
      }
    }
  }
}

TEST(VecCast, SpecialValues) {
  const float in[6] = {kInf, -kInf, kNan, 1e9f, 464.0f, 465.0f};
  uint8_t out[6];
  RunCast(GetCast(ElemType::kFloat, ElemType::kFloat8E4M3FN, IsaLevel::kBaseline), in, out, 0, 6);
  EXPECT_EQ(std::vector<uint8_t>(out, out + 6),
            (std::vector<uint8_t>{0x7e, 0xfe, 0x7f, 0x7e, 0x7e, 0x7e}));
  RunCast(GetCast(ElemType::kFloat, ElemType::kFloat8E5M2, IsaLevel::kBaseline, false), in, out, 0,
          4);
  EXPECT_EQ(std::vector<uint8_t>(out, out + 4), (std::vector<uint8_t>{0x7c, 0xfc, 0x7f, 0x7c}));
  const float f4[8] = {0.25f, 0.75f, 1.25f, 1.75f, -2.5f, 5.0f, 100.0f, -0.1f};
  RunCast(GetCast(ElemType::kFloat, ElemType::kFloat4E2M1, IsaLevel::kBaseline), f4, out, 0, 8);
  EXPECT_EQ(std::vector<uint8_t>(out, out + 4), (std::vector<uint8_t>{0x20, 0x42, 0x6c, 0x87}));
  const int16_t wide[2] = {200, -200};
  int8_t narrow[2];
  RunCast(GetCast(ElemType::kInt16, ElemType::kInt8, IsaLevel::kBaseline), wide, narrow, 0, 2);
  EXPECT_EQ(narrow[0], -56);
  EXPECT_EQ(narrow[1], 56);
  const int8_t four[3] = {-8, 7, -1};
  uint8_t packed[2];
  RunCast(GetCast(ElemType::kInt8, ElemType::kInt4, IsaLevel::kBaseline), four, packed, 0, 3);
  int32_t back[3];
  RunCast(GetCast(ElemType::kInt4, ElemType::kInt32, IsaLevel::kBaseline), packed, back, 0, 3);
  EXPECT_EQ(std::vector<int32_t>(back, back + 3), (std::vector<int32_t>{-8, 7, -1}));
  // 1 + 2^-11 + 2^-40 lies above the tie; rounding twice would lose that.
  const double d = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  uint16_t h;
  RunCast(GetCast(ElemType::kDouble, ElemType::kFloat16, IsaLevel::kBaseline), &d, &h, 0, 1);
  EXPECT_EQ(h, 0x3c01);
}

}  // namespace
}  // namespace switchyard::cpu::math
