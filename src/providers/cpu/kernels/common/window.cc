#include "providers/cpu/kernels/common/window.h"

namespace switchyard::cpu {

WindowAttributes::WindowAttributes(const OpKernelInfo& info)
    : ceil_mode(info.attributes().Int("ceil_mode", 0) != 0),
      kernel(info.attributes().Ints("kernel_shape")),
      strides(info.attributes().Ints("strides")),
      dilations(info.attributes().Ints("dilations")),
      pads(info.attributes().Ints("pads")) {
  const std::string name = info.attributes().String("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) {
    auto_pad = AutoPad::kNotSet;
  } else if (name == "SAME_UPPER") {
    auto_pad = AutoPad::kSameUpper;
  } else if (name == "SAME_LOWER") {
    auto_pad = AutoPad::kSameLower;
  } else if (name == "VALID") {
    auto_pad = AutoPad::kValid;
  } else {
    info.Fail("auto_pad is '" + name + "'");
  }
}

}  // namespace switchyard::cpu
