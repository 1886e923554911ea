#pragma once
// Where memory is: device kind, memory type, index. Kinds are an open set; the host is 0.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/base/export.h"

namespace switchyard {

struct SWITCHYARD_API OrtDevice {
  using DeviceType = std::int8_t;
  using MemoryType = std::int8_t;
  using DeviceId = std::int16_t;

  static constexpr DeviceType CPU = 0;
  static constexpr DeviceType GPU = 1;
  static constexpr DeviceType FPGA = 2;
  static constexpr DeviceType NPU = 3;
  static constexpr DeviceType kFirstCustom = 16;  // free for providers outside the tree

  static constexpr MemoryType kDefault = 0;
  // Host memory that the device reaches fast (pinned).
  static constexpr MemoryType kHostAccessible = 5;

  DeviceType type = CPU;
  MemoryType memory = kDefault;
  DeviceId id = 0;

  OrtDevice() = default;
  OrtDevice(DeviceType device_type, MemoryType memory_type, DeviceId device_id)
      : type(device_type), memory(memory_type), id(device_id) {}

  DeviceType Type() const { return type; }
  MemoryType MemType() const { return memory; }
  DeviceId Id() const { return id; }
  // Plain loads and stores of this process reach it.
  bool is_host() const { return type == CPU || memory == kHostAccessible; }
  std::string ToString() const;  // "cpu", "gpu:0", "device16:1"
  friend bool operator==(const OrtDevice&, const OrtDevice&) = default;
  friend auto operator<=>(const OrtDevice&, const OrtDevice&) = default;
};

enum class OrtAllocatorType : int { kInvalid = -1, kDevice = 0, kArena = 1, kReadOnly = 2 };

struct OrtMemoryInfo {
  std::string name = "Cpu";
  OrtAllocatorType allocator_type = OrtAllocatorType::kDevice;
  OrtDevice device;
  std::size_t alignment = 64;
  friend bool operator==(const OrtMemoryInfo& a, const OrtMemoryInfo& b) {
    return a.name == b.name && a.device == b.device;
  }
};

// A piece of hardware as found, before any provider looks at it.
struct OrtHardwareDevice {
  OrtDevice::DeviceType type = OrtDevice::CPU;
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::string vendor;
  std::map<std::string, std::string> metadata;
};

// A hardware device with the provider that can drive it.
struct OrtEpDevice {
  std::string ep_name;
  std::string ep_vendor;
  OrtHardwareDevice device;
  std::map<std::string, std::string> ep_metadata;
  std::map<std::string, std::string> ep_options;  // defaults for this device
  std::vector<OrtMemoryInfo> memory_infos;
  std::vector<OrtDevice> auxiliary_devices;
};

}  // namespace switchyard
