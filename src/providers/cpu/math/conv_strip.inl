// Padded input rows of one channel plane, split by column stride, so that every tap of a kernel is
// a contiguous load: after simd.inl.
#pragma once

#include "providers/cpu/math/simd.inl"

namespace switchyard::cpu::math {
namespace {

// Element (row, phase, i) holds padded column i * stride_x + phase, at
// (row * phases + phase) * pitch + i. Row 0 is the first input row that output row y0 reads.
struct StripShape {
  std::int64_t in_y, in_x, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
  std::int64_t rows, phases, pitch;

  static StripShape For(std::int64_t in_y, std::int64_t in_x, std::int64_t out_x,
                        std::int64_t kernel_y, std::int64_t kernel_x, std::int64_t stride_y,
                        std::int64_t stride_x, std::int64_t dilation_y, std::int64_t dilation_x,
                        std::int64_t pad_y, std::int64_t pad_x, std::int64_t out_rows) {
    StripShape s{in_y, in_x, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x, 0, 0, 0};
    s.rows = (out_rows - 1) * stride_y + (kernel_y - 1) * dilation_y + 1;
    s.phases = stride_x;
    // Whole vectors past the last column, so that tails need no masks.
    s.pitch =
        RoundUp(RoundUp(out_x, 2 * F32::kW) + (kernel_x - 1) * dilation_x / stride_x + 1, F32::kW);
    // Rows of the same column must not fall into the same L1 set.
    if (s.pitch * s.phases % 128 == 0) s.pitch += F32::kW;
    return s;
  }

  std::int64_t RowSize() const { return phases * pitch; }
  std::int64_t Elements() const { return rows * RowSize(); }
  // Offset of an output row relative to the first.
  std::int64_t Row(std::int64_t out_row) const { return out_row * stride_y * RowSize(); }
  std::int64_t Tap(std::int64_t ky, std::int64_t kx) const {
    const std::int64_t x = kx * dilation_x;
    return ky * dilation_y * RowSize() + x % stride_x * pitch + x / stride_x;
  }

  // Writes up to a vector beyond the row.
  void FillRow(const float* src, float* dst, bool zeroed) const {
    const std::int64_t size = RowSize();
    if (src == nullptr) {
      if (zeroed) return;
      for (std::int64_t i = 0; i < size; i += F32::kW) F32::Store(dst + i, F32::Zero());
      return;
    }
    const std::int64_t columns = phases * pitch;
    // Input columns [begin, end) land inside of the strip.
    const std::int64_t begin = MaxOf<std::int64_t>(0, -pad_x);
    const std::int64_t end = MaxOf(begin, MinOf(in_x, columns - pad_x));
    if (phases == 1) {
      const std::int64_t at = begin + pad_x;
      const std::int64_t n = end - begin;
      if (!zeroed) {
        for (std::int64_t i = 0; i < at; i += F32::kW) F32::Store(dst + i, F32::Zero());
      }
      float* out = dst + at;
      const float* in = src + begin;
      std::int64_t i = 0;
      for (; i + F32::kW <= n; i += F32::kW) F32::Store(out + i, F32::Load(in + i));
      // The part vector carries the first zeros of the end pad. Stores may reach into the next row,
      // which is filled after this one.
      if (i < n) {
        F32::Store(out + i, F32::LoadN(in + i, static_cast<int>(n - i)));
        i += F32::kW;
      }
      if (zeroed) return;
      for (i += at; i < size; i += F32::kW) F32::Store(dst + i, F32::Zero());
      return;
    }
    if (!zeroed) {
      for (std::int64_t i = 0; i < size; i += F32::kW) F32::Store(dst + i, F32::Zero());
    }
    std::int64_t i = begin;
    if (phases == 2) {
      if ((i + pad_x) % 2 != 0 && i < end) {
        dst[pitch + (i + pad_x) / 2] = src[i];
        ++i;
      }
      for (; i + 2 * F32::kW <= end; i += 2 * F32::kW) {
        F32::Reg even, odd;
        F32::Deinterleave(F32::Load(src + i), F32::Load(src + i + F32::kW), even, odd);
        F32::Store(dst + (i + pad_x) / 2, even);
        F32::Store(dst + pitch + (i + pad_x) / 2, odd);
      }
    }
    if (phases == 4) {
      for (; (i + pad_x) % 4 != 0 && i < end; ++i) {
        dst[(i + pad_x) % 4 * pitch + (i + pad_x) / 4] = src[i];
      }
      while (i < end && (i + pad_x) / 4 + F32::kW <= pitch) {
        F32::Reg v[4];
#pragma GCC unroll 4
        for (int q = 0; q < 4; ++q) {
          const std::int64_t left = end - i - q * F32::kW;
          v[q] = left >= F32::kW ? F32::Load(src + i + q * F32::kW)
                 : left > 0      ? F32::LoadN(src + i + q * F32::kW, static_cast<int>(left))
                                 : F32::Zero();
        }
        F32::Reg a[2], b[2], p[4];
        F32::Deinterleave(v[0], v[1], a[0], b[0]);
        F32::Deinterleave(v[2], v[3], a[1], b[1]);
        F32::Deinterleave(a[0], a[1], p[0], p[2]);
        F32::Deinterleave(b[0], b[1], p[1], p[3]);
        float* out = dst + (i + pad_x) / 4;
#pragma GCC unroll 4
        for (int q = 0; q < 4; ++q) F32::Store(out + q * pitch, p[q]);
        i += 4 * F32::kW;
      }
    }
    if (i >= end) return;
    std::int64_t phase = (i + pad_x) % phases;
    float* out = dst + (i + pad_x) / phases;
    for (; i < end; ++i) {
      out[phase * pitch] = src[i];
      if (++phase == phases) {
        phase = 0;
        ++out;
      }
    }
  }

  // All rows for output rows from y0 on. zeroed: the last call for `dst` was for the same y0, so
  // the pads are there already.
  void Fill(const float* plane, std::int64_t y0, float* dst, bool zeroed) const {
    const std::int64_t first = y0 * stride_y - pad_y;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t y = first + r;
      FillRow(y < 0 || y >= in_y ? nullptr : plane + y * in_x, dst + r * RowSize(), zeroed);
    }
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
