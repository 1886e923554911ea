// Integer matrix products of one ISA level, after simd.inl. B is kept as signed bytes, A as four
// bytes per step of K: two 16-bit values (multiply-add of pairs) or four unsigned bytes (VNNI).
#pragma once

#include "providers/cpu/math/igemm.h"
#include "providers/cpu/math/simd.inl"

#if defined(__SSE2__) && !defined(SY_SIMD_AVX2) && !defined(SY_SIMD_AVX512)
#include <immintrin.h>
#endif

namespace switchyard::cpu::math {
namespace {

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
};

#endif

struct Igemm {
  using Reg = IntVec::Reg;
  static constexpr std::int64_t kCols = IntVec::kPanelVectors * IntVec::kW;
  static constexpr std::int64_t kRows = 6;
  static constexpr std::int64_t kGroup = IntVec::kQuads ? 4 : 2;  // values of K per step

  static std::int64_t Steps(std::int64_t k) { return CeilDiv(k, kGroup); }
  static std::int64_t BPanels(std::int64_t n) { return CeilDiv(n, kCols); }
  // Steps of kCols groups, then one 32-bit sum per column.
  static std::int64_t PanelBytes(std::int64_t k) {
    return RoundUp(Steps(k) * kCols * kGroup + kCols * 4, 64);
  }
  static std::size_t PackedBBytes(std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(BPanels(n) * PanelBytes(k));
  }

  // Unsigned B is kept less 128.
  static void PackPanel(const std::uint8_t* b, bool b_signed, std::int64_t row_stride,
                        std::int64_t col_stride, std::int64_t k, std::int64_t cols, void* dst) {
    auto* out = static_cast<std::int8_t*>(dst);
    auto* sums = reinterpret_cast<std::int32_t*>(out + Steps(k) * kCols * kGroup);
    for (std::int64_t j = 0; j < kCols; ++j) sums[j] = 0;
    const std::uint8_t flip = b_signed ? 0 : 0x80;
    for (std::int64_t k0 = 0; k0 < k; k0 += kGroup, out += kCols * kGroup) {
      for (std::int64_t g = 0; g < kGroup; ++g) {
        const bool inside = k0 + g < k;
        const std::uint8_t* row = b + (inside ? (k0 + g) * row_stride : 0);
        for (std::int64_t j = 0; j < kCols; ++j) {
          const std::int8_t v = inside && j < cols
                                    ? static_cast<std::int8_t>(row[j * col_stride] ^ flip)
                                    : std::int8_t{0};
          out[j * kGroup + g] = v;
          sums[j] += v;
        }
      }
    }
  }

  static void PackB(const void* b, bool b_signed, std::int64_t ldb, MatrixForm form, std::int64_t k,
                    std::int64_t n, std::int64_t begin, std::int64_t end, void* packed) {
    const bool transposed = form == MatrixForm::kTransposed;
    for (std::int64_t p = begin; p < end; ++p) {
      PackPanel(static_cast<const std::uint8_t*>(b) + p * kCols * (transposed ? ldb : 1), b_signed,
                transposed ? 1 : ldb, transposed ? ldb : 1, k, MinOf(kCols, n - p * kCols),
                static_cast<char*>(packed) + p * PanelBytes(k));
    }
  }

  static std::int64_t ARowBytes(std::int64_t k) { return Steps(k) * 4; }

  static GemmPlan Plan(const GemmShape& shape) {
    GemmPlan plan;
    plan.shape = shape;
    const GemmShape& s = plan.shape;
    if (s.m <= 0 || s.n <= 0 || s.batch <= 0) return plan;
    plan.path = GemmPath::kTiles;
    plan.k_block = s.k;
    const bool pack = s.b != MatrixForm::kPacked;
    std::int64_t mc = MinOf<std::int64_t>(s.m, 96);
    std::int64_t nc = MinOf<std::int64_t>(RoundUp(s.n, kCols), 256);
    const double total = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) *
                         static_cast<double>(s.k) * static_cast<double>(s.batch);
    const double target = MinOf(32e6, MaxOf(1e6, total / 48));
    const auto flops = [&] {
      return 2.0 * static_cast<double>(mc) * static_cast<double>(nc) * static_cast<double>(s.k);
    };
    while (flops() > target && nc > 4 * kCols) nc = RoundUp(nc / 2, kCols);
    while (flops() > target && mc > (pack ? 96 : 24)) mc = RoundUp(mc / 2, kRows);
    plan.m_chunks = CeilDiv(s.m, mc);
    plan.m_chunk = RoundUp(CeilDiv(s.m, plan.m_chunks), kRows);
    plan.m_chunks = CeilDiv(s.m, plan.m_chunk);
    plan.n_chunks = CeilDiv(s.n, nc);
    plan.n_chunk = RoundUp(CeilDiv(s.n, plan.n_chunks), kCols);
    plan.n_chunks = CeilDiv(s.n, plan.n_chunk);
    plan.chunks = s.batch * plan.m_chunks * plan.n_chunks;
    plan.flops_per_chunk = total / static_cast<double>(plan.chunks);
    plan.scratch_bytes =
        static_cast<std::size_t>(RoundUp(MinOf(plan.m_chunk, s.m) * (ARowBytes(s.k) + 4), 64) +
                                 (pack ? PanelBytes(s.k) : 0));
    return plan;
  }

