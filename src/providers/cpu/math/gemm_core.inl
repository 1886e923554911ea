// Matrix products of one ISA level, after simd.inl, activation.inl and gemm_tile.inl.
#pragma once

#include "providers/cpu/math/gemm.h"
#include "providers/cpu/math/gemm_tile.inl"

namespace switchyard::cpu::math {
namespace {

// Rows up to which unpacked B is read in place instead of being packed.
constexpr std::int64_t kFewRows = 4;     // by dot products
constexpr std::int64_t kStreamRows = 8;  // by streaming row-major B

template <class V>
struct Gemm {
  using T = typename V::T;
  using Reg = typename V::Reg;
  using Traits = TileTraits<V>;
  static constexpr std::int64_t kCols = Traits::kPanelCols;
  static constexpr std::int64_t kRows = Traits::kRows;
  static constexpr std::int64_t kPackTogether = V::kManyRegisters ? 2 : 4;

  static std::int64_t PanelWidth(std::int64_t n, std::int64_t panel) {
    return MinOf(kCols, RoundUp(n - panel * kCols, V::kW));
  }

  // ---- packing ----

  static std::int64_t BPanels(std::int64_t n) { return CeilDiv(n, kCols); }
  static std::size_t PackedBElements(std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(k * RoundUp(n, V::kW));
  }
  static std::int64_t APanels(std::int64_t m) { return CeilDiv(m, kRows); }
  static std::size_t PackedAElements(std::int64_t m, std::int64_t k) {
    return static_cast<std::size_t>(k * RoundUp(m, kRows));
  }

  // Rows [0, k) of a panel of n columns from row-major b.
  static SY_INLINE void CopyPanel(const T* b, std::int64_t ldb, std::int64_t k, std::int64_t n,
                                  std::int64_t width, T* dst) {
    if (n == kCols) {
      for (std::int64_t i = 0; i < k; ++i, b += ldb, dst += kCols) {
#pragma GCC unroll 4
        for (int v = 0; v < Traits::kPanelVectors; ++v) {
          V::Store(dst + v * V::kW, V::Load(b + v * V::kW));
        }
      }
      return;
    }
    const std::int64_t whole = n / V::kW;
    const int rest = static_cast<int>(n - whole * V::kW);
    for (std::int64_t i = 0; i < k; ++i, b += ldb, dst += width) {
      for (std::int64_t v = 0; v < whole; ++v) V::Store(dst + v * V::kW, V::Load(b + v * V::kW));
      if (rest != 0) V::Store(dst + whole * V::kW, V::LoadN(b + whole * V::kW, rest));
    }
  }

