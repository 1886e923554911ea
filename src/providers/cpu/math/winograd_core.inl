// Winograd convolutions of one ISA level, after conv_core.inl. The transforms work on kW tiles of a
// row of tiles at once; the strip's four phases make each of a tile's six columns a contiguous
// load.
#pragma once

#include "providers/cpu/math/conv_core.inl"
#include "providers/cpu/math/winograd.h"

namespace switchyard::cpu::math {
namespace {

struct Winograd {
  using V = F32;
  using Reg = F32::Reg;
  using Product = Gemm<F32>;
  static constexpr std::int64_t kCols = Product::kCols;
  static constexpr std::int64_t kPoints = 36;
  static constexpr std::int64_t kBlockK = 384;
  // Output channels whose products wait for the output transform together.
  static constexpr std::int64_t kChannelBlock = 24;

  static bool Applies(const ConvShape& s) {
    if (s.groups != 1 || s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1) return false;
    for (int d = 1; d < 3; ++d) {
      if (s.kernel[d] != 3 || s.stride[d] != 1 || s.dilation[d] != 1) return false;
    }
    return true;
  }
  // Below fourteen rows the tiles waste too much and the weights are read too seldom.
  static bool Pays(const ConvShape& s) {
    return Applies(s) && s.in_channels >= 16 && s.out_channels >= 16 && s.out[1] >= 14 &&
           s.out[2] >= 14;
  }

  static std::int64_t TilesX(const ConvShape& s) { return CeilDiv(s.out[2], 4); }
  static std::int64_t TilesY(const ConvShape& s) { return CeilDiv(s.out[1], 4); }

  // ---- weights: 36 packed matrices [out_channels, in_channels] ----

  static std::int64_t PointElements(const ConvShape& s) {
    return static_cast<std::int64_t>(Product::PackedAElements(s.out_channels, s.in_channels));
  }
  static std::int64_t WeightPanels(const ConvShape& s) { return Product::APanels(s.out_channels); }
  static std::size_t PackedWeightElements(const ConvShape& s) {
    return static_cast<std::size_t>(kPoints * PointElements(s));
  }

  // The rows of a panel at once, in double; two lanes idle.
  typedef double Lanes __attribute__((vector_size(8 * sizeof(double))));
  typedef float Floats __attribute__((vector_size(8 * sizeof(float))));
  static_assert(Product::kRows <= 8);

  static SY_INLINE void WeightLine(const Lanes& a, const Lanes& b, const Lanes& c,
                                   Lanes (&out)[6]) {
    const Lanes sixths = (a + c) * (1.0 / 6), sixth = b * (1.0 / 6);
    const Lanes ends = a * (1.0 / 24) + c * (1.0 / 6), middle = b * (1.0 / 12);
    out[0] = a * 0.25;
    out[1] = -(sixths + sixth);
    out[2] = -(sixths - sixth);
    out[3] = ends + middle;
    out[4] = ends - middle;
    out[5] = c;
  }

  static void PackWeight(const ConvShape& s, const float* weight, std::int64_t begin,
                         std::int64_t end, float* packed) {
    const std::int64_t point = PointElements(s);
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t row = panel * Product::kRows;
      const std::int64_t rows = MinOf(Product::kRows, s.out_channels - row);
      const float* g = weight + row * s.in_channels * 9;
      float* dst = packed + row * s.in_channels;
      for (std::int64_t c = 0; c < s.in_channels; ++c, g += 9, dst += Product::kRows) {
        Lanes taps[9] = {};
        for (std::int64_t r = 0; r < rows; ++r) {
          for (int i = 0; i < 9; ++i)
            taps[i][r] = static_cast<double>(g[r * s.in_channels * 9 + i]);
        }
        Lanes half[3][6];
        for (int i = 0; i < 3; ++i)
          WeightLine(taps[3 * i], taps[3 * i + 1], taps[3 * i + 2], half[i]);
        for (int j = 0; j < 6; ++j) {
          Lanes column[6];
          WeightLine(half[0][j], half[1][j], half[2][j], column);
          for (int i = 0; i < 6; ++i) {
            const Floats values = __builtin_convertvector(column[i], Floats);
            __builtin_memcpy(dst + (i * 6 + j) * point, &values, Product::kRows * sizeof(float));
          }
        }
      }
    }
  }

  // ---- planning ----

  static StripShape Strip(const ConvShape& s, std::int64_t tile_rows) {
    return StripShape::For(s.in[1], s.in[2], TilesX(s), 6, 6, 4, 4, 1, 1, s.pad[1], s.pad[2],
                           tile_rows);
  }
  // Row pitch of V and M: whole vectors, odd in cache lines so that columns spread over the L1
  // sets.
  static std::int64_t Pitch(std::int64_t tiles) {
    const std::int64_t pitch = RoundUp(tiles + V::kW, 16);
    return pitch / 16 % 2 == 0 ? pitch + 16 : pitch;
  }

