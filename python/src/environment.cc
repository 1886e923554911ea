#include "src/environment.h"

#include <algorithm>
#include <mutex>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/errors.h"
#include "switchyard/base/version.h"

namespace switchyard::python {
namespace {

struct Process {
  std::mutex mutex;
  EnvironmentOptions options;
  std::shared_ptr<Environment> environment;
};

// Never destroyed: sessions may still be alive when the interpreter ends.
Process& TheProcess() {
  static auto* process = new Process;
  return *process;
}

std::shared_ptr<Environment> Get(Process& process) {
  if (!process.environment) process.environment = std::make_shared<Environment>(process.options);
  return process.environment;
}

void SetSeverity(int severity) {
  if (severity < 0 || severity > 4) {
    RaiseRuntimeError("Invalid logging severity. Expected 0 (verbose) to 4 (fatal), got " +
                      std::to_string(severity));
  }
  Process& process = TheProcess();
  const std::lock_guard lock(process.mutex);
  process.options.log_severity = static_cast<Severity>(severity);
  if (process.environment) process.environment->set_log_severity(process.options.log_severity);
}

void SetGlobalThreads(int intra_op, int inter_op) {
  if (intra_op < 0 || inter_op < 0) RaiseValueError("thread counts must not be negative");
  Process& process = TheProcess();
  const std::lock_guard lock(process.mutex);
  process.options.shared_threads = std::max(intra_op, 1);
  if (!process.environment) return;
  // Sessions keep the environment they were made with; what was registered moves on.
  auto next = std::make_shared<Environment>(process.options);
  for (ProviderFactory& factory : process.environment->providers().all())
    next->providers().Add(std::move(factory));
  process.environment = std::move(next);
}

// The last one is what every session falls back to.
std::vector<ProviderFactory> Factories() {
  std::vector<ProviderFactory> factories = ProcessEnvironment()->providers().all();
  std::stable_partition(factories.begin(), factories.end(), [](const ProviderFactory& factory) {
    return factory.name != kCpuExecutionProvider;
  });
  return factories;
}

std::vector<std::string> AllProviders() {
  std::vector<std::string> names;
  for (const ProviderFactory& factory : Factories()) names.push_back(factory.name);
  return names;
}

bool IsAvailable(const ProviderFactory& factory) {
  return !factory.unavailable || !factory.unavailable();
}

std::vector<std::string> AvailableProviders() {
  std::vector<std::string> names;
  for (const ProviderFactory& factory : Factories()) {
    if (IsAvailable(factory)) names.push_back(factory.name);
  }
  return names;
}

std::string DeviceName() {
  for (const ProviderFactory& factory : Factories()) {
    if (factory.device_kind != "gpu" || !factory.devices || !IsAvailable(factory)) continue;
    for (const OrtEpDevice& found : factory.devices()) {
      if (found.device.type == OrtDevice::GPU) return "GPU";
    }
  }
  return "CPU";
}

const OrtMemoryInfo* MemoryInfoOf(const OrtEpDevice& device, int memory) {
  for (const OrtMemoryInfo& info : device.memory_infos) {
    if (info.device.memory == memory) return &info;
  }
  return nullptr;
}

// An OrtMemoryInfo of the package; None: the device has no such memory.
nb::object MemoryInfoToPython(const OrtEpDevice& device, int memory) {
  const OrtMemoryInfo* info = MemoryInfoOf(device, memory);
  if (info == nullptr) return nb::none();
  const nb::object make =
      nb::module_::import_("switchyard._devices").attr("OrtMemoryInfo").attr("create_v2");
  const int kind = info->device.type <= OrtDevice::NPU ? info->device.type : OrtDevice::GPU;
  return make(info->name, kind, device.device.vendor_id, info->device.id, memory, info->alignment,
              static_cast<int>(info->allocator_type));
}

nb::object HardwareKind(const OrtHardwareDevice& device) {
  // The interface has three kinds, numbered otherwise than devices are.
  const int kind = device.type == OrtDevice::CPU ? 0 : device.type == OrtDevice::NPU ? 2 : 1;
  return nb::module_::import_("switchyard._enums").attr("OrtHardwareDeviceType")(kind);
}

std::vector<OrtEpDevice> EpDevices() {
  std::vector<OrtEpDevice> devices;
  for (const ProviderFactory& factory : Factories()) {
    if (!IsAvailable(factory) || !factory.devices) continue;
    for (OrtEpDevice& device : factory.devices()) devices.push_back(std::move(device));
  }
  return devices;
}

void BindDevices(nb::module_& module) {
  nb::class_<OrtHardwareDevice>(module, "OrtHardwareDevice", "A piece of hardware as found.")
      .def_prop_ro("type", &HardwareKind, "An OrtHardwareDeviceType.")
      .def_ro("vendor_id", &OrtHardwareDevice::vendor_id, "PCI vendor number, 0: not known.")
      .def_ro("vendor", &OrtHardwareDevice::vendor, "The vendor's name.")
      .def_ro("device_id", &OrtHardwareDevice::device_id, "PCI device number, 0: not known.")
      .def_ro("metadata", &OrtHardwareDevice::metadata, "What else is known of it.");
  nb::class_<OrtEpDevice>(module, "OrtEpDevice",
                          "A hardware device with the provider that can drive it.")
      .def_ro("ep_name", &OrtEpDevice::ep_name, "The provider's name.")
      .def_ro("ep_vendor", &OrtEpDevice::ep_vendor, "Who makes the provider.")
      .def_ro("ep_metadata", &OrtEpDevice::ep_metadata, "Version and more of the provider.")
      .def_ro("ep_options", &OrtEpDevice::ep_options, "The provider's options for this device.")
      .def_ro("device", &OrtEpDevice::device, "The hardware.")
      .def("memory_info", &MemoryInfoToPython, nb::arg("memory_type"),
           "The OrtMemoryInfo of an OrtDeviceMemoryType; None: the device has no such memory.")
      .def(
          "create_sync_stream",
          [](const OrtEpDevice& self) {
            if (self.device.type == OrtDevice::CPU)
              RaiseRuntimeError("ep_device does not use DEFAULT memory of a non-CPU device.");
            throw Error(ErrorCode::kNotImplemented,
                        "streams of " + self.ep_name + " belong to its sessions");
          },
          "Not supported: RuntimeError for a CPU, NotImplemented for others.");
}

}  // namespace

std::shared_ptr<Environment> ProcessEnvironment() {
  Process& process = TheProcess();
  const std::lock_guard lock(process.mutex);
  return Get(process);
}

bool HasGlobalThreads() {
  Process& process = TheProcess();
  const std::lock_guard lock(process.mutex);
  return process.options.shared_threads > 0;
}

void BindEnvironment(nb::module_& module) {
  BindDevices(module);
  module.def("get_all_providers", &AllProviders,
             "Names of all providers that this build knows, the CPU last.");
  module.def("get_available_providers", &AvailableProviders,
             "Names of the providers usable here, the CPU last.");
  module.def("get_device", &DeviceName,
             "\"GPU\" where a usable provider has found one, else \"CPU\".");
  module.def("get_ep_devices", &EpDevices, "Devices of the usable providers.");
  module.def(
      "get_version_string", [] { return std::string(Version()); }, "Version of the library.");
  module.def("set_default_logger_severity", &SetSeverity, nb::arg("severity"),
             "Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.");
  module.def(
      "set_global_thread_pool_sizes", &SetGlobalThreads, nb::arg("intra_op_num_threads") = 0,
      nb::arg("inter_op_num_threads") = 0,
      "Makes one thread team for all sessions, which must set use_per_session_threads to False.");
  module.def(
      "register_provider_library",
      [](const std::string& path) {
        const nb::gil_scoped_release release;
        return ProcessEnvironment()->providers().LoadLibrary(path);
      },
      nb::arg("path"), "Loads a provider module; its name.");
}

}  // namespace switchyard::python
