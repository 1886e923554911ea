#include "providers/cpu/math/vec_quantize.h"

#include <cmath>

#include "providers/cpu/math/vec_cast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_quantize.cc"
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

#ifndef SY_QUANT_CORE_
#define SY_QUANT_CORE_
namespace switchyard::cpu::math {
namespace {
// One segment; scale and zero advance by `step` (0 or 1) elements.
struct Segment {
  const float* scale;
  const float* zero;
  int step;
  float low, high;
};
struct QuantCore {
  void (*quantize)(const float* x, const Segment& s, float* y, int64_t n);
  void (*divide)(const float* x, const Segment& s, float* y, int64_t n);
  void (*requantize)(const float* x, const Segment& s, float* y, int64_t n);
  void (*dequantize)(const float* x, const Segment& s, float* y, int64_t n);
};
}  // namespace
}  // namespace switchyard::cpu::math
#endif

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

struct QuantizeStep {
  static HWY_INLINE V32 Run(V32 x, V32 scale, V32 zero, V32 low, V32 high) {
    const V32 y = hn::Add(hn::Round(hn::Div(x, scale)), zero);
    const V32 nan_low = Blend(hn::IsNaN(y), low, y);
    return hn::Min(hn::Max(nan_low, low), high);
  }
};
struct DivideStep {
  static HWY_INLINE V32 Run(V32 x, V32 scale, V32, V32, V32) { return hn::Div(x, scale); }
};
struct RequantizeStep {
  static HWY_INLINE V32 Run(V32 x, V32 scale, V32 zero, V32 low, V32 high) {
    const V32 y = hn::Add(hn::Round(hn::Mul(x, scale)), zero);
    return hn::Min(hn::Max(y, low), high);
  }
};
struct DequantizeStep {
  static HWY_INLINE V32 Run(V32 x, V32 scale, V32 zero, V32, V32) {
    return hn::Mul(hn::Sub(x, zero), scale);
  }
};

template <class Op>
void Loop(const float* x, const Segment& s, float* y, int64_t n) {
  const D32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V32 low = hn::Set(d, s.low), high = hn::Set(d, s.high);
  V32 scale = hn::Set(d, *s.scale), zero = hn::Set(d, *s.zero);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (s.step != 0) {
      scale = hn::LoadU(d, s.scale + i);
      zero = hn::LoadU(d, s.zero + i);
    }
    hn::StoreU(Op::Run(hn::LoadU(d, x + i), scale, zero, low, high), d, y + i);
  }
  if (i < n) {
    HWY_ALIGN float tx[HWY_MAX_BYTES / 4] = {}, ts[HWY_MAX_BYTES / 4], tz[HWY_MAX_BYTES / 4];
    hn::Store(scale, d, ts);
    hn::Store(zero, d, tz);
    for (int64_t j = i; j < n; ++j) {
      tx[j - i] = x[j];
      ts[j - i] = s.scale[j * s.step];
      tz[j - i] = s.zero[j * s.step];
    }
    hn::Store(Op::Run(hn::Load(d, tx), hn::Load(d, ts), hn::Load(d, tz), low, high), d, tx);
    for (int64_t j = i; j < n; ++j) y[j] = tx[j - i];
  }
}

}  // namespace

QuantCore GetQuantCore() {
  return {Loop<QuantizeStep>, Loop<DivideStep>, Loop<RequantizeStep>, Loop<DequantizeStep>};
}

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

constexpr int64_t kBlock = 512;

struct Range {
  float low, high;
  bool integer;
  bool known;
};

Range RangeOf(ElemType t) {
  switch (t) {
    case ElemType::kUint8:
      return {0, 255, true, true};
    case ElemType::kInt8:
      return {-128, 127, true, true};
    case ElemType::kUint16:
      return {0, 65535, true, true};
    case ElemType::kInt16:
      return {-32768, 32767, true, true};
    case ElemType::kUint4:
      return {0, 15, true, true};
    case ElemType::kInt4:
      return {-8, 7, true, true};
    case ElemType::kUint2:
      return {0, 3, true, true};
    case ElemType::kInt2:
      return {-2, 1, true, true};
    case ElemType::kFloat8E4M3FN:
    case ElemType::kFloat8E4M3FNUZ:
    case ElemType::kFloat8E5M2:
    case ElemType::kFloat8E5M2FNUZ:
    case ElemType::kFloat4E2M1:
      return {0, 0, false, true};
    default:
      return {0, 0, false, false};
  }
}

bool IsReal(ElemType t) {
  return t == ElemType::kFloat || t == ElemType::kFloat16 || t == ElemType::kBfloat16;
}

// A parameter array of any element type, read as float.
struct Parameter {
  const char* data;
  int bits;
  ConvertFn load;  // null: float

  void Read(int64_t at, int64_t n, float* out) const {
    const int per = bits < 8 ? 8 / bits : 1;
    if (at % per == 0) return load(data + at * bits / 8, out, n);
    // In the middle of a byte.
    float tmp[8];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t slot = (at + i) % per;
      load(data + (at + i) / per, tmp, slot + 1);
      out[i] = tmp[slot];
    }
  }
};

Parameter MakeParameter(const void* data, ElemType type, IsaLevel level) {
  return {static_cast<const char*>(data), BitsOf(type), GetConvert(type, ElemType::kFloat, level)};
}

struct Place {
  int64_t index, len;
  bool vector;
};

