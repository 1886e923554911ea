// The register tile of all matrix products and convolutions, after simd.inl: MR rows by NV vectors,
// any strides on A, B by stride, by offset table or from several panels at once.
#pragma once

#include "providers/cpu/math/activation.inl"
#include "providers/cpu/math/epilogue.h"
#include "providers/cpu/math/simd.inl"

namespace switchyard::cpu::math {
namespace {

// Where row k of B lies.
enum BMode : int {
  kBStride,   // b + k * ldb
  kBOffsets,  // b + offsets[k]
  kBPanels,   // panels of kPanelVectors vectors, panel_stride apart, each b + k * ldb
};

template <class V>
struct TileTraits {
  static constexpr int kPanelVectors = V::kManyRegisters ? 4 : 2;
  static constexpr int kPanelCols = kPanelVectors * V::kW;
  static constexpr int kRows = 6;
  static constexpr int MaxRows(int nv) {
    return nv == 1 || (V::kManyRegisters && nv == 2) ? 12 : 6;
  }
};

// Element (r, k) of A is a[(r / 6) * group_stride + (r % 6) * row_stride + k * k_stride].
template <class V>
struct TileArgs {
  using T = typename V::T;
  std::int64_t k = 0;
  const T* a = nullptr;
  std::int64_t row_stride = 0, k_stride = 0, group_stride = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0, panel_stride = 0;
  const std::int32_t* offsets = nullptr;
  T* c = nullptr;
  std::int64_t ldc = 0;
  int last = V::kW;  // columns in the last vector, 1..kW
  bool read_c = false, finish = false, clip = false;
  T alpha = 1, beta = 0;
  const T* bias_row = nullptr;
  const T* bias_col = nullptr;
  const T* residual = nullptr;
  std::int64_t residual_ld = 0;
  T lo = 0, hi = 0;
};

template <class V>
using TileFn = void (*)(const TileArgs<V>&);

template <class V>
SY_INLINE typename V::Reg LoadPart(const typename V::T* p, bool whole, int n) {
  return whole ? V::Load(p) : V::LoadN(p, n);
}

template <class V, int MR, int NV>
SY_INLINE void StoreTile(const TileArgs<V>& t, typename V::Reg (&acc)[MR][NV]) {
  using Reg = typename V::Reg;
  const bool whole_last = t.last == V::kW;
  if (t.alpha != 1) {
    const Reg alpha = V::Set1(t.alpha);
#pragma GCC unroll 12
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[r][v] = V::Mul(acc[r][v], alpha);
    }
  }
  if (t.read_c) {
    const Reg beta = V::Set1(t.beta);
#pragma GCC unroll 12
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        const bool whole = v + 1 < NV || whole_last;
        acc[r][v] =
            V::Fma(LoadPart<V>(t.c + r * t.ldc + v * V::kW, whole, t.last), beta, acc[r][v]);
      }
    }
  }
  if (t.finish) {
    if (t.bias_row != nullptr) {
#pragma GCC unroll 12
      for (int r = 0; r < MR; ++r) {
        const Reg bias = V::Set1(t.bias_row[r]);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[r][v] = V::Add(acc[r][v], bias);
      }
    }
    if (t.bias_col != nullptr) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        const bool whole = v + 1 < NV || whole_last;
        const Reg bias = LoadPart<V>(t.bias_col + v * V::kW, whole, t.last);
#pragma GCC unroll 12
        for (int r = 0; r < MR; ++r) acc[r][v] = V::Add(acc[r][v], bias);
      }
    }
    if (t.residual != nullptr) {
#pragma GCC unroll 12
      for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
          const bool whole = v + 1 < NV || whole_last;
          acc[r][v] = V::Add(
              acc[r][v], LoadPart<V>(t.residual + r * t.residual_ld + v * V::kW, whole, t.last));
        }
      }
    }
    if (t.clip) {
      const Reg lo = V::Set1(t.lo);
      const Reg hi = V::Set1(t.hi);
#pragma GCC unroll 12
      for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[r][v] = V::Min(hi, V::Max(lo, acc[r][v]));
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      typename V::T* p = t.c + r * t.ldc + v * V::kW;
      if (v + 1 < NV || whole_last) {
        V::Store(p, acc[r][v]);
      } else {
        V::StoreN(p, acc[r][v], t.last);
      }
    }
  }
}

