// Convolutions of one ISA level as implicit matrix products, after gemm_core.inl.
#pragma once

#include "providers/cpu/math/conv.h"
#include "providers/cpu/math/conv_depthwise.inl"
#include "providers/cpu/math/conv_strip.inl"
#include "providers/cpu/math/gemm_core.inl"

namespace switchyard::cpu::math {
namespace {

struct Conv {
  using V = F32;
  using Product = Gemm<F32>;
  static constexpr std::int64_t kCols = Product::kCols;
  // Pixels unfolded together; the pitch is an odd number of panels so that a panel does not fall
  // into a fraction of the L1 sets.
  static constexpr std::int64_t kTilePixels = V::kManyRegisters ? 2 * kCols : 4 * kCols;
  static constexpr std::int64_t kTilePitch = kTilePixels + 16;
  static constexpr std::int64_t kBlockK = 384;
  static constexpr std::int64_t kDepthwiseStrip = 5120;  // floats

  // ---- shapes ----

  static std::int64_t GroupIn(const ConvShape& s) { return s.in_channels / s.groups; }
  static std::int64_t GroupOut(const ConvShape& s) { return s.out_channels / s.groups; }
  static std::int64_t InPixels(const ConvShape& s) { return s.in[0] * s.in[1] * s.in[2]; }
  static std::int64_t OutPixels(const ConvShape& s) { return s.out[0] * s.out[1] * s.out[2]; }
  static std::int64_t KernelSize(const ConvShape& s) {
    return s.kernel[0] * s.kernel[1] * s.kernel[2];
  }
  static std::int64_t GroupK(const ConvShape& s) { return GroupIn(s) * KernelSize(s); }

  static bool IsDepthwise(const ConvShape& s) {
    return GroupIn(s) == 1 && s.groups > 1 && s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 &&
           GroupOut(s) <= 4;
  }

  static bool IsPointwise(const ConvShape& s) {
    for (int d = 0; d < 3; ++d) {
      if (s.kernel[d] != 1 || s.stride[d] != 1 || s.pad[d] != 0 || s.in[d] != s.out[d]) {
        return false;
      }
    }
    return true;
  }

  // ---- weights ----

  static std::int64_t WeightPanels(const ConvShape& s) {
    if (IsDepthwise(s)) return s.out_channels;
    return s.groups * Product::APanels(GroupOut(s));
  }
  static std::size_t PackedWeightElements(const ConvShape& s) {
    if (IsDepthwise(s)) return static_cast<std::size_t>(s.out_channels * KernelSize(s));
    return static_cast<std::size_t>(s.groups) * Product::PackedAElements(GroupOut(s), GroupK(s));
  }
  static void PackWeight(const ConvShape& s, const float* weight, std::int64_t begin,
                         std::int64_t end, float* packed) {
    if (IsDepthwise(s)) {
      const std::int64_t size = KernelSize(s);
      for (std::int64_t i = begin * size; i < end * size; ++i) packed[i] = weight[i];
      return;
    }
    const std::int64_t panels = Product::APanels(GroupOut(s));
    const std::int64_t k = GroupK(s);
    const auto group_packed = static_cast<std::int64_t>(Product::PackedAElements(GroupOut(s), k));
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t g = p / panels;
      Product::PackA(weight + g * GroupOut(s) * k, k, MatrixForm::kRowMajor, GroupOut(s), k,
                     p % panels, p % panels + 1, packed + g * group_packed);
    }
  }

  // ---- planning ----

  static StripShape Strip(const ConvShape& s, std::int64_t out_rows) {
    return StripShape::For(s.in[1], s.in[2], s.out[2], s.kernel[1], s.kernel[2], s.stride[1],
                           s.stride[2], s.dilation[1], s.dilation[2], s.pad[1], s.pad[2], out_rows);
  }

