#include "providers/cpu/math/vec_softmax.h"

#include <cmath>
#include <cstring>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_reduce_core.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_softmax.cc"
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

// y = exp(x - shift) with one shift, or one per element; returns the sum of a row.
float ExpSumRow(const float* x, float shift, float* y, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V32 s = hn::Set(d, shift);
  V32 a0 = hn::Zero(d), a1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V32 e0 = Exp32(hn::Sub(hn::LoadU(d, x + i), s));
    const V32 e1 = Exp32(hn::Sub(hn::LoadU(d, x + i + lanes), s));
    hn::StoreU(e0, d, y + i);
    hn::StoreU(e1, d, y + i + lanes);
    a0 = hn::Add(a0, e0);
    a1 = hn::Add(a1, e1);
  }
  HWY_ALIGN float tmp[HWY_MAX_BYTES / 4];
  for (; i < n; i += lanes) {
    const int64_t m = n - i < lanes ? n - i : lanes;
    for (int64_t j = 0; j < lanes; ++j) tmp[j] = j < m ? x[i + j] : -HUGE_VALF;
    const V32 e = Exp32(hn::Sub(hn::Load(d, tmp), s));
    hn::Store(e, d, tmp);
    std::memcpy(y + i, tmp, static_cast<size_t>(m) * 4);
    a0 = hn::Add(a0, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1)));
}

void ScaleRow(float* x, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

// One row of columns: y = exp(x - shift), sum += y.
void ExpSumColumns(const float* x, const float* shift, float* y, float* sum, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V32 e = Exp32(hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, shift + i)));
    hn::StoreU(e, d, y + i);
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), e), d, sum + i);
  }
  if (i < n) {
    HWY_ALIGN float tx[HWY_MAX_BYTES / 4] = {}, ts[HWY_MAX_BYTES / 4] = {};
    const size_t rest = static_cast<size_t>(n - i) * 4;
    std::memcpy(tx, x + i, rest);
    std::memcpy(ts, shift + i, rest);
    const V32 e = Exp32(hn::Sub(hn::Load(d, tx), hn::Load(d, ts)));
    hn::Store(e, d, tx);
    std::memcpy(y + i, tx, rest);
    std::memcpy(ts, sum + i, rest);
    hn::Store(hn::Add(hn::Load(d, ts), e), d, ts);
    std::memcpy(sum + i, ts, rest);
  }
}

void MulColumns(const float* x, const float* by, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * by[i];
}

void SubColumns(const float* x, const float* by, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - by[i];
}

}  // namespace

struct SoftmaxCore {
  float (*exp_row)(const float*, float, float*, int64_t);
  void (*scale_row)(float*, float, int64_t);
  void (*exp_columns)(const float*, const float*, float*, float*, int64_t);
  void (*mul_columns)(const float*, const float*, float*, int64_t);
  void (*sub_columns)(const float*, const float*, float*, int64_t);
};
SoftmaxCore GetSoftmaxCore() {
  return {ExpSumRow, ScaleRow, ExpSumColumns, MulColumns, SubColumns};
}

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kColumns = 256;

struct Core {
  float (*exp_row)(const float*, float, float*, int64_t);
  void (*scale_row)(float*, float, int64_t);
  void (*exp_columns)(const float*, const float*, float*, float*, int64_t);
  void (*mul_columns)(const float*, const float*, float*, int64_t);
  void (*sub_columns)(const float*, const float*, float*, int64_t);
  RowFold<float> max_row;
  ColumnFold<float> max_columns;
  ConvertFn load = nullptr, store = nullptr;  // 16-bit floats
};

template <class C>
void Fill(const C& from, Core* core) {
  core->exp_row = from.exp_row;
  core->scale_row = from.scale_row;
  core->exp_columns = from.exp_columns;
  core->mul_columns = from.mul_columns;
  core->sub_columns = from.sub_columns;
}

Core MakeCore(ElemType type, IsaLevel level) {
  Core core{};
#if defined(__x86_64__) || defined(_M_X64)
  if (level >= IsaLevel::kAvx512) {
    Fill(N_AVX3::GetSoftmaxCore(), &core);
  } else if (level == IsaLevel::kAvx2) {
    Fill(N_AVX2::GetSoftmaxCore(), &core);
  } else {
    Fill(N_SSE4::GetSoftmaxCore(), &core);
  }
#else
  Fill(HWY_STATIC_DISPATCH(GetSoftmaxCore()), &core);
#endif
  core.max_row = FloatRowFold(Fold::kMax, level);
  core.max_columns = FloatColumnFold(Fold::kMax, level);
  if (type != ElemType::kFloat) {
    core.load = GetConvert(type, ElemType::kFloat, level);
    core.store = GetConvert(ElemType::kFloat, type, level);
  }
  return core;
}

