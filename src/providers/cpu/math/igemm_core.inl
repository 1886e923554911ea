// Integer matrix products of one ISA level, after simd.inl. B is kept as signed bytes, A as four
// bytes per step of K: two 16-bit values (multiply-add of pairs: exact, where vpmaddubsw would
// saturate) or four unsigned bytes (VNNI).
#pragma once

#include "providers/cpu/math/igemm.h"
#include "providers/cpu/math/simd.inl"

#if defined(__SSE2__) && !defined(SY_SIMD_AVX2) && !defined(SY_SIMD_AVX512)
#include <immintrin.h>
#endif
#if defined(__SSE2__) && !defined(SY_SIMD_WIDE_TILES)
#define SY_SSE2_PACKING
#endif

namespace switchyard::cpu::math {
namespace {

// To 8 bits: bounds less the zero point, which is added after rounding. One scale for all elements
// or one each.
struct Rounding {
  double low, high;
  std::int32_t zero;
  bool is_signed, one_scale;
};

#if defined(SY_SIMD_AVX512)

struct IntVec {
  using Reg = __m512i;
  static constexpr int kW = 16;
  static constexpr int kPanelVectors = 4;
  static constexpr bool kQuads = true;
  static SY_INLINE Reg Zero() { return _mm512_setzero_si512(); }
  static SY_INLINE Reg BroadcastA(const void* p) {
    std::int32_t x;
    __builtin_memcpy(&x, p, 4);
    return _mm512_set1_epi32(x);
  }
  static SY_INLINE Reg LoadB(const std::int8_t* p) { return _mm512_loadu_si512(p); }
  static SY_INLINE Reg Mac(Reg acc, Reg a, Reg b) { return _mm512_dpbusd_epi32(acc, a, b); }
  static SY_INLINE void Store(std::int32_t* p, Reg v) { _mm512_storeu_si512(p, v); }
  static SY_INLINE void StoreBytes(std::uint8_t* p, Reg x, const Rounding& r,
                                   const double* scales) {
    const __m512d low = _mm512_set1_pd(r.low), high = _mm512_set1_pd(r.high);
    const auto half = [&](__m256i part, const double* s) {
      const __m512d scaled = _mm512_mul_pd(_mm512_cvtepi32_pd(part),
                                           r.one_scale ? _mm512_set1_pd(*s) : _mm512_loadu_pd(s));
      return _mm512_cvtpd_epi32(_mm512_min_pd(_mm512_max_pd(scaled, low), high));
    };
    const __m512i rounded = _mm512_inserti64x4(
        _mm512_castsi256_si512(half(_mm512_castsi512_si256(x), scales)),
        half(_mm512_extracti64x4_epi64(x, 1), r.one_scale ? scales : scales + 8), 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, _mm512_set1_epi32(r.zero))));
  }
  static SY_INLINE void StoreFloats(float* p, Reg x, const float* scales, const float* bias) {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(x), _mm512_loadu_ps(scales));
    _mm512_storeu_ps(p, _mm512_add_ps(scaled, _mm512_loadu_ps(bias)));
  }
};

#elif defined(SY_SIMD_AVX2)

struct IntVec {
  using Reg = __m256i;
  static constexpr int kW = 8;
  static constexpr int kPanelVectors = 2;
  static constexpr bool kQuads = false;
  static SY_INLINE Reg Zero() { return _mm256_setzero_si256(); }
  static SY_INLINE Reg BroadcastA(const void* p) {
    std::int32_t x;
    __builtin_memcpy(&x, p, 4);
    return _mm256_set1_epi32(x);
  }
  static SY_INLINE Reg LoadB(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static SY_INLINE Reg Mac(Reg acc, Reg a, Reg b) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
  }
  static SY_INLINE void Store(std::int32_t* p, Reg v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static SY_INLINE void StoreBytes(std::uint8_t* p, Reg x, const Rounding& r,
                                   const double* scales) {
    const __m256d low = _mm256_set1_pd(r.low), high = _mm256_set1_pd(r.high);
    const auto half = [&](__m128i part, const double* s) {
      const __m256d scaled = _mm256_mul_pd(_mm256_cvtepi32_pd(part),
                                           r.one_scale ? _mm256_set1_pd(*s) : _mm256_loadu_pd(s));
      const __m128i rounded = _mm256_cvtpd_epi32(_mm256_min_pd(_mm256_max_pd(scaled, low), high));
      return _mm_add_epi32(rounded, _mm_set1_epi32(r.zero));
    };
    const __m128i words =
        _mm_packs_epi32(half(_mm256_castsi256_si128(x), scales),
                        half(_mm256_extracti128_si256(x, 1), r.one_scale ? scales : scales + 4));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p),
                     r.is_signed ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words));
  }
  static SY_INLINE void StoreFloats(float* p, Reg x, const float* scales, const float* bias) {
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(x), _mm256_loadu_ps(scales));
    _mm256_storeu_ps(p, _mm256_add_ps(scaled, _mm256_loadu_ps(bias)));
  }
};

