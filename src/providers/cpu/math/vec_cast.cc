#include "providers/cpu/math/vec_cast.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_cast.cc"
#define SY_VEC_NO_AVX512
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

// Storage types that need more than a C++ conversion.
struct Bool {};
struct Half {};
struct Bf16 {};
template <F8 kKind, bool kSaturate>
struct Float8 {};
template <int kMode, bool kSaturate>
struct E8m0 {};

template <class S>
struct Codec {
  using Raw = S;
  template <class M>
  static HWY_INLINE M Load(S v) {
    return static_cast<M>(v);
  }
  template <class M>
  static HWY_INLINE S Store(M v) {
    if constexpr (std::is_floating_point_v<M> && std::is_integral_v<S>) {
      if constexpr (sizeof(S) < 4 || std::is_same_v<S, int32_t>) {
        return static_cast<S>(static_cast<int32_t>(v));
      } else if constexpr (std::is_same_v<S, uint64_t>) {
        const M half = static_cast<M>(9223372036854775808.0);
        return v >= half ? static_cast<uint64_t>(static_cast<int64_t>(v - half)) ^ (1ULL << 63)
                         : static_cast<uint64_t>(static_cast<int64_t>(v));
      } else {
        return static_cast<S>(static_cast<int64_t>(v));
      }
    } else {
      return static_cast<S>(v);
    }
  }
};
template <>
struct Codec<Bool> {
  using Raw = uint8_t;
  template <class M>
  static HWY_INLINE M Load(uint8_t v) {
    return static_cast<M>(v != 0 ? 1 : 0);
  }
  template <class M>
  static HWY_INLINE uint8_t Store(M v) {
    return v != 0;
  }
};

// A double passes through float rounded to odd, so that the second rounding is exact.
HWY_INLINE float ToOdd(float v) { return v; }
HWY_INLINE float ToOdd(double v) {
  const float f = static_cast<float>(v);
  const double back = f;
  const double af = back < 0 ? -back : back, av = v < 0 ? -v : v;
  uint32_t b = FloatToBits(f);
  const uint32_t down = af > av ? 1u : 0u;
  b = af != av && av < 3.5e38 ? ((b - down) | 1u) : b;
  return BitsToFloat(b);
}

#define SY_FLOAT_CODEC(S, RAW, LOAD, STORE) \
  struct Codec<S> {                         \
    using Raw = RAW;                        \
    template <class M>                      \
    static HWY_INLINE M Load(RAW v) {       \
      return static_cast<M>(LOAD(v));       \
    }                                       \
    template <class M>                      \
    static HWY_INLINE RAW Store(M v) {      \
      return STORE(ToOdd(v));               \
    }                                       \
  }
template <>
SY_FLOAT_CODEC(Half, uint16_t, HalfToFloat, FloatToHalf);
template <>
SY_FLOAT_CODEC(Bf16, uint16_t, Bf16ToFloat, FloatToBf16);
#define SY_COMMA ,
template <F8 kKind, bool kSaturate>
SY_FLOAT_CODEC(Float8<kKind SY_COMMA kSaturate>, uint8_t, F8ToFloat<kKind>,
               (FloatToF8<kKind, kSaturate>));
template <int kMode, bool kSaturate>
SY_FLOAT_CODEC(E8m0<kMode SY_COMMA kSaturate>, uint8_t, E8m0ToFloat,
               (FloatToE8m0<kMode, kSaturate>));

template <class S, class M>
void LoadLoop(const void* src, void* dst, int64_t n) {
  using Raw = typename Codec<S>::Raw;
  const Raw* HWY_RESTRICT s = static_cast<const Raw*>(src);
  M* HWY_RESTRICT d = static_cast<M*>(dst);
  for (int64_t i = 0; i < n; ++i) d[i] = Codec<S>::template Load<M>(s[i]);
}

template <class S, class M>
void StoreLoop(const void* src, void* dst, int64_t n) {
  using Raw = typename Codec<S>::Raw;
  const M* HWY_RESTRICT s = static_cast<const M*>(src);
  Raw* HWY_RESTRICT d = static_cast<Raw*>(dst);
  for (int64_t i = 0; i < n; ++i) d[i] = Codec<S>::template Store<M>(s[i]);
}

