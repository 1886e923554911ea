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

  void FillRow(const float* src, float* dst) const {
    const std::int64_t size = RowSize();
    if (src == nullptr) {
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
      for (std::int64_t i = 0; i < at; ++i) dst[i] = 0;
      std::int64_t i = 0;
      for (; i + F32::kW <= n; i += F32::kW) F32::Store(dst + at + i, F32::Load(src + begin + i));
      for (; i < n; ++i) dst[at + i] = src[begin + i];
      for (i = at + n; i < size; ++i) dst[i] = 0;
      return;
    }
    for (std::int64_t i = 0; i < size; i += F32::kW) F32::Store(dst + i, F32::Zero());
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
    for (; i < end; ++i) {
      const std::int64_t column = i + pad_x;
      dst[column % phases * pitch + column / phases] = src[i];
    }
  }

  // All rows for output rows from y0 on.
  void Fill(const float* plane, std::int64_t y0, float* dst) const {
    const std::int64_t first = y0 * stride_y - pad_y;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t y = first + r;
      FillRow(y < 0 || y >= in_y ? nullptr : plane + y * in_x, dst + r * RowSize());
    }
  }
};

}  // namespace
}  // namespace switchyard::cpu::math
