#include "providers/cpu/math/vec_reduce_core.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_reduce_core.cc"
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

template <Fold kFold, class T>
HWY_INLINE T Neutral() {
  if constexpr (kFold == Fold::kProd) return T(1);
  if constexpr (kFold == Fold::kMin || kFold == Fold::kMax) {
    constexpr bool kIsMin = kFold == Fold::kMin;
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(kIsMin ? HUGE_VAL : -HUGE_VAL);
    } else {
      return kIsMin ? INT64_MAX : INT64_MIN;
    }
  }
  return T(0);
}

// One scalar step; also how lanes are combined (with kSum for the mapped sums).
template <Fold kFold, class T>
HWY_INLINE T Step(T acc, T x) {
  if constexpr (kFold == Fold::kMin || kFold == Fold::kMax) {
    const bool take = kFold == Fold::kMin ? x < acc : x > acc;
    return acc != acc ? acc : (take || x != x) ? x : acc;
  } else if constexpr (std::is_integral_v<T>) {
    const uint64_t a = static_cast<uint64_t>(acc), b = static_cast<uint64_t>(x);
    if constexpr (kFold == Fold::kProd) return static_cast<T>(a * b);
    if constexpr (kFold == Fold::kSumSquare) return static_cast<T>(a + b * b);
    if constexpr (kFold == Fold::kSumAbs) return static_cast<T>(a + (x < 0 ? 0 - b : b));
    return static_cast<T>(a + b);
  } else {
    if constexpr (kFold == Fold::kProd) return acc * x;
    if constexpr (kFold == Fold::kSumSquare) return acc + x * x;
    if constexpr (kFold == Fold::kSumAbs) return acc + (x < 0 ? -x : x);
    return acc + x;
  }
}

template <Fold kFold>
constexpr Fold Combine() {
  return kFold == Fold::kProd || kFold == Fold::kMin || kFold == Fold::kMax ? kFold : Fold::kSum;
}

template <Fold kFold, class V>
HWY_INLINE V VecStep(V acc, V x, V shift) {
  if constexpr (kFold == Fold::kSumExp) {
    return hn::Add(acc, Exp32(hn::Sub(x, shift)));
  } else if constexpr (kFold == Fold::kSumAbs) {
    return hn::Add(acc, hn::Abs(x));
  } else if constexpr (kFold == Fold::kSumSquare) {
    return hn::MulAdd(x, x, acc);
  } else if constexpr (kFold == Fold::kProd) {
    return hn::Mul(acc, x);
  } else if constexpr (kFold == Fold::kMin) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, acc)),
                          hn::IfThenElse(hn::IsNaN(acc), acc, x), acc);
  } else if constexpr (kFold == Fold::kMax) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, acc)),
                          hn::IfThenElse(hn::IsNaN(acc), acc, x), acc);
  } else {
    return hn::Add(acc, x);
  }
}

template <Fold kFold, class T>
T RowReal(const T* x, int64_t n, T shift) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V init = hn::Set(d, Neutral<kFold, T>());
  const V vs = hn::Set(d, shift);
  V a0 = init, a1 = init, a2 = init, a3 = init;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = VecStep<kFold>(a0, hn::LoadU(d, x + i), vs);
    a1 = VecStep<kFold>(a1, hn::LoadU(d, x + i + lanes), vs);
    a2 = VecStep<kFold>(a2, hn::LoadU(d, x + i + 2 * lanes), vs);
    a3 = VecStep<kFold>(a3, hn::LoadU(d, x + i + 3 * lanes), vs);
  }
  for (; i + lanes <= n; i += lanes) a0 = VecStep<kFold>(a0, hn::LoadU(d, x + i), vs);
  constexpr Fold kCombine = Combine<kFold>();
  a0 = VecStep<kCombine>(VecStep<kCombine>(a0, a1, vs), VecStep<kCombine>(a2, a3, vs), vs);
  if (i < n) {
    // Lanes past the end hold the neutral element; exp needs its own.
    HWY_ALIGN T tmp[HWY_MAX_BYTES / sizeof(T)];
    const T pad = kFold == Fold::kSumExp ? static_cast<T>(-HUGE_VAL) : Neutral<kFold, T>();
    for (int64_t j = 0; j < lanes; ++j) tmp[j] = i + j < n ? x[i + j] : pad;
    a0 = VecStep<kFold>(a0, hn::Load(d, tmp), vs);
  }
  HWY_ALIGN T out[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(a0, d, out);
  for (int64_t w = lanes / 2; w > 0; w /= 2) {
    for (int64_t j = 0; j < w; ++j) out[j] = Step<kCombine>(out[j], out[j + w]);
  }
  return out[0];
}

template <Fold kFold, class T>
void ColumnReal(T* acc, const T* x, const T* shift, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto s = kFold == Fold::kSumExp ? hn::LoadU(d, shift + i) : hn::Zero(d);
    hn::StoreU(VecStep<kFold>(hn::LoadU(d, acc + i), hn::LoadU(d, x + i), s), d, acc + i);
  }
  if (i < n) {
    HWY_ALIGN T ta[HWY_MAX_BYTES / sizeof(T)] = {}, tx[HWY_MAX_BYTES / sizeof(T)] = {};
    HWY_ALIGN T ts[HWY_MAX_BYTES / sizeof(T)] = {};
    const size_t rest = static_cast<size_t>(n - i) * sizeof(T);
    std::memcpy(ta, acc + i, rest);
    std::memcpy(tx, x + i, rest);
    if (kFold == Fold::kSumExp) std::memcpy(ts, shift + i, rest);
    hn::Store(VecStep<kFold>(hn::Load(d, ta), hn::Load(d, tx), hn::Load(d, ts)), d, ta);
    std::memcpy(acc + i, ta, rest);
  }
}

