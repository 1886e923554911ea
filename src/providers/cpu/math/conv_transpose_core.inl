// Transposed convolutions of one ISA level, after gemm_core.inl.
#pragma once

#include "providers/cpu/math/conv_transpose.h"
#include "providers/cpu/math/gemm_core.inl"

namespace switchyard::cpu::math {
namespace {

struct ConvTranspose {
  using V = F32;
  using Product = Gemm<F32>;
  static constexpr std::int64_t kCols = Product::kCols;
  static constexpr std::int64_t kBlockK = 384;

  static std::int64_t GroupIn(const ConvShape& s) { return s.in_channels / s.groups; }
  static std::int64_t GroupOut(const ConvShape& s) { return s.out_channels / s.groups; }
  static std::int64_t KernelSize(const ConvShape& s) {
    return s.kernel[0] * s.kernel[1] * s.kernel[2];
  }

  // Tap k reaches output positions p with (p + pad - k * dilation) a multiple of the stride.
  static SY_INLINE bool Reaches(const ConvShape& s, int d, std::int64_t residue, std::int64_t k) {
    return (residue + s.pad[d] - k * s.dilation[d]) % s.stride[d] == 0;
  }
  static std::int64_t Taps(const ConvShape& s, int d, std::int64_t residue) {
    std::int64_t n = 0;
    for (std::int64_t k = 0; k < s.kernel[d]; ++k) n += Reaches(s, d, residue, k);
    return n;
  }

  // ---- weights: per group and residue (z, y, x) the panels of a [GroupOut, GroupIn * taps] matrix
  // ----

  static std::int64_t GroupElements(const ConvShape& s) {
    return static_cast<std::int64_t>(
        Product::PackedAElements(GroupOut(s), GroupIn(s) * KernelSize(s)));
  }
  static std::int64_t WeightPanels(const ConvShape& s) {
    return s.groups * Product::APanels(GroupOut(s));
  }
  static std::size_t PackedWeightElements(const ConvShape& s) {
    return static_cast<std::size_t>(s.groups * GroupElements(s));
  }

  static void PackWeight(const ConvShape& s, const float* weight, std::int64_t begin,
                         std::int64_t end, float* packed) {
    const std::int64_t panels = Product::APanels(GroupOut(s));
    const std::int64_t size = KernelSize(s);
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t g = p / panels;
      const std::int64_t panel = p % panels;
      const std::int64_t row0 = panel * Product::kRows;
      const std::int64_t rows = MinOf(Product::kRows, GroupOut(s) - row0);
      float* matrix = packed + g * GroupElements(s);
      for (std::int64_t z = 0; z < s.stride[0]; ++z) {
        for (std::int64_t y = 0; y < s.stride[1]; ++y) {
          for (std::int64_t x = 0; x < s.stride[2]; ++x) {
            const std::int64_t k = GroupIn(s) * Taps(s, 0, z) * Taps(s, 1, y) * Taps(s, 2, x);
            float* dst = matrix + panel * Product::kRows * k;
            for (std::int64_t c = 0; c < GroupIn(s); ++c) {
              const float* src = weight + ((g * GroupIn(s) + c) * GroupOut(s) + row0) * size;
              for (std::int64_t tap = 0; tap < size; ++tap) {
                const std::int64_t kx = tap % s.kernel[2];
                const std::int64_t ky = tap / s.kernel[2] % s.kernel[1];
                const std::int64_t kz = tap / (s.kernel[2] * s.kernel[1]);
                if (!Reaches(s, 0, z, kz) || !Reaches(s, 1, y, ky) || !Reaches(s, 2, x, kx)) {
                  continue;
                }
                for (std::int64_t r = 0; r < Product::kRows; ++r) {
                  dst[r] = r < rows ? src[r * size + tap] : 0.0f;
                }
                dst += Product::kRows;
              }
            }
            matrix += panels * Product::kRows * k;
          }
        }
      }
    }
  }

  static std::int64_t MatrixOffset(const ConvShape& s, std::int64_t z, std::int64_t y,
                                   std::int64_t x) {
    std::int64_t taps = 0;
    for (std::int64_t i = 0; i < s.stride[0]; ++i) {
      for (std::int64_t j = 0; j < s.stride[1]; ++j) {
        for (std::int64_t k = 0; k < s.stride[2]; ++k) {
          if (i == z && j == y && k == x) {
            return Product::APanels(GroupOut(s)) * Product::kRows * GroupIn(s) * taps;
          }
          taps += Taps(s, 0, i) * Taps(s, 1, j) * Taps(s, 2, k);
        }
      }
    }
    return 0;
  }

  // ---- planning ----

