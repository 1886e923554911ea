#pragma once
// Devices as found on all platforms, and what is shared by everybody who uses one of them: the
// context, the address ranges of its memory, built programs, counters.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/opencl/address_space.h"
#include "providers/opencl/api.h"
#include "switchyard/tensor/device.h"

namespace switchyard::opencl {

class ProgramStore;

struct DeviceFacts {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  int index = 0;              // among all devices of all platforms
  int platform_index = 0;     // of the platform
  int index_in_platform = 0;  // of the device within its platform
  std::string platform_name, name, vendor, driver, version;
  cl_device_type type = 0;
  cl_uint vendor_id = 0;
  std::size_t global_memory = 0, largest_buffer = 0, local_memory = 0, work_group = 0;
  bool has_half = false, has_double = false;

  // CPUs want one wide work-item each, others many narrow ones.
  bool is_cpu() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
};

// All devices of all platforms, in the loader's order; asked once per process. Throws Fail without
// an OpenCL library; empty when no platform has a device.
const std::vector<DeviceFacts>& AllDevices();
// nullopt: there is a device; else the reason why there is none.
std::optional<std::string> WhyNoDevice();

// What was asked of a device since it was opened.
struct DeviceCounters {
  std::atomic<std::uint64_t> launches{0};         // kernels queued
  std::atomic<std::uint64_t> copies{0};           // transfers queued or done
  std::atomic<std::uint64_t> host_waits{0};       // times the host waited for the device
  std::atomic<std::uint64_t> programs_built{0};   // from source
  std::atomic<std::uint64_t> programs_loaded{0};  // from the disk
};

// One device, opened. Shared by all providers on it, kept for the life of the process: contexts are
// costly and their values outlive sessions. A lost one is opened anew for the next provider.
class DeviceContext {
 public:
  static std::shared_ptr<DeviceContext> Open(const DeviceFacts& facts);
  explicit DeviceContext(const DeviceFacts& facts);
  ~DeviceContext();

  const DeviceFacts& facts() const { return facts_; }
  cl_context context() const { return context_; }
  AddressSpace& addresses() { return *addresses_; }
  ProgramStore& programs() { return *programs_; }
  DeviceCounters& counters() { return counters_; }
  OrtDevice device() const;

  // A queue of this device. Throws.
  cl_command_queue MakeQueue(bool profile);
  // Throws EpFail once the device was seen to be lost.
  void CheckAlive() const;
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // Check of api.h, which also remembers that the device is lost.
  void Check(cl_int status, std::string_view what) {
    if (status != CL_SUCCESS) Failed(status, what);
  }

 private:
  [[noreturn]] void Failed(cl_int status, std::string_view what);

  DeviceFacts facts_;
  cl_context context_ = nullptr;
  std::unique_ptr<AddressSpace> addresses_;
  std::unique_ptr<ProgramStore> programs_;
  DeviceCounters counters_;
  std::atomic<bool> lost_{false};
};

}  // namespace switchyard::opencl
