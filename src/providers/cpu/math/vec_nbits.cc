#include "providers/cpu/math/vec_nbits.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_nbits.cc"
#define SY_VEC_NO_AVX512
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SY_NBITS_CORE_
#define SY_NBITS_CORE_
namespace switchyard::cpu::math {
namespace {
struct NBitsCore {
  void (*dot)(const NBitsWeight& weight, const float* arranged, const float* sums, int64_t begin,
              int64_t end, float* out);
  void (*integer_dot)(const NBitsWeight& weight, const int16_t* values, const float* scales,
                      const float* sums, int64_t begin, int64_t end, float* out);
  void (*expand)(const NBitsWeight& weight, int64_t column, float* out);
};
}  // namespace
}  // namespace switchyard::cpu::math
#endif

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Blocks of 16 have 8 even elements: no more lanes than that.
using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;
using Bytes = hn::Rebind<uint8_t, D>;
using Codes = hn::Rebind<int32_t, D>;

HWY_INLINE hn::Vec<Codes> LoadCodes(const uint8_t* p) {
  return hn::PromoteTo(Codes(), hn::LoadU(Bytes(), p));
}

// The product of one block with its codes.
template <int kBits>
HWY_INLINE V BlockDot(const uint8_t* codes, const float* a, int64_t block) {
  const D d;
  const Codes dc;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V even = hn::Zero(d), odd = even;
  if constexpr (kBits == 4) {
    const int64_t half = block / 2;
    const auto low = hn::Set(dc, 15);
    for (int64_t i = 0; i < half; i += lanes) {
      const auto c = LoadCodes(codes + i);
      even = hn::MulAdd(hn::ConvertTo(d, hn::And(c, low)), hn::LoadU(d, a + i), even);
      odd = hn::MulAdd(hn::ConvertTo(d, hn::ShiftRight<4>(c)), hn::LoadU(d, a + half + i), odd);
    }
  } else {
    for (int64_t i = 0; i < block; i += 2 * lanes) {
      even = hn::MulAdd(hn::ConvertTo(d, LoadCodes(codes + i)), hn::LoadU(d, a + i), even);
      odd = hn::MulAdd(hn::ConvertTo(d, LoadCodes(codes + i + lanes)), hn::LoadU(d, a + i + lanes),
                       odd);
    }
  }
  return hn::Add(even, odd);
}

template <int kBits, int kColumns>
HWY_INLINE void Columns(const NBitsWeight& w, const float* arranged, const float* sums,
                        int64_t column, float* out) {
  const D d;
  V acc[kColumns];
  float shift[kColumns] = {};
  for (int c = 0; c < kColumns; ++c) acc[c] = hn::Zero(d);
  const int64_t bytes = w.block * kBits / 8, pitch = w.column_bytes();
  for (int64_t b = 0; b < w.blocks; ++b) {
    for (int c = 0; c < kColumns; ++c) {
      const int64_t at = (column + c) * w.blocks + b;
      const V dot = BlockDot<kBits>(w.codes + (column + c) * pitch + b * bytes,
                                    arranged + b * w.block, w.block);
      acc[c] = hn::MulAdd(dot, hn::Set(d, w.scales[at]), acc[c]);
      shift[c] += w.scales[at] * w.zeros[(column + c) * w.zeros_pitch + b] * sums[b];
    }
  }
  for (int c = 0; c < kColumns; ++c)
    out[column + c] = hn::GetLane(hn::SumOfLanes(d, acc[c])) - shift[c];
}

template <int kBits>
void DotLoop(const NBitsWeight& w, const float* arranged, const float* sums, int64_t begin,
             int64_t end, float* out) {
  for (; begin + 4 <= end; begin += 4) Columns<kBits, 4>(w, arranged, sums, begin, out);
  for (; begin < end; ++begin) Columns<kBits, 1>(w, arranged, sums, begin, out);
}

