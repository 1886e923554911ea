#pragma once
// Name, aliases and option keys: what the manifest and the module say alike. Knows no OpenCL.

#include "switchyard/ep/provider_factory.h"

namespace switchyard::opencl {

inline constexpr const char* kName = "OpenCLExecutionProvider";
inline constexpr const char* kOptionKeys[] = {
    "platform", "device_id", "mem_limit", "arena_extend_strategy", "cache_dir", "profile"};
// The kind of its memory; the index is that of the device among all of all platforms.
inline constexpr auto kDeviceType =
    static_cast<OrtDevice::DeviceType>(OrtDevice::kFirstCustom + 16);

inline ProviderFactory Entry() {
  ProviderFactory factory;
  factory.name = kName;
  factory.aliases = {"opencl"};
  factory.library = "switchyard_provider_opencl";
  factory.device_kind = "gpu";
  factory.option_keys.assign(std::begin(kOptionKeys), std::end(kOptionKeys));
  factory.needs = "the OpenCL headers (Debian: opencl-headers)";
  return factory;
}

}  // namespace switchyard::opencl