  struct Layout {
    std::int64_t left;    // zeros before a row
    std::int64_t pitch;   // of padded rows
    std::int64_t taps_y;  // most row taps, depth and height together
    std::int64_t run;     // outputs of one residue, pitched
    std::int64_t k;       // most rows of a product
  };

  static Layout LayOut(const ConvShape& s) {
    Layout l{};
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t taps_x = 0;
    for (std::int64_t x = 0; x < s.stride[2]; ++x) {
      for (std::int64_t k = 0; k < s.kernel[2]; ++k) {
        if (!Reaches(s, 2, x, k)) continue;
        const std::int64_t shift = (x + s.pad[2] - k * s.dilation[2]) / s.stride[2];
        low = MinOf(low, shift);
        high = MaxOf(high, shift);
      }
      taps_x = MaxOf(taps_x, Taps(s, 2, x));
    }
    std::int64_t most_z = 0;
    std::int64_t most_y = 0;
    for (std::int64_t z = 0; z < s.stride[0]; ++z) most_z = MaxOf(most_z, Taps(s, 0, z));
    for (std::int64_t y = 0; y < s.stride[1]; ++y) most_y = MaxOf(most_y, Taps(s, 1, y));
    l.taps_y = most_z * most_y;
    l.left = -low;
    l.run = RoundUp(CeilDiv(s.out[2], s.stride[2]), kCols);
    l.pitch = RoundUp(l.left + MaxOf(s.in[2], l.run + high), V::kW) + V::kW;
    l.k = GroupIn(s) * l.taps_y * taps_x;
    return l;
  }

  static ConvTransposePlan Plan(const ConvShape& shape) {
    ConvTransposePlan plan;
    plan.shape = shape;
    const ConvShape& s = plan.shape;
    const std::int64_t rows = s.out[0] * s.out[1];
    if (s.batch <= 0 || s.out_channels <= 0 || rows <= 0 || s.out[2] <= 0) return plan;
    const double total = 2.0 * static_cast<double>(s.batch * s.out_channels * GroupIn(s)) *
                         static_cast<double>(KernelSize(s)) *
                         static_cast<double>(s.in[0] * s.in[1] * s.in[2]);
    const double row_flops = total / static_cast<double>(s.batch * s.groups * rows);
    plan.row_chunk =
        MaxOf<std::int64_t>(1, MinOf(rows, static_cast<std::int64_t>(0.5e6 / (row_flops + 1))));
    plan.row_chunks = CeilDiv(rows, plan.row_chunk);
    plan.chunks = s.batch * s.groups * plan.row_chunks;
    plan.flops_per_chunk = row_flops * static_cast<double>(plan.row_chunk);
    const Layout l = LayOut(s);
    plan.scratch_bytes =
        static_cast<std::size_t>((RoundUp(l.k, 16) + GroupIn(s) * l.taps_y * l.pitch + kCols +
                                  s.stride[2] * GroupOut(s) * l.run + RoundUp(s.out[2], 16)) *
                                 4);
    return plan;
  }

  // ---- running ----

  static void FillRow(const ConvShape& s, const Layout& l, const float* src, float* dst) {
    for (std::int64_t i = 0; i < l.pitch; i += V::kW) V::Store(dst + i, V::Zero());
    if (src == nullptr) return;
    dst += l.left;
    std::int64_t i = 0;
    for (; i + V::kW <= s.in[2]; i += V::kW) V::Store(dst + i, V::Load(src + i));
    for (; i < s.in[2]; ++i) dst[i] = src[i];
  }

  // Padded rows [channel][row tap][pitch] that output row (z, y) reads; returns the row taps.
  static std::int64_t FillRows(const ConvShape& s, const Layout& l, const float* input,
                               std::int64_t z, std::int64_t y, float* rows) {
    std::int64_t taps = 0;
    for (std::int64_t c = 0; c < GroupIn(s); ++c) {
      taps = 0;
      for (std::int64_t kz = 0; kz < s.kernel[0]; ++kz) {
        if (!Reaches(s, 0, z, kz)) continue;
        const std::int64_t iz = (z + s.pad[0] - kz * s.dilation[0]) / s.stride[0];
        for (std::int64_t ky = 0; ky < s.kernel[1]; ++ky) {
          if (!Reaches(s, 1, y, ky)) continue;
          const std::int64_t iy = (y + s.pad[1] - ky * s.dilation[1]) / s.stride[1];
          const bool inside = iz >= 0 && iz < s.in[0] && iy >= 0 && iy < s.in[1];
          FillRow(s, l, inside ? input + ((c * s.in[0] + iz) * s.in[1] + iy) * s.in[2] : nullptr,
                  rows);
          rows += l.pitch;
          ++taps;
        }
      }
    }
    return taps;
  }