#elif defined(__SSE2__) && !defined(SY_SIMD_WIDE_TILES)

struct IntVec {
  using Reg = __m128i;
  static constexpr int kW = 4;
  static constexpr int kPanelVectors = 2;
  static constexpr bool kQuads = false;
  static SY_INLINE Reg Zero() { return _mm_setzero_si128(); }
  static SY_INLINE Reg BroadcastA(const void* p) {
    std::int32_t x;
    __builtin_memcpy(&x, p, 4);
    return _mm_set1_epi32(x);
  }
  static SY_INLINE Reg LoadB(const std::int8_t* p) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
  }
  static SY_INLINE Reg Mac(Reg acc, Reg a, Reg b) {
    return _mm_add_epi32(acc, _mm_madd_epi16(a, b));
  }
  static SY_INLINE void Store(std::int32_t* p, Reg v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static SY_INLINE void StoreBytes(std::uint8_t* p, Reg x, const Rounding& r,
                                   const double* scales) {
    const __m128d low = _mm_set1_pd(r.low), high = _mm_set1_pd(r.high);
    const auto half = [&](__m128i part, const double* s) {
      const __m128d scaled =
          _mm_mul_pd(_mm_cvtepi32_pd(part), r.one_scale ? _mm_set1_pd(*s) : _mm_loadu_pd(s));
      return _mm_cvtpd_epi32(_mm_min_pd(_mm_max_pd(scaled, low), high));
    };
    const __m128i rounded = _mm_unpacklo_epi64(
        half(x, scales), half(_mm_shuffle_epi32(x, 0xee), r.one_scale ? scales : scales + 2));
    const __m128i sums = _mm_add_epi32(rounded, _mm_set1_epi32(r.zero));
    const __m128i words = _mm_packs_epi32(sums, sums);
    const std::int32_t bytes = _mm_cvtsi128_si32(r.is_signed ? _mm_packs_epi16(words, words)
                                                             : _mm_packus_epi16(words, words));
    __builtin_memcpy(p, &bytes, 4);
  }
  static SY_INLINE void StoreFloats(float* p, Reg x, const float* scales, const float* bias) {
    const __m128 scaled = _mm_mul_ps(_mm_cvtepi32_ps(x), _mm_loadu_ps(scales));
    _mm_storeu_ps(p, _mm_add_ps(scaled, _mm_loadu_ps(bias)));
  }
};

#else

// Portable, in the layout of VNNI.
struct IntVec {
  typedef std::int32_t Reg __attribute__((vector_size(16)));
  typedef std::int32_t Loose __attribute__((vector_size(16), aligned(1), may_alias));
  static constexpr int kW = 4;
  static constexpr int kPanelVectors = 4;
  static constexpr bool kQuads = true;
  static SY_INLINE Reg Zero() { return Reg{}; }
  static SY_INLINE Reg BroadcastA(const void* p) {
    std::int32_t x;
    __builtin_memcpy(&x, p, 4);
    return x - Reg{};
  }
  static SY_INLINE Reg LoadB(const std::int8_t* p) { return *reinterpret_cast<const Loose*>(p); }
  static SY_INLINE Reg Mac(Reg acc, Reg a, Reg b) {
    acc += (a & 255) * ((b << 24) >> 24);
    acc += ((a >> 8) & 255) * ((b << 16) >> 24);
    acc += ((a >> 16) & 255) * ((b << 8) >> 24);
    return acc + ((a >> 24) & 255) * (b >> 24);
  }
  static SY_INLINE void Store(std::int32_t* p, Reg v) { *reinterpret_cast<Loose*>(p) = v; }
  static SY_INLINE void StoreBytes(std::uint8_t* p, Reg x, const Rounding& r,
                                   const double* scales) {
    for (int i = 0; i < kW; ++i) {
      double v = static_cast<double>(x[i]) * scales[r.one_scale ? 0 : i];
      v = v > r.low ? v : r.low;
      v = v < r.high ? v : r.high;
      p[i] = static_cast<std::uint8_t>(__builtin_lrint(v) + r.zero);
    }
  }
  static SY_INLINE void StoreFloats(float* p, Reg x, const float* scales, const float* bias) {
    for (int i = 0; i < kW; ++i) p[i] = static_cast<float>(x[i]) * scales[i] + bias[i];
  }
};

#endif

struct Igemm {
  using Reg = IntVec::Reg;
  typedef std::uint32_t Words __attribute__((vector_size(4 * IntVec::kW), may_alias));
  static constexpr std::int64_t kW = IntVec::kW;
  static constexpr std::int64_t kCols = IntVec::kPanelVectors * IntVec::kW;
  static constexpr std::int64_t kRows = 6;
  static constexpr std::int64_t kGroup = IntVec::kQuads ? 4 : 2;  // values of K per step