// Packed integers and e2m1; kBits 4 or 2.
template <int kBits, class V>
HWY_INLINE V Unpack(uint8_t byte, int slot, bool is_signed) {
  constexpr int kMask = (1 << kBits) - 1;
  const int v = (byte >> (slot * kBits)) & kMask;
  return static_cast<V>(is_signed && (v >> (kBits - 1)) ? v - (1 << kBits) : v);
}

template <int kBits, bool kSigned, class M>
void LoadPacked(const void* src, void* dst, int64_t n) {
  constexpr int kPer = 8 / kBits;
  const uint8_t* s = static_cast<const uint8_t*>(src);
  M* d = static_cast<M*>(dst);
  for (int64_t i = 0; i < n; ++i) {
    d[i] = Unpack<kBits, M>(s[i / kPer], static_cast<int>(i % kPer), kSigned);
  }
}

template <int kBits, class M>
void StorePacked(const void* src, void* dst, int64_t n) {
  constexpr int kPer = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  const M* s = static_cast<const M*>(src);
  uint8_t* d = static_cast<uint8_t*>(dst);
  for (int64_t i = 0; i < n; i += kPer) {
    int byte = 0;
    for (int k = 0; k < kPer && i + k < n; ++k) {
      byte |= (static_cast<int>(static_cast<int64_t>(s[i + k])) & kMask) << (k * kBits);
    }
    d[i / kPer] = static_cast<uint8_t>(byte);
  }
}

template <class M>
void LoadF4(const void* src, void* dst, int64_t n) {
  const uint8_t* s = static_cast<const uint8_t*>(src);
  M* d = static_cast<M*>(dst);
  for (int64_t i = 0; i < n; ++i) {
    d[i] = static_cast<M>(F4ToFloat(static_cast<uint8_t>((s[i / 2] >> (4 * (i & 1))) & 15)));
  }
}

template <class M>
void StoreF4(const void* src, void* dst, int64_t n) {
  const M* s = static_cast<const M*>(src);
  uint8_t* d = static_cast<uint8_t*>(dst);
  for (int64_t i = 0; i < n; i += 2) {
    const int lo = FloatToF4(ToOdd(s[i]));
    const int hi = i + 1 < n ? FloatToF4(ToOdd(s[i + 1])) : 0;
    d[i / 2] = static_cast<uint8_t>(lo | (hi << 4));
  }
}

template <class M>
ConvertFn PickLoadInt(ElemType t) {
  switch (t) {
    case ElemType::kUint8:
      return LoadLoop<uint8_t, M>;
    case ElemType::kInt8:
      return LoadLoop<int8_t, M>;
    case ElemType::kUint16:
      return LoadLoop<uint16_t, M>;
    case ElemType::kInt16:
      return LoadLoop<int16_t, M>;
    case ElemType::kInt32:
      return LoadLoop<int32_t, M>;
    case ElemType::kInt64:
      return LoadLoop<int64_t, M>;
    case ElemType::kUint32:
      return LoadLoop<uint32_t, M>;
    case ElemType::kUint64:
      return LoadLoop<uint64_t, M>;
    case ElemType::kBool:
      return LoadLoop<Bool, M>;
    case ElemType::kUint4:
      return LoadPacked<4, false, M>;
    case ElemType::kInt4:
      return LoadPacked<4, true, M>;
    case ElemType::kUint2:
      return LoadPacked<2, false, M>;
    case ElemType::kInt2:
      return LoadPacked<2, true, M>;
    default:
      return nullptr;
  }
}

template <class M>
ConvertFn PickStoreInt(ElemType t) {
  switch (t) {
    case ElemType::kUint8:
      return StoreLoop<uint8_t, M>;
    case ElemType::kInt8:
      return StoreLoop<int8_t, M>;
    case ElemType::kUint16:
      return StoreLoop<uint16_t, M>;
    case ElemType::kInt16:
      return StoreLoop<int16_t, M>;
    case ElemType::kInt32:
      return StoreLoop<int32_t, M>;
    case ElemType::kInt64:
      return StoreLoop<int64_t, M>;
    case ElemType::kUint32:
      return StoreLoop<uint32_t, M>;
    case ElemType::kUint64:
      return StoreLoop<uint64_t, M>;
    case ElemType::kBool:
      return StoreLoop<Bool, M>;
    case ElemType::kUint4:
    case ElemType::kInt4:
      return StorePacked<4, M>;
    case ElemType::kUint2:
    case ElemType::kInt2:
      return StorePacked<2, M>;
    default:
      return nullptr;
  }
}