// A row of -inf gives NaN, as its definition does.
void SoftmaxRow(const Core& c, SoftmaxKind kind, const float* x, float* y, int64_t n) {
  const float top = c.max_row(x, n, 0.0f);
  if (kind == SoftmaxKind::kSoftmax) {
    const float sum = c.exp_row(x, top, y, n);
    c.scale_row(y, 1.0f / sum, n);
    return;
  }
  alignas(64) float tmp[kBlock];
  double sum = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    sum += static_cast<double>(c.exp_row(x + at, top, tmp, n - at < kBlock ? n - at : kBlock));
  }
  // Two steps: max + log(sum) would lose the low bits of the difference.
  const float log_sum = static_cast<float>(std::log(sum));
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - top) - log_sum;
}

void SoftmaxHalfRow(const Core& c, SoftmaxKind kind, const uint16_t* x, uint16_t* y, int64_t n) {
  alignas(64) float f[kBlock], e[kBlock];
  float top = -HUGE_VALF;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    c.load(x + at, f, m);
    const float t = c.max_row(f, m, 0.0f);
    top = top != top || t != t ? NAN : t > top ? t : top;
  }
  double sum = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    c.load(x + at, f, m);
    sum += static_cast<double>(c.exp_row(f, top, e, m));
  }
  const float inv = static_cast<float>(1.0 / sum), log_sum = static_cast<float>(std::log(sum));
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    c.load(x + at, f, m);
    if (kind == SoftmaxKind::kSoftmax) {
      c.exp_row(f, top, e, m);
      c.scale_row(e, inv, m);
    } else {
      for (int64_t i = 0; i < m; ++i) e[i] = (f[i] - top) - log_sum;
    }
    c.store(e, y + at, m);
  }
}