  static std::int64_t Steps(std::int64_t k) { return CeilDiv(k, kGroup); }

  // ---- packing ----

  static std::int64_t BPanels(std::int64_t n) { return CeilDiv(n, kCols); }
  // Steps of kCols groups, then one 32-bit sum per column.
  static std::int64_t PanelBytes(std::int64_t k) {
    return RoundUp(Steps(k) * kCols * kGroup + kCols * 4, 64);
  }
  static std::size_t PackedBBytes(std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(BPanels(n) * PanelBytes(k));
  }

#if defined(SY_SSE2_PACKING)
  // One step of a whole panel from kGroup rows.
  static SY_INLINE void InterleaveStep(const std::uint8_t* const (&rows)[kGroup], std::uint8_t flip,
                                       std::int8_t* out) {
    const __m128i mask = _mm_set1_epi8(static_cast<char>(flip));
    constexpr std::int64_t kRun = kCols < 16 ? 8 : 16;
    for (std::int64_t j = 0; j < kCols; j += kRun) {
      __m128i r[kGroup];
      for (std::int64_t g = 0; g < kGroup; ++g) {
        const auto* p = reinterpret_cast<const __m128i*>(rows[g] + j);
        r[g] = _mm_xor_si128(kRun == 8 ? _mm_loadl_epi64(p) : _mm_loadu_si128(p), mask);
      }
      auto* d = reinterpret_cast<__m128i*>(out + j * kGroup);
      const __m128i low = _mm_unpacklo_epi8(r[0], r[1]);
      const __m128i high = _mm_unpackhi_epi8(r[0], r[1]);
      if constexpr (kGroup == 2) {
        _mm_storeu_si128(d, low);
        if constexpr (kRun == 16) _mm_storeu_si128(d + 1, high);
      } else {
        const __m128i low2 = _mm_unpacklo_epi8(r[2], r[3]);
        const __m128i high2 = _mm_unpackhi_epi8(r[2], r[3]);
        _mm_storeu_si128(d, _mm_unpacklo_epi16(low, low2));
        _mm_storeu_si128(d + 1, _mm_unpackhi_epi16(low, low2));
        _mm_storeu_si128(d + 2, _mm_unpacklo_epi16(high, high2));
        _mm_storeu_si128(d + 3, _mm_unpackhi_epi16(high, high2));
      }
    }
  }
#else
  static SY_INLINE void InterleaveStep(const std::uint8_t* const (&rows)[kGroup], std::uint8_t flip,
                                       std::int8_t* out) {
    for (std::int64_t j = 0; j < kCols; ++j) {
      for (std::int64_t g = 0; g < kGroup; ++g)
        out[j * kGroup + g] = static_cast<std::int8_t>(rows[g][j] ^ flip);
    }
  }
#endif

  // The sums of what a packed step holds.
  static SY_INLINE void AddStep(const std::int8_t* step, Reg (&sums)[IntVec::kPanelVectors]) {
    constexpr std::int32_t kOnes = kGroup == 4 ? 0x01010101 : 0x00010001;
    const Reg ones = IntVec::BroadcastA(&kOnes);
#pragma GCC unroll 4
    for (int v = 0; v < IntVec::kPanelVectors; ++v)
      sums[v] = IntVec::Mac(sums[v], ones, IntVec::LoadB(step + v * kW * kGroup));
  }

  // Unsigned B is kept less 128.
  static void PackPanel(const std::uint8_t* b, bool b_signed, std::int64_t ldb, bool transposed,
                        std::int64_t k, std::int64_t cols, void* dst) {
    auto* out = static_cast<std::int8_t*>(dst);
    auto* totals = reinterpret_cast<std::int32_t*>(out + Steps(k) * kCols * kGroup);
    const std::uint8_t flip = b_signed ? 0 : 0x80;
    Reg sums[IntVec::kPanelVectors];
    for (Reg& sum : sums) sum = IntVec::Zero();
    std::int64_t k0 = 0;
    if (!transposed && cols == kCols) {
      for (; k0 + kGroup <= k; k0 += kGroup, out += kCols * kGroup) {
        const std::uint8_t* rows[kGroup];
        for (std::int64_t g = 0; g < kGroup; ++g) rows[g] = b + (k0 + g) * ldb;
        InterleaveStep(rows, flip, out);
        AddStep(out, sums);
      }
    }
    const std::int64_t row_stride = transposed ? 1 : ldb;
    const std::int64_t col_stride = transposed ? ldb : 1;
    for (; k0 < k; k0 += kGroup, out += kCols * kGroup) {
      const std::int64_t inside = MinOf(kGroup, k - k0);
      for (std::int64_t j = 0; j < kCols; ++j) {
        const std::uint8_t* from = b + k0 * row_stride + (j < cols ? j : 0) * col_stride;
        for (std::int64_t g = 0; g < kGroup; ++g) {
          const bool given = g < inside && j < cols;
          out[j * kGroup + g] =
              given ? static_cast<std::int8_t>(from[g * row_stride] ^ flip) : std::int8_t{0};
        }
      }
      AddStep(out, sums);
    }
#pragma GCC unroll 4
    for (int v = 0; v < IntVec::kPanelVectors; ++v) IntVec::Store(totals + v * kW, sums[v]);
  }

