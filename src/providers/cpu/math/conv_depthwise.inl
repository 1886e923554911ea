// Depthwise planes: one input plane, one kernel, one output plane; after conv_strip.inl and
// gemm_tile.inl.
#pragma once

#include "providers/cpu/math/conv_strip.inl"
#include "providers/cpu/math/gemm_tile.inl"

namespace switchyard::cpu::math {
namespace {

struct DepthwisePlane {
  const StripShape* strip;
  std::int64_t kernel_y, kernel_x;
  bool dense;   // no dilation
  bool first;   // of its chunk: the scratch holds no tap offsets yet
  bool zeroed;  // the pads in scratch are those of these rows
  bool fill;    // the strip in scratch is not that of this input yet
  std::int64_t y0, y1, out_x;
  const float* input;
  const float* weight;
  float* output;
  float* scratch;
};

[[maybe_unused]] std::size_t DepthwiseScratchBytes(const StripShape& strip,
                                                   std::int64_t kernel_size) {
  // Weights as whole vectors, tap offsets, the strip and the overhang of the last vectors.
  return static_cast<std::size_t>(kernel_size * F32::kW * 4 + RoundUp(kernel_size * 8, 64) +
                                  (strip.Elements() + 8 * F32::kW) * 4);
}

struct DepthwiseFinish {
  F32::Reg bias, lo, hi;
  const float* residual;  // at the output's first element, or null
  bool clip;
};

SY_INLINE void DepthwiseStore(const DepthwiseFinish& f, F32::Reg v, float* out, std::int64_t at,
                              std::int64_t n) {
  const bool whole = n >= F32::kW;
  const int part = static_cast<int>(n);
  v = F32::Add(v, f.bias);
  if (f.residual != nullptr) v = F32::Add(v, LoadPart<F32>(f.residual + at, whole, part));
  if (f.clip) v = F32::Min(f.hi, F32::Max(f.lo, v));
  if (whole) {
    F32::Store(out + at, v);
  } else {
    F32::StoreN(out + at, v, part);
  }
}

// R output rows at once; each loaded vector serves every kernel row that needs it.
template <int K, int S, int R>
__attribute__((noinline)) void DepthwiseRows(const DepthwisePlane& d, const float* weights,
                                             const float* rows, const DepthwiseFinish& f,
                                             float* out, std::int64_t at) {
  constexpr int kInRows = (R - 1) * S + K;
  const std::int64_t row_size = d.strip->RowSize();
  const std::int64_t pitch = d.strip->pitch;
  // Nine weights stay in registers; the stores to `out` would make the compiler reload them.
  constexpr int kHeld = K == 3 ? 9 : 1;
  F32::Reg held[kHeld];
#pragma GCC unroll 9
  for (int i = 0; i < kHeld; ++i) held[i] = F32::Load(weights + i * F32::kW);
  for (std::int64_t x = 0; x < d.out_x; x += F32::kW) {
    F32::Reg acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = F32::Zero();
#pragma GCC unroll 16
    for (int i = 0; i < kInRows; ++i) {
      const float* row = rows + i * row_size + x;
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) {
        const F32::Reg v = F32::Load(row + (k % S) * pitch + k / S);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const int ky = i - r * S;
          if (ky >= 0 && ky < K) {
            if constexpr (K == 3) {
              acc[r] = F32::Fma(v, held[ky * K + k], acc[r]);
            } else {
              acc[r] = F32::Fma(v, F32::Load(weights + (ky * K + k) * F32::kW), acc[r]);
            }
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      DepthwiseStore(f, acc[r], out, at + r * d.out_x + x, d.out_x - x);
    }
  }
}

template <int K, int S>
SY_INLINE void DepthwiseSquare(const DepthwisePlane& d, const float* weights, const float* rows,
                               const DepthwiseFinish& f) {
  std::int64_t y = d.y0;
  for (; y + 4 <= d.y1; y += 4) {
    DepthwiseRows<K, S, 4>(d, weights, rows + d.strip->Row(y - d.y0), f, d.output, y * d.out_x);
  }
  if (y + 2 <= d.y1) {
    DepthwiseRows<K, S, 2>(d, weights, rows + d.strip->Row(y - d.y0), f, d.output, y * d.out_x);
    y += 2;
  }
  for (; y < d.y1; ++y) {
    DepthwiseRows<K, S, 1>(d, weights, rows + d.strip->Row(y - d.y0), f, d.output, y * d.out_x);
  }
}

template <int NX>
SY_INLINE void DepthwiseTaps(const float* weights, const std::int64_t* taps, std::int64_t count,
                             const float* row, const DepthwiseFinish& f, float* out,
                             std::int64_t at, std::int64_t n) {
  F32::Reg acc[NX];
#pragma GCC unroll 4
  for (int v = 0; v < NX; ++v) acc[v] = F32::Zero();
  for (std::int64_t i = 0; i < count; ++i) {
    const F32::Reg w = F32::Load(weights + i * F32::kW);
    const float* p = row + taps[i];
#pragma GCC unroll 4
    for (int v = 0; v < NX; ++v) acc[v] = F32::Fma(F32::Load(p + v * F32::kW), w, acc[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < NX; ++v) {
    DepthwiseStore(f, acc[v], out, at + v * F32::kW, n - v * F32::kW);
  }
}

SY_INLINE void DepthwiseGeneral(const DepthwisePlane& d, const float* weights,
                                const std::int64_t* taps, const float* rows,
                                const DepthwiseFinish& f) {
  const std::int64_t count = d.kernel_y * d.kernel_x;
  for (std::int64_t y = d.y0; y < d.y1; ++y) {
    const float* row = rows + d.strip->Row(y - d.y0);
    std::int64_t x = 0;
    for (; x + 3 * F32::kW < d.out_x; x += 4 * F32::kW) {
      DepthwiseTaps<4>(weights, taps, count, row + x, f, d.output, y * d.out_x + x, d.out_x - x);
    }
    for (; x < d.out_x; x += F32::kW) {
      DepthwiseTaps<1>(weights, taps, count, row + x, f, d.output, y * d.out_x + x, d.out_x - x);
    }
  }
}

[[maybe_unused]] void DepthwiseRun(const DepthwisePlane& d, const Epilogue* e, std::int64_t image,
                                   std::int64_t channel) {
  const std::int64_t count = d.kernel_y * d.kernel_x;
  float* weights = d.scratch;
  auto* taps = reinterpret_cast<std::int64_t*>(weights + count * F32::kW);
  float* rows = weights + count * F32::kW + RoundUp(count * 8, 64) / 4;
  for (std::int64_t i = 0; i < count; ++i) {
    F32::Store(weights + i * F32::kW, F32::Set1(d.weight[i]));
  }
  if (d.first) {
    for (std::int64_t i = 0; i < count; ++i) {
      taps[i] = d.strip->Tap(i / d.kernel_x, i % d.kernel_x);
    }
  }
  if (d.fill) d.strip->Fill(d.input, d.y0, rows, d.zeroed);

  TileArgs<F32> t;
  SetEpilogue<F32>(t, e, image, channel, 0);
  DepthwiseFinish f;
  f.bias = t.bias_row != nullptr ? F32::Set1(*t.bias_row) : F32::Zero();
  f.clip = t.clip;
  f.lo = F32::Set1(t.lo);
  f.hi = F32::Set1(t.hi);
  f.residual = t.residual;

  const std::int64_t stride = d.strip->stride_x;
  const bool square = d.dense && d.kernel_y == d.kernel_x && d.strip->stride_y == stride;
  if (square && d.kernel_x == 3 && stride == 1) {
    DepthwiseSquare<3, 1>(d, weights, rows, f);
  } else if (square && d.kernel_x == 3 && stride == 2) {
    DepthwiseSquare<3, 2>(d, weights, rows, f);
  } else if (square && d.kernel_x == 5 && stride == 1) {
    DepthwiseSquare<5, 1>(d, weights, rows, f);
  } else if (square && d.kernel_x == 5 && stride == 2) {
    DepthwiseSquare<5, 2>(d, weights, rows, f);
  } else if (square && d.kernel_x == 7 && stride == 1) {
    DepthwiseSquare<7, 1>(d, weights, rows, f);
  } else {
    DepthwiseGeneral(d, weights, taps, rows, f);
  }
  PostBlock<F32>(e, image, channel, d.y0 * d.out_x, 1, (d.y1 - d.y0) * d.out_x,
                 d.output + d.y0 * d.out_x, d.out_x);
}

}  // namespace
}  // namespace switchyard::cpu::math
