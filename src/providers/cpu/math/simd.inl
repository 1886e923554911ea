// Vector types of one ISA level, for inclusion by the files that are compiled for that level:
// SY_SIMD_AVX512, SY_SIMD_AVX2, or SY_SIMD_PORTABLE = number of floats per vector. Everything has
// internal linkage. No standard templates here: the linker could keep the copy built for a CPU that
// the caller does not have.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(SY_SIMD_AVX512) || defined(SY_SIMD_AVX2)
#include <immintrin.h>
#endif

#define SY_INLINE inline __attribute__((always_inline))

namespace switchyard::cpu::math {
namespace {

// Min(bound, x) and Max(bound, x) return x where x is NaN.

#if defined(SY_SIMD_AVX512)

#if !defined(__clang__)
// The "undefined" registers in the intrinsics of gcc 12 itself.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

struct F32 {
  using T = float;
  using Reg = __m512;
  static constexpr int kW = 16;
  static constexpr bool kManyRegisters = true;
  static SY_INLINE Reg Zero() { return _mm512_setzero_ps(); }
  static SY_INLINE Reg Set1(float x) { return _mm512_set1_ps(x); }
  static SY_INLINE Reg Load(const float* p) { return _mm512_loadu_ps(p); }
  static SY_INLINE Reg LoadN(const float* p, int n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
  }
  static SY_INLINE void Store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
  static SY_INLINE void StoreN(float* p, Reg v, int n) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
  }
  static SY_INLINE Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static SY_INLINE Reg Add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static SY_INLINE Reg Sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static SY_INLINE Reg Mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static SY_INLINE Reg Div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  static SY_INLINE Reg Max(Reg bound, Reg x) { return _mm512_max_ps(bound, x); }
  static SY_INLINE Reg Min(Reg bound, Reg x) { return _mm512_min_ps(bound, x); }
  static SY_INLINE Reg Abs(Reg x) { return _mm512_abs_ps(x); }
  // a < b ? x : y
  static SY_INLINE Reg SelectLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  // 2^n for t = 1.5 * 2^23 + n
  static SY_INLINE Reg ExponentFromMagic(Reg t) {
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(t), 23),
                                                _mm512_set1_epi32(0x3f800000)));
  }
  static SY_INLINE float Sum(Reg v) { return _mm512_reduce_add_ps(v); }
  // Elements 0, 2, 4 ... and 1, 3, 5 ... of a followed by b.
  static SY_INLINE void Deinterleave(Reg a, Reg b, Reg& even, Reg& odd) {
    const __m512i e = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(a, e, b);
    odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(e, _mm512_set1_epi32(1)), b);
  }
  // The inverse: a0, b0, a1, b1 ...
  static SY_INLINE void Interleave(Reg a, Reg b, Reg& low, Reg& high) {
    const __m512i i = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    low = _mm512_permutex2var_ps(a, i, b);
    high = _mm512_permutex2var_ps(a, _mm512_add_epi32(i, _mm512_set1_epi32(8)), b);
  }
};

struct F64 {
  using T = double;
  using Reg = __m512d;
  static constexpr int kW = 8;
  static constexpr bool kManyRegisters = true;
  static SY_INLINE Reg Zero() { return _mm512_setzero_pd(); }
  static SY_INLINE Reg Set1(double x) { return _mm512_set1_pd(x); }
  static SY_INLINE Reg Load(const double* p) { return _mm512_loadu_pd(p); }
  static SY_INLINE Reg LoadN(const double* p, int n) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
  }
  static SY_INLINE void Store(double* p, Reg v) { _mm512_storeu_pd(p, v); }
  static SY_INLINE void StoreN(double* p, Reg v, int n) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v);
  }
  static SY_INLINE Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static SY_INLINE Reg Add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static SY_INLINE Reg Mul(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
  static SY_INLINE Reg Max(Reg bound, Reg x) { return _mm512_max_pd(bound, x); }
  static SY_INLINE Reg Min(Reg bound, Reg x) { return _mm512_min_pd(bound, x); }
  static SY_INLINE Reg SelectLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
  }
  static SY_INLINE double Sum(Reg v) { return _mm512_reduce_add_pd(v); }
};

