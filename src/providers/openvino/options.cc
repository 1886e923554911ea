#include "providers/openvino/options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/format.h"
#include "providers/openvino/entry.h"

namespace switchyard::openvino {
namespace {

constexpr const char* kDeviceForms =
    "CPU, GPU, NPU, each also with an index (GPU.1) or a precision (CPU_FP32, GPU_FP16, CPU_BF16); "
    "AUTO, and AUTO:, MULTI:, HETERO: with a list of devices (AUTO:GPU,CPU)";

[[noreturn]] void BadValue(std::string_view key, std::string_view value, std::string_view allowed) {
  Throw(ErrorCode::kInvalidArgument, "{}: option {}='{}'; allowed: {}", kName, key, value, allowed);
}

bool IsPlainDevice(std::string_view text) {
  for (std::string_view base : {"CPU", "GPU", "NPU"}) {
    if (text.substr(0, base.size()) != base) continue;
    text.remove_prefix(base.size());
    if (text.empty()) return true;
    return text.size() > 1 && text[0] == '.' &&
           text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }
  return false;
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// "" if the value is no device; a trailing precision moves to *precision.
std::string ReadDevice(const std::string& value, std::string* precision) {
  std::string device = value;
  for (const char* suffix : {"_FP32", "_FP16", "_BF16"}) {
    const std::string_view end = suffix;
    if (device.size() > end.size() && device.ends_with(end)) {
      *precision = end.substr(1);
      device.resize(device.size() - end.size());
    }
  }
  if (device == "AUTO" || IsPlainDevice(device)) return device;
  for (std::string_view prefix : {"AUTO:", "MULTI:", "HETERO:"}) {
    if (device.substr(0, prefix.size()) != prefix) continue;
    const auto list = Split(std::string_view(device).substr(prefix.size()));
    if (std::all_of(list.begin(), list.end(), IsPlainDevice)) return device;
  }
  return {};
}

int ReadNumber(const std::string& key, const std::string& value, int least) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least ||
      number > 1024) {
    BadValue(key, value, fmt::format("a whole number from {} to 1024", least));
  }
  return number;
}

bool ReadFlag(const std::string& key, const std::string& value) {
  if (value == "1" || value == "true" || value == "True") return true;
  if (value == "0" || value == "false" || value == "False") return false;
  BadValue(key, value, "0, 1, false, true");
}

std::string ReadOneOf(const std::string& key, const std::string& value,
                      std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* one : allowed) {
    if (value == one) return value;
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  BadValue(key, value, list);
}

std::string TextOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "YES" : "NO";
  return value.dump();
}

// The text of a JSON object, or the path of a file that holds one.
void ReadConfig(const std::string& value, Options* options) {
  constexpr const char* kAllowed =
      "a JSON object of properties by device, {\"CPU\": {\"ENABLE_HYPER_THREADING\": \"NO\"}}, or "
      "the path of a file that holds one";
  std::string text = value;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos ||
      text[text.find_first_not_of(" \t\r\n")] != '{') {
    std::ifstream file(value, std::ios::binary);
    if (!file) BadValue("load_config", value, kAllowed);
    std::stringstream content;
    content << file.rdbuf();
    text = content.str();
  }
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) BadValue("load_config", value, kAllowed);
  for (const auto& [device, properties] : json.items()) {
    if (!properties.is_object()) BadValue("load_config", value, kAllowed);
    for (const auto& [key, property] : properties.items()) {
      if (property.is_structured()) BadValue("load_config", value, kAllowed);
      options->load_config[device][key] = TextOf(property);
    }
  }
}

void ReadOne(const std::string& key, const std::string& value, Options* options,
             std::string* suffix) {
  if (key == "device_type") {
    options->device = ReadDevice(value, suffix);
    if (options->device.empty()) BadValue(key, value, kDeviceForms);
  } else if (key == "precision") {
    options->precision = ReadOneOf(key, value, {"FP32", "FP16", "BF16", "ACCURACY"});
  } else if (key == "num_of_threads") {
    options->threads = ReadNumber(key, value, 1);
  } else if (key == "num_streams") {
    options->streams = ReadNumber(key, value, 1);
  } else if (key == "cache_dir") {
    options->cache_dir = value;
  } else if (key == "load_config") {
    ReadConfig(value, options);
  } else if (key == "model_priority") {
    options->model_priority = ReadOneOf(key, value, {"DEFAULT", "LOW", "MEDIUM", "HIGH"});
  } else if (key == "enable_dynamic_shapes") {
    options->dynamic_shapes = ReadFlag(key, value);
  } else if (key == "claim_all") {
    options->claim_all = ReadFlag(key, value);
  } else {
    std::string known;
    for (const char* one : kOptionKeys) known += (known.empty() ? "" : ", ") + std::string(one);
    Throw(ErrorCode::kInvalidArgument, "{}: unknown option '{}'; known: {}", kName, key, known);
  }
}

}  // namespace

std::vector<std::string> Options::Devices() const {
  if (device == "AUTO") return {};
  const std::size_t colon = device.find(':');
  return Split(colon == std::string::npos ? std::string_view(device)
                                          : std::string_view(device).substr(colon + 1));
}

Options ParseOptions(const ProviderOptions& options, int team_size) {
  Options result;
  result.threads = std::max(team_size, 1);
  std::string suffix;
  for (const auto& [key, value] : options) ReadOne(key, value, &result, &suffix);
  if (!suffix.empty()) {
    if (options.count("precision") != 0 && result.precision != suffix) {
      BadValue("precision", result.precision,
               suffix + ", for device_type='" + options.at("device_type") + "' says so");
    }
    result.precision = suffix;
  }
  result.effective = {{"device_type", result.device},
                      {"precision", result.precision},
                      {"num_of_threads", std::to_string(result.threads)},
                      {"num_streams", std::to_string(result.streams)},
                      {"model_priority", result.model_priority},
                      {"enable_dynamic_shapes", result.dynamic_shapes ? "1" : "0"},
                      {"claim_all", result.claim_all ? "1" : "0"}};
  for (const char* key : {"cache_dir", "load_config"}) {
    if (const auto given = options.find(key); given != options.end())
      result.effective[key] = given->second;
  }
  return result;
}

}  // namespace switchyard::openvino