  // One row of A widened for the tiles; gives the sum of the values as they are kept.
  static std::int32_t PackRow(const std::uint8_t* a, bool a_signed, std::int64_t k, char* dst) {
    std::int32_t sum = 0;
    if constexpr (IntVec::kQuads) {
      // Signed A is kept plus 128.
      const std::uint8_t flip = a_signed ? 0x80 : 0;
      auto* out = reinterpret_cast<std::uint8_t*>(dst);
      for (std::int64_t i = 0; i < k; ++i) {
        out[i] = static_cast<std::uint8_t>(a[i] ^ flip);
        sum += out[i];
      }
      for (std::int64_t i = k; i < Steps(k) * 4; ++i) out[i] = 0;
    } else {
      auto* out = reinterpret_cast<std::int16_t*>(dst);
      if (a_signed) {
        for (std::int64_t i = 0; i < k; ++i) {
          out[i] = static_cast<std::int8_t>(a[i]);
          sum += out[i];
        }
      } else {
        for (std::int64_t i = 0; i < k; ++i) {
          out[i] = a[i];
          sum += out[i];
        }
      }
      for (std::int64_t i = k; i < Steps(k) * 2; ++i) out[i] = 0;
    }
    return sum;
  }

  template <int MR>
  static __attribute__((noinline)) void Tile(const char* a, std::int64_t row_bytes,
                                             std::int64_t steps, const std::int8_t* b,
                                             std::int32_t* out) {
    constexpr int kNV = IntVec::kPanelVectors;
    Reg acc[MR][kNV];
#pragma GCC unroll 6
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kNV; ++v) acc[r][v] = IntVec::Zero();
    }
    for (std::int64_t i = 0; i < steps; ++i) {
      Reg bv[kNV];
#pragma GCC unroll 4
      for (int v = 0; v < kNV; ++v) bv[v] = IntVec::LoadB(b + v * IntVec::kW * kGroup);
#pragma GCC unroll 6
      for (int r = 0; r < MR; ++r) {
        const Reg av = IntVec::BroadcastA(a + r * row_bytes);
#pragma GCC unroll 4
        for (int v = 0; v < kNV; ++v) acc[r][v] = IntVec::Mac(acc[r][v], av, bv[v]);
      }
      a += 4;
      b += kCols * kGroup;
    }