  static WinogradPlan Plan(const ConvShape& shape) {
    WinogradPlan plan;
    plan.shape = shape;
    const ConvShape& s = plan.shape;
    if (s.batch <= 0 || s.out_channels <= 0 || s.out[1] <= 0 || s.out[2] <= 0) return plan;
    const std::int64_t tiles_x = TilesX(s);
    const std::int64_t tiles_y = TilesY(s);
    const std::int64_t limit = V::kManyRegisters ? 786432 : 589824;
    double best = 0;
    for (std::int64_t rows = 1; rows <= tiles_y; ++rows) {
      const std::int64_t tiles = rows * tiles_x;
      if (rows > 1 && tiles * s.in_channels * kPoints * 4 > limit) break;
      // Whole vectors of tiles, and rows that divide the image.
      const double fill = static_cast<double>(tiles) / static_cast<double>(RoundUp(tiles, V::kW)) *
                          static_cast<double>(tiles_y) /
                          static_cast<double>(RoundUp(tiles_y, rows));
      const double score = fill * (tiles >= 2 * V::kW ? 1.0 : 0.8);
      if (score >= best) {
        best = score;
        plan.tile_rows = rows;
      }
    }
    plan.row_chunks = CeilDiv(tiles_y, plan.tile_rows);
    std::int64_t channels = RoundUp(s.out_channels, Product::kRows);
    while (channels >= 96 && s.batch * plan.row_chunks * CeilDiv(s.out_channels, channels) < 8) {
      channels = RoundUp(channels / 2, Product::kRows);
    }
    plan.channel_chunk = channels;
    plan.channel_chunks = CeilDiv(s.out_channels, channels);
    plan.chunks = s.batch * plan.row_chunks * plan.channel_chunks;
    plan.flops_per_chunk = 18.0 * static_cast<double>(s.batch * s.out_channels * s.in_channels) *
                           static_cast<double>(s.out[1] * s.out[2]) /
                           static_cast<double>(plan.chunks);
    const std::int64_t pitch = Pitch(plan.tile_rows * tiles_x);
    plan.scratch_bytes =
        static_cast<std::size_t>((kPoints * pitch * (s.in_channels + kChannelBlock) +
                                  Strip(s, plan.tile_rows).Elements() + 8 * kCols) *
                                 4);
    return plan;
  }

  // ---- transforms ----

  static SY_INLINE void InputLine(const Reg (&d)[6], Reg (&o)[6]) {
    const Reg four = V::Set1(4.0f);
    const Reg two = V::Set1(2.0f);
    const Reg minus_four = V::Set1(-4.0f);
    const Reg minus_five = V::Set1(-5.0f);
    o[0] = V::Fma(minus_five, d[2], V::Fma(four, d[0], d[4]));
    const Reg even = V::Fma(minus_four, d[2], d[4]);
    const Reg odd = V::Fma(minus_four, d[1], d[3]);
    o[1] = V::Add(even, odd);
    o[2] = V::Sub(even, odd);
    const Reg near = V::Sub(d[4], d[2]);
    const Reg far = V::Mul(two, V::Sub(d[3], d[1]));
    o[3] = V::Add(near, far);
    o[4] = V::Sub(near, far);
    o[5] = V::Fma(minus_five, d[3], V::Fma(four, d[1], d[5]));
  }

  static SY_INLINE void OutputLine(const Reg (&m)[6], Reg (&o)[4]) {
    const Reg s1 = V::Add(m[1], m[2]);
    const Reg d1 = V::Sub(m[1], m[2]);
    const Reg s2 = V::Add(m[3], m[4]);
    const Reg d2 = V::Sub(m[3], m[4]);
    o[0] = V::Add(V::Add(m[0], s1), s2);
    o[1] = V::Fma(V::Set1(2.0f), d2, d1);
    o[2] = V::Fma(V::Set1(4.0f), s2, s1);
    o[3] = V::Add(V::Fma(V::Set1(8.0f), d2, d1), m[5]);
  }

