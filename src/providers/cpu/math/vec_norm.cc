#include "providers/cpu/math/vec_norm.h"

#include <cmath>

#include "providers/cpu/math/vec_cast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_norm.cc"
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

#ifndef SY_NORM_CORE_
#define SY_NORM_CORE_
namespace switchyard::cpu::math {
namespace {
// Inner loops over a block of floats.
struct NormCore {
  float (*sum)(const float* x, int64_t n);
  float (*square_sum)(const float* x, float mean, int64_t n);  // of x - mean
  void (*add)(const float* a, const float* b, float* y, int64_t n);
  // y = (x - mean) * inv * scale + bias; scale and bias may be null.
  void (*apply)(const float* x, float mean, float inv, const float* scale, const float* bias,
                float* y, int64_t n);
  void (*affine)(const float* x, float scale, float shift, float* y, int64_t n);
};
}  // namespace
}  // namespace switchyard::cpu::math
#endif

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

template <bool kSquare>
HWY_INLINE V32 Term(V32 acc, V32 x, V32 mean) {
  const V32 c = hn::Sub(x, mean);
  return kSquare ? hn::MulAdd(c, c, acc) : hn::Add(acc, x);
}

template <bool kSquare>
HWY_INLINE float SumBlock(const float* x, float mean, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V32 m = hn::Set(d, mean);
  V32 a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = Term<kSquare>(a0, hn::LoadU(d, x + i), m);
    a1 = Term<kSquare>(a1, hn::LoadU(d, x + i + lanes), m);
    a2 = Term<kSquare>(a2, hn::LoadU(d, x + i + 2 * lanes), m);
    a3 = Term<kSquare>(a3, hn::LoadU(d, x + i + 3 * lanes), m);
  }
  for (; i + lanes <= n; i += lanes) a0 = Term<kSquare>(a0, hn::LoadU(d, x + i), m);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))));
  for (; i < n; ++i) {
    const float c = x[i] - mean;
    sum += kSquare ? c * c : x[i];
  }
  return sum;
}

float Sum(const float* x, int64_t n) { return SumBlock<false>(x, 0, n); }
float SquareSum(const float* x, float mean, int64_t n) { return SumBlock<true>(x, mean, n); }
void Add(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

template <bool kScale, bool kBias>
void ApplyLoop(const float* x, float mean, float inv, const float* scale, const float* bias,
               float* y, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V32 m = hn::Set(d, mean), s = hn::Set(d, inv);
  HWY_ALIGN float tx[HWY_MAX_BYTES / 4] = {}, ts[HWY_MAX_BYTES / 4] = {};
  HWY_ALIGN float tb[HWY_MAX_BYTES / 4] = {};
  for (int64_t i = 0; i < n; i += lanes) {
    const bool tail = n - i < lanes;
    const float *px = x + i, *ps = scale + (kScale ? i : 0), *pb = bias + (kBias ? i : 0);
    if (tail) {
      for (int64_t j = 0; j < n - i; ++j) {
        tx[j] = px[j];
        if (kScale) ts[j] = ps[j];
        if (kBias) tb[j] = pb[j];
      }
      px = tx, ps = ts, pb = tb;
    }
    V32 v = hn::Mul(hn::Sub(hn::LoadU(d, px), m), s);
    if constexpr (kScale && kBias) {
      v = hn::MulAdd(v, hn::LoadU(d, ps), hn::LoadU(d, pb));
    } else if constexpr (kScale) {
      v = hn::Mul(v, hn::LoadU(d, ps));
    } else if constexpr (kBias) {
      v = hn::Add(v, hn::LoadU(d, pb));
    }
    if (tail) {
      hn::Store(v, d, tx);
      for (int64_t j = 0; j < n - i; ++j) y[i + j] = tx[j];
    } else {
      hn::StoreU(v, d, y + i);
    }
  }
}

void Apply(const float* x, float mean, float inv, const float* scale, const float* bias, float* y,
           int64_t n) {
  if (scale != nullptr && bias != nullptr)
    return ApplyLoop<true, true>(x, mean, inv, scale, bias, y, n);
  if (scale != nullptr) return ApplyLoop<true, false>(x, mean, inv, scale, bias, y, n);
  if (bias != nullptr) return ApplyLoop<false, true>(x, mean, inv, scale, bias, y, n);
  ApplyLoop<false, false>(x, mean, inv, scale, bias, y, n);
}

void Affine(const float* x, float scale, float shift, float* y, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V32 s = hn::Set(d, scale), b = hn::Set(d, shift);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), s, b), d, y + i);
  }
  if (i < n) {
    HWY_ALIGN float t[HWY_MAX_BYTES / 4] = {};
    for (int64_t j = i; j < n; ++j) t[j - i] = x[j];
    hn::Store(hn::MulAdd(hn::Load(d, t), s, b), d, t);
    for (int64_t j = i; j < n; ++j) y[j] = t[j - i];
  }
}

}  // namespace

