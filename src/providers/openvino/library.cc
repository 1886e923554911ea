#include "providers/openvino/library.h"

#include <algorithm>
#include <sstream>

#include <openvino/core/version.hpp>
#include <openvino/runtime/properties.hpp>

#include "base/format.h"
#include "providers/openvino/entry.h"

namespace switchyard::openvino {
namespace {

std::string Join(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list.empty() ? "none" : list;
}

// The device without its index.
std::string Base(const std::string& device) { return device.substr(0, device.find('.')); }

ov::element::Type PrecisionOf(const std::string& name) {
  if (name == "FP16") return ov::element::f16;
  if (name == "BF16") return ov::element::bf16;
  return name == "ACCURACY" ? ov::element::dynamic : ov::element::f32;
}

ov::hint::Priority PriorityOf(const std::string& name) {
  if (name == "LOW") return ov::hint::Priority::LOW;
  return name == "HIGH" ? ov::hint::Priority::HIGH : ov::hint::Priority::MEDIUM;
}

}  // namespace

std::string Library::Version() const { return ov::get_openvino_version().buildNumber; }

void Library::CheckDevices(const Options& options) {
  const std::vector<std::string> present = core_.get_available_devices();
  for (const std::string& wanted : options.Devices()) {
    const bool found = std::any_of(present.begin(), present.end(), [&](const std::string& one) {
      return one == wanted || Base(one) == wanted ||
             (wanted == Base(one) + ".0" && one == Base(one));
    });
    if (!found) {
      Throw(ErrorCode::kInvalidArgument,
            "{}: option device_type='{}': OpenVINO finds no {} here; it finds: {}", kName,
            options.device, wanted, Join(present));
    }
  }
  if (present.empty())
    Throw(ErrorCode::kInvalidArgument, "{}: OpenVINO finds no device here", kName);
}

std::string Library::DeviceName(const std::string& device) {
  try {
    return core_.get_property(device, ov::device::full_name);
  } catch (const std::exception&) {  // AUTO and the like have none
    return {};
  }
}

ov::AnyMap Library::DeviceProperties(const std::string& device, const Options& options) {
  const auto supported = core_.get_property(device, ov::supported_properties);
  const auto writable = [&](const std::string& name) {
    return std::any_of(supported.begin(), supported.end(), [&](const ov::PropertyName& known) {
      return known == name && known.is_mutable();
    });
  };
  ov::AnyMap properties;
  const auto set = [&](const std::pair<std::string, ov::Any>& property) {
    if (writable(property.first)) properties.insert(property);
  };
  set(ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  set(ov::hint::inference_precision(PrecisionOf(options.precision)));
  if (options.precision == "ACCURACY")
    set(ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY));
  set(ov::inference_num_threads(options.threads));
  set(ov::num_streams(options.streams));
  if (options.model_priority != "DEFAULT")
    set(ov::hint::model_priority(PriorityOf(options.model_priority)));
  for (const auto& [name, entries] : options.load_config) {
    if (Base(name) != Base(device)) continue;
    for (const auto& [key, value] : entries) {
      if (!writable(key)) {
        std::vector<std::string> names;
        for (const ov::PropertyName& known : supported) {
          if (known.is_mutable()) names.push_back(known);
        }
        Throw(ErrorCode::kInvalidArgument,
              "{}: option load_config: {} has no property '{}' to set; it has: {}", kName, name,
              key, Join(names));
      }
      properties[key] = value;
    }
  }
  return properties;
}

ov::AnyMap Library::Properties(const Options& options) {
  const std::string chooser = options.device.substr(0, options.device.find(':'));
  if (chooser == options.device && chooser != "AUTO")
    return DeviceProperties(options.device, options);
  // AUTO, MULTI and HETERO pass on what is meant for the devices below them.
  ov::AnyMap properties;
  std::vector<std::string> devices = options.Devices();
  if (devices.empty()) devices = core_.get_available_devices();
  for (const std::string& device : devices)
    properties.insert(ov::device::properties(device, DeviceProperties(device, options)));
  if (chooser != "HETERO") {
    properties.insert(ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
    if (options.model_priority != "DEFAULT")
      properties.insert(ov::hint::model_priority(PriorityOf(options.model_priority)));
  }
  return properties;
}

std::shared_ptr<ov::Model> Library::Convert(const std::string& onnx, bool partially) {
  const std::lock_guard lock(mutex_);
  if (!onnx_) onnx_ = manager_.load_by_framework("onnx");
  if (!onnx_) throw Error(ErrorCode::kEpFail, "OpenVINO has no front end for ONNX here");
  std::istringstream bytes(onnx);
  const auto model = onnx_->load(static_cast<std::istream*>(&bytes));
  return partially ? onnx_->convert_partially(model) : onnx_->convert(model);
}

std::string Reason(const std::exception& error) {
  // "Check 'x' failed at src/...:91:\nWhile validating ...:\nthe reason\n"
  std::istringstream lines(error.what());
  std::string line, told;
  while (std::getline(lines, line)) {
    const bool place = line.starts_with("Check '") || line.starts_with("Exception from ") ||
                       line.starts_with("While validating") || line.empty();
    if (!place) told += (told.empty() ? "" : " ") + line;
  }
  constexpr std::size_t kMost = 300;
  if (told.empty()) told = error.what();
  return told.substr(0, kMost);
}

}  // namespace switchyard::openvino