  static void InputTiles(const StripShape& strip, const float* rows, float* v,
                         std::int64_t point_stride) {
    Reg half[6][6];
    for (int j = 0; j < 6; ++j) {
      const float* column = rows + (j % 4) * strip.pitch + j / 4;
      Reg d[6];
      Reg o[6];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) d[i] = V::Load(column + i * strip.RowSize());
      InputLine(d, o);
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) half[i][j] = o[i];
    }
    for (int i = 0; i < 6; ++i) {
      Reg o[6];
      InputLine(half[i], o);
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) V::Store(v + (i * 6 + j) * point_stride, o[j]);
    }
  }

  // kW tiles: up to 4 rows of up to 4 kW pixels, of which rows x cols exist.
  static void OutputTiles(const float* m, std::int64_t point_stride, const DepthwiseFinish& f,
                          float* out, std::int64_t at, std::int64_t ld, std::int64_t rows,
                          std::int64_t cols) {
    Reg half[4][6];
    for (int j = 0; j < 6; ++j) {
      Reg d[6];
      Reg o[4];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) d[i] = V::Load(m + (i * 6 + j) * point_stride);
      OutputLine(d, o);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) half[i][j] = o[i];
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      Reg o[4];
      OutputLine(half[i], o);
      Reg a[2], b[2], line[4];
      V::Interleave(o[0], o[2], a[0], a[1]);
      V::Interleave(o[1], o[3], b[0], b[1]);
      V::Interleave(a[0], b[0], line[0], line[1]);
      V::Interleave(a[1], b[1], line[2], line[3]);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        if (x * V::kW < cols) {
          DepthwiseStore(f, line[x], out, at + i * ld + x * V::kW, cols - x * V::kW);
        }
      }
    }
  }

  // ---- running ----

  static void RunChunk(const WinogradPlan& plan, const ConvArgs& args, std::int64_t chunk,
                       void* scratch) {
    const ConvShape& s = plan.shape;
    const std::int64_t row_chunk = chunk % plan.row_chunks;
    const std::int64_t channel_chunk = chunk / plan.row_chunks % plan.channel_chunks;
    const std::int64_t image = chunk / plan.row_chunks / plan.channel_chunks;
    const std::int64_t r0 = row_chunk * plan.tile_rows;
    const std::int64_t r1 = MinOf(TilesY(s), r0 + plan.tile_rows);
    const std::int64_t m0 = channel_chunk * plan.channel_chunk;
    const std::int64_t m1 = MinOf(s.out_channels, m0 + plan.channel_chunk);
    const std::int64_t tiles_x = TilesX(s);
    const std::int64_t tiles = (r1 - r0) * tiles_x;
    const std::int64_t pitch = Pitch(tiles);
    const std::int64_t k = s.in_channels;
    const std::int64_t v_point = k * pitch;
    const std::int64_t m_point = kChannelBlock * pitch;
    float* v = static_cast<float*>(scratch);
    float* products = v + kPoints * v_point;
    float* rows = products + kPoints * m_point;

    const StripShape strip = Strip(s, r1 - r0);
    for (std::int64_t c = 0; c < k; ++c) {
      strip.Fill(args.input + (image * k + c) * s.in[1] * s.in[2], r0, rows, c > 0);
      for (std::int64_t r = 0; r < r1 - r0; ++r) {
        for (std::int64_t x = 0; x < tiles_x; x += V::kW) {
          InputTiles(strip, rows + strip.Row(r) + x, v + c * pitch + r * tiles_x + x, v_point);
        }
      }
    }
    const std::int64_t pixels = s.out[1] * s.out[2];
    float* output = args.output + image * s.out_channels * pixels;
    for (std::int64_t m = m0; m < m1; m += kChannelBlock) {
      const std::int64_t m_end = MinOf(m1, m + kChannelBlock);
      for (std::int64_t point = 0; point < kPoints; ++point) {
        Multiply(s, args.weight + point * PointElements(s), v + point * v_point, pitch, tiles, m,
                 m_end, products + point * m_point);
      }
      for (std::int64_t channel = m; channel < m_end; ++channel) {
        TileArgs<F32> t;
        SetEpilogue<F32>(t, args.epilogue, image, channel, 0);
        DepthwiseFinish f;
        f.bias = t.bias_row != nullptr ? V::Set1(*t.bias_row) : V::Zero();
        f.clip = t.clip;
        f.lo = V::Set1(t.lo);
        f.hi = V::Set1(t.hi);
        f.residual = t.residual;
        const float* from = products + (channel - m) * pitch;
        for (std::int64_t r = r0; r < r1; ++r) {
          for (std::int64_t x = 0; x < tiles_x; x += V::kW) {
            OutputTiles(from + (r - r0) * tiles_x + x, m_point, f, output + channel * pixels,
                        r * 4 * s.out[2] + x * 4, s.out[2],
                        MinOf<std::int64_t>(4, s.out[1] - r * 4), s.out[2] - x * 4);
          }
        }
      }
    }
    const std::int64_t y0 = r0 * 4;
    const std::int64_t y1 = MinOf(s.out[1], r1 * 4);
    PostBlock<F32>(args.epilogue, image, m0, y0 * s.out[2], m1 - m0, (y1 - y0) * s.out[2],
                   output + m0 * pixels + y0 * s.out[2], pixels);
  }

  static void Multiply(const ConvShape& s, const float* weight, const float* v, std::int64_t pitch,
                       std::int64_t tiles, std::int64_t m, std::int64_t m_end, float* out) {
    const std::int64_t k = s.in_channels;
    const AView<F32> a{weight, 1, Product::kRows, Product::kRows * k, true};
    TileArgs<F32> t;
    t.ldb = pitch;
    t.ldc = pitch;
    t.beta = 1;
    for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      t.k = MinOf(kBlockK, k - k0);
      t.read_c = k0 > 0;
      for (std::int64_t col = 0; col < tiles; col += kCols) {
        t.b = v + k0 * pitch + col;
        t.c = out + col;
        PanelRows<F32, kBStride>(t, a, k0, nullptr, 0, m, m_end, col,
                                 static_cast<int>(MinOf(kCols, tiles - col)));
      }
    }
  }

  static constexpr WinogradOps Ops() {
    return {Applies, Pays, Plan, RunChunk, WeightPanels, PackedWeightElements, PackWeight};
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