Place PlaceOf(const QuantLayout& l, int64_t e) {
  if (l.kind == QuantLayout::Kind::kTensor) return {0, INT64_MAX, false};
  const int64_t i = e % l.inner, a = (e / l.inner) % l.axis;
  if (l.kind == QuantLayout::Kind::kAxis) {
    return l.inner > 1 ? Place{a, l.inner - i, false} : Place{a, l.axis - a, true};
  }
  const int64_t outer = e / (l.inner * l.axis);
  const int64_t blocks = (l.axis + l.block - 1) / l.block;
  const int64_t index = (outer * blocks + a / l.block) * l.inner + i;
  if (l.inner > 1) return {index, l.inner - i, true};
  const int64_t in_block = l.block - a % l.block, in_row = l.axis - a;
  return {index, in_block < in_row ? in_block : in_row, false};
}

// Applies `fn` to n floats that start at element `first`.
template <class Fn>
void ApplySegments(const QuantArgs& args, const Parameter& scale, const Parameter& zero,
                   const Range& range, const float* x, float* y, int64_t first, int64_t n, Fn fn) {
  alignas(64) float s[kBlock], z[kBlock];
  for (int64_t i = 0; i < n;) {
    const Place p = PlaceOf(args.layout, first + i);
    const int64_t len = p.len < n - i ? p.len : n - i;
    const int64_t values = p.vector ? len : 1;
    scale.Read(p.index, values, s);
    if (zero.data != nullptr) {
      zero.Read(p.index, values, z);
    } else {
      for (int64_t k = 0; k < values; ++k) z[k] = 0;
    }
    const Segment segment{s, z, p.vector ? 1 : 0, range.low, range.high};
    fn(x + i, segment, y + i, len);
    i += len;
  }
}

const char* At(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }
char* At(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }

}  // namespace

bool RunQuantize(const QuantArgs& args, const void* x, void* y, int64_t begin, int64_t end) {
  const Range range = RangeOf(args.quant);
  if (!range.known || (!IsReal(args.real) && args.real != ElemType::kInt32)) return false;
  const QuantCore core = SY_VEC_DISPATCH(args.level, GetQuantCore());
  const Parameter scale = MakeParameter(args.scale, args.scale_type, args.level);
  const Parameter zero = MakeParameter(args.zero_point, args.quant, args.level);
  const ConvertFn load = GetConvert(args.real, ElemType::kFloat, args.level);
  const ConvertFn store = GetCast(ElemType::kFloat, args.quant, args.level, args.saturate).store;
  const auto fn = range.integer ? core.quantize : core.divide;
  alignas(64) float in[kBlock], out[kBlock];
  for (; begin < end; begin += kBlock) {
    const int64_t n = end - begin < kBlock ? end - begin : kBlock;
    const float* src = in;
    if (args.real == ElemType::kFloat) {
      src = static_cast<const float*>(x) + begin;
    } else {
      load(At(x, begin * BytesOf(args.real)), in, n);
    }
    ApplySegments(args, scale, zero, range, src, out, begin, n, fn);
    store(out, At(y, begin * BitsOf(args.quant) / 8), n);
  }
  return true;
}

bool RunDequantize(const QuantArgs& args, const void* x, void* y, int64_t begin, int64_t end) {
  const Range range = RangeOf(args.quant);
  if ((!range.known && args.quant != ElemType::kInt32) || !IsReal(args.real)) return false;
  const QuantCore core = SY_VEC_DISPATCH(args.level, GetQuantCore());
  const Parameter scale = MakeParameter(args.scale, args.scale_type, args.level);
  const Parameter zero = MakeParameter(args.zero_point, args.quant, args.level);
  const ConvertFn load = GetConvert(args.quant, ElemType::kFloat, args.level);
  const ConvertFn store = GetConvert(ElemType::kFloat, args.real, args.level);
  alignas(64) float in[kBlock], out[kBlock];
  for (; begin < end; begin += kBlock) {
    const int64_t n = end - begin < kBlock ? end - begin : kBlock;
    load(At(x, begin * BitsOf(args.quant) / 8), in, n);
    const bool direct = args.real == ElemType::kFloat;
    float* dst = direct ? static_cast<float*>(y) + begin : out;
    ApplySegments(args, scale, zero, range, in, dst, begin, n, core.dequantize);
    if (!direct) store(out, At(y, begin * BytesOf(args.real)), n);
  }
  return true;
}

void RequantizeRow(const int32_t* acc, const float* multiplier, bool per_element,
                   int32_t zero_point, ElemType type, void* out, int64_t n, IsaLevel level) {
  const Range range = RangeOf(type);
  const QuantCore core = SY_VEC_DISPATCH(level, GetQuantCore());
  const ConvertFn load = GetConvert(ElemType::kInt32, ElemType::kFloat, level);
  const ConvertFn store = GetConvert(ElemType::kFloat, type, level);
  alignas(64) float x[kBlock], z[kBlock];
  for (int64_t i = 0; i < (per_element ? kBlock : 1); ++i) z[i] = static_cast<float>(zero_point);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = n - at < kBlock ? n - at : kBlock;
    load(acc + at, x, m);
    const Segment s{multiplier + (per_element ? at : 0), z, per_element ? 1 : 0, range.low,
                    range.high};
    core.requantize(x, s, x, m);
    store(x, At(out, at * BytesOf(type)), m);
  }
}

void DynamicQuantParams(float low, float high, float* scale, uint8_t* zero_point) {
  const float lo = low < 0 ? low : 0.0f, hi = high > 0 ? high : 0.0f;
  *scale = (hi - lo) / 255.0f;
  if (*scale == 0) *scale = 1.0f;
  const float zero = std::nearbyint((0.0f - lo) / *scale);
  *zero_point = static_cast<uint8_t>(zero < 0 ? 0 : zero > 255 ? 255 : zero);
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