void Dot(const NBitsWeight& w, const float* arranged, const float* sums, int64_t begin, int64_t end,
         float* out) {
  if (w.bits == 4) return DotLoop<4>(w, arranged, sums, begin, end, out);
  DotLoop<8>(w, arranged, sums, begin, end, out);
}

// The product of one block with its codes, in integers: at most 127 * 255 * block, no overflow.
template <int kBits, class D16>
HWY_INLINE hn::Vec<hn::RepartitionToWide<D16>> IntegerBlock(D16 d16, const uint8_t* codes,
                                                            const int16_t* a, int64_t block) {
  const hn::Rebind<uint8_t, D16> bytes;
  const hn::RepartitionToWide<D16> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d16));
  auto sum0 = hn::Zero(d32), sum1 = hn::Zero(d32);
  if constexpr (kBits == 4) {
    const int64_t half = block / 2;
    const auto low = hn::Set(d16, 15);
    for (int64_t i = 0; i < half; i += lanes) {
      const auto c = hn::PromoteTo(d16, hn::LoadU(bytes, codes + i));
      sum0 = hn::ReorderWidenMulAccumulate(d32, hn::And(c, low), hn::LoadU(d16, a + i), sum0, sum1);
      sum0 = hn::ReorderWidenMulAccumulate(d32, hn::ShiftRight<4>(c), hn::LoadU(d16, a + half + i),
                                           sum0, sum1);
    }
  } else {
    for (int64_t i = 0; i < block; i += lanes) {
      const auto c = hn::PromoteTo(d16, hn::LoadU(bytes, codes + i));
      sum0 = hn::ReorderWidenMulAccumulate(d32, c, hn::LoadU(d16, a + i), sum0, sum1);
    }
  }
  return hn::Add(sum0, sum1);
}

template <int kBits, int kColumns, class D16>
HWY_INLINE void IntegerColumns(D16 d16, const NBitsWeight& w, const int16_t* values,
                               const float* scales, const float* sums, int64_t column, float* out) {
  const hn::RebindToFloat<hn::RepartitionToWide<D16>> d;
  hn::Vec<decltype(d)> acc[kColumns];
  float shift[kColumns] = {};
  for (int c = 0; c < kColumns; ++c) acc[c] = hn::Zero(d);
  const int64_t bytes = w.block * kBits / 8, pitch = w.column_bytes();
  for (int64_t b = 0; b < w.blocks; ++b) {
    for (int c = 0; c < kColumns; ++c) {
      const float scale = w.scales[(column + c) * w.blocks + b];
      const auto dot = IntegerBlock<kBits>(d16, w.codes + (column + c) * pitch + b * bytes,
                                           values + b * w.block, w.block);
      acc[c] = hn::MulAdd(hn::ConvertTo(d, dot), hn::Set(d, scale * scales[b]), acc[c]);
      shift[c] += scale * w.zeros[(column + c) * w.zeros_pitch + b] * sums[b];
    }
  }
  for (int c = 0; c < kColumns; ++c)
    out[column + c] = hn::GetLane(hn::SumOfLanes(d, acc[c])) - shift[c];
}

template <int kBits, class D16>
void IntegerLoop(D16 d16, const NBitsWeight& w, const int16_t* values, const float* scales,
                 const float* sums, int64_t begin, int64_t end, float* out) {
  for (; begin + 4 <= end; begin += 4)
    IntegerColumns<kBits, 4>(d16, w, values, scales, sums, begin, out);
  for (; begin < end; ++begin) IntegerColumns<kBits, 1>(d16, w, values, scales, sums, begin, out);
}