  // Reading padded rows in place of unfolding costs the columns that do not fill a vector;
  // unfolding costs about ten cycles for sixteen pixels of one row of the matrix, a product 2 M.
  static bool RowsPay(const ConvShape& s) {
    if (s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1) return false;
    if (s.stride[2] > 2) return false;
    const auto m = static_cast<double>(GroupOut(s));
    const double waste =
        static_cast<double>(RoundUp(s.out[2], V::kW)) / static_cast<double>(s.out[2]);
    const double fill =
        10.0 * static_cast<double>(s.stride[1] * s.stride[2]) / static_cast<double>(KernelSize(s));
    if (Strip(s, 1).Elements() * GroupIn(s) > (V::kManyRegisters ? 196608 : 65536)) return false;
    return 2 * m * waste + fill < 2 * m + 10;
  }

  static ConvPlan Plan(const ConvShape& shape) {
    ConvPlan plan;
    plan.shape = shape;
    const ConvShape& s = plan.shape;
    const std::int64_t pixels = OutPixels(s);
    if (s.batch <= 0 || s.out_channels <= 0 || pixels <= 0) return plan;
    const double total = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.out_channels) *
                         static_cast<double>(GroupK(s)) * static_cast<double>(pixels);
    if (IsDepthwise(s)) {
      PlanDepthwise(plan, total);
      return plan;
    }
    plan.path = IsPointwise(s) ? ConvPath::kPointwise
                : RowsPay(s)   ? ConvPath::kRows
                               : ConvPath::kUnfold;
    const std::int64_t k = GroupK(s);
    plan.k_block = MaxOf<std::int64_t>(1, CeilDiv(k, MaxOf<std::int64_t>(1, CeilDiv(k, kBlockK))));
    const std::int64_t m = GroupOut(s);
    const std::int64_t unit = plan.path == ConvPath::kRows ? s.out[2] : kTilePixels;
    const std::int64_t units =
        plan.path == ConvPath::kRows ? s.out[1] : CeilDiv(pixels, kTilePixels);
    std::int64_t take = MinOf(units, MaxOf<std::int64_t>(1, (m < 64 ? 1024 : 512) / unit));
    std::int64_t mc = m;
    const double target = MinOf(32e6, MaxOf(0.5e6, total / 48));
    const double unit_flops = 2.0 * static_cast<double>(k) * static_cast<double>(unit);
    while (take > 1 && unit_flops * static_cast<double>(take * mc) > target) take = (take + 1) / 2;
    if (plan.path == ConvPath::kRows) {
      while (take > 1 && Strip(s, take).Elements() * GroupIn(s) > 65536) --take;
    }
    while (mc >= 96 && unit_flops * static_cast<double>(take * mc) > target &&
           s.batch * s.groups * CeilDiv(units, take) * CeilDiv(m, mc) < 8) {
      mc = RoundUp(mc / 2, Product::kRows);
    }
    plan.channel_chunks = CeilDiv(m, mc);
    plan.channel_chunk = RoundUp(CeilDiv(m, plan.channel_chunks), Product::kRows);
    plan.channel_chunks = CeilDiv(m, plan.channel_chunk);
    plan.pixel_chunks = CeilDiv(units, take);
    take = CeilDiv(units, plan.pixel_chunks);
    plan.pixel_chunks = CeilDiv(units, take);
    plan.pixel_chunk = plan.path == ConvPath::kRows ? take : take * kTilePixels;
    plan.chunks = s.batch * s.groups * plan.channel_chunks * plan.pixel_chunks;
    plan.flops_per_chunk = total / static_cast<double>(plan.chunks);
    if (plan.path == ConvPath::kRows) {
      plan.scratch_bytes = static_cast<std::size_t>(
          (Strip(s, take).Elements() * GroupIn(s) + kCols + RoundUp(k, 16)) * 4);
    } else {
      plan.scratch_bytes = static_cast<std::size_t>((plan.k_block * kTilePitch + 64) * 4 +
                                                    2 * RoundUp(s.kernel[2], 8) * 8);
      if (plan.path == ConvPath::kUnfold && UnfoldsStrips(s)) {
        plan.scratch_bytes += static_cast<std::size_t>(
            (Strip(s, TileRows(s)).Elements() + kCols) * 4 + RoundUp(KernelSize(s) * 8, 64));
      }
    }
    return plan;
  }