NormCore GetNormCore() { return {Sum, SquareSum, Add, Apply, Affine}; }

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

constexpr int64_t kBlock = 512;

struct Norm {
  NormCore core;
  ConvertFn load = nullptr, store = nullptr;  // null for float
  int bytes = 4;

  // n <= kBlock floats of a buffer at element `at`; converted into `tmp` where needed.
  const float* Get(const void* p, int64_t at, int64_t n, float* tmp) const {
    const char* s = static_cast<const char*>(p) + at * bytes;
    if (load == nullptr) return reinterpret_cast<const float*>(s);
    load(s, tmp, n);
    return tmp;
  }
  float* Begin(void* p, int64_t at, float* tmp) const {
    return load == nullptr ? reinterpret_cast<float*>(static_cast<char*>(p) + at * bytes) : tmp;
  }
  void End(const float* tmp, void* p, int64_t at, int64_t n) const {
    if (load != nullptr) store(tmp, static_cast<char*>(p) + at * bytes, n);
  }
};

bool MakeNorm(ElemType type, IsaLevel level, Norm* norm) {
  if (type != ElemType::kFloat && type != ElemType::kFloat16 && type != ElemType::kBfloat16) {
    return false;
  }
  norm->core = SY_VEC_DISPATCH(level, GetNormCore());
  norm->bytes = BytesOf(type);
  if (type != ElemType::kFloat) {
    norm->load = GetConvert(type, ElemType::kFloat, level);
    norm->store = GetConvert(ElemType::kFloat, type, level);
  }
  return true;
}

// Mean and inverse deviation of n elements from `base`.
void Moments(const Norm& norm, const void* in, int64_t base, int64_t n, bool rms, float epsilon,
             float* mean, float* inv) {
  alignas(64) float tmp[kBlock];
  double sum = 0;
  if (!rms) {
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t m = n - at < kBlock ? n - at : kBlock;
      sum += static_cast<double>(norm.core.sum(norm.Get(in, base + at, m, tmp), m));
    }
  }
  *mean = rms ? 0.0f : static_cast<float>(sum / static_cast<double>(n));
  double squares = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    squares += static_cast<double>(norm.core.square_sum(norm.Get(in, base + at, m, tmp), *mean, m));
  }
  *inv = static_cast<float>(
      1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(epsilon)));
}

// in + skip + skip_bias of one row into `sum`.
void AddSkip(const Norm& norm, const LayerNormArgs& a, int64_t row, void* sum) {
  alignas(64) float t0[kBlock], t1[kBlock], t2[kBlock];
  const int64_t base = row * a.width;
  for (int64_t at = 0; at < a.width; at += kBlock) {
    const int64_t m = a.width - at < kBlock ? a.width - at : kBlock;
    const float* x = norm.Get(a.in, base + at, m, t0);
    float* y = norm.Begin(sum, base + at, t2);
    if (a.skip != nullptr) {
      const int64_t skip_row = a.skip_rows > 0 ? row % a.skip_rows : row;
      norm.core.add(x, norm.Get(a.skip, skip_row * a.width + at, m, t1), y, m);
      x = y;
    }
    if (a.skip_bias != nullptr) norm.core.add(x, norm.Get(a.skip_bias, at, m, t1), y, m);
    norm.End(y, sum, base + at, m);
  }
}

void LayerNormRow(const Norm& norm, const LayerNormArgs& a, int64_t row) {
  alignas(64) float t0[kBlock], t1[kBlock], t2[kBlock], t3[kBlock];
  const int64_t base = row * a.width;
  const void* in = a.in;
  if (a.skip != nullptr || a.skip_bias != nullptr) {
    void* sum = a.sum != nullptr ? a.sum : a.out;
    AddSkip(norm, a, row, sum);
    in = sum;
  }
  float mean, inv;
  Moments(norm, in, base, a.width, a.rms, a.epsilon, &mean, &inv);
  for (int64_t at = 0; at < a.width; at += kBlock) {
    const int64_t m = a.width - at < kBlock ? a.width - at : kBlock;
    const float* scale = a.scale == nullptr ? nullptr : norm.Get(a.scale, at, m, t1);
    const float* bias = a.bias == nullptr ? nullptr : norm.Get(a.bias, at, m, t2);
    float* y = norm.Begin(a.out, base + at, t3);
    norm.core.apply(norm.Get(in, base + at, m, t0), mean, inv, scale, bias, y, m);
    norm.End(y, a.out, base + at, m);
  }
  if (a.mean != nullptr) static_cast<float*>(a.mean)[row] = mean;
  if (a.inv_std != nullptr) static_cast<float*>(a.inv_std)[row] = inv;
}