SY_INLINE void PrefetchLine(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

#elif defined(SY_SIMD_AVX2)

struct F32 {
  using T = float;
  using Reg = __m256;
  static constexpr int kW = 8;
  static constexpr bool kManyRegisters = false;
  static SY_INLINE Reg Zero() { return _mm256_setzero_ps(); }
  static SY_INLINE Reg Set1(float x) { return _mm256_set1_ps(x); }
  static SY_INLINE Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static SY_INLINE __m256i Mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static SY_INLINE Reg LoadN(const float* p, int n) { return _mm256_maskload_ps(p, Mask(n)); }
  static SY_INLINE void Store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
  // By halves: vmaskmov stores cost some 40 cycles on Zen 1 and 2.
  static SY_INLINE void StoreN(float* p, Reg v, int n) {
    if (n >= 8) {
      _mm256_storeu_ps(p, v);
      return;
    }
    __m128 low = _mm256_castps256_ps128(v);
    if (n & 4) {
      _mm_storeu_ps(p, low);
      p += 4;
      low = _mm256_extractf128_ps(v, 1);
    }
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), low);
      p += 2;
      low = _mm_movehl_ps(low, low);
    }
    if (n & 1) _mm_store_ss(p, low);
  }
  static SY_INLINE Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static SY_INLINE Reg Add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static SY_INLINE Reg Sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static SY_INLINE Reg Mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static SY_INLINE Reg Div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  static SY_INLINE Reg Max(Reg bound, Reg x) { return _mm256_max_ps(bound, x); }
  static SY_INLINE Reg Min(Reg bound, Reg x) { return _mm256_min_ps(bound, x); }
  static SY_INLINE Reg Abs(Reg x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
  static SY_INLINE Reg SelectLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static SY_INLINE Reg ExponentFromMagic(Reg t) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(t), 23),
                                                _mm256_set1_epi32(0x3f800000)));
  }
  static SY_INLINE float Sum(Reg v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
  }
  // Elements 0, 2, 4 ... and 1, 3, 5 ... of a followed by b.
  static SY_INLINE void Deinterleave(Reg a, Reg b, Reg& even, Reg& odd) {
    const Reg low = _mm256_permute2f128_ps(a, b, 0x20);
    const Reg high = _mm256_permute2f128_ps(a, b, 0x31);
    even = _mm256_shuffle_ps(low, high, 0x88);
    odd = _mm256_shuffle_ps(low, high, 0xdd);
  }
  // The inverse: a0, b0, a1, b1 ...
  static SY_INLINE void Interleave(Reg a, Reg b, Reg& low, Reg& high) {
    const Reg l = _mm256_unpacklo_ps(a, b);
    const Reg h = _mm256_unpackhi_ps(a, b);
    low = _mm256_permute2f128_ps(l, h, 0x20);
    high = _mm256_permute2f128_ps(l, h, 0x31);
  }
};

struct F64 {
  using T = double;
  using Reg = __m256d;
  static constexpr int kW = 4;
  static constexpr bool kManyRegisters = false;
  static SY_INLINE Reg Zero() { return _mm256_setzero_pd(); }
  static SY_INLINE Reg Set1(double x) { return _mm256_set1_pd(x); }
  static SY_INLINE Reg Load(const double* p) { return _mm256_loadu_pd(p); }
  static SY_INLINE Reg LoadN(const double* p, int n) {
    return _mm256_maskload_pd(
        p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)));
  }
  static SY_INLINE void Store(double* p, Reg v) { _mm256_storeu_pd(p, v); }
  static SY_INLINE void StoreN(double* p, Reg v, int n) {
    if (n >= 4) {
      _mm256_storeu_pd(p, v);
      return;
    }
    __m128d low = _mm256_castpd256_pd128(v);
    if (n & 2) {
      _mm_storeu_pd(p, low);
      p += 2;
      low = _mm256_extractf128_pd(v, 1);
    }
    if (n & 1) _mm_store_sd(p, low);
  }
  static SY_INLINE Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static SY_INLINE Reg Add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static SY_INLINE Reg Mul(Reg a, Reg b) { return _mm256_mul_pd(a, b); }
  static SY_INLINE Reg Max(Reg bound, Reg x) { return _mm256_max_pd(bound, x); }
  static SY_INLINE Reg Min(Reg bound, Reg x) { return _mm256_min_pd(bound, x); }
  static SY_INLINE Reg SelectLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
  }
  static SY_INLINE double Sum(Reg v) {
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
  }
};