  // Outputs x, x + stride, ... of one row for all channels of the group: sums[GroupOut][run].
  static void RunResidue(const ConvShape& s, const Layout& l, const float* weight,
                         const float* rows, std::int64_t row_taps, std::int64_t x,
                         std::int32_t* offsets, float* sums) {
    const std::int64_t count = CeilDiv(s.out[2] - x, s.stride[2]);
    const std::int64_t m = GroupOut(s);
    std::int64_t k = 0;
    for (std::int64_t row = 0; row < GroupIn(s) * row_taps; ++row) {
      for (std::int64_t kx = 0; kx < s.kernel[2]; ++kx) {
        if (!Reaches(s, 2, x, kx)) continue;
        const std::int64_t shift = (x + s.pad[2] - kx * s.dilation[2]) / s.stride[2];
        offsets[k++] = static_cast<std::int32_t>(row * l.pitch + l.left + shift);
      }
    }
    if (k == 0) {
      for (std::int64_t i = 0; i < m * l.run; ++i) sums[i] = 0;
      return;
    }
    const AView<F32> a{weight, 1, Product::kRows, Product::kRows * k, true};
    TileArgs<F32> t;
    t.ldc = l.run;
    t.beta = 1;
    for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      t.k = MinOf(kBlockK, k - k0);
      t.read_c = k0 > 0;
      t.offsets = offsets + k0;
      for (std::int64_t col = 0; col < count; col += kCols) {
        t.b = rows + col;
        t.c = sums + col;
        PanelRows<F32, kBOffsets>(t, a, k0, nullptr, 0, 0, m, col,
                                  static_cast<int>(MinOf(kCols, count - col)));
      }
    }
  }

  static void RunChunk(const ConvTransposePlan& plan, const ConvArgs& args, std::int64_t chunk,
                       void* scratch) {
    const ConvShape& s = plan.shape;
    const Layout l = LayOut(s);
    const std::int64_t m = GroupOut(s);
    const std::int64_t out_pixels = s.out[0] * s.out[1] * s.out[2];
    const std::int64_t row0 = chunk % plan.row_chunks * plan.row_chunk;
    const std::int64_t row1 = MinOf(s.out[0] * s.out[1], row0 + plan.row_chunk);
    const std::int64_t group = chunk / plan.row_chunks % s.groups;
    const std::int64_t image = chunk / plan.row_chunks / s.groups;
    const float* input =
        args.input + (image * s.in_channels + group * GroupIn(s)) * s.in[0] * s.in[1] * s.in[2];
    const float* weight = args.weight + group * GroupElements(s);
    float* output = args.output + image * s.out_channels * out_pixels;

    auto* offsets = static_cast<std::int32_t*>(scratch);
    float* rows = static_cast<float*>(scratch) + RoundUp(l.k, 16);
    float* sums = rows + GroupIn(s) * l.taps_y * l.pitch + kCols;
    float* line = sums + s.stride[2] * m * l.run;

    GemmArgs finish;
    finish.ldc = out_pixels;
    finish.epilogue = args.epilogue;
    for (std::int64_t row = row0; row < row1; ++row) {
      const std::int64_t z = row / s.out[1];
      const std::int64_t y = row % s.out[1];
      const std::int64_t row_taps = FillRows(s, l, input, z, y, rows);
      const std::int64_t residues = MinOf(s.stride[2], s.out[2]);
      for (std::int64_t x = 0; x < residues; ++x) {
        RunResidue(s, l, weight + MatrixOffset(s, z % s.stride[0], y % s.stride[1], x), rows,
                   row_taps, x, offsets, sums + x * m * l.run);
      }
      Product::Piece piece;
      piece.batch = image;
      piece.m0 = group * m;
      piece.m1 = piece.m0 + m;
      piece.n0 = row * s.out[2];
      piece.n1 = piece.n0 + s.out[2];
      piece.a = piece.b = nullptr;
      piece.c = output + piece.m0 * out_pixels + piece.n0;
      for (std::int64_t r = 0; r < m; ++r) {
        const float* done = sums + r * l.run;
        if (s.stride[2] > 1) {
          for (std::int64_t x = 0; x < residues; ++x) {
            const float* from = sums + (x * m + r) * l.run;
            for (std::int64_t o = x, i = 0; o < s.out[2]; o += s.stride[2], ++i) line[o] = from[i];
          }
          done = line;
        }
        Product::FinishRow(finish, piece, piece.m0 + r, done);
      }
      PostBlock<F32>(args.epilogue, image, piece.m0, piece.n0, m, s.out[2], piece.c, out_pixels);
    }
  }

  static constexpr ConvTransposeOps Ops() {
    return {Plan, RunChunk, WeightPanels, PackedWeightElements, PackWeight};
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