#pragma GCC unroll 6
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kNV; ++v) IntVec::Store(out + r * kCols + v * IntVec::kW, acc[r][v]);
    }
  }

  static SY_INLINE void AnyTile(std::int64_t rows, const char* a, std::int64_t row_bytes,
                                std::int64_t steps, const std::int8_t* b, std::int32_t* out) {
    switch (rows) {
      case 1:
        return Tile<1>(a, row_bytes, steps, b, out);
      case 2:
        return Tile<2>(a, row_bytes, steps, b, out);
      case 3:
        return Tile<3>(a, row_bytes, steps, b, out);
      case 4:
        return Tile<4>(a, row_bytes, steps, b, out);
      case 5:
        return Tile<5>(a, row_bytes, steps, b, out);
      default:
        return Tile<6>(a, row_bytes, steps, b, out);
    }
  }

  struct Piece {
    std::int64_t batch, m0, m1, n0, n1;
  };

  // sums -> C: with A' = A + da and B' = B + db as kept, (A - za)(B - zb) summed over K is
  // A'B' - (zb + db) rowsum(A') - (za + da) colsum(B') + K (za + da)(zb + db). Unsigned: it wraps.
  static SY_INLINE void Finish(const GemmPlan& plan, const IgemmArgs& args, std::int64_t row,
                               std::int64_t col, std::int64_t rows, std::int64_t cols,
                               const std::int32_t* sums, const std::int32_t* row_sums,
                               const std::int32_t* col_sums, std::int32_t* c) {
    const std::int32_t da = IntVec::kQuads && args.a_signed ? 128 : 0;
    const std::int32_t db = args.b_signed ? 0 : -128;
    const auto k = static_cast<std::uint32_t>(plan.shape.k);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto za = static_cast<std::uint32_t>(
          (args.a_zero_rows != nullptr ? args.a_zero_rows[row + r] : args.a_zero) + da);
      const auto row_sum = static_cast<std::uint32_t>(row_sums[r]);
      const std::uint32_t bias =
          args.bias_row != nullptr ? static_cast<std::uint32_t>(args.bias_row[row + r]) : 0;
      for (std::int64_t j = 0; j < cols; ++j) {
        const auto zb = static_cast<std::uint32_t>(
            (args.b_zero_cols != nullptr ? args.b_zero_cols[col + j] : args.b_zero) + db);
        std::uint32_t x = static_cast<std::uint32_t>(sums[r * kCols + j]) - zb * row_sum -
                          za * static_cast<std::uint32_t>(col_sums[j]) + k * za * zb + bias;
        if (args.bias_col != nullptr) x += static_cast<std::uint32_t>(args.bias_col[col + j]);
        c[r * args.ldc + j] = static_cast<std::int32_t>(x);
      }
    }
  }

  static void RunChunk(const GemmPlan& plan, const IgemmArgs& args, std::int64_t chunk,
                       void* scratch) {
    if (plan.path == GemmPath::kNothing) return;
    const GemmShape& s = plan.shape;
    Piece p;
    p.m0 = chunk % plan.m_chunks * plan.m_chunk;
    p.m1 = MinOf(s.m, p.m0 + plan.m_chunk);
    chunk /= plan.m_chunks;
    p.n0 = chunk % plan.n_chunks * plan.n_chunk;
    p.n1 = MinOf(s.n, p.n0 + plan.n_chunk);
    p.batch = chunk / plan.n_chunks;
    const auto* a = static_cast<const std::uint8_t*>(args.a) +
                    (args.a_batch_offsets != nullptr ? args.a_batch_offsets[p.batch]
                                                     : p.batch * args.a_batch_stride);
    const auto* b = static_cast<const std::uint8_t*>(args.b) +
                    (args.b_batch_offsets != nullptr ? args.b_batch_offsets[p.batch]
                                                     : p.batch * args.b_batch_stride);
    std::int32_t* c = args.c + p.batch * args.c_batch_stride;

    const std::int64_t row_bytes = ARowBytes(s.k);
    const std::int64_t rows = p.m1 - p.m0;
    auto* row_sums = static_cast<std::int32_t*>(scratch);
    char* packed_a = static_cast<char*>(scratch) + rows * 4;
    for (std::int64_t r = 0; r < rows; ++r) {
      row_sums[r] =
          PackRow(a + (p.m0 + r) * args.lda, args.a_signed, s.k, packed_a + r * row_bytes);
    }
    char* panel_work =
        static_cast<char*>(scratch) + RoundUp(MinOf(plan.m_chunk, s.m) * (row_bytes + 4), 64);
    std::int32_t sums[kRows * kCols];
    for (std::int64_t col = p.n0; col < p.n1; col += kCols) {
      const std::int64_t cols = MinOf(kCols, p.n1 - col);
      const char* panel;
      if (s.b == MatrixForm::kPacked) {
        panel = reinterpret_cast<const char*>(b) + col / kCols * PanelBytes(s.k);
      } else {
        const bool transposed = s.b == MatrixForm::kTransposed;
        PackPanel(b + col * (transposed ? args.ldb : 1), args.b_signed, transposed ? 1 : args.ldb,
                  transposed ? args.ldb : 1, s.k, cols, panel_work);
        panel = panel_work;
      }
      const auto* col_sums =
          reinterpret_cast<const std::int32_t*>(panel + Steps(s.k) * kCols * kGroup);
      for (std::int64_t r = 0; r < rows; r += kRows) {
        const std::int64_t take = MinOf(kRows, rows - r);
        AnyTile(take, packed_a + r * row_bytes, row_bytes, Steps(s.k),
                reinterpret_cast<const std::int8_t*>(panel), sums);
        Finish(plan, args, p.m0 + r, col, take, cols, sums, row_sums + r, col_sums,
               c + (p.m0 + r) * args.ldc + col);
      }
    }
    if (args.tile_program != nullptr) {
      args.tile_program(args.tile_context, p.batch, p.m0, p.n0, rows, p.n1 - p.n0,
                        c + p.m0 * args.ldc + p.n0, args.ldc);
    }
  }

  static constexpr IgemmOps Ops() { return {kCols, Plan, RunChunk, BPanels, PackedBBytes, PackB}; }
};

}  // namespace
}  // namespace switchyard::cpu::math
