// Bit-exact conversions between float and narrower floats, branch-free so that loops over them
// vectorise. Included once per target; plain C++ apart from that. None depends on the FTZ/DAZ mode
// but float8e8m0 and float inputs below 2^-126.

#if defined(SY_VEC_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SY_VEC_NARROW_INL_H_
#undef SY_VEC_NARROW_INL_H_
#else
#define SY_VEC_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE float BitsToFloat(uint32_t b) { return __builtin_bit_cast(float, b); }
HWY_INLINE uint32_t FloatToBits(float f) { return __builtin_bit_cast(uint32_t, f); }

HWY_INLINE float HalfToFloat(uint16_t h) {
  const uint32_t em = h & 0x7fffu;
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t normal = (em << 13) + (em >= 0x7c00u ? 0x70000000u : 0x38000000u);
  const uint32_t quiet = em > 0x7c00u ? 0x00400000u : 0u;
  const uint32_t small =
      FloatToBits(static_cast<float>(static_cast<int32_t>(em)) * 5.9604644775390625e-8f);
  return BitsToFloat((em < 0x400u ? small : (normal | quiet)) | sign);
}

HWY_INLINE uint16_t FloatToHalf(float f) {
  const uint32_t b = FloatToBits(f);
  const uint32_t ax = b & 0x7fffffffu;
  const uint32_t small = FloatToBits(BitsToFloat(ax) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (ax + 0xc8000fffu + ((ax >> 13) & 1u)) >> 13;
  const uint32_t special = ax > 0x7f800000u ? (0x7e00u | ((ax >> 13) & 0x3ffu)) : 0x7c00u;
  const uint32_t y = ax < 0x38800000u ? small : normal;
  return static_cast<uint16_t>((ax >= 0x47800000u ? special : y) | ((b >> 16) & 0x8000u));
}

HWY_INLINE float Bf16ToFloat(uint16_t h) { return BitsToFloat(static_cast<uint32_t>(h) << 16); }

HWY_INLINE uint16_t FloatToBf16(float f) {
  const uint32_t b = FloatToBits(f);
  const uint32_t r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  const uint32_t nan = (b >> 16) | 0x40u;
  return static_cast<uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? nan : r);
}

enum class F8 { kE4M3FN, kE4M3FNUZ, kE5M2, kE5M2FNUZ };

template <F8 kKind>
struct F8Traits {
  static constexpr bool kFive = kKind == F8::kE5M2 || kKind == F8::kE5M2FNUZ;
  static constexpr bool kUz = kKind == F8::kE4M3FNUZ || kKind == F8::kE5M2FNUZ;
  static constexpr int kMantissa = kFive ? 2 : 3;
  static constexpr int kBias = (kFive ? 15 : 7) + (kUz ? 1 : 0);
  static constexpr uint32_t kMax = kUz ? 0x7f : kFive ? 0x7b : 0x7e;
  static constexpr uint32_t kNan = kUz ? 0x80 : 0x7f;
  static constexpr uint32_t kOverflow = kKind == F8::kE5M2 ? 0x7c : kNan;  // without saturation
};

template <F8 kKind, bool kSaturate>
HWY_INLINE uint8_t FloatToF8(float f) {
  using T = F8Traits<kKind>;
  constexpr int kShift = 23 - T::kMantissa;
  constexpr uint32_t kMinNormal = static_cast<uint32_t>(128 - T::kBias) << 23;
  // Adding 2^(23 - mantissa) times the smallest normal rounds to a multiple of the smallest
  // denormal.
  constexpr uint32_t kMagic = static_cast<uint32_t>(128 - T::kBias + kShift) << 23;
  const uint32_t b = FloatToBits(f);
  const uint32_t ax = b & 0x7fffffffu;
  const uint32_t small = FloatToBits(BitsToFloat(ax) + BitsToFloat(kMagic)) - kMagic;
  const uint32_t normal = (ax - (static_cast<uint32_t>(127 - T::kBias) << 23) +
                           ((1u << (kShift - 1)) - 1u) + ((ax >> kShift) & 1u)) >>
                          kShift;
  uint32_t y = ax < kMinNormal ? small : normal;
  y = y > T::kMax || ax >= 0x7f800000u ? (kSaturate ? T::kMax : T::kOverflow) : y;
  const bool nan = ax > 0x7f800000u;
  const uint32_t sign = (b >> 24) & 0x80u;
  if (T::kUz) {
    const uint32_t z = y == 0 || y == 0x80u ? y : y | sign;
    return static_cast<uint8_t>(nan ? T::kNan : z);
  }
  return static_cast<uint8_t>((nan ? T::kNan : y) | sign);
}