// n <= kColumns neighbouring columns; consecutive elements of one are `inner` apart.
void SoftmaxColumns(const Core& c, SoftmaxKind kind, const char* in, char* out, int bytes,
                    int64_t axis, int64_t inner, int64_t n) {
  alignas(64) float top[kColumns], sum[kColumns], fx[kColumns], fy[kColumns];
  for (int64_t i = 0; i < n; ++i) top[i] = -HUGE_VALF, sum[i] = 0;
  const bool half = c.load != nullptr;
  auto row = [&](int64_t k) -> const float* {
    const char* p = in + k * inner * bytes;
    if (!half) return reinterpret_cast<const float*>(p);
    c.load(p, fx, n);
    return fx;
  };
  const bool keep = !half && kind == SoftmaxKind::kSoftmax;
  for (int64_t k = 0; k < axis; ++k) c.max_columns(top, row(k), nullptr, n);
  for (int64_t k = 0; k < axis; ++k) {
    float* y = keep ? reinterpret_cast<float*>(out + k * inner * bytes) : fy;
    c.exp_columns(row(k), top, y, sum, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    sum[i] = kind == SoftmaxKind::kSoftmax ? 1.0f / sum[i] : std::log(sum[i]);
  }
  alignas(64) float unused[kColumns];
  for (int64_t k = 0; k < axis; ++k) {
    char* p = out + k * inner * bytes;
    float* y = half ? fy : reinterpret_cast<float*>(p);
    if (keep) {
      c.mul_columns(y, sum, y, n);
    } else if (kind == SoftmaxKind::kSoftmax) {
      c.exp_columns(row(k), top, fy, unused, n);
      c.mul_columns(fy, sum, y, n);
    } else {
      c.sub_columns(row(k), top, y, n);
      c.sub_columns(y, sum, y, n);
    }
    if (half) c.store(y, p, n);
  }
}

void SoftmaxDouble(SoftmaxKind kind, const double* x, double* y, int64_t axis, int64_t inner) {
  double top = -HUGE_VAL;
  for (int64_t k = 0; k < axis; ++k) {
    const double v = x[k * inner];
    top = top != top || v != v ? static_cast<double>(NAN) : v > top ? v : top;
  }
  double sum = 0;
  for (int64_t k = 0; k < axis; ++k) {
    const double e = std::exp(x[k * inner] - top);
    if (kind == SoftmaxKind::kSoftmax) y[k * inner] = e;
    sum += e;
  }
  const double inv = 1 / sum, log_sum = std::log(sum);
  for (int64_t k = 0; k < axis; ++k) {
    y[k * inner] =
        kind == SoftmaxKind::kSoftmax ? y[k * inner] * inv : x[k * inner] - top - log_sum;
  }
}

float KeyOf(float x) { return x; }
double KeyOf(double x) { return x; }
// Order of 16-bit floats as integers; both zeros are equal.
int32_t KeyOf(uint16_t h) {
  const int32_t magnitude = h & 0x7fff;
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
void HardmaxColumn(const T* x, T* y, T one, int64_t axis, int64_t inner) {
  int64_t best = 0;
  for (int64_t k = 1; k < axis; ++k) {
    if (KeyOf(x[k * inner]) > KeyOf(x[best * inner])) best = k;
  }
  for (int64_t k = 0; k < axis; ++k) y[k * inner] = k == best ? one : T(0);
}

template <class T>
void RunHardmax(const void* in, void* out, T one, int64_t axis, int64_t inner, int64_t begin,
                int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    const int64_t base = (c / inner) * axis * inner + c % inner;
    HardmaxColumn(static_cast<const T*>(in) + base, static_cast<T*>(out) + base, one, axis, inner);
  }
}

bool HardmaxTyped(ElemType type, const void* in, void* out, int64_t axis, int64_t inner,
                  int64_t begin, int64_t end) {
  switch (type) {
    case ElemType::kFloat:
      RunHardmax<float>(in, out, 1.0f, axis, inner, begin, end);
      return true;
    case ElemType::kDouble:
      RunHardmax<double>(in, out, 1.0, axis, inner, begin, end);
      return true;
    case ElemType::kFloat16:
      RunHardmax<uint16_t>(in, out, 0x3c00, axis, inner, begin, end);
      return true;
    case ElemType::kBfloat16:
      RunHardmax<uint16_t>(in, out, 0x3f80, axis, inner, begin, end);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool RunSoftmax(SoftmaxKind kind, ElemType type, IsaLevel level, const void* in, void* out,
                int64_t axis, int64_t inner, int64_t begin, int64_t end) {
  if (kind == SoftmaxKind::kHardmax) {
    return HardmaxTyped(type, in, out, axis, inner, begin, end);
  }
  if (type == ElemType::kDouble) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t base = (c / inner) * axis * inner + c % inner;
      SoftmaxDouble(kind, static_cast<const double*>(in) + base, static_cast<double*>(out) + base,
                    axis, inner);
    }
    return true;
  }
  if (type != ElemType::kFloat && type != ElemType::kFloat16 && type != ElemType::kBfloat16) {
    return false;
  }
  const Core core = MakeCore(type, level);
  const int bytes = BytesOf(type);
  const char* src = static_cast<const char*>(in);
  char* dst = static_cast<char*>(out);
  while (begin < end) {
    const int64_t base = ((begin / inner) * axis * inner + begin % inner) * bytes;
    int64_t n = 1;
    if (inner > 1) {
      n = inner - begin % inner < end - begin ? inner - begin % inner : end - begin;
      if (n > kColumns) n = kColumns;
      SoftmaxColumns(core, kind, src + base, dst + base, bytes, axis, inner, n);
    } else if (core.load != nullptr) {
      SoftmaxHalfRow(core, kind, reinterpret_cast<const uint16_t*>(src + base),
                     reinterpret_cast<uint16_t*>(dst + base), axis);
    } else {
      SoftmaxRow(core, kind, reinterpret_cast<const float*>(src + base),
                 reinterpret_cast<float*>(dst + base), axis);
    }
    begin += n;
  }
  return true;
}

float RowMax(const float* x, int64_t n, IsaLevel level) {
  return FloatRowFold(Fold::kMax, level)(x, n, 0.0f);
}

float RowExpSum(const float* x, float shift, float* y, int64_t n, IsaLevel level) {
  return MakeCore(ElemType::kFloat, level).exp_row(x, shift, y, n);
}

void RowScale(float* x, float scale, int64_t n, IsaLevel level) {
  MakeCore(ElemType::kFloat, level).scale_row(x, scale, n);
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
