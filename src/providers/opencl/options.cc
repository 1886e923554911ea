#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "providers/opencl/provider.h"

namespace switchyard::opencl {
namespace {

std::string Joined(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::uint64_t Number(const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw(ErrorCode::kInvalidArgument, "{}: option {} must be a whole number, got '{}'", kName, key,
          text);
  }
  return value;
}

bool ContainsNoCase(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

bool OnPlatform(const DeviceFacts& device, const std::string& platform) {
  if (platform.empty()) return true;
  if (std::all_of(platform.begin(), platform.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; }))
    return std::to_string(device.platform_index) == platform;
  return ContainsNoCase(device.platform_name, platform);
}

std::vector<std::string> Listed() {
  std::vector<std::string> names;
  for (const DeviceFacts& device : AllDevices()) {
    names.push_back(fmt::format("platform {} '{}' device {} '{}'", device.platform_index,
                                device.platform_name, device.index_in_platform, device.name));
  }
  return names;
}

// Of the devices of the platform: the one of that number, else the first GPU, else the first.
const DeviceFacts& Choose(const std::string& platform, const std::string& id) {
  std::vector<const DeviceFacts*> found;
  for (const DeviceFacts& device : AllDevices()) {
    if (OnPlatform(device, platform)) found.push_back(&device);
  }
  if (found.empty()) {
    Throw(ErrorCode::kInvalidArgument, "{}: no platform '{}'; there are: {}", kName, platform,
          Joined(Listed()));
  }
  if (!id.empty()) {
    const std::uint64_t number = Number("device_id", id);
    if (number >= found.size()) {
      Throw(ErrorCode::kInvalidArgument, "{}: device_id {} of {} devices; there are: {}", kName,
            number, found.size(), Joined(Listed()));
    }
    return *found[number];
  }
  const auto gpu = std::find_if(found.begin(), found.end(), [](const DeviceFacts* device) {
    return (device->type & CL_DEVICE_TYPE_GPU) != 0;
  });
  return gpu != found.end() ? **gpu : *found.front();
}

ExtendStrategy Extend(const std::string& text) {
  if (text == "kNextPowerOfTwo" || text == "0") return ExtendStrategy::kNextPowerOfTwo;
  if (text == "kSameAsRequested" || text == "1") return ExtendStrategy::kSameAsRequested;
  Throw(ErrorCode::kInvalidArgument,
        "{}: option arena_extend_strategy is kNextPowerOfTwo or kSameAsRequested, got '{}'", kName,
        text);
}

bool Flag(const std::string& key, const std::string& text) {
  if (text == "1" || text == "true" || text == "True") return true;
  if (text == "0" || text == "false" || text == "False") return false;
  Throw(ErrorCode::kInvalidArgument, "{}: option {} is 0 or 1, got '{}'", kName, key, text);
}

}  // namespace

Options ParseOptions(const ProviderOptions& given) {
  for (const auto& [key, value] : given) {
    if (std::find(std::begin(kOptionKeys), std::end(kOptionKeys), key) == std::end(kOptionKeys)) {
      Throw(ErrorCode::kInvalidArgument, "{}: unknown option '{}'; known: {}", kName, key,
            fmt::join(kOptionKeys, ", "));
    }
  }
  const auto text = [&](const char* key) {
    const auto found = given.find(key);
    return found == given.end() ? std::string() : found->second;
  };
  if (const auto reason = WhyNoDevice()) Throw(ErrorCode::kFail, "{}: {}", kName, *reason);
  Options options;
  options.device = Choose(text("platform"), text("device_id"));
  if (const std::string limit = text("mem_limit"); !limit.empty())
    options.mem_limit = Number("mem_limit", limit);
  if (const std::string extend = text("arena_extend_strategy"); !extend.empty())
    options.extend = Extend(extend);
  options.cache_dir = text("cache_dir");
  if (const std::string profile = text("profile"); !profile.empty())
    options.profile = Flag("profile", profile);
  options.effective = {
      {"platform", std::to_string(options.device.platform_index)},
      {"device_id", std::to_string(options.device.index_in_platform)},
      {"mem_limit", std::to_string(options.mem_limit)},
      {"arena_extend_strategy",
       options.extend == ExtendStrategy::kNextPowerOfTwo ? "kNextPowerOfTwo" : "kSameAsRequested"},
      {"cache_dir", options.cache_dir},
      {"profile", options.profile ? "1" : "0"}};
  return options;
}

}  // namespace switchyard::opencl
