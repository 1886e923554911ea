#pragma once
// What a user may say to this provider, checked as far as that needs no library.

#include <map>
#include <string>

#include "switchyard/ep/provider_factory.h"

namespace switchyard::openvino {

struct Options {
  std::string device = "CPU";  // as OpenVINO names it: "GPU.1", "AUTO:GPU,CPU"
  std::string precision = "FP32";
  int threads = 1;
  int streams = 1;
  std::string cache_dir;
  std::string model_priority = "DEFAULT";
  bool dynamic_shapes = true;
  bool claim_all = false;
  // From load_config: properties by device.
  std::map<std::string, std::map<std::string, std::string>> load_config;
  ProviderOptions effective;  // gives the same again

  // The devices that `device` speaks of: {"GPU", "CPU"} of "AUTO:GPU,CPU", {} of "AUTO".
  std::vector<std::string> Devices() const;
};

// Throws InvalidArgument naming the known keys, or the values that the key allows.
Options ParseOptions(const ProviderOptions& options, int team_size);

}  // namespace switchyard::openvino
