#pragma once
// Name, aliases and option keys: what the manifest and the module say alike. Knows no OpenVINO.

#include "switchyard/ep/provider_factory.h"

namespace switchyard::openvino {

inline constexpr const char* kName = "OpenVINOExecutionProvider";
inline constexpr const char* kOptionKeys[] = {
    "device_type", "precision",      "num_of_threads",        "num_streams", "cache_dir",
    "load_config", "model_priority", "enable_dynamic_shapes", "claim_all"};

inline ProviderFactory Entry() {
  ProviderFactory factory;
  factory.name = kName;
  factory.aliases = {"openvino"};
  factory.library = "switchyard_provider_openvino";
  factory.device_kind = "cpu";
  factory.option_keys.assign(std::begin(kOptionKeys), std::end(kOptionKeys));
  factory.needs = "the Python package openvino (pip install -r requirements.txt)";
  return factory;
}

}  // namespace switchyard::openvino