  static void PackB(const void* b, bool b_signed, std::int64_t ldb, MatrixForm form, std::int64_t k,
                    std::int64_t n, std::int64_t begin, std::int64_t end, void* packed) {
    const bool transposed = form == MatrixForm::kTransposed;
    for (std::int64_t p = begin; p < end; ++p) {
      PackPanel(static_cast<const std::uint8_t*>(b) + p * kCols * (transposed ? ldb : 1), b_signed,
                ldb, transposed, k, MinOf(kCols, n - p * kCols),
                static_cast<char*>(packed) + p * PanelBytes(k));
    }
  }

  static std::int64_t ARowBytes(std::int64_t k) { return Steps(k) * 4; }
  // The rows' sums, then the rows.
  static std::int64_t SumsBytes(std::int64_t m) { return RoundUp(m * 4, 64); }
  static std::size_t PackedABytes(std::int64_t m, std::int64_t k) {
    return static_cast<std::size_t>(SumsBytes(m) + m * ARowBytes(k));
  }

  // One row of A widened for the tiles; gives the sum of the values as they are kept.
  static std::int32_t PackRow(const std::uint8_t* a, bool a_signed, std::int64_t k, char* dst) {
    std::int32_t sum = 0;
    std::int64_t i = 0;
    if constexpr (IntVec::kQuads) {
      // Signed A is kept plus 128.
      const std::uint8_t flip = a_signed ? 0x80 : 0;
      auto* out = reinterpret_cast<std::uint8_t*>(dst);
#if defined(SY_SIMD_AVX512)
      __m512i sums = _mm512_setzero_si512();
      const __m512i mask = _mm512_set1_epi8(static_cast<char>(flip));
      for (; i + 64 <= k; i += 64) {
        const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(a + i), mask);
        _mm512_storeu_si512(out + i, x);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(x, _mm512_setzero_si512()));
      }
      sum = static_cast<std::int32_t>(_mm512_reduce_add_epi64(sums));
#endif
      for (; i < k; ++i) {
        out[i] = static_cast<std::uint8_t>(a[i] ^ flip);
        sum += out[i];
      }
      for (; i < Steps(k) * 4; ++i) out[i] = 0;
    } else {
      auto* out = reinterpret_cast<std::int16_t*>(dst);
#if defined(SY_SIMD_AVX2)
      const __m256i ones = _mm256_set1_epi16(1);
      __m256i sums = _mm256_setzero_si256();
      for (; i + 16 <= k; i += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i));
        const __m256i x = a_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), x);
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(x, ones));
      }
      __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
      s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
      s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
      sum = _mm_cvtsi128_si32(s);
