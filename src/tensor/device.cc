#include "switchyard/tensor/device.h"

namespace switchyard {

std::string OrtDevice::ToString() const {
  std::string text;
  switch (type) {
    case CPU:
      return "cpu";
    case GPU:
      text = "gpu";
      break;
    case FPGA:
      text = "fpga";
      break;
    case NPU:
      text = "npu";
      break;
    default:
      text = "device" + std::to_string(type);
  }
  if (memory == kHostAccessible) text += "_pinned";
  return text + ":" + std::to_string(id);
}

}  // namespace switchyard