SY_INLINE void PrefetchLine(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

#else

#pragma GCC diagnostic ignored "-Wpsabi"

// The vector extensions of GCC and clang at any width: the baseline of every machine. With
// SY_SIMD_WIDE_TILES it takes the tile shapes of AVX-512, to test them on machines without it.
template <typename S, typename I, int N>
struct Portable {
  using T = S;
  typedef S Reg __attribute__((vector_size(N * sizeof(S))));
  typedef I Int __attribute__((vector_size(N * sizeof(S))));
  typedef S Loose __attribute__((vector_size(N * sizeof(S)), aligned(sizeof(S)), may_alias));
  static constexpr int kW = N;
#if defined(SY_SIMD_WIDE_TILES)
  static constexpr bool kManyRegisters = true;
#else
  static constexpr bool kManyRegisters = false;
#endif
  static SY_INLINE Reg Zero() { return Reg{}; }
  static SY_INLINE Reg Set1(S x) { return x - Reg{}; }
  static SY_INLINE Reg Load(const S* p) { return *reinterpret_cast<const Loose*>(p); }
  static SY_INLINE Reg LoadN(const S* p, int n) {
    Reg r{};
    for (int i = 0; i < N; ++i) {
      if (i < n) r[i] = p[i];
    }
    return r;
  }
  static SY_INLINE void Store(S* p, Reg v) { *reinterpret_cast<Loose*>(p) = v; }
  static SY_INLINE void StoreN(S* p, Reg v, int n) {
    for (int i = 0; i < N; ++i) {
      if (i < n) p[i] = v[i];
    }
  }
  static SY_INLINE Reg Fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static SY_INLINE Reg Add(Reg a, Reg b) { return a + b; }
  static SY_INLINE Reg Sub(Reg a, Reg b) { return a - b; }
  static SY_INLINE Reg Mul(Reg a, Reg b) { return a * b; }
  static SY_INLINE Reg Div(Reg a, Reg b) { return a / b; }
  static SY_INLINE Reg Pick(Int mask, Reg x, Reg y) {
    return (Reg)((mask & (Int)x) | (~mask & (Int)y));
  }
  static SY_INLINE Reg Max(Reg bound, Reg x) { return Pick(bound > x, bound, x); }
  static SY_INLINE Reg Min(Reg bound, Reg x) { return Pick(bound < x, bound, x); }
  static SY_INLINE Reg Abs(Reg x) { return (Reg)((Int)x & ~(Int)Set1(S(-0.0))); }
  static SY_INLINE Reg SelectLess(Reg a, Reg b, Reg x, Reg y) { return Pick(a < b, x, y); }
  static SY_INLINE Reg ExponentFromMagic(Reg t) { return (Reg)(((Int)t << 23) + 0x3f800000); }
  static SY_INLINE S Sum(Reg v) {
    S s = v[0];
    for (int i = 1; i < N; ++i) s += v[i];
    return s;
  }
  // Elements 0, 2, 4 ... and 1, 3, 5 ... of a followed by b.
  static SY_INLINE void Deinterleave(Reg a, Reg b, Reg& even, Reg& odd) {
    for (int i = 0; i < N; ++i) {
      even[i] = 2 * i < N ? a[2 * i] : b[2 * i - N];
      odd[i] = 2 * i < N ? a[2 * i + 1] : b[2 * i + 1 - N];
    }
  }
  // The inverse: a0, b0, a1, b1 ...
  static SY_INLINE void Interleave(Reg a, Reg b, Reg& low, Reg& high) {
    for (int i = 0; i < N; ++i) {
      low[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
      high[i] = i % 2 == 0 ? a[(i + N) / 2] : b[(i + N) / 2];
    }
  }
};

using F32 = Portable<float, std::int32_t, SY_SIMD_PORTABLE>;
using F64 = Portable<double, std::int64_t, SY_SIMD_PORTABLE / 2>;

SY_INLINE void PrefetchLine(const void* p) { __builtin_prefetch(p); }

#endif

template <typename I>
SY_INLINE constexpr I MinOf(I a, I b) {
  return a < b ? a : b;
}
template <typename I>
SY_INLINE constexpr I MaxOf(I a, I b) {
  return a > b ? a : b;
}
SY_INLINE constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
SY_INLINE constexpr std::int64_t RoundUp(std::int64_t a, std::int64_t b) {
  return CeilDiv(a, b) * b;
}

}  // namespace
}  // namespace switchyard::cpu::math