#endif
      for (; i < k; ++i) {
        out[i] = a_signed ? static_cast<std::int8_t>(a[i]) : a[i];
        sum += out[i];
      }
      for (; i < Steps(k) * 2; ++i) out[i] = 0;
    }
    return sum;
  }

  static void PackA(const void* a, bool a_signed, std::int64_t lda, std::int64_t m, std::int64_t k,
                    std::int64_t begin, std::int64_t end, void* packed) {
    auto* sums = static_cast<std::int32_t*>(packed);
    char* rows = static_cast<char*>(packed) + SumsBytes(m);
    for (std::int64_t r = begin; r < end; ++r) {
      sums[r] = PackRow(static_cast<const std::uint8_t*>(a) + r * lda, a_signed, k,
                        rows + r * ARowBytes(k));
    }
  }

  // ---- planning ----

  static GemmPlan Plan(const GemmShape& shape) {
    GemmPlan plan;
    plan.shape = shape;
    const GemmShape& s = plan.shape;
    if (s.m <= 0 || s.n <= 0 || s.batch <= 0) return plan;
    plan.path = GemmPath::kTiles;
    plan.k_block = s.k;
    const bool pack = s.b != MatrixForm::kPacked;
    // Rows that are packed already cost nothing per chunk: as many as stay in L2, for each chunk
    // packs its panels anew.
    const bool kept_rows = s.a == MatrixForm::kPacked;
    const std::int64_t most =
        kept_rows && pack
            ? MinOf<std::int64_t>(MaxOf<std::int64_t>(96, 131072 / (ARowBytes(s.k) + 1)), 384)
            : 96;
    std::int64_t mc = MinOf<std::int64_t>(s.m, most);
    std::int64_t nc = MinOf<std::int64_t>(RoundUp(s.n, kCols), 256);
    const double total = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) *
                         static_cast<double>(s.k) * static_cast<double>(s.batch);
    const double target = MinOf(32e6, MaxOf(1e6, total / 48));
    const auto flops = [&] {
      return 2.0 * static_cast<double>(mc) * static_cast<double>(nc) * static_cast<double>(s.k);
    };
    while (flops() > target && nc > 4 * kCols) nc = RoundUp(nc / 2, kCols);
    while (flops() > target && mc > (kept_rows && pack ? most : pack ? 96 : 24))
      mc = RoundUp(mc / 2, kRows);
    plan.m_chunks = CeilDiv(s.m, mc);
    plan.m_chunk = RoundUp(CeilDiv(s.m, plan.m_chunks), kRows);
    plan.m_chunks = CeilDiv(s.m, plan.m_chunk);
    plan.n_chunks = CeilDiv(s.n, nc);
    plan.n_chunk = RoundUp(CeilDiv(s.n, plan.n_chunks), kCols);
    plan.n_chunks = CeilDiv(s.n, plan.n_chunk);
    plan.chunks = s.batch * plan.m_chunks * plan.n_chunks;
    plan.flops_per_chunk = total / static_cast<double>(plan.chunks);
    std::int64_t bytes = pack ? PanelBytes(s.k) : 0;
    if (s.a != MatrixForm::kPacked) {
      const std::int64_t rows = MinOf(plan.m_chunk, s.m);
      bytes += RoundUp(static_cast<std::int64_t>(PackedABytes(rows, s.k)), 64);
    }
    plan.scratch_bytes = static_cast<std::size_t>(bytes);
    return plan;
  }

  // ---- tiles ----

  // The first NV vectors of a panel's columns.
  template <int MR, int NV>
  static __attribute__((noinline)) void Tile(const char* a, std::int64_t row_bytes,
                                             std::int64_t steps, const std::int8_t* b,
                                             std::int32_t* out) {
    Reg acc[MR][NV];
#pragma GCC unroll 6
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) acc[r][v] = IntVec::Zero();
    }
    for (std::int64_t i = 0; i < steps; ++i) {
      Reg bv[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) bv[v] = IntVec::LoadB(b + v * IntVec::kW * kGroup);
#pragma GCC unroll 6
      for (int r = 0; r < MR; ++r) {
        const Reg av = IntVec::BroadcastA(a + r * row_bytes);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = IntVec::Mac(acc[r][v], av, bv[v]);
      }
      a += 4;
      b += kCols * kGroup;
    }