  // Rows [0, k) of columns [j, j + 4).
  static SY_INLINE void TransposeFour(const T* s, std::int64_t ldb, std::int64_t k,
                                      std::int64_t width, T* d) {
    typedef T Quad __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
    std::int64_t i = 0;
    for (; i + 4 <= k; i += 4, d += 4 * width) {
      const Quad r0 = *reinterpret_cast<const Quad*>(s + i);
      const Quad r1 = *reinterpret_cast<const Quad*>(s + ldb + i);
      const Quad r2 = *reinterpret_cast<const Quad*>(s + 2 * ldb + i);
      const Quad r3 = *reinterpret_cast<const Quad*>(s + 3 * ldb + i);
      const Quad lo01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
      const Quad hi01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
      const Quad lo23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
      const Quad hi23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
      *reinterpret_cast<Quad*>(d) = __builtin_shufflevector(lo01, lo23, 0, 1, 4, 5);
      *reinterpret_cast<Quad*>(d + width) = __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7);
      *reinterpret_cast<Quad*>(d + 2 * width) = __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5);
      *reinterpret_cast<Quad*>(d + 3 * width) = __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7);
    }
    for (; i < k; ++i, d += width) {
      for (int x = 0; x < 4; ++x) d[x] = s[x * ldb + i];
    }
  }

  // The same from b transposed: n rows of k values. By blocks of K whose part of the panel stays in
  // L1 while its columns are filled four by four.
  static void TransposePanel(const T* b, std::int64_t ldb, std::int64_t k, std::int64_t n,
                             std::int64_t width, T* dst) {
    constexpr std::int64_t kDepth = 16384 / (kCols * static_cast<std::int64_t>(sizeof(T)));
    for (; k > 0; k -= kDepth, b += kDepth, dst += kDepth * width) {
      const std::int64_t depth = MinOf(k, kDepth);
      std::int64_t j = 0;
      for (; j + 4 <= n; j += 4) TransposeFour(b + j * ldb, ldb, depth, width, dst + j);
      for (; j < width; ++j) {
        for (std::int64_t i = 0; i < depth; ++i) dst[i * width + j] = j < n ? b[j * ldb + i] : T(0);
      }
    }
  }

  static void PackBRows(const T* b, std::int64_t ldb, MatrixForm form, std::int64_t k,
                        std::int64_t n, std::int64_t k_begin, std::int64_t k_end,
                        std::int64_t panel_begin, std::int64_t panel_end, T* packed) {
    for (std::int64_t p = panel_begin; p < panel_end; ++p) {
      const std::int64_t cols = MinOf(kCols, n - p * kCols);
      const std::int64_t width = PanelWidth(n, p);
      T* dst = packed + p * kCols * k + k_begin * width;
      const std::int64_t column = (p - panel_begin) * kCols;
      if (form == MatrixForm::kTransposed) {
        TransposePanel(b + column * ldb, ldb, k_end - k_begin, cols, width, dst);
      } else {
        CopyPanel(b + column, ldb, k_end - k_begin, cols, width, dst);
      }
    }
  }

  static void PackB(const T* b, std::int64_t ldb, MatrixForm form, std::int64_t k, std::int64_t n,
                    std::int64_t panel_begin, std::int64_t panel_end, T* packed) {
    const std::int64_t column = panel_begin * kCols;
    PackBRows(b + column * (form == MatrixForm::kTransposed ? ldb : 1), ldb, form, k, n, 0, k,
              panel_begin, panel_end, packed);
  }

  static void PackA(const T* a, std::int64_t lda, MatrixForm form, std::int64_t m, std::int64_t k,
                    std::int64_t panel_begin, std::int64_t panel_end, T* packed) {
    const std::int64_t rs = form == MatrixForm::kTransposed ? 1 : lda;
    const std::int64_t ks = form == MatrixForm::kTransposed ? lda : 1;
    for (std::int64_t p = panel_begin; p < panel_end; ++p) {
      const std::int64_t rows = MinOf(kRows, m - p * kRows);
      const T* src = a + p * kRows * rs;
      T* dst = packed + p * kRows * k;
      for (std::int64_t i = 0; i < k; ++i, src += ks, dst += kRows) {
        for (std::int64_t r = 0; r < kRows; ++r) dst[r] = r < rows ? src[r * rs] : T(0);
      }
    }
  }

  // ---- planning ----

  static void SplitTiles(GemmPlan& plan) {
    const GemmShape& s = plan.shape;
    const bool pack = s.b != MatrixForm::kPacked;
    // Blocks of K: a panel of B stays in L1 (16 columns) or streams from L2 (64 columns).
    const std::int64_t k_max = V::kManyRegisters ? 768 : 384;
    const std::int64_t blocks =
        s.m <= 12 && !pack ? 1 : MaxOf<std::int64_t>(1, CeilDiv(s.k, k_max));
    plan.k_block = MaxOf<std::int64_t>(1, CeilDiv(s.k, blocks));
    const std::int64_t n_all = RoundUp(s.n, kCols);
    std::int64_t mc = MinOf<std::int64_t>(RoundUp(s.m, kRows), 192);
    std::int64_t nc = MinOf<std::int64_t>(n_all, RoundUp(256, kCols));
    if (s.m <= 12) {
      // Bound by the stream of B: chunks of about 128 KiB, at least four panels wide.
      nc = MinOf<std::int64_t>(
          n_all, MaxOf<std::int64_t>(4 * kCols, RoundUp(32768 / (s.k + 1), 4 * kCols)));
    } else {
      const double total = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) *
                           static_cast<double>(s.k) * static_cast<double>(s.batch);
      const double target = MinOf(32e6, MaxOf(0.5e6, total / 48));
      const std::int64_t mc_min = pack ? 96 : 48;
      while (2.0 * static_cast<double>(mc) * static_cast<double>(nc) * static_cast<double>(s.k) >
             target) {
        if (nc >= 2 * kCols && (nc >= mc || mc <= mc_min)) {
          nc = RoundUp(nc / 2, kCols);
        } else if (mc > mc_min) {
          mc = RoundUp(mc / 2, 2 * kRows);
        } else {
          break;
        }
      }
    }
    plan.m_chunks = CeilDiv(s.m, mc);
    plan.m_chunk = RoundUp(CeilDiv(s.m, plan.m_chunks), kRows);
    plan.m_chunks = CeilDiv(s.m, plan.m_chunk);
    plan.n_chunks = CeilDiv(s.n, nc);
    plan.n_chunk = RoundUp(CeilDiv(s.n, plan.n_chunks), kCols);
    plan.n_chunks = CeilDiv(s.n, plan.n_chunk);
    if (pack) {
      plan.scratch_bytes =
          static_cast<std::size_t>(plan.k_block * MinOf(plan.n_chunk, kPackTogether * kCols)) *
          sizeof(T);
    }
  }

  static GemmPlan Plan(const GemmShape& shape) {
    GemmPlan plan;
    plan.shape = shape;
    const GemmShape& s = plan.shape;
    if (s.m <= 0 || s.n <= 0 || s.batch <= 0) return plan;
    const bool few_rows = s.m <= kFewRows && s.a != MatrixForm::kPacked;
    const bool stream_rows = s.m <= kStreamRows && s.a != MatrixForm::kPacked;
    plan.m_chunk = s.m;
    plan.m_chunks = 1;
    plan.n_chunk = s.n;
    plan.n_chunks = 1;
    if (few_rows && s.b == MatrixForm::kTransposed) {
      plan.path = GemmPath::kDot;
      plan.n_chunk =
          MaxOf<std::int64_t>(16, MinOf<std::int64_t>(s.n, RoundUp(32768 / (s.k + 1), 16)));
    } else if (stream_rows && s.b == MatrixForm::kRowMajor) {
      plan.path = GemmPath::kRowStream;
      plan.n_chunk = MinOf<std::int64_t>(s.n, 512);
    } else if (s.n <= kFewRows && s.m > 12 && s.a == MatrixForm::kRowMajor) {
      plan.path = GemmPath::kDot;
      plan.m_chunk =
          MaxOf<std::int64_t>(16, MinOf<std::int64_t>(s.m, RoundUp(32768 / (s.k + 1), 16)));
    } else {
      plan.path = GemmPath::kTiles;
      SplitTiles(plan);
    }
    if (plan.path != GemmPath::kTiles) {
      plan.k_block = s.k;
      plan.m_chunks = CeilDiv(s.m, plan.m_chunk);
      plan.n_chunks = CeilDiv(s.n, plan.n_chunk);
      // Sums, and the few vectors gathered along K.
      plan.scratch_bytes =
          static_cast<std::size_t>(RoundUp(plan.m_chunk * plan.n_chunk, 16) +
                                   (few_rows && s.b == MatrixForm::kTransposed ? s.m : s.n) * s.k) *
          sizeof(T);
      if (plan.path == GemmPath::kRowStream) {
        plan.scratch_bytes = static_cast<std::size_t>(RoundUp(s.m * plan.n_chunk, 16)) * sizeof(T);
      }
    }
    plan.chunks = s.batch * plan.m_chunks * plan.n_chunks;
    plan.flops_per_chunk = 2.0 * static_cast<double>(MinOf(plan.m_chunk, s.m)) *
                           static_cast<double>(MinOf(plan.n_chunk, s.n)) * static_cast<double>(s.k);
    return plan;
  }

  // ---- running ----

  struct Piece {
    std::int64_t batch, m0, m1, n0, n1;
    const T* a;
    const T* b;
    T* c;  // at (m0, n0)
  };

  static Piece Locate(const GemmPlan& plan, const GemmArgsT<T>& args, std::int64_t chunk) {
    const GemmShape& s = plan.shape;
    Piece p;
    const std::int64_t mi = chunk % plan.m_chunks;
    const std::int64_t rest = chunk / plan.m_chunks;
    const std::int64_t ni = rest % plan.n_chunks;
    p.batch = rest / plan.n_chunks;
    p.m0 = mi * plan.m_chunk;
    p.m1 = MinOf(s.m, p.m0 + plan.m_chunk);
    p.n0 = ni * plan.n_chunk;
    p.n1 = MinOf(s.n, p.n0 + plan.n_chunk);
    std::int64_t a_stride = args.a_batch_stride;
    std::int64_t b_stride = args.b_batch_stride;
    p.a = args.a +
          (args.a_batch_offsets != nullptr ? args.a_batch_offsets[p.batch] : p.batch * a_stride);
    p.b = args.b +
          (args.b_batch_offsets != nullptr ? args.b_batch_offsets[p.batch] : p.batch * b_stride);
    p.c = args.c + p.batch * args.c_batch_stride + p.m0 * args.ldc + p.n0;
    return p;
  }

  static AView<V> ViewA(const GemmPlan& plan, const GemmArgsT<T>& args, const T* a) {
    switch (plan.shape.a) {
      case MatrixForm::kPacked:
        return {a, 1, kRows, kRows * plan.shape.k, true};
      case MatrixForm::kTransposed:
        return {a, 1, args.lda, kRows, false};
      default:
        return {a, args.lda, 1, kRows * args.lda, false};
    }
  }

  // Panels [panel, panel + kPackTogether) of rows [k0, k0 + kk) into scratch. Several together so
  // that rows of B are read in longer runs.
  static void PackGroup(const GemmPlan& plan, const GemmArgsT<T>& args, const Piece& p,
                        std::int64_t k0, std::int64_t kk, std::int64_t panel, std::int64_t end,
                        T* scratch) {
    const GemmShape& s = plan.shape;
    const std::int64_t last = MinOf(end, panel + kPackTogether);
    if (s.b == MatrixForm::kTransposed) {
      for (std::int64_t j = panel; j < last; ++j) {
        TransposePanel(p.b + j * kCols * args.ldb + k0, args.ldb, kk, MinOf(kCols, s.n - j * kCols),
                       PanelWidth(s.n, j), scratch + (j - panel) * kCols * kk);
      }
      return;
    }
    const T* b = p.b + k0 * args.ldb + panel * kCols;
    const std::int64_t whole = MinOf(last, s.n / kCols) - panel;
    for (std::int64_t i = 0; i < kk; ++i) {
      const T* row = b + i * args.ldb;
      for (std::int64_t j = 0; j < whole; ++j) {
#pragma GCC unroll 4
        for (int v = 0; v < Traits::kPanelVectors; ++v) {
          V::Store(scratch + (j * kk + i) * kCols + v * V::kW,
                   V::Load(row + j * kCols + v * V::kW));
        }
      }
    }
    if (panel + whole < last) {
      CopyPanel(b + whole * kCols, args.ldb, kk, s.n - (panel + whole) * kCols,
                PanelWidth(s.n, panel + whole), scratch + whole * kCols * kk);
    }
  }

  static void RunTiles(const GemmPlan& plan, const GemmArgsT<T>& args, const Piece& p, T* scratch) {
    const GemmShape& s = plan.shape;
    const AView<V> a = ViewA(plan, args, p.a);
    TileArgs<V> t;
    t.ldc = args.ldc;
    t.alpha = args.alpha;
    const std::int64_t panel0 = p.n0 / kCols;
    const std::int64_t panel1 = CeilDiv(p.n1, kCols);
    for (std::int64_t k0 = 0; k0 < s.k; k0 += plan.k_block) {
      const std::int64_t kk = MinOf(plan.k_block, s.k - k0);
      t.k = kk;
      t.read_c = k0 > 0 || args.beta != 0;
      t.beta = k0 > 0 ? T(1) : args.beta;
      t.finish = k0 + kk == s.k;
      t.bias_row = t.bias_col = t.residual = nullptr;
      t.clip = false;
      for (std::int64_t j = panel0; j < panel1; ++j) {
        const std::int64_t cols = MinOf(kCols, s.n - j * kCols);
        t.ldb = PanelWidth(s.n, j);
        t.c = p.c + (j - panel0) * kCols;
        const std::int64_t rows = p.m1 - p.m0;
        if (s.b == MatrixForm::kPacked) {
          t.b = p.b + j * kCols * s.k + k0 * t.ldb;
          const int at_once = rows <= 3 ? PanelsAtOnce<V>(static_cast<int>(rows)) : 1;
          if (at_once > 1 && (j + at_once) * kCols <= p.n1) {
            RunPanels(t, a, k0, args.epilogue, p, j, static_cast<int>(rows), s.k);
            j += at_once - 1;
            continue;
          }
        } else {
          const std::int64_t in_group = (j - panel0) % kPackTogether;
          if (in_group == 0) PackGroup(plan, args, p, k0, kk, j, panel1, scratch);
          t.b = scratch + in_group * kCols * kk;
        }
        PanelRows<V, kBStride>(t, a, k0, args.epilogue, p.batch, p.m0, p.m1, j * kCols,
                               static_cast<int>(cols));
      }
    }
    if (s.k == 0) FinishZero(args, p);
    PostBlock<V>(args.epilogue, p.batch, p.m0, p.n0, p.m1 - p.m0, p.n1 - p.n0, p.c, args.ldc);
  }

  static void RunPanels(TileArgs<V>& t, const AView<V>& a, std::int64_t k0, const EpilogueT<T>* e,
                        const Piece& p, std::int64_t panel, int rows, std::int64_t k_all) {
    t.last = V::kW;
    t.row_stride = a.row_stride;
    t.k_stride = a.k_stride;
    t.group_stride = a.group_stride;
    t.panel_stride = kCols * k_all;
    t.a = a.At(p.m0, k0);
    if (t.finish) SetEpilogue<V>(t, e, p.batch, p.m0, panel * kCols);
    PanelsTileFor<V>(rows)(t);
  }

  // From sums to C: alpha, beta, bias, residual, clip, as StoreTile does it.
  static SY_INLINE Reg FinishVector(const TileArgs<V>& t, Reg x, const T* c, std::int64_t col,
                                    int n) {
    const bool whole = n == V::kW;
    if (t.alpha != 1) x = V::Mul(x, V::Set1(t.alpha));
    if (t.read_c) x = V::Fma(LoadPart<V>(c, whole, n), V::Set1(t.beta), x);
    if (t.bias_row != nullptr) x = V::Add(x, V::Set1(*t.bias_row));
    if (t.bias_col != nullptr) x = V::Add(x, LoadPart<V>(t.bias_col + col, whole, n));
    if (t.residual != nullptr) x = V::Add(x, LoadPart<V>(t.residual + col, whole, n));
    if (t.clip) x = V::Min(V::Set1(t.hi), V::Max(V::Set1(t.lo), x));
    return x;
  }

  static void FinishRow(const GemmArgsT<T>& args, const Piece& p, std::int64_t row, const T* sums) {
    TileArgs<V> t;
    t.alpha = args.alpha;
    t.beta = args.beta;
    t.read_c = args.beta != 0;
    SetEpilogue<V>(t, args.epilogue, p.batch, row, p.n0);
    T* c = p.c + (row - p.m0) * args.ldc;
    const std::int64_t n = p.n1 - p.n0;
    for (std::int64_t j = 0; j < n; j += V::kW) {
      const int part = static_cast<int>(MinOf<std::int64_t>(V::kW, n - j));
      const Reg x = sums == nullptr ? V::Zero() : LoadPart<V>(sums + j, part == V::kW, part);
      const Reg y = FinishVector(t, x, c + j, j, part);
      if (part == V::kW) {
        V::Store(c + j, y);
      } else {
        V::StoreN(c + j, y, part);
      }
    }
  }

  static void FinishZero(const GemmArgsT<T>& args, const Piece& p) {
    for (std::int64_t r = p.m0; r < p.m1; ++r) FinishRow(args, p, r, nullptr);
  }

  // sums[r][j] += sum over four rows of B, in the order of k.
  template <int kSteps>
  static SY_INLINE void StreamRows(const T* const* b, const T (*x)[kStreamRows], std::int64_t rows,
                                   std::int64_t n, T* sums, std::int64_t ld) {
    std::int64_t j = 0;
    for (; j + V::kW <= n; j += V::kW) {
      Reg bv[kSteps];
#pragma GCC unroll 4
      for (int i = 0; i < kSteps; ++i) bv[i] = V::Load(b[i] + j);
      for (std::int64_t r = 0; r < rows; ++r) {
        Reg acc = V::Load(sums + r * ld + j);
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) acc = V::Fma(V::Set1(x[i][r]), bv[i], acc);
        V::Store(sums + r * ld + j, acc);
      }
    }
    if (j < n) {
      const int rest = static_cast<int>(n - j);
      for (std::int64_t r = 0; r < rows; ++r) {
        Reg acc = V::LoadN(sums + r * ld + j, rest);
        for (int i = 0; i < kSteps; ++i) {
          acc = V::Fma(V::Set1(x[i][r]), V::LoadN(b[i] + j, rest), acc);
        }
        V::StoreN(sums + r * ld + j, acc, rest);
      }
    }
  }

  static void RunRowStream(const GemmPlan& plan, const GemmArgsT<T>& args, const Piece& p,
                           T* scratch) {
    const GemmShape& s = plan.shape;
    const AView<V> a = ViewA(plan, args, p.a);
    const std::int64_t n = p.n1 - p.n0;
    for (std::int64_t i = 0; i < s.m * n; ++i) scratch[i] = 0;
    T x[4][kStreamRows];
    const T* rows[4];
    std::int64_t k = 0;
    while (k < s.k) {
      const int steps = s.k - k >= 4 ? 4 : 1;
      for (int i = 0; i < steps; ++i) {
        rows[i] = p.b + (k + i) * args.ldb + p.n0;
        for (std::int64_t r = 0; r < s.m; ++r) x[i][r] = *a.At(r, k + i);
      }
      if (steps == 4) {
        StreamRows<4>(rows, x, s.m, n, scratch, n);
      } else {
        StreamRows<1>(rows, x, s.m, n, scratch, n);
      }
      k += steps;
    }
    for (std::int64_t r = 0; r < s.m; ++r) FinishRow(args, p, r, scratch + r * n);
    PostBlock<V>(args.epilogue, p.batch, p.m0, p.n0, p.m1 - p.m0, n, p.c, args.ldc);
  }

  // Dot products of kFew contiguous vectors with kMany rows of `many`.
  template <int kFew, int kMany>
  static SY_INLINE void Dots(const T* few, std::int64_t few_ld, const T* many, std::int64_t ld,
                             std::int64_t k, T* out, std::int64_t few_stride,
                             std::int64_t many_stride) {
    Reg acc[kFew][kMany];
#pragma GCC unroll 4
    for (int f = 0; f < kFew; ++f) {
#pragma GCC unroll 4
      for (int m = 0; m < kMany; ++m) acc[f][m] = V::Zero();
    }
    std::int64_t i = 0;
    for (; i + V::kW <= k; i += V::kW) {
      Reg fv[kFew];
#pragma GCC unroll 4
      for (int f = 0; f < kFew; ++f) fv[f] = V::Load(few + f * few_ld + i);
#pragma GCC unroll 4
      for (int m = 0; m < kMany; ++m) {
        const Reg mv = V::Load(many + m * ld + i);
#pragma GCC unroll 4
        for (int f = 0; f < kFew; ++f) acc[f][m] = V::Fma(fv[f], mv, acc[f][m]);
      }
    }
    if (i < k) {
      const int rest = static_cast<int>(k - i);
#pragma GCC unroll 4
      for (int m = 0; m < kMany; ++m) {
        const Reg mv = V::LoadN(many + m * ld + i, rest);
#pragma GCC unroll 4
        for (int f = 0; f < kFew; ++f) {
          acc[f][m] = V::Fma(V::LoadN(few + f * few_ld + i, rest), mv, acc[f][m]);
        }
      }
    }
#pragma GCC unroll 4
    for (int f = 0; f < kFew; ++f) {
#pragma GCC unroll 4
      for (int m = 0; m < kMany; ++m) {
        out[f * few_stride + m * many_stride] = V::Sum(acc[f][m]);
      }
    }
  }

  template <int kFew>
  static void DotRows(const T* few, std::int64_t few_ld, const T* many, std::int64_t ld,
                      std::int64_t count, std::int64_t k, T* out, std::int64_t few_stride,
                      std::int64_t many_stride) {
    constexpr int kMany = kFew == 4 ? 2 : 4;
    std::int64_t i = 0;
    for (; i + kMany <= count; i += kMany) {
      Dots<kFew, kMany>(few, few_ld, many + i * ld, ld, k, out + i * many_stride, few_stride,
                        many_stride);
    }
    for (; i < count; ++i) {
      Dots<kFew, 1>(few, few_ld, many + i * ld, ld, k, out + i * many_stride, few_stride,
                    many_stride);
    }
  }

  static void RunDot(const GemmPlan& plan, const GemmArgsT<T>& args, const Piece& p, T* scratch) {
    const GemmShape& s = plan.shape;
    const std::int64_t m = p.m1 - p.m0;
    const std::int64_t n = p.n1 - p.n0;
    const bool few_rows = s.m <= kFewRows && s.b == MatrixForm::kTransposed;
    T* sums = scratch;
    T* gathered = scratch + RoundUp(plan.m_chunk * plan.n_chunk, 16);
    const std::int64_t few_count = few_rows ? m : n;
    const T* few = gathered;
    std::int64_t few_ld = s.k;
    if (few_rows && s.a == MatrixForm::kRowMajor) {
      few = p.a;
      few_ld = args.lda;
    } else if (!few_rows && s.b == MatrixForm::kTransposed) {
      few = p.b;
      few_ld = args.ldb;
    } else {
      const T* src = few_rows ? p.a : p.b;
      const std::int64_t ld = few_rows                     ? args.lda
                              : s.b == MatrixForm::kPacked ? PanelWidth(s.n, 0)
                                                           : args.ldb;
      for (std::int64_t f = 0; f < few_count; ++f) {
        for (std::int64_t i = 0; i < s.k; ++i) gathered[f * s.k + i] = src[i * ld + f];
      }
    }
    const T* many = few_rows ? p.b + p.n0 * args.ldb : p.a + p.m0 * args.lda;
    const std::int64_t many_ld = few_rows ? args.ldb : args.lda;
    const std::int64_t count = few_rows ? n : m;
    const std::int64_t fs = few_rows ? n : 1;
    const std::int64_t ms = few_rows ? 1 : n;
    switch (few_count) {
      case 1:
        DotRows<1>(few, few_ld, many, many_ld, count, s.k, sums, fs, ms);
        break;
      case 2:
        DotRows<2>(few, few_ld, many, many_ld, count, s.k, sums, fs, ms);
        break;
      case 3:
        DotRows<3>(few, few_ld, many, many_ld, count, s.k, sums, fs, ms);
        break;
      default:
        DotRows<4>(few, few_ld, many, many_ld, count, s.k, sums, fs, ms);
        break;
    }
    for (std::int64_t r = p.m0; r < p.m1; ++r) FinishRow(args, p, r, sums + (r - p.m0) * n);
    PostBlock<V>(args.epilogue, p.batch, p.m0, p.n0, m, n, p.c, args.ldc);
  }

  static void RunChunk(const GemmPlan& plan, const GemmArgsT<T>& args, std::int64_t chunk,
                       void* scratch) {
    if (plan.path == GemmPath::kNothing) return;
    const Piece p = Locate(plan, args, chunk);
    T* work = static_cast<T*>(scratch);
    switch (plan.path) {
      case GemmPath::kRowStream:
        return RunRowStream(plan, args, p, work);
      case GemmPath::kDot:
        return RunDot(plan, args, p, work);
      default:
        return RunTiles(plan, args, p, work);
    }
  }

  static constexpr GemmOpsT<T> Ops() {
    return {kRows, kCols,     Plan,    RunChunk,        BPanels, PackedBElements,
            PackB, PackBRows, APanels, PackedAElements, PackA};
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
