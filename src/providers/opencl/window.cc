#include "providers/opencl/window.h"

namespace switchyard::opencl {

WindowAttributes::WindowAttributes(const Attributes& attributes)
    : kernel(attributes.Ints("kernel_shape")),
      strides(attributes.Ints("strides")),
      pads(attributes.Ints("pads")),
      dilations(attributes.Ints("dilations")),
      auto_pad(attributes.String("auto_pad", "NOTSET")),
      ceil(attributes.Int("ceil_mode", 0) != 0) {}

namespace {

struct Axis {
  std::int64_t in, out, kernel, stride, before, after, dilation;
};

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Axis MakeAxis(const OpKernelContext& context, const WindowAttributes& attributes, std::size_t i,
              std::size_t spatial, std::int64_t in, std::int64_t kernel) {
  const auto at = [&](const Dims& list, std::size_t k, std::int64_t absent) {
    return k < list.size() ? list[k] : absent;
  };
  Axis axis{in, 0, kernel, at(attributes.strides, i, 1), 0, 0, at(attributes.dilations, i, 1)};
  if (axis.stride <= 0 || axis.dilation <= 0 || kernel <= 0)
    context.Fail("strides, dilations and the kernel's dims must be positive");
  const std::int64_t reach = (kernel - 1) * axis.dilation + 1;
  if (attributes.auto_pad == "SAME_UPPER" || attributes.auto_pad == "SAME_LOWER") {
    axis.out = CeilDivide(in, axis.stride);
    const std::int64_t total = std::max<std::int64_t>((axis.out - 1) * axis.stride + reach - in, 0);
    axis.before = attributes.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    axis.after = total - axis.before;
    return axis;
  }
  if (attributes.auto_pad != "VALID") {
    axis.before = at(attributes.pads, i, 0);
    axis.after = at(attributes.pads, i + spatial, 0);
  }
  const std::int64_t room = in + axis.before + axis.after - reach;
  if (room < 0) {
    axis.out = 0;
    return axis;
  }
  axis.out = (attributes.ceil ? CeilDivide(room, axis.stride) : room / axis.stride) + 1;
  // No window starts in the padding behind the data.
  if (attributes.ceil && (axis.out - 1) * axis.stride >= in + axis.before) --axis.out;
  return axis;
}

}  // namespace

Window MakeWindow(const OpKernelContext& context, const WindowAttributes& attributes,
                  std::span<const std::int64_t> x_dims, std::span<const std::int64_t> kernel) {
  const std::size_t spatial = x_dims.size() - 2;
  if (kernel.size() != spatial) context.Fail("the kernel has another rank than the data");
  const std::size_t w = spatial - 1;
  const Axis x = MakeAxis(context, attributes, w, spatial, x_dims[2 + w], kernel[w]);
  Window window;
  window.in_w = x.in;
  window.out_w = x.out;
  window.kernel_w = x.kernel;
  window.stride_w = x.stride;
  window.pad_left = x.before;
  window.pad_right = x.after;
  window.dilation_w = x.dilation;
  if (spatial == 1) return window;
  const Axis y = MakeAxis(context, attributes, 0, spatial, x_dims[2], kernel[0]);
  window.in_h = y.in;
  window.out_h = y.out;
  window.kernel_h = y.kernel;
  window.stride_h = y.stride;
  window.pad_top = y.before;
  window.pad_bottom = y.after;
  window.dilation_h = y.dilation;
  return window;
}

std::string WhyNotPlanar(const Node& node) {
  const ValueType& type = node.inputs()[0]->type();
  if (!type.is_tensor() || !type.shape.ranked())
    return fmt::format("the rank of '{}' is not known", node.inputs()[0]->Name());
  const std::size_t rank = type.shape.rank();
  if (rank == 3 || rank == 4) return {};
  return fmt::format("'{}' has {} dims, the kernel takes one or two spatial ones",
                     node.inputs()[0]->Name(), rank);
}

}  // namespace switchyard::opencl