#pragma GCC unroll 6
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) IntVec::Store(out + r * kCols + v * IntVec::kW, acc[r][v]);
    }
  }

  template <int NV>
  static void TileOf(std::int64_t rows, const char* a, std::int64_t row_bytes, std::int64_t steps,
                     const std::int8_t* b, std::int32_t* out) {
    switch (rows) {
      case 1:
        return Tile<1, NV>(a, row_bytes, steps, b, out);
      case 2:
        return Tile<2, NV>(a, row_bytes, steps, b, out);
      case 3:
        return Tile<3, NV>(a, row_bytes, steps, b, out);
      case 4:
        return Tile<4, NV>(a, row_bytes, steps, b, out);
      case 5:
        return Tile<5, NV>(a, row_bytes, steps, b, out);
      default:
        return Tile<6, NV>(a, row_bytes, steps, b, out);
    }
  }

  // A last panel of few columns takes half the tile, or a quarter.
  static SY_INLINE void AnyTile(std::int64_t rows, std::int64_t cols, const char* a,
                                std::int64_t row_bytes, std::int64_t steps, const std::int8_t* b,
                                std::int32_t* out) {
    if (cols <= kW) return TileOf<1>(rows, a, row_bytes, steps, b, out);
    if (IntVec::kPanelVectors > 2 && cols <= 2 * kW)
      return TileOf<2>(rows, a, row_bytes, steps, b, out);
    TileOf<IntVec::kPanelVectors>(rows, a, row_bytes, steps, b, out);
  }

  // ---- results ----

  // What the columns of one panel share: with A' = A + da and B' = B + db as they are kept,
  // (A - za)(B - zb) summed over K is
  //   A'B' - (zb + db) (rowsum(A') - K (za + da)) - (za + da) colsum(B').
  // Unsigned, for it wraps.
  struct Columns {
    std::uint32_t zero[kCols];   // zb + db where they differ, else zero[0]
    std::uint32_t start[kCols];  // the bias, less (za + da) colsum(B') where za is the same for all
    const std::int32_t* sums;    // of B'
    double scale[kCols];
    float scale_f[kCols];
    float bias_f[kCols];
  };

  static SY_INLINE std::uint32_t AShift(const IgemmArgs& args, std::int32_t zero) {
    return static_cast<std::uint32_t>(zero + (IntVec::kQuads && args.a_signed ? 128 : 0));
  }

  static void PrepareColumns(const IgemmArgs& args, std::int64_t col, std::int64_t cols,
                             const std::int32_t* sums, Columns* c) {
    const std::int32_t db = args.b_signed ? 0 : -128;
    const std::uint32_t za = args.a_zero_rows != nullptr ? 0 : AShift(args, args.a_zero);
    c->sums = sums;
    for (std::int64_t j = 0; j < kCols; ++j) {
      const bool given = j < cols;
      const std::int32_t zb =
          (args.b_zero_cols != nullptr && given ? args.b_zero_cols[col + j] : args.b_zero) + db;
      c->zero[j] = static_cast<std::uint32_t>(zb);
      const std::int32_t bias = args.bias_col != nullptr && given ? args.bias_col[col + j] : 0;
      c->start[j] = static_cast<std::uint32_t>(bias) - za * static_cast<std::uint32_t>(sums[j]);
    }
    if (args.result == IgemmResult::kSums) return;
    for (std::int64_t j = 0; j < kCols; ++j) {
      const bool given = j < cols;
      c->scale_f[j] = args.scale_cols != nullptr && given ? args.scale_cols[col + j] : args.scale;
      c->scale[j] = static_cast<double>(c->scale_f[j]);
      c->bias_f[j] = args.float_bias_col != nullptr && given ? args.float_bias_col[col + j] : 0.0f;
    }
  }

  // One vector of final sums, columns [v * kW, v * kW + count) of the panel, to c.
  static SY_INLINE void StoreResult(IgemmResult result, const Columns& columns,
                                    const Rounding& rounding, std::int64_t v, Words sums,
                                    std::int64_t count, char* c) {
    const Reg x = (Reg)sums;
    alignas(64) char part[4 * kW];
    char* to = count == kW ? c : part;
    std::int64_t size = 4;
    if (result == IgemmResult::kSums) {
      IntVec::Store(reinterpret_cast<std::int32_t*>(to), x);
    } else if (result == IgemmResult::kFloat) {
      IntVec::StoreFloats(reinterpret_cast<float*>(to), x, columns.scale_f + v * kW,
                          columns.bias_f + v * kW);
    } else {
      IntVec::StoreBytes(reinterpret_cast<std::uint8_t*>(to), x, rounding,
                         rounding.one_scale ? columns.scale : columns.scale + v * kW);
      size = 1;
    }
    if (count != kW) __builtin_memcpy(c, part, static_cast<std::size_t>(size * count));
  }

  static SY_INLINE Words LoadWords(const void* p, std::int64_t v) {
    Words words;
    __builtin_memcpy(&words, static_cast<const char*>(p) + v * kW * 4, sizeof(words));
    return words;
  }

  static Rounding RoundingOf(IgemmResult result, std::int32_t zero, bool one_scale) {
    const bool is_signed = result == IgemmResult::kInt8;
    return {static_cast<double>((is_signed ? -128 : 0) - zero),
            static_cast<double>((is_signed ? 127 : 255) - zero), zero, is_signed, one_scale};
  }

  static void Finish(const GemmPlan& plan, const IgemmArgs& args, Columns& columns,
                     std::int64_t row, std::int64_t rows, std::int64_t cols,
                     const std::int32_t* sums, const std::int32_t* row_sums, char* c) {
    const auto k = static_cast<std::uint32_t>(plan.shape.k);
    const IgemmResult result = args.result;
    const Rounding rounding = RoundingOf(result, args.c_zero, args.scale_cols == nullptr);
    const std::int64_t size = SizeOf(result);
    const bool zero_per_column = args.b_zero_cols != nullptr;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint32_t za =
          AShift(args, args.a_zero_rows != nullptr ? args.a_zero_rows[row + r] : args.a_zero);
      const std::uint32_t zeros = static_cast<std::uint32_t>(row_sums[r]) - k * za;
      std::uint32_t bias =
          args.bias_row != nullptr ? static_cast<std::uint32_t>(args.bias_row[row + r]) : 0;
      if (!zero_per_column) bias -= columns.zero[0] * zeros;
      if (args.scale_rows != nullptr) {
        columns.scale[0] = static_cast<double>(args.scale_rows[row + r]);
        for (std::int64_t j = 0; result == IgemmResult::kFloat && j < kCols; ++j)
          columns.scale_f[j] = args.scale_rows[row + r];
      }
      char* to = c + r * args.ldc * size;
      for (std::int64_t v = 0; v * kW < cols; ++v) {
        Words x = LoadWords(sums + r * kCols, v) + LoadWords(columns.start, v) + bias;
        if (zero_per_column) x -= LoadWords(columns.zero, v) * zeros;
        if (args.a_zero_rows != nullptr) x -= LoadWords(columns.sums, v) * za;
        StoreResult(result, columns, rounding, v, x, MinOf(kW, cols - v * kW), to + v * kW * size);
      }
    }
  }

  static std::int64_t SizeOf(IgemmResult result) {
    return result == IgemmResult::kSums || result == IgemmResult::kFloat ? 4 : 1;
  }

  // ---- running ----

  struct Rows {
    const std::int32_t* sums;
    const char* data;
  };

  static Rows RowsOf(const GemmPlan& plan, const IgemmArgs& args, const std::uint8_t* a,
                     std::int64_t m0, std::int64_t rows, char* scratch) {
    const GemmShape& s = plan.shape;
    if (s.a == MatrixForm::kPacked) {
      return {reinterpret_cast<const std::int32_t*>(a) + m0,
              reinterpret_cast<const char*>(a) + SumsBytes(s.m) + m0 * ARowBytes(s.k)};
    }
    PackA(a + m0 * args.lda, args.a_signed, args.lda, rows, s.k, 0, rows, scratch);
    return {reinterpret_cast<const std::int32_t*>(scratch), scratch + SumsBytes(rows)};
  }

  static void RunChunk(const GemmPlan& plan, const IgemmArgs& args, std::int64_t chunk,
                       void* scratch) {
    if (plan.path == GemmPath::kNothing) return;
    const GemmShape& s = plan.shape;
    const std::int64_t m0 = chunk % plan.m_chunks * plan.m_chunk;
    const std::int64_t rows = MinOf(s.m, m0 + plan.m_chunk) - m0;
    chunk /= plan.m_chunks;
    const std::int64_t n0 = chunk % plan.n_chunks * plan.n_chunk;
    const std::int64_t n1 = MinOf(s.n, n0 + plan.n_chunk);
    const std::int64_t batch = chunk / plan.n_chunks;
    const auto* a = static_cast<const std::uint8_t*>(args.a) + (args.a_batch_offsets != nullptr
                                                                    ? args.a_batch_offsets[batch]
                                                                    : batch * args.a_batch_stride);
    const auto* b = static_cast<const std::uint8_t*>(args.b) + (args.b_batch_offsets != nullptr
                                                                    ? args.b_batch_offsets[batch]
                                                                    : batch * args.b_batch_stride);
    const std::int64_t size = SizeOf(args.result);
    char* c = static_cast<char*>(args.c) + (batch * args.c_batch_stride + m0 * args.ldc) * size;
    auto* panel_work = static_cast<char*>(scratch);
    if (s.b != MatrixForm::kPacked) scratch = panel_work + PanelBytes(s.k);
    const Rows packed = RowsOf(plan, args, a, m0, rows, static_cast<char*>(scratch));
    const std::int64_t row_bytes = ARowBytes(s.k);
    const bool transposed = s.b == MatrixForm::kTransposed;
    Columns columns;
    alignas(64) std::int32_t sums[kRows * kCols];
    for (std::int64_t col = n0; col < n1; col += kCols) {
      const std::int64_t cols = MinOf(kCols, n1 - col);
      const char* panel = panel_work;
      if (s.b == MatrixForm::kPacked) {
        panel = reinterpret_cast<const char*>(b) + col / kCols * PanelBytes(s.k);
      } else {
        PackPanel(b + col * (transposed ? args.ldb : 1), args.b_signed, args.ldb, transposed, s.k,
                  cols, panel_work);
      }
      const auto* col_sums =
          reinterpret_cast<const std::int32_t*>(panel + Steps(s.k) * kCols * kGroup);
      PrepareColumns(args, col, cols, col_sums, &columns);
      for (std::int64_t r = 0; r < rows; r += kRows) {
        const std::int64_t take = MinOf(kRows, rows - r);
        AnyTile(take, cols, packed.data + r * row_bytes, row_bytes, Steps(s.k),
                reinterpret_cast<const std::int8_t*>(panel), sums);
        Finish(plan, args, columns, m0 + r, take, cols, sums, packed.sums + r,
               c + (r * args.ldc + col) * size);
      }
    }
  }

  // ---- depthwise ----

  // The weights of taps two by two, as the multiply-add of pairs wants them.
  static constexpr std::int64_t kMaxPairs = 32;
  static SY_INLINE void PairWeights(const IdepthwiseArgs& args, std::int32_t* pairs) {
    for (std::int64_t t = 0; t < args.taps; t += 2) {
      const std::int32_t second = t + 1 < args.taps ? args.weights[t + 1] : 0;
      pairs[t / 2] = (second << 16) | (args.weights[t] & 0xffff);
    }
  }

