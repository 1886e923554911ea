#include "providers/cpu/math/vec_transpose.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace switchyard::cpu::math {
namespace {

struct Pair {
  uint64_t a, b;
};

template <class T>
void Scalar(const T* src, int64_t src_ld, T* dst, int64_t dst_ld, int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; ++j) {
    for (int64_t i = 0; i < n; ++i) dst[j * dst_ld + i] = src[i * src_ld + j];
  }
}

#if defined(__x86_64__)

template <int kBytes>
inline __m128i Low(__m128i a, __m128i b) {
  if constexpr (kBytes == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (kBytes == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (kBytes == 4) return _mm_unpacklo_epi32(a, b);
  return _mm_unpacklo_epi64(a, b);
}
template <int kBytes>
inline __m128i High(__m128i a, __m128i b) {
  if constexpr (kBytes == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (kBytes == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (kBytes == 4) return _mm_unpackhi_epi32(a, b);
  return _mm_unpackhi_epi64(a, b);
}

// A full square of 128-bit rows: interleaving row i with row i + N/2, log2(N) times, transposes it.
template <class T>
struct Square128 {
  static constexpr int kSide = 16 / sizeof(T);
  static inline void Run(const T* src, int64_t src_ld, T* dst, int64_t dst_ld) {
    __m128i a[kSide], b[kSide];
    for (int i = 0; i < kSide; ++i) {
      a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i * src_ld));
    }
    for (int stage = kSide; stage > 1; stage /= 2) {
      for (int i = 0; i < kSide / 2; ++i) {
        b[2 * i] = Low<sizeof(T)>(a[i], a[i + kSide / 2]);
        b[2 * i + 1] = High<sizeof(T)>(a[i], a[i + kSide / 2]);
      }
      for (int i = 0; i < kSide; ++i) a[i] = b[i];
    }
    for (int j = 0; j < kSide; ++j) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + j * dst_ld), a[j]);
    }
  }
};

struct Square256 {
  static constexpr int kSide = 8;
  __attribute__((target("avx2"))) static void Run(const uint32_t* src, int64_t src_ld,
                                                  uint32_t* dst, int64_t dst_ld) {
    const float* s = reinterpret_cast<const float*>(src);
    float* d = reinterpret_cast<float*>(dst);
    __m256 r[8], t[8];
    for (int i = 0; i < 4; ++i) {
      // Rows i and i + 4 share a register, so that all shuffles stay within 128-bit halves.
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(s + i * src_ld)),
                                  _mm_loadu_ps(s + (i + 4) * src_ld), 1);
      r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(s + i * src_ld + 4)),
                                      _mm_loadu_ps(s + (i + 4) * src_ld + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
      t[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
      t[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
      t[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
      t[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
      _mm256_storeu_ps(d + h * dst_ld, _mm256_shuffle_ps(t[h], t[h + 2], 0x44));
      _mm256_storeu_ps(d + (h + 1) * dst_ld, _mm256_shuffle_ps(t[h], t[h + 2], 0xee));
      _mm256_storeu_ps(d + (h + 2) * dst_ld, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0x44));
      _mm256_storeu_ps(d + (h + 3) * dst_ld, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0xee));
    }
  }
};

#endif

// Squares inside blocks that keep both sides' cache lines in L1.
template <class Square, class T>
void Blocked(const T* src, int64_t src_ld, T* dst, int64_t dst_ld, int64_t n, int64_t m) {
  constexpr int64_t kSide = Square::kSide;
  constexpr int64_t kTile = 64 / sizeof(T) > kSide ? 64 / sizeof(T) : kSide;
  const int64_t nn = n / kSide * kSide, mm = m / kSide * kSide;
  for (int64_t i0 = 0; i0 < nn; i0 += kTile) {
    const int64_t i1 = i0 + kTile < nn ? i0 + kTile : nn;
    for (int64_t j0 = 0; j0 < mm; j0 += kSide) {
      for (int64_t i = i0; i < i1; i += kSide) {
        Square::Run(src + i * src_ld + j0, src_ld, dst + j0 * dst_ld + i, dst_ld);
      }
    }
    Scalar(src + i0 * src_ld + mm, src_ld, dst + mm * dst_ld + i0, dst_ld, i1 - i0, m - mm);
  }
  Scalar(src + nn * src_ld, src_ld, dst + nn, dst_ld, n - nn, m);
}

template <class T>
void Narrow(const void* src, int64_t src_ld, void* dst, int64_t dst_ld, int64_t n, int64_t m) {
  const T* s = static_cast<const T*>(src);
  T* d = static_cast<T*>(dst);
#if defined(__x86_64__)
  Blocked<Square128<T>>(s, src_ld, d, dst_ld, n, m);
#else
  Scalar(s, src_ld, d, dst_ld, n, m);
#endif
}

}  // namespace

void TransposeBlock(const void* src, int64_t src_ld, void* dst, int64_t dst_ld, int64_t n,
                    int64_t m, int bytes, IsaLevel level) {
  (void)level;
  switch (bytes) {
    case 1:
      return Narrow<uint8_t>(src, src_ld, dst, dst_ld, n, m);
    case 2:
      return Narrow<uint16_t>(src, src_ld, dst, dst_ld, n, m);
    case 4:
#if defined(__x86_64__)
      if (level >= IsaLevel::kAvx2) {
        return Blocked<Square256>(static_cast<const uint32_t*>(src), src_ld,
                                  static_cast<uint32_t*>(dst), dst_ld, n, m);
      }
#endif
      return Narrow<uint32_t>(src, src_ld, dst, dst_ld, n, m);
    case 8:
      return Narrow<uint64_t>(src, src_ld, dst, dst_ld, n, m);
    default:
      return Scalar(static_cast<const Pair*>(src), src_ld, static_cast<Pair*>(dst), dst_ld, n, m);
  }
}

}  // namespace switchyard::cpu::math
