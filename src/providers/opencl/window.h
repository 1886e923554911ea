#pragma once
// Sizes of windows that slide over one or two spatial dims: convolution and pooling.

#include "providers/opencl/broadcast.h"
#include "providers/opencl/kernel.h"

namespace switchyard::opencl {

// Attributes as given.
struct WindowAttributes {
  explicit WindowAttributes(const Attributes& attributes);
  Dims kernel, strides, pads, dilations;
  std::string auto_pad;
  bool ceil = false;
};

// Spatial dims as two: height 1 for one-dimensional data.
struct Window {
  std::int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
};

// For x of N, C and one or two spatial dims. Throws in the node's name for attributes that do not
// fit.
Window MakeWindow(const OpKernelContext& context, const WindowAttributes& attributes,
                  std::span<const std::int64_t> x_dims, std::span<const std::int64_t> kernel);
// "" or why the node's input is not of 3 or 4 dims.
std::string WhyNotPlanar(const Node& node);

}  // namespace switchyard::opencl