#if defined(SY_SIMD_AVX2) || defined(SY_SIMD_AVX512)
  static constexpr std::int64_t kRun = 16;
  // kRuns times sixteen sums: pairs of taps are interleaved and multiplied together.
  template <int kRuns>
  static SY_INLINE void TapSums(const IdepthwiseArgs& args, const std::int32_t* pairs,
                                std::int64_t at, std::int32_t* sums) {
    __m256i low[kRuns], high[kRuns];
#pragma GCC unroll 2
    for (int i = 0; i < kRuns; ++i) low[i] = high[i] = _mm256_set1_epi32(args.start);
    for (std::int64_t t = 0; t < args.taps; t += 2) {
      const std::int16_t* p = args.rows[t] + at;
      const std::int16_t* q = args.rows[MinOf(t + 1, args.taps - 1)] + at;
      const __m256i w = _mm256_set1_epi32(pairs[t / 2]);
#pragma GCC unroll 2
      for (int i = 0; i < kRuns; ++i) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16 * i));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 16 * i));
        low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), w));
        high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), w));
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kRuns; ++i) {
      auto* d = reinterpret_cast<__m256i*>(sums + 16 * i);
      _mm256_store_si256(d, _mm256_permute2x128_si256(low[i], high[i], 0x20));
      _mm256_store_si256(d + 1, _mm256_permute2x128_si256(low[i], high[i], 0x31));
    }
  }