  static void PlanDepthwise(ConvPlan& plan, double total) {
    const ConvShape& s = plan.shape;
    plan.path = ConvPath::kDepthwise;
    const std::int64_t planes = s.batch * s.out_channels;
    const double plane_flops = total / static_cast<double>(planes);
    const double target = MinOf(4e6, MaxOf(0.2e6, total / 48));
    plan.pixel_chunk = s.out[1];
    if (plane_flops > 2 * target) {
      const double rows = static_cast<double>(s.out[1]) * target / plane_flops;
      plan.pixel_chunk =
          MinOf(s.out[1], RoundUp(MaxOf<std::int64_t>(8, static_cast<std::int64_t>(rows)), 4));
    }
    plan.pixel_chunks = CeilDiv(s.out[1], plan.pixel_chunk);
    plan.channel_chunk =
        MaxOf<std::int64_t>(1, MinOf(planes, static_cast<std::int64_t>(target / plane_flops)));
    if (plan.pixel_chunks > 1) plan.channel_chunk = 1;
    plan.channel_chunks = CeilDiv(planes, plan.channel_chunk);
    plan.chunks = plan.channel_chunks * plan.pixel_chunks;
    plan.flops_per_chunk = total / static_cast<double>(plan.chunks);
    plan.scratch_bytes = DepthwiseScratchBytes(Strip(s, plan.pixel_chunk), KernelSize(s));
  }

  // Narrow images are unfolded from padded rows, without a test per run.
  static bool UnfoldsStrips(const ConvShape& s) {
    return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.stride[2] <= 2 &&
           s.out[2] <= kTilePixels;
  }
  // Output rows that a tile can touch.
  static std::int64_t TileRows(const ConvShape& s) {
    return MinOf(s.out[1], kTilePixels / s.out[2] + 2);
  }

  // ---- unfolding ----

  struct Segment {
    std::int64_t z, y, x;  // first output pixel
    std::int64_t at, count;
  };

  // The pieces of output rows in pixels [p0, p1); at most one per pixel.
  static int CutSegments(const ConvShape& s, std::int64_t p0, std::int64_t p1, Segment* segments) {
    int count = 0;
    for (std::int64_t p = p0; p < p1;) {
      const std::int64_t row = p / s.out[2];
      Segment& g = segments[count++];
      g.x = p - row * s.out[2];
      g.y = row % s.out[1];
      g.z = row / s.out[1];
      g.at = p - p0;
      g.count = MinOf(s.out[2] - g.x, p1 - p);
      p += g.count;
    }
    return count;
  }