void LayerNormDouble(const LayerNormArgs& a, int64_t row) {
  const int64_t n = a.width;
  const double* x = static_cast<const double*>(a.in) + row * n;
  double* y = static_cast<double*>(a.out) + row * n;
  if (a.skip != nullptr || a.skip_bias != nullptr) {
    double* sum = static_cast<double*>(a.sum != nullptr ? a.sum : a.out) + row * n;
    const int64_t skip_row = a.skip_rows > 0 ? row % a.skip_rows : row;
    const double* skip = static_cast<const double*>(a.skip);
    const double* skip_bias = static_cast<const double*>(a.skip_bias);
    for (int64_t i = 0; i < n; ++i) {
      double v = x[i];
      if (skip != nullptr) v += skip[skip_row * n + i];
      if (skip_bias != nullptr) v += skip_bias[i];
      sum[i] = v;
    }
    x = sum;
  }
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n && !a.rms; ++i) mean += x[i];
  mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double inv =
      1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(a.epsilon));
  const double* scale = static_cast<const double*>(a.scale);
  const double* bias = static_cast<const double*>(a.bias);
  for (int64_t i = 0; i < n; ++i) {
    double v = (x[i] - mean) * inv;
    if (scale != nullptr) v *= scale[i];
    if (bias != nullptr) v += bias[i];
    y[i] = v;
  }
  if (a.mean != nullptr) static_cast<double*>(a.mean)[row] = mean;
  if (a.inv_std != nullptr) static_cast<double*>(a.inv_std)[row] = inv;
}

float One(const Norm& norm, const void* p, int64_t at, float otherwise) {
  if (p == nullptr) return otherwise;
  float tmp[1];
  return *norm.Get(p, at, 1, tmp);
}

void AffineSpan(const Norm& norm, const void* in, void* out, int64_t base, int64_t n, float scale,
                float shift) {
  alignas(64) float t0[kBlock], t1[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    float* y = norm.Begin(out, base + at, t1);
    norm.core.affine(norm.Get(in, base + at, m, t0), scale, shift, y, m);
    norm.End(y, out, base + at, m);
  }
}

void GroupNormDouble(const GroupNormArgs& a, int64_t row) {
  const int64_t n = a.channels_per_group * a.spatial;
  const double* x = static_cast<const double*>(a.in) + row * n;
  double* y = static_cast<double*>(a.out) + row * n;
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double inv =
      1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(a.epsilon));
  const int64_t group = row % a.groups;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = a.per_group ? group : group * a.channels_per_group + i / a.spatial;
    const double s = a.scale == nullptr ? 1.0 : static_cast<const double*>(a.scale)[c];
    const double b = a.bias == nullptr ? 0.0 : static_cast<const double*>(a.bias)[c];
    y[i] = (x[i] - mean) * inv * s + b;
  }
}

}  // namespace

bool RunLayerNorm(const LayerNormArgs& args, int64_t begin, int64_t end) {
  if (args.type == ElemType::kDouble) {
    for (int64_t row = begin; row < end; ++row) LayerNormDouble(args, row);
    return true;
  }
  Norm norm;
  if (!MakeNorm(args.type, args.level, &norm)) return false;
  for (int64_t row = begin; row < end; ++row) LayerNormRow(norm, args, row);
  return true;
}

bool RunGroupNorm(const GroupNormArgs& a, int64_t begin, int64_t end) {
  if (a.type == ElemType::kDouble) {
    for (int64_t row = begin; row < end; ++row) GroupNormDouble(a, row);
    return true;
  }
  Norm norm;
  if (!MakeNorm(a.type, a.level, &norm)) return false;
  const int64_t n = a.channels_per_group * a.spatial;
  for (int64_t row = begin; row < end; ++row) {
    float mean, inv;
    Moments(norm, a.in, row * n, n, false, a.epsilon, &mean, &inv);
    for (int64_t k = 0; k < a.channels_per_group; ++k) {
      const int64_t group = row % a.groups;
      const int64_t c = a.per_group ? group : group * a.channels_per_group + k;
      const float s = inv * One(norm, a.scale, c, 1.0f);
      const float shift = std::fma(-mean, s, One(norm, a.bias, c, 0.0f));
      AffineSpan(norm, a.in, a.out, row * n + k * a.spatial, a.spatial, s, shift);
    }
  }
  return true;
}

bool RunChannelAffine(ElemType type, IsaLevel level, const void* in, void* out, const float* scale,
                      const float* shift, int64_t channels, int64_t spatial, int64_t begin,
                      int64_t end) {
  if (type == ElemType::kDouble) {
    const double* x = static_cast<const double*>(in);
    double* y = static_cast<double*>(out);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % channels;
      for (int64_t i = row * spatial; i < (row + 1) * spatial; ++i) {
        y[i] = x[i] * static_cast<double>(scale[c]) + static_cast<double>(shift[c]);
      }
    }
    return true;
  }
  Norm norm;
  if (!MakeNorm(type, level, &norm)) return false;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t c = row % channels;
    AffineSpan(norm, in, out, row * spatial, spatial, scale[c], shift[c]);
  }
  return true;
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