template <Fold kFold>
int64_t RowInt(const int64_t* x, int64_t n, int64_t) {
  int64_t acc = Neutral<kFold, int64_t>();
  for (int64_t i = 0; i < n; ++i) acc = Step<kFold>(acc, x[i]);
  return acc;
}

template <Fold kFold>
void ColumnInt(int64_t* acc, const int64_t* HWY_RESTRICT x, const int64_t*, int64_t n) {
  for (int64_t i = 0; i < n; ++i) acc[i] = Step<kFold>(acc[i], x[i]);
}

double RowExp64(const double* x, int64_t n, double shift) {
  double acc = 0;
  for (int64_t i = 0; i < n; ++i) acc += std::exp(x[i] - shift);
  return acc;
}

void ColumnExp64(double* acc, const double* x, const double* shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) acc[i] += std::exp(x[i] - shift[i]);
}

constexpr RowFold<float> kFloatRows[kFolds] = {
    RowReal<Fold::kSum, float>,    RowReal<Fold::kSumAbs, float>, RowReal<Fold::kSumSquare, float>,
    RowReal<Fold::kSumExp, float>, RowReal<Fold::kProd, float>,   RowReal<Fold::kMin, float>,
    RowReal<Fold::kMax, float>};
constexpr RowFold<double> kDoubleRows[kFolds] = {
    RowReal<Fold::kSum, double>,       RowReal<Fold::kSumAbs, double>,
    RowReal<Fold::kSumSquare, double>, RowExp64,
    RowReal<Fold::kProd, double>,      RowReal<Fold::kMin, double>,
    RowReal<Fold::kMax, double>};
constexpr RowFold<int64_t> kIntRows[kFolds] = {
    RowInt<Fold::kSum>,  RowInt<Fold::kSumAbs>, RowInt<Fold::kSumSquare>, nullptr,
    RowInt<Fold::kProd>, RowInt<Fold::kMin>,    RowInt<Fold::kMax>};
constexpr ColumnFold<float> kFloatColumns[kFolds] = {
    ColumnReal<Fold::kSum, float>,       ColumnReal<Fold::kSumAbs, float>,
    ColumnReal<Fold::kSumSquare, float>, ColumnReal<Fold::kSumExp, float>,
    ColumnReal<Fold::kProd, float>,      ColumnReal<Fold::kMin, float>,
    ColumnReal<Fold::kMax, float>};
constexpr ColumnFold<double> kDoubleColumns[kFolds] = {
    ColumnReal<Fold::kSum, double>,       ColumnReal<Fold::kSumAbs, double>,
    ColumnReal<Fold::kSumSquare, double>, ColumnExp64,
    ColumnReal<Fold::kProd, double>,      ColumnReal<Fold::kMin, double>,
    ColumnReal<Fold::kMax, double>};
constexpr ColumnFold<int64_t> kIntColumns[kFolds] = {
    ColumnInt<Fold::kSum>,  ColumnInt<Fold::kSumAbs>, ColumnInt<Fold::kSumSquare>, nullptr,
    ColumnInt<Fold::kProd>, ColumnInt<Fold::kMin>,    ColumnInt<Fold::kMax>};

}  // namespace

RowFold<float> FloatRow(Fold f) { return kFloatRows[static_cast<int>(f)]; }
RowFold<double> DoubleRow(Fold f) { return kDoubleRows[static_cast<int>(f)]; }
RowFold<int64_t> IntRow(Fold f) { return kIntRows[static_cast<int>(f)]; }
ColumnFold<float> FloatColumn(Fold f) { return kFloatColumns[static_cast<int>(f)]; }
ColumnFold<double> DoubleColumn(Fold f) { return kDoubleColumns[static_cast<int>(f)]; }
ColumnFold<int64_t> IntColumn(Fold f) { return kIntColumns[static_cast<int>(f)]; }

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {

RowFold<float> FloatRowFold(Fold f, IsaLevel level) { return SY_VEC_DISPATCH(level, FloatRow(f)); }
RowFold<double> DoubleRowFold(Fold f, IsaLevel level) {
  return SY_VEC_DISPATCH(level, DoubleRow(f));
}
RowFold<int64_t> Int64RowFold(Fold f, IsaLevel level) { return SY_VEC_DISPATCH(level, IntRow(f)); }
ColumnFold<float> FloatColumnFold(Fold f, IsaLevel level) {
  return SY_VEC_DISPATCH(level, FloatColumn(f));
}
ColumnFold<double> DoubleColumnFold(Fold f, IsaLevel level) {
  return SY_VEC_DISPATCH(level, DoubleColumn(f));
}
ColumnFold<int64_t> Int64ColumnFold(Fold f, IsaLevel level) {
  return SY_VEC_DISPATCH(level, IntColumn(f));
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