template <F8 kKind>
HWY_INLINE float F8ToFloat(uint8_t v) {
  using T = F8Traits<kKind>;
  const uint32_t em = v & 0x7fu;
  const uint32_t sign = static_cast<uint32_t>(v & 0x80u) << 24;
  const uint32_t normal =
      (em << (23 - T::kMantissa)) + (static_cast<uint32_t>(127 - T::kBias) << 23);
  constexpr float kUnit = 1.0f / static_cast<float>(1u << (T::kBias - 1 + T::kMantissa));
  const uint32_t small = FloatToBits(static_cast<float>(static_cast<int32_t>(em)) * kUnit);
  uint32_t y = em < (1u << T::kMantissa) ? small : normal;
  if (T::kUz) return BitsToFloat(v == 0x80u ? 0x7fc00000u : (y | sign));
  if (kKind == F8::kE5M2) {
    y = em > 0x7cu ? 0x7fc00000u : em == 0x7cu ? 0x7f800000u : y;
  } else {
    y = em == 0x7fu ? 0x7fc00000u : y;
  }
  return BitsToFloat(y | sign);
}

// Saturating; e2m1 has no NaN, which becomes -0 as in the operator's tests.
HWY_INLINE uint8_t FloatToF4(float f) {
  const uint32_t b = FloatToBits(f);
  const uint32_t ax = b & 0x7fffffffu;
  const uint32_t small = FloatToBits(BitsToFloat(ax) + BitsToFloat(0x4a800000u)) - 0x4a800000u;
  const uint32_t normal = (ax - (126u << 23) + 0x1fffffu + ((ax >> 22) & 1u)) >> 22;
  uint32_t y = ax < 0x3f800000u ? small : normal;
  y = y > 7u || ax >= 0x7f800000u ? 7u : y;
  return static_cast<uint8_t>(ax > 0x7f800000u ? 8u : (y | ((b >> 28) & 8u)));
}

HWY_INLINE float F4ToFloat(uint8_t v) {
  const uint32_t em = v & 7u;
  const uint32_t y = em < 2u ? (em ? 0x3f000000u : 0u) : (em << 22) + (126u << 23);
  return BitsToFloat(y | (static_cast<uint32_t>(v & 8u) << 28));
}

HWY_INLINE float E8m0ToFloat(uint8_t v) {
  const uint32_t y = v == 0 ? 0x00400000u : static_cast<uint32_t>(v) << 23;
  return BitsToFloat(v == 255 ? 0x7fc00000u : y);
}

// kMode: 0 up, 1 down, 2 nearest with ties up. The sign is ignored.
template <int kMode, bool kSaturate>
HWY_INLINE uint8_t FloatToE8m0(float f) {
  const uint32_t ax = FloatToBits(f) & 0x7fffffffu;
  const uint32_t bump = kMode == 0 ? 0x7fffffu : kMode == 1 ? 0u : 0x400000u;
  // Below 2^-126 an exponent field of 0 stands for 2^-127.
  const uint32_t tiny = kMode == 1 ? 0u : kMode == 0 ? (ax > 0x400000u) : (ax >= 0x600000u);
  uint32_t y = ax < 0x00800000u ? tiny : (ax + bump) >> 23;
  if (kSaturate) {
    y = y > 254u ? 254u : y;
  } else {
    y = y > 254u || ax < 0x400000u ? 255u : y;
  }
  return static_cast<uint8_t>(ax > 0x7f800000u ? 255u : y);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#endif
