#pragma once
// What convolution attributes give with the dims of input and weight, and the unfolding of an image
// into the columns of a matrix.

#include "providers/cpu/kernels/common/window.h"
#include "providers/cpu/math/conv.h"

namespace switchyard::cpu {

// Attributes, and the shape that they give with input and weight.
class ConvGeometry {
 public:
  explicit ConvGeometry(const OpKernelInfo& info)
      : window_(info), groups_(info.attributes().Int("group", 1)) {
    if (groups_ < 1) info.Fail("group is " + std::to_string(groups_));
  }

  // What the weight alone tells.
  template <typename Context>
  math::ConvShape FromWeight(const Context& context, std::span<const std::int64_t> w) const {
    if (w.size() < 3) context.Fail("the weight has dims " + DimsToString(w));
    if (w.size() > 5) context.Fail("more than three spatial dimensions");
    math::ConvShape s;
    s.groups = groups_;
    s.out_channels = w[0];
    s.in_channels = w[1] * groups_;
    const std::size_t spatial = w.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::size_t at = 3 - spatial + i;
      s.kernel[at] = w[i + 2];
      if (i < window_.kernel.size() && window_.kernel[i] != w[i + 2]) {
        context.Fail("kernel_shape " + DimsToString(window_.kernel) + " with a weight of dims " +
                     DimsToString(w));
      }
      if (i < window_.strides.size()) s.stride[at] = window_.strides[i];
      if (i < window_.dilations.size()) s.dilation[at] = window_.dilations[i];
    }
    if (s.out_channels % groups_ != 0) {
      context.Fail(std::to_string(s.out_channels) + " output channels in " +
                   std::to_string(groups_) + " groups");
    }
    return s;
  }

  template <typename Context>
  math::ConvShape Full(const Context& context, std::span<const std::int64_t> x,
                       std::span<const std::int64_t> w, Dims* out) const {
    math::ConvShape s = FromWeight(context, w);
    if (x.size() != w.size()) {
      context.Fail("the input has dims " + DimsToString(x) + ", the weight " + DimsToString(w));
    }
    if (x[1] != s.in_channels) {
      context.Fail("weight has " + std::to_string(w[1]) + " input channels, input has " +
                   std::to_string(x[1]) + ", group " + std::to_string(groups_));
    }
    s.batch = x[0];
    *out = {x[0], w[0]};
    const std::size_t spatial = x.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i) {
      const WindowAxis axis = MakeWindowAxis(context, window_, i, spatial, x[i + 2], w[i + 2]);
      const std::size_t at = 3 - spatial + i;
      s.in[at] = axis.in;
      s.out[at] = axis.out;
      s.pad[at] = axis.pad_begin;
      out->push_back(axis.out);
    }
    return s;
  }

 private:
  WindowAttributes window_;
  std::int64_t groups_;
};

// One image of one group as a matrix: a row per channel and tap, a column per output position;
// zeros outside. For types that have no direct kernel.
void UnfoldImage(OpKernelContext& context, const math::ConvShape& shape, const double* image,
                 double* columns);

}  // namespace switchyard::cpu