template <class M>
ConvertFn PickLoadReal(ElemType t) {
  switch (t) {
    case ElemType::kFloat:
      return LoadLoop<float, M>;
    case ElemType::kDouble:
      return LoadLoop<double, M>;
    case ElemType::kFloat16:
      return LoadLoop<Half, M>;
    case ElemType::kBfloat16:
      return LoadLoop<Bf16, M>;
    case ElemType::kFloat8E4M3FN:
      return LoadLoop<Float8<F8::kE4M3FN, true>, M>;
    case ElemType::kFloat8E4M3FNUZ:
      return LoadLoop<Float8<F8::kE4M3FNUZ, true>, M>;
    case ElemType::kFloat8E5M2:
      return LoadLoop<Float8<F8::kE5M2, true>, M>;
    case ElemType::kFloat8E5M2FNUZ:
      return LoadLoop<Float8<F8::kE5M2FNUZ, true>, M>;
    case ElemType::kFloat8E8M0:
      return LoadLoop<E8m0<0, true>, M>;
    case ElemType::kFloat4E2M1:
      return LoadF4<M>;
    default:
      return PickLoadInt<M>(t);
  }
}

template <class M, bool kSaturate>
ConvertFn PickStoreE8m0(RoundMode round) {
  switch (round) {
    case RoundMode::kDown:
      return StoreLoop<E8m0<1, kSaturate>, M>;
    case RoundMode::kNearest:
      return StoreLoop<E8m0<2, kSaturate>, M>;
    default:
      return StoreLoop<E8m0<0, kSaturate>, M>;
  }
}

template <class M, bool kSaturate>
ConvertFn PickStoreReal(ElemType t, RoundMode round) {
  switch (t) {
    case ElemType::kFloat:
      return StoreLoop<float, M>;
    case ElemType::kDouble:
      return StoreLoop<double, M>;
    case ElemType::kFloat16:
      return StoreLoop<Half, M>;
    case ElemType::kBfloat16:
      return StoreLoop<Bf16, M>;
    case ElemType::kFloat8E4M3FN:
      return StoreLoop<Float8<F8::kE4M3FN, kSaturate>, M>;
    case ElemType::kFloat8E4M3FNUZ:
      return StoreLoop<Float8<F8::kE4M3FNUZ, kSaturate>, M>;
    case ElemType::kFloat8E5M2:
      return StoreLoop<Float8<F8::kE5M2, kSaturate>, M>;
    case ElemType::kFloat8E5M2FNUZ:
      return StoreLoop<Float8<F8::kE5M2FNUZ, kSaturate>, M>;
    case ElemType::kFloat8E8M0:
      return PickStoreE8m0<M, kSaturate>(round);
    case ElemType::kFloat4E2M1:
      return StoreF4<M>;
    default:
      return PickStoreInt<M>(t);
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// F16C converts in hardware with the same rounding as the portable code.
void LoadHalf(const void* src, void* dst, int64_t n) {
  const uint16_t* s = static_cast<const uint16_t*>(src);
  float* d = static_cast<float*>(dst);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(d + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i))));
  }
  for (; i < n; ++i) d[i] = HalfToFloat(s[i]);
}
void StoreHalf(const void* src, void* dst, int64_t n) {
  const float* s = static_cast<const float*>(src);
  uint16_t* d = static_cast<uint16_t*>(dst);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) d[i] = FloatToHalf(s[i]);
}
#else
constexpr ConvertFn LoadHalf = LoadLoop<Half, float>;
constexpr ConvertFn StoreHalf = StoreLoop<Half, float>;
#endif

}  // namespace

ConvertFn LoadFloatFn(ElemType t) {
  return t == ElemType::kFloat16 ? LoadHalf : PickLoadReal<float>(t);
}
ConvertFn LoadDoubleFn(ElemType t) { return PickLoadReal<double>(t); }
ConvertFn LoadInt64Fn(ElemType t) { return PickLoadInt<int64_t>(t); }
ConvertFn StoreFloatFn(ElemType t, bool saturate, RoundMode round) {
  if (t == ElemType::kFloat16) return StoreHalf;
  return saturate ? PickStoreReal<float, true>(t, round) : PickStoreReal<float, false>(t, round);
}
ConvertFn StoreDoubleFn(ElemType t, bool saturate, RoundMode round) {
  return saturate ? PickStoreReal<double, true>(t, round) : PickStoreReal<double, false>(t, round);
}
ConvertFn StoreInt64Fn(ElemType t) { return PickStoreInt<int64_t>(t); }

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