void IntegerDot(const NBitsWeight& w, const int16_t* values, const float* scales, const float* sums,
                int64_t begin, int64_t end, float* out) {
  // Half a block of 16 codes has 8 of them.
  const hn::CappedTag<int16_t, 8> narrow;
  const hn::CappedTag<int16_t, 16> wide;
  if (w.bits == 8) return IntegerLoop<8>(wide, w, values, scales, sums, begin, end, out);
  if (w.block < 32) return IntegerLoop<4>(narrow, w, values, scales, sums, begin, end, out);
  IntegerLoop<4>(wide, w, values, scales, sums, begin, end, out);
}

void Expand(const NBitsWeight& w, int64_t column, float* out) {
  const D d;
  const Codes dc;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const uint8_t* codes = w.codes + column * w.column_bytes();
  for (int64_t b = 0; b < w.blocks; ++b) {
    const V scale = hn::Set(d, w.scales[column * w.blocks + b]);
    const V zero = hn::Set(d, w.zeros[column * w.zeros_pitch + b]);
    const auto real = [&](hn::Vec<Codes> c) {
      return hn::Mul(hn::Sub(hn::ConvertTo(d, c), zero), scale);
    };
    if (w.bits == 4) {
      for (int64_t i = 0; i < w.block / 2; i += lanes, codes += lanes, out += 2 * lanes) {
        const auto c = LoadCodes(codes);
        hn::StoreInterleaved2(real(hn::And(c, hn::Set(dc, 15))), real(hn::ShiftRight<4>(c)), d,
                              out);
      }
    } else {
      for (int64_t i = 0; i < w.block; i += lanes, codes += lanes, out += lanes)
        hn::StoreU(real(LoadCodes(codes)), d, out);
    }
  }
}

NBitsCore GetNBitsCore() { return {Dot, IntegerDot, Expand}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {

void NBitsArrange(const NBitsWeight& w, const float* row, int64_t k, float* arranged, float* sums) {
  for (int64_t b = 0; b < w.blocks; ++b) {
    float sum = 0;
    float* to = arranged + b * w.block;
    for (int64_t i = 0; i < w.block; ++i) {
      const int64_t at = b * w.block + i;
      const float v = at < k ? row[at] : 0.0f;
      sum += v;
      to[w.bits == 4 ? (i % 2) * (w.block / 2) + i / 2 : i] = v;
    }
    sums[b] = sum;
  }
}

void NBitsQuantize(const NBitsWeight& w, const float* row, int64_t k, int16_t* values,
                   float* scales, float* sums, float* real) {
  for (int64_t b = 0; b < w.blocks; ++b) {
    const int64_t first = b * w.block, count = std::clamp<int64_t>(k - first, 0, w.block);
    float largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(row[first + i]));
    const float scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0.0f;
    int32_t sum = 0;
    for (int64_t i = 0; i < w.block; ++i) {
      const float v = i < count ? std::nearbyint(row[first + i] * inverse) : 0.0f;
      const auto code = static_cast<int16_t>(std::clamp(v, -127.0f, 127.0f));
      sum += code;
      values[first + (w.bits == 4 ? (i % 2) * (w.block / 2) + i / 2 : i)] = code;
      if (real != nullptr && i < count) real[first + i] = static_cast<float>(code) * scale;
    }
    scales[b] = scale;
    sums[b] = scale * static_cast<float>(sum);
  }
}

void NBitsIntegerDot(const NBitsWeight& weight, const int16_t* values, const float* scales,
                     const float* sums, int64_t begin, int64_t end, float* out) {
  SY_VEC_DISPATCH(weight.level, GetNBitsCore())
      .integer_dot(weight, values, scales, sums, begin, end, out);
}

void NBitsDot(const NBitsWeight& weight, const float* arranged, const float* sums, int64_t begin,
              int64_t end, float* out) {
  SY_VEC_DISPATCH(weight.level, GetNBitsCore()).dot(weight, arranged, sums, begin, end, out);
}

void NBitsExpand(const NBitsWeight& weight, int64_t column, float* out) {
  SY_VEC_DISPATCH(weight.level, GetNBitsCore()).expand(weight, column, out);
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
