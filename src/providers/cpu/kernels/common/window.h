#pragma once
// The sliding-window attributes that convolutions and pools share, and the geometry they give for
// concrete sizes.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu {

enum class AutoPad : std::uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

struct WindowAttributes {
  explicit WindowAttributes(const OpKernelInfo& info);
  AutoPad auto_pad;
  bool ceil_mode;
  Dims kernel;                    // empty: to be taken from the weight
  Dims strides, dilations, pads;  // empty: ones, ones, zeros
};

// One spatial axis.
struct WindowAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  // First input position of output o; negative inside the padding.
  std::int64_t Start(std::int64_t o) const { return o * stride - pad_begin; }
  // Kernel positions [first, last) of a window that lie inside the input.
  void Inside(std::int64_t start, std::int64_t* first, std::int64_t* last) const {
    *first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    const std::int64_t room = in - start;
    *last = room <= 0 ? 0 : std::min(kernel, (room + dilation - 1) / dilation);
    if (*last < *first) *last = *first;
  }
};

// Larger attributes are lies, and their products would overflow.
inline constexpr std::int64_t kMaxWindow = std::int64_t{1} << 30;

// Axis i of the window over `in` entries. Throws through `fail(text)`.
template <typename Context>
WindowAxis MakeWindowAxis(const Context& context, const WindowAttributes& attributes, std::size_t i,
                          std::size_t spatial_rank, std::int64_t in, std::int64_t kernel) {
  WindowAxis axis;
  axis.in = in;
  axis.kernel = kernel;
  if (i < attributes.strides.size()) axis.stride = attributes.strides[i];
  if (i < attributes.dilations.size()) axis.dilation = attributes.dilations[i];
  for (const std::int64_t v : {kernel, axis.stride, axis.dilation}) {
    if (v < 1 || v > kMaxWindow) {
      context.Fail("kernel_shape, strides and dilations must be from 1 to " +
                   std::to_string(kMaxWindow) + ", got " + std::to_string(v));
    }
  }
  const std::int64_t extent = (kernel - 1) * axis.dilation + 1;
  if (attributes.auto_pad == AutoPad::kSameUpper || attributes.auto_pad == AutoPad::kSameLower) {
    axis.out = (in + axis.stride - 1) / axis.stride;
    const std::int64_t total =
        std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + extent - in);
    axis.pad_begin = attributes.auto_pad == AutoPad::kSameUpper ? total / 2 : (total + 1) / 2;
    axis.pad_end = total - axis.pad_begin;
    return axis;
  }
  if (attributes.auto_pad == AutoPad::kNotSet && attributes.pads.size() == 2 * spatial_rank) {
    axis.pad_begin = attributes.pads[i];
    axis.pad_end = attributes.pads[i + spatial_rank];
    for (const std::int64_t v : {axis.pad_begin, axis.pad_end}) {
      if (v > kMaxWindow || v < -kMaxWindow) context.Fail("a pad of " + std::to_string(v));
    }
  }
  const std::int64_t room = in + axis.pad_begin + axis.pad_end - extent;
  if (room < 0) {
    context.Fail("a window of " + std::to_string(extent) + " exceeds the padded input of " +
                 std::to_string(in + axis.pad_begin + axis.pad_end));
  }
  axis.out = room / axis.stride + 1;
  if (attributes.ceil_mode && attributes.auto_pad == AutoPad::kNotSet && room % axis.stride != 0 &&
      axis.out * axis.stride < in + axis.pad_begin) {
    ++axis.out;  // the last window starts inside the input or its left padding
  }
  return axis;
}

}  // namespace switchyard::cpu