template <int kBytes>
void CopyLoop(const void* src, void* dst, int64_t n) {
  std::memmove(dst, src, static_cast<size_t>(n) * kBytes);
}

template <int kPer>
void CopyPacked(const void* src, void* dst, int64_t n) {
  std::memmove(dst, src, static_cast<size_t>((n + kPer - 1) / kPer));
}

ConvertFn CopyFn(ElemType t) {
  switch (BitsOf(t)) {
    case 64:
      return CopyLoop<8>;
    case 32:
      return CopyLoop<4>;
    case 16:
      return CopyLoop<2>;
    case 8:
      return CopyLoop<1>;
    case 4:
      return CopyPacked<2>;
    case 2:
      return CopyPacked<4>;
    default:
      return nullptr;
  }
}

bool IsInteger(ElemType t) {
  switch (t) {
    case ElemType::kUint8:
    case ElemType::kInt8:
    case ElemType::kUint16:
    case ElemType::kInt16:
    case ElemType::kInt32:
    case ElemType::kInt64:
    case ElemType::kUint32:
    case ElemType::kUint64:
    case ElemType::kBool:
    case ElemType::kUint4:
    case ElemType::kInt4:
    case ElemType::kUint2:
    case ElemType::kInt2:
      return true;
    default:
      return false;
  }
}

}  // namespace

ConvertFn GetConvert(ElemType from, ElemType to, IsaLevel level) {
  if (from == to) return CopyFn(from);
  if (to == ElemType::kFloat) return SY_VEC_DISPATCH(level, LoadFloatFn(from));
  if (from == ElemType::kFloat) {
    return SY_VEC_DISPATCH(level, StoreFloatFn(to, true, RoundMode::kUp));
  }
  return nullptr;
}

CastKernel GetCast(ElemType from, ElemType to, IsaLevel level, bool saturate, RoundMode round) {
  CastKernel k;
  k.from_bits = BitsOf(from);
  k.to_bits = BitsOf(to);
  if (k.from_bits == 0 || k.to_bits == 0) return k;
  if (from == to) {
    k.store = CopyFn(from);
    k.mid_bytes = 8;
  } else if (IsInteger(from) && IsInteger(to)) {
    k.mid_bytes = 8;
    if (from != ElemType::kInt64) k.load = SY_VEC_DISPATCH(level, LoadInt64Fn(from));
    if (to != ElemType::kInt64) k.store = SY_VEC_DISPATCH(level, StoreInt64Fn(to));
  } else if (from == ElemType::kDouble || to == ElemType::kDouble) {
    k.mid_bytes = 8;
    if (from != ElemType::kDouble) k.load = SY_VEC_DISPATCH(level, LoadDoubleFn(from));
    if (to != ElemType::kDouble) {
      k.store = SY_VEC_DISPATCH(level, StoreDoubleFn(to, saturate, round));
    }
  } else {
    k.mid_bytes = 4;
    if (from != ElemType::kFloat) k.load = SY_VEC_DISPATCH(level, LoadFloatFn(from));
    if (to != ElemType::kFloat) {
      k.store = SY_VEC_DISPATCH(level, StoreFloatFn(to, saturate, round));
    }
  }
  return k;
}

void RunCast(const CastKernel& k, const void* src, void* dst, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 512;
  alignas(64) char mid[kBlock * 8];
  for (; begin < end; begin += kBlock) {
    const int64_t n = end - begin < kBlock ? end - begin : kBlock;
    const char* s = static_cast<const char*>(src) + begin * k.from_bits / 8;
    char* d = static_cast<char*>(dst) + begin * k.to_bits / 8;
    if (k.load == nullptr) {
      k.store(s, d, n);
    } else if (k.store == nullptr) {
      k.load(s, d, n);
    } else {
      k.load(s, mid, n);
      k.store(mid, d, n);
    }
  }
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