  // May write up to a vector beyond n, inside of the tile's pitch.
  static SY_INLINE void ZeroRun(float* dst, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += V::kW) V::Store(dst + i, V::Zero());
  }

  static SY_INLINE void CopyRun(float* dst, const float* src, std::int64_t n, std::int64_t step) {
    std::int64_t i = 0;
    if (step == 1) {
      for (; i + V::kW <= n; i += V::kW) V::Store(dst + i, V::Load(src + i));
      if (i < n) V::Store(dst + i, V::LoadN(src + i, static_cast<int>(n - i)));
      return;
    }
    if (step == 2) {
      for (; i + V::kW < n; i += V::kW) {
        V::Reg even, odd;
        V::Deinterleave(V::Load(src + 2 * i), V::Load(src + 2 * i + V::kW), even, odd);
        V::Store(dst + i, even);
      }
    }
    for (; i < n; ++i) dst[i] = src[i * step];
  }

  static std::int64_t FirstInside(std::int64_t shift, std::int64_t stride) {
    return shift <= 0 ? 0 : CeilDiv(shift, stride);
  }

  // Rows [k0, k0 + kk) of the unfolded matrix for the pixels of the segments, dst[kk][kTilePitch].
  static void Unfold(const ConvShape& s, const float* input, std::int64_t k0, std::int64_t kk,
                     const Segment* segments, int count, const std::int64_t* first,
                     const std::int64_t* last, float* dst) {
    const std::int64_t size = KernelSize(s);
    std::int64_t channel = k0 / size;
    std::int64_t tap = k0 - channel * size;
    std::int64_t kx = tap % s.kernel[2];
    std::int64_t ky = tap / s.kernel[2] % s.kernel[1];
    std::int64_t kz = tap / (s.kernel[2] * s.kernel[1]);
    for (std::int64_t i = 0; i < kk; ++i, dst += kTilePitch) {
      const float* plane = input + channel * InPixels(s);
      for (int g = 0; g < count; ++g) {
        const Segment& seg = segments[g];
        const std::int64_t z = seg.z * s.stride[0] - s.pad[0] + kz * s.dilation[0];
        const std::int64_t y = seg.y * s.stride[1] - s.pad[1] + ky * s.dilation[1];
        float* out = dst + seg.at;
        if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1]) {
          ZeroRun(out, seg.count);
          continue;
        }
        const std::int64_t end = seg.x + seg.count;
        const std::int64_t lo = MinOf(MaxOf(first[kx], seg.x), end);
        const std::int64_t hi = MaxOf(MinOf(last[kx], end), lo);
        ZeroRun(out, lo - seg.x);
        const float* row = plane + (z * s.in[1] + y) * s.in[2];
        CopyRun(out + (lo - seg.x), row + lo * s.stride[2] - s.pad[2] + kx * s.dilation[2], hi - lo,
                s.stride[2]);
        ZeroRun(out + (hi - seg.x), end - hi);
      }
      if (++kx == s.kernel[2]) {
        kx = 0;
        if (++ky == s.kernel[1]) {
          ky = 0;
          if (++kz == s.kernel[0]) {
            kz = 0;
            ++channel;
          }
        }
      }
    }
  }

  // The same for output rows from y0 on, through padded rows in `work`.
  static void UnfoldStrips(const ConvShape& s, const float* input, std::int64_t k0, std::int64_t kk,
                           const Segment* segments, int count, float* work, float* dst) {
    const std::int64_t size = KernelSize(s);
    const std::int64_t y0 = segments[0].y;
    const StripShape strip = Strip(s, segments[count - 1].y - y0 + 1);
    auto* taps = reinterpret_cast<std::int64_t*>(work);
    float* rows = work + RoundUp(size * 8, 64) / 4;
    for (std::int64_t i = 0; i < size; ++i) {
      taps[i] = strip.Tap(i / s.kernel[2], i % s.kernel[2]);
    }
    std::int64_t from[kTilePixels];
    for (int g = 0; g < count; ++g) from[g] = strip.Row(segments[g].y - y0) + segments[g].x;
    std::int64_t channel = k0 / size;
    std::int64_t tap = k0 - channel * size;
    strip.Fill(input + channel * InPixels(s), y0, rows, false);
    for (std::int64_t i = 0; i < kk; ++i, dst += kTilePitch) {
      const float* src = rows + taps[tap];
      for (int g = 0; g < count; ++g) {
        const float* run = src + from[g];
        float* out = dst + segments[g].at;
        for (std::int64_t x = 0; x < segments[g].count; x += V::kW) {
          V::Store(out + x, V::Load(run + x));
        }
      }
      if (++tap == size && i + 1 < kk) {
        tap = 0;
        ++channel;
        strip.Fill(input + channel * InPixels(s), y0, rows, true);
      }
    }
  }

  // ---- running ----

  struct Piece {
    std::int64_t image, group, m0, m1, u0, u1;  // u: pixels or rows
    const float* input;
    AView<F32> weight;
    float* output;  // channel (group, 0), pixel 0
  };

  static Piece Locate(const ConvPlan& plan, const ConvArgs& args, std::int64_t chunk) {
    const ConvShape& s = plan.shape;
    const std::int64_t m = GroupOut(s);
    const std::int64_t k = GroupK(s);
    const std::int64_t units = plan.path == ConvPath::kRows ? s.out[1] : OutPixels(s);
    Piece p;
    const std::int64_t u = chunk % plan.pixel_chunks;
    chunk /= plan.pixel_chunks;
    const std::int64_t c = chunk % plan.channel_chunks;
    chunk /= plan.channel_chunks;
    p.group = chunk % s.groups;
    p.image = chunk / s.groups;
    p.m0 = c * plan.channel_chunk;
    p.m1 = MinOf(m, p.m0 + plan.channel_chunk);
    p.u0 = u * plan.pixel_chunk;
    p.u1 = MinOf(units, p.u0 + plan.pixel_chunk);
    p.input = args.input + (p.image * s.in_channels + p.group * GroupIn(s)) * InPixels(s);
    p.output = args.output + (p.image * s.out_channels + p.group * m) * OutPixels(s);
    if (s.weight_packed) {
      p.weight = {args.weight + p.group * static_cast<std::int64_t>(Product::PackedAElements(m, k)),
                  1, Product::kRows, Product::kRows * k, true};
    } else {
      p.weight = {args.weight + p.group * m * k, k, 1, Product::kRows * k, false};
    }
    return p;
  }

  // Channel rows of the epilogue count over all groups: a copy shifted to this group.
  static Epilogue GroupEpilogue(const Epilogue* e, const ConvShape& s, const Piece& p) {
    Epilogue shifted;
    if (e == nullptr) return shifted;
    shifted = *e;
    const std::int64_t row = p.group * GroupOut(s);
    if (shifted.bias_row != nullptr) shifted.bias_row += row;
    if (shifted.residual != nullptr) shifted.residual += row * shifted.residual_ld;
    return shifted;
  }

  // Activation and program over finished pixels [c0, c1) of this piece's channels.
  static void Post(const Epilogue* e, const ConvShape& s, const Piece& p, std::int64_t c0,
                   std::int64_t c1) {
    const std::int64_t pixels = OutPixels(s);
    PostBlock<F32>(e, p.image, p.group * GroupOut(s) + p.m0, c0, p.m1 - p.m0, c1 - c0,
                   p.output + p.m0 * pixels + c0, pixels);
  }

  static void StartBlock(TileArgs<F32>& t, std::int64_t k0, std::int64_t kk, std::int64_t k) {
    t.k = kk;
    t.read_c = k0 > 0;
    t.beta = 1;
    t.finish = k0 + kk == k;
    t.bias_row = t.bias_col = t.residual = nullptr;
    t.clip = false;
  }

  static void RunUnfold(const ConvPlan& plan, const ConvArgs& args, const Piece& p,
                        float* scratch) {
    const ConvShape& s = plan.shape;
    const std::int64_t k = GroupK(s);
    const std::int64_t pixels = OutPixels(s);
    const Epilogue epilogue = GroupEpilogue(args.epilogue, s, p);
    float* tile = scratch;
    auto* first = reinterpret_cast<std::int64_t*>(scratch + plan.k_block * kTilePitch + 64);
    std::int64_t* last = first + s.kernel[2];
    for (std::int64_t x = 0; x < s.kernel[2]; ++x) {
      const std::int64_t shift = s.pad[2] - x * s.dilation[2];
      first[x] = FirstInside(shift, s.stride[2]);
      last[x] = FirstInside(s.in[2] + shift, s.stride[2]);
    }
    const bool strips = UnfoldsStrips(s);
    float* strip_work = reinterpret_cast<float*>(first + 2 * RoundUp(s.kernel[2], 8));
    Segment segments[kTilePixels];
    TileArgs<F32> t;
    t.ldc = pixels;
    t.ldb = kTilePitch;
    for (std::int64_t tile0 = p.u0; tile0 < p.u1; tile0 += kTilePixels) {
      const std::int64_t tile1 = MinOf(p.u1, tile0 + kTilePixels);
      const int count = plan.path == ConvPath::kUnfold ? CutSegments(s, tile0, tile1, segments) : 0;
      for (std::int64_t k0 = 0; k0 < k; k0 += plan.k_block) {
        const std::int64_t kk = MinOf(plan.k_block, k - k0);
        if (plan.path == ConvPath::kUnfold && strips) {
          UnfoldStrips(s, p.input, k0, kk, segments, count, strip_work, tile);
        } else if (plan.path == ConvPath::kUnfold) {
          Unfold(s, p.input, k0, kk, segments, count, first, last, tile);
        } else {
          for (std::int64_t i = 0; i < kk; ++i) {
            CopyRun(tile + i * kTilePitch, p.input + (k0 + i) * pixels + tile0, tile1 - tile0, 1);
          }
        }
        StartBlock(t, k0, kk, k);
        for (std::int64_t col = tile0; col < tile1; col += kCols) {
          t.b = tile + (col - tile0);
          t.c = p.output + p.m0 * pixels + col;
          PanelRows<F32, kBStride>(t, p.weight, k0, &epilogue, p.image, p.m0, p.m1, col,
                                   static_cast<int>(MinOf(kCols, tile1 - col)));
        }
      }
      Post(args.epilogue, s, p, tile0, tile1);
    }
  }

  static void RunRows(const ConvPlan& plan, const ConvArgs& args, const Piece& p, float* scratch) {
    const ConvShape& s = plan.shape;
    const std::int64_t k = GroupK(s);
    const std::int64_t pixels = OutPixels(s);
    const Epilogue epilogue = GroupEpilogue(args.epilogue, s, p);
    const StripShape strip = Strip(s, p.u1 - p.u0);
    auto* offsets = reinterpret_cast<std::int32_t*>(scratch);
    float* rows = scratch + RoundUp(k, 16);
    const std::int64_t size = KernelSize(s);
    const std::int64_t plane = strip.Elements();
    for (std::int64_t i = 0; i < size; ++i) {
      offsets[i] = static_cast<std::int32_t>(strip.Tap(i / s.kernel[2], i % s.kernel[2]));
    }
    for (std::int64_t i = size; i < k; ++i) {
      offsets[i] = offsets[i - size] + static_cast<std::int32_t>(plane);
    }
    for (std::int64_t c = 0; c < GroupIn(s); ++c) {
      strip.Fill(p.input + c * InPixels(s), p.u0, rows + c * plane, false);
    }
    TileArgs<F32> t;
    t.ldc = pixels;
    for (std::int64_t k0 = 0; k0 < k; k0 += plan.k_block) {
      StartBlock(t, k0, MinOf(plan.k_block, k - k0), k);
      t.offsets = offsets + k0;
      for (std::int64_t y = p.u0; y < p.u1; ++y) {
        for (std::int64_t x = 0; x < s.out[2]; x += kCols) {
          const std::int64_t col = y * s.out[2] + x;
          t.b = rows + strip.Row(y - p.u0) + x;
          t.c = p.output + p.m0 * pixels + col;
          PanelRows<F32, kBOffsets>(t, p.weight, k0, &epilogue, p.image, p.m0, p.m1, col,
                                    static_cast<int>(MinOf(kCols, s.out[2] - x)));
        }
      }
    }
    Post(args.epilogue, s, p, p.u0 * s.out[2], p.u1 * s.out[2]);
  }

  // No input channels or no kernel: what the epilogue makes of zero.
  static void RunEmpty(const ConvPlan& plan, const ConvArgs& args, const Piece& p) {
    const ConvShape& s = plan.shape;
    const std::int64_t scale = plan.path == ConvPath::kRows ? s.out[2] : 1;
    const Epilogue epilogue = GroupEpilogue(args.epilogue, s, p);
    GemmArgs g;
    g.ldc = OutPixels(s);
    g.epilogue = &epilogue;
    Product::Piece q;
    q.batch = p.image;
    q.m0 = p.m0;
    q.m1 = p.m1;
    q.n0 = p.u0 * scale;
    q.n1 = p.u1 * scale;
    q.a = q.b = nullptr;
    q.c = p.output + p.m0 * g.ldc + q.n0;
    Product::FinishZero(g, q);
    Post(args.epilogue, s, p, q.n0, q.n1);
  }

  static void RunDepthwise(const ConvPlan& plan, const ConvArgs& args, std::int64_t chunk,
                           float* scratch) {
    const ConvShape& s = plan.shape;
    const std::int64_t rows = chunk % plan.pixel_chunks;
    const std::int64_t planes = chunk / plan.pixel_chunks;
    const std::int64_t y0 = rows * plan.pixel_chunk;
    const std::int64_t y1 = MinOf(s.out[1], y0 + plan.pixel_chunk);
    const std::int64_t plane0 = planes * plan.channel_chunk;
    const std::int64_t plane1 = MinOf(s.batch * s.out_channels, plane0 + plan.channel_chunk);
    // Row blocks whose padded rows stay in L1.
    std::int64_t block = y1 - y0;
    const std::int64_t row_size = Strip(s, 1).RowSize();
    if (Strip(s, block).Elements() > kDepthwiseStrip) {
      const std::int64_t rows_in = kDepthwiseStrip / row_size - (s.kernel[1] - 1) * s.dilation[1];
      block = MaxOf<std::int64_t>(4, rows_in / s.stride[1] / 4 * 4);
    }
    DepthwisePlane d;
    d.kernel_y = s.kernel[1];
    d.kernel_x = s.kernel[2];
    d.dense = s.dilation[1] == 1 && s.dilation[2] == 1;
    d.out_x = s.out[2];
    d.scratch = scratch;
    for (std::int64_t plane = plane0; plane < plane1; ++plane) {
      const std::int64_t image = plane / s.out_channels;
      const std::int64_t channel = plane % s.out_channels;
      const std::int64_t in_channel = channel / GroupOut(s);
      d.input = args.input + (image * s.in_channels + in_channel) * InPixels(s);
      d.weight = args.weight + channel * KernelSize(s);
      d.output = args.output + plane * OutPixels(s);
      for (std::int64_t y = y0; y < y1; y += block) {
        d.y0 = y;
        d.y1 = MinOf(y1, y + block);
        const StripShape strip = Strip(s, d.y1 - y);
        d.strip = &strip;
        d.first = plane == plane0 && y == y0;
        d.zeroed = block == y1 - y0 && !d.first;
        d.fill = block < y1 - y0 || d.first || channel % GroupOut(s) == 0;
        DepthwiseRun(d, args.epilogue, image, channel);
      }
    }
  }

  static void RunChunk(const ConvPlan& plan, const ConvArgs& args, std::int64_t chunk,
                       void* scratch) {
    if (plan.path == ConvPath::kNothing) return;
    auto* work = static_cast<float*>(scratch);
    if (plan.path == ConvPath::kDepthwise) return RunDepthwise(plan, args, chunk, work);
    const Piece p = Locate(plan, args, chunk);
    if (GroupK(plan.shape) == 0) return RunEmpty(plan, args, p);
    if (plan.path == ConvPath::kRows) return RunRows(plan, args, p, work);
    RunUnfold(plan, args, p, work);
  }

  static constexpr ConvOps Ops() {
    return {Plan, RunChunk, WeightPanels, PackedWeightElements, PackWeight};
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