template <class V, int MR, int NV, int kMode>
__attribute__((noinline)) void Tile(const TileArgs<V>& t) {
  using T = typename V::T;
  using Reg = typename V::Reg;
  constexpr int kPanelVectors = TileTraits<V>::kPanelVectors;
  constexpr int kBases = (MR + 2) / 3;
  const T* base[kBases];
  for (int i = 0; i < kBases; ++i) {
    base[i] = t.a + (i / 2) * t.group_stride + (i % 2) * 3 * t.row_stride;
  }
  const std::int64_t rs = t.row_stride;
  const std::int64_t ks = t.k_stride;
  Reg acc[MR][NV];
#pragma GCC unroll 12
  for (int r = 0; r < MR; ++r) {
    PrefetchLine(t.c + r * t.ldc);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[r][v] = V::Zero();
  }
  const T* b = t.b;
  const std::int32_t* offsets = t.offsets;
  const std::int64_t ldb = t.ldb;
  const std::int64_t panel_stride = t.panel_stride;
#pragma GCC unroll 2
  for (std::int64_t k = t.k; k > 0; --k) {
    const T* row = b;
    if constexpr (kMode == kBOffsets) row = b + *offsets++;
    Reg bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      if constexpr (kMode == kBPanels) {
        bv[v] = V::Load(row + (v / kPanelVectors) * panel_stride + (v % kPanelVectors) * V::kW);
      } else {
        bv[v] = V::Load(row + v * V::kW);
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < MR; ++r) {
      const Reg av = V::Set1(base[r / 3][(r % 3) * rs]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[r][v] = V::Fma(av, bv[v], acc[r][v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kBases; ++i) base[i] += ks;
    if constexpr (kMode != kBOffsets) b += ldb;
  }
  StoreTile<V, MR, NV>(t, acc);
}

template <class V, int NV, int kMode>
TileFn<V> TileWithRows(int rows) {
  if constexpr (TileTraits<V>::MaxRows(NV) > 6) {
    switch (rows) {
      case 7:
        return Tile<V, 7, NV, kMode>;
      case 8:
        return Tile<V, 8, NV, kMode>;
      case 9:
        return Tile<V, 9, NV, kMode>;
      case 10:
        return Tile<V, 10, NV, kMode>;
      case 11:
        return Tile<V, 11, NV, kMode>;
      case 12:
        return Tile<V, 12, NV, kMode>;
      default:
        break;
    }
  }
  switch (rows) {
    case 1:
      return Tile<V, 1, NV, kMode>;
    case 2:
      return Tile<V, 2, NV, kMode>;
    case 3:
      return Tile<V, 3, NV, kMode>;
    case 4:
      return Tile<V, 4, NV, kMode>;
    case 5:
      return Tile<V, 5, NV, kMode>;
    default:
      return Tile<V, 6, NV, kMode>;
  }
}

// rows in 1..MaxRows(vectors), vectors in 1..kPanelVectors; kBStride or kBOffsets.
template <class V, int kMode>
TileFn<V> TileFor(int rows, int vectors) {
  if constexpr (TileTraits<V>::kPanelVectors == 4) {
    if (vectors == 4) return TileWithRows<V, 4, kMode>(rows);
    if (vectors == 3) return TileWithRows<V, 3, kMode>(rows);
  }
  if (vectors == 2) return TileWithRows<V, 2, kMode>(rows);
  return TileWithRows<V, 1, kMode>(rows);
}

// Panels that one call takes at once for few rows, so that several streams run.
template <class V>
SY_INLINE int PanelsAtOnce(int rows) {
  return V::kManyRegisters ? (rows <= 3 ? 2 : 1) : (rows == 1 ? 4 : rows <= 3 ? 2 : 1);
}

template <class V>
TileFn<V> PanelsTileFor(int rows) {
  constexpr int kPanel = TileTraits<V>::kPanelVectors;
  if (rows == 1) return Tile<V, 1, (V::kManyRegisters ? 2 : 4) * kPanel, kBPanels>;
  if (rows == 2) return Tile<V, 2, 2 * kPanel, kBPanels>;
  return Tile<V, 3, 2 * kPanel, kBPanels>;
}

// Fills the epilogue part of `t` for the tile at (row, col) of batch entry `batch`.
template <class V>
SY_INLINE void SetEpilogue(TileArgs<V>& t, const EpilogueT<typename V::T>* e, std::int64_t batch,
                           std::int64_t row, std::int64_t col) {
  t.clip = false;
  t.bias_row = nullptr;
  t.bias_col = nullptr;
  t.residual = nullptr;
  if (e == nullptr) return;
  if (e->bias_row != nullptr) t.bias_row = e->bias_row + row;
  if (e->bias_col != nullptr) t.bias_col = e->bias_col + col;
  if (e->residual != nullptr) {
    t.residual = e->residual + batch * e->residual_batch_stride + row * e->residual_ld + col;
    t.residual_ld = e->residual_ld;
  }
  if (e->activation == Activation::kRelu) {
    t.clip = true;
    t.lo = 0;
    t.hi = static_cast<typename V::T>(__builtin_inf());
  } else if (e->activation == Activation::kClip) {
    t.clip = true;
    t.lo = e->a;
    t.hi = e->b;
  }
}

SY_INLINE void PostActivate(const EpilogueT<float>& e, float* row, std::int64_t n) {
  if (e.activation > Activation::kClip) ActivateRow(e.activation, row, n, e.a, e.b);
}
SY_INLINE void PostActivate(const EpilogueT<double>& e, double* row, std::int64_t n) {
  if (e.activation != Activation::kLeakyRelu) return;
  for (std::int64_t i = 0; i < n; ++i) row[i] = row[i] < 0 ? e.a * row[i] : row[i];
}

// What does not fit in the registers of a tile: runs over a finished block while it is in cache.
template <class V>
SY_INLINE void PostBlock(const EpilogueT<typename V::T>* e, std::int64_t batch, std::int64_t row,
                         std::int64_t col, std::int64_t rows, std::int64_t cols, typename V::T* c,
                         std::int64_t ldc) {
  if (e == nullptr) return;
  if (e->activation > Activation::kClip) {
    for (std::int64_t r = 0; r < rows; ++r) PostActivate(*e, c + r * ldc, cols);
  }
  if (e->tile_program != nullptr) {
    e->tile_program(e->tile_context, batch, row, col, rows, cols, c, ldc);
  }
}

// A as the tiles read it.
template <class V>
struct AView {
  const typename V::T* a;
  std::int64_t row_stride, k_stride, group_stride;
  bool packed;
  SY_INLINE const typename V::T* At(std::int64_t row, std::int64_t k) const {
    // Packed rows start at panels only.
    return packed ? a + (row / 6) * group_stride + k * 6 : a + row * row_stride + k * k_stride;
  }
};

// Rows [row0, row1) of one panel of B: `cols` columns, k rows; t carries A's strides, B, C at
// (row0, col0) and the flags.
template <class V, int kMode>
void PanelRows(TileArgs<V>& t, const AView<V>& a, std::int64_t k0,
               const EpilogueT<typename V::T>* e, std::int64_t batch, std::int64_t row0,
               std::int64_t row1, std::int64_t col0, int cols) {
  const int vectors = (cols + V::kW - 1) / V::kW;
  const std::int64_t max_rows = TileTraits<V>::MaxRows(vectors);
  t.last = cols - (vectors - 1) * V::kW;
  t.row_stride = a.row_stride;
  t.k_stride = a.k_stride;
  t.group_stride = a.group_stride;
  TileFn<V> full = TileFor<V, kMode>(static_cast<int>(max_rows), vectors);
  typename V::T* c = t.c;
  for (std::int64_t row = row0; row < row1;) {
    std::int64_t rows = MinOf(max_rows, row1 - row);
    // Two even tiles rather than a full one and a thin one.
    if (!a.packed && row1 - row > max_rows && row1 - row < 2 * max_rows) {
      rows = (row1 - row + 1) / 2;
    }
    t.a = a.At(row, k0);
    t.c = c + (row - row0) * t.ldc;
    if (t.finish) SetEpilogue<V>(t, e, batch, row, col0);
    if (rows == max_rows) {
      full(t);
    } else {
      TileFor<V, kMode>(static_cast<int>(rows), vectors)(t);
    }
    row += rows;
  }
  t.c = c;
}

}  // namespace
}  // namespace switchyard::cpu::math