#elif defined(SY_SSE2_PACKING)
  static constexpr std::int64_t kRun = 8;
  template <int kRuns>
  static SY_INLINE void TapSums(const IdepthwiseArgs& args, const std::int32_t* pairs,
                                std::int64_t at, std::int32_t* sums) {
    __m128i low[kRuns], high[kRuns];
#pragma GCC unroll 2
    for (int i = 0; i < kRuns; ++i) low[i] = high[i] = _mm_set1_epi32(args.start);
    for (std::int64_t t = 0; t < args.taps; t += 2) {
      const std::int16_t* p = args.rows[t] + at;
      const std::int16_t* q = args.rows[MinOf(t + 1, args.taps - 1)] + at;
      const __m128i w = _mm_set1_epi32(pairs[t / 2]);
#pragma GCC unroll 2
      for (int i = 0; i < kRuns; ++i) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8 * i));
        const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + 8 * i));
        low[i] = _mm_add_epi32(low[i], _mm_madd_epi16(_mm_unpacklo_epi16(x, y), w));
        high[i] = _mm_add_epi32(high[i], _mm_madd_epi16(_mm_unpackhi_epi16(x, y), w));
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kRuns; ++i) {
      auto* d = reinterpret_cast<__m128i*>(sums + 8 * i);
      _mm_store_si128(d, low[i]);
      _mm_store_si128(d + 1, high[i]);
    }
  }
#else
  static constexpr std::int64_t kRun = 8;
  template <int kRuns>
  static SY_INLINE void TapSums(const IdepthwiseArgs& args, const std::int32_t* /*pairs*/,
                                std::int64_t at, std::int32_t* sums) {
    for (int i = 0; i < kRuns * 8; ++i) {
      sums[i] = args.start;
      for (std::int64_t t = 0; t < args.taps; ++t)
        sums[i] += args.rows[t][at + i] * args.weights[t];
    }
  }
#endif

  // to = x - zero, in 16 bits.
  static void Widen(const std::uint8_t* x, bool is_signed, std::int32_t zero, std::int64_t n,
                    std::int16_t* to) {
    std::int64_t i = 0;
#if defined(SY_SSE2_PACKING)
    const __m128i shift = _mm_set1_epi16(static_cast<std::int16_t>(zero));
    for (; i + 16 <= n; i += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
      const __m128i other =
          is_signed ? _mm_cmpgt_epi8(_mm_setzero_si128(), bytes) : _mm_setzero_si128();
      auto* d = reinterpret_cast<__m128i*>(to + i);
      _mm_storeu_si128(d, _mm_sub_epi16(_mm_unpacklo_epi8(bytes, other), shift));
      _mm_storeu_si128(d + 1, _mm_sub_epi16(_mm_unpackhi_epi8(bytes, other), shift));
    }
#endif
    for (; i < n; ++i) {
      const std::int32_t v = is_signed ? static_cast<std::int8_t>(x[i]) : x[i];
      to[i] = static_cast<std::int16_t>(v - zero);
    }
  }

  static void DepthwiseRow(const IdepthwiseArgs& args, std::int64_t n, void* c) {
    const Rounding rounding = RoundingOf(args.result, args.c_zero, true);
    Columns columns;
    columns.scale[0] = static_cast<double>(args.scale);
    std::int32_t pairs[kMaxPairs];
    PairWeights(args, pairs);
    alignas(64) std::int32_t sums[2 * kRun];
    const std::int64_t size = SizeOf(args.result);
    for (std::int64_t at = 0; at < n;) {
      const bool two = n - at > kRun;
      if (two) {
        TapSums<2>(args, pairs, at, sums);
      } else {
        TapSums<1>(args, pairs, at, sums);
      }
      const std::int64_t count = MinOf(n - at, two ? 2 * kRun : kRun);
      for (std::int64_t v = 0; v * kW < count; ++v) {
        StoreResult(args.result, columns, rounding, 0, LoadWords(sums, v),
                    MinOf(kW, count - v * kW), static_cast<char*>(c) + (at + v * kW) * size);
      }
      at += count;
    }
  }

  static constexpr IgemmOps Ops() {
    return {kCols, Plan,         RunChunk, BPanels, PackedBBytes,
            PackB, PackedABytes, PackA,    Widen,   DepthwiseRow};
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
