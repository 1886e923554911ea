#include "providers/opencl/device.h"

#include <map>
#include <mutex>
#include <optional>

#include "base/format.h"
#include "providers/opencl/entry.h"
#include "providers/opencl/program.h"

namespace switchyard::opencl {
namespace {

std::string DeviceText(cl_device_id id, cl_device_info what) {
  std::size_t bytes = 0;
  if (Cl().clGetDeviceInfo(id, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (Cl().clGetDeviceInfo(id, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::char_traits<char>::length(text.c_str()));
  return text;
}

template <typename T>
T DeviceNumber(cl_device_id id, cl_device_info what) {
  T value{};
  if (Cl().clGetDeviceInfo(id, what, sizeof value, &value, nullptr) != CL_SUCCESS) return {};
  return value;
}

std::string PlatformText(cl_platform_id id, cl_platform_info what) {
  std::size_t bytes = 0;
  if (Cl().clGetPlatformInfo(id, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (Cl().clGetPlatformInfo(id, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::char_traits<char>::length(text.c_str()));
  return text;
}

DeviceFacts FactsOf(cl_platform_id platform, cl_device_id id) {
  DeviceFacts facts;
  facts.platform = platform;
  facts.id = id;
  facts.platform_name = PlatformText(platform, CL_PLATFORM_NAME);
  facts.name = DeviceText(id, CL_DEVICE_NAME);
  facts.vendor = DeviceText(id, CL_DEVICE_VENDOR);
  facts.driver = DeviceText(id, CL_DRIVER_VERSION);
  facts.version = DeviceText(id, CL_DEVICE_VERSION);
  facts.type = DeviceNumber<cl_device_type>(id, CL_DEVICE_TYPE);
  facts.vendor_id = DeviceNumber<cl_uint>(id, CL_DEVICE_VENDOR_ID);
  facts.global_memory = DeviceNumber<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  facts.largest_buffer = DeviceNumber<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  facts.local_memory = DeviceNumber<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  facts.work_group = DeviceNumber<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  const std::string extensions = DeviceText(id, CL_DEVICE_EXTENSIONS);
  facts.has_half = extensions.find("cl_khr_fp16") != std::string::npos;
  facts.has_double = extensions.find("cl_khr_fp64") != std::string::npos;
  return facts;
}

std::vector<DeviceFacts> Enumerate() {
  std::vector<DeviceFacts> devices;
  cl_uint platform_count = 0;
  if (Cl().clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return devices;
  std::vector<cl_platform_id> platforms(platform_count);
  if (platform_count == 0 ||
      Cl().clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS)
    return devices;
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    cl_uint count = 0;
    if (Cl().clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
      continue;
    std::vector<cl_device_id> ids(count);
    if (count == 0 || Cl().clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, count, ids.data(),
                                          nullptr) != CL_SUCCESS)
      continue;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      DeviceFacts facts = FactsOf(platforms[p], ids[i]);
      facts.index = static_cast<int>(devices.size());
      facts.platform_index = static_cast<int>(p);
      facts.index_in_platform = static_cast<int>(i);
      devices.push_back(std::move(facts));
    }
  }
  return devices;
}

}  // namespace

const std::vector<DeviceFacts>& AllDevices() {
  static const std::vector<DeviceFacts> devices = (static_cast<void>(Cl()), Enumerate());
  return devices;
}

std::optional<std::string> WhyNoDevice() {
  std::string why_not;
  if (FindApi(&why_not) == nullptr) return why_not;
  if (AllDevices().empty()) {
    return "libOpenCL.so.1 is there, but no platform offers a device (install one, for example "
           "pocl-opencl-icd; OCL_ICD_VENDORS names the folder of its .icd file)";
  }
  return std::nullopt;
}

std::shared_ptr<DeviceContext> DeviceContext::Open(const DeviceFacts& facts) {
  // Never destroyed: values on the device may be alive when the process ends, and OpenCL libraries
  // tear themselves down in exit handlers.
  static auto* mutex = new std::mutex;
  static auto* open = new std::map<int, std::shared_ptr<DeviceContext>>;
  const std::lock_guard lock(*mutex);
  std::shared_ptr<DeviceContext>& known = (*open)[facts.index];
  if (!known || known->lost()) known = std::make_shared<DeviceContext>(facts);
  return known;
}

DeviceContext::DeviceContext(const DeviceFacts& facts) : facts_(facts) {
  cl_int status = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(facts.platform), 0};
  context_ = Cl().clCreateContext(properties, 1, &facts_.id, nullptr, nullptr, &status);
  opencl::Check(status, fmt::format("no context on {}", facts_.name));
  addresses_ = std::make_unique<AddressSpace>(context_);
  programs_ = std::make_unique<ProgramStore>(*this);
}

DeviceContext::~DeviceContext() {
  programs_.reset();
  addresses_.reset();
  if (context_ != nullptr) Cl().clReleaseContext(context_);
}

OrtDevice DeviceContext::device() const {
  return {kDeviceType, OrtDevice::kDefault, static_cast<OrtDevice::DeviceId>(facts_.index)};
}

cl_command_queue DeviceContext::MakeQueue(bool profile) {
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = Cl().clCreateCommandQueue(
      context_, facts_.id, profile ? CL_QUEUE_PROFILING_ENABLE : 0, &status);
  Check(status, fmt::format("no queue on {}", facts_.name));
  return queue;
}

void DeviceContext::CheckAlive() const {
  if (lost())
    Throw(ErrorCode::kEpFail, "OpenCL: the device {} was lost; make a new session", facts_.name);
}

void DeviceContext::Failed(cl_int status, std::string_view what) {
  if (IsLost(status)) {
    lost_.store(true, std::memory_order_relaxed);
    Throw(ErrorCode::kEpFail, "OpenCL: {}: {}: the device {} was lost; make a new session", what,
          StatusName(status), facts_.name);
  }
  ThrowStatus(status, what);
}

}  // namespace switchyard::opencl
