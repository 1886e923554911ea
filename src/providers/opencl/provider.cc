#include "providers/opencl/provider.h"

#include "base/format.h"
#include "providers/opencl/kernel.h"
#include "switchyard/base/version.h"

namespace switchyard::opencl {

namespace kernels {
void RegisterAll(Families& families);
}

namespace {

OrtDevice DeviceOf(const DeviceFacts& facts) {
  return {kDeviceType, OrtDevice::kDefault, static_cast<OrtDevice::DeviceId>(facts.index)};
}

OrtDevice::DeviceType HardwareKind(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return OrtDevice::GPU;
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? OrtDevice::CPU : OrtDevice::NPU;
}

std::vector<OrtEpDevice> ListDevices() {
  std::vector<OrtEpDevice> devices;
  if (WhyNoDevice()) return devices;
  for (const DeviceFacts& facts : AllDevices()) {
    OrtEpDevice device;
    device.ep_name = kName;
    device.ep_vendor = facts.platform_name;
    device.device.type = HardwareKind(facts.type);
    device.device.vendor_id = facts.vendor_id;
    device.device.device_id = static_cast<std::uint32_t>(facts.index);
    device.device.vendor = facts.vendor;
    device.ep_metadata = {{"name", fmt::format("{} ({})", facts.name, facts.platform_name)},
                          {"version", facts.version},
                          {"driver", facts.driver}};
    device.ep_options = {{"platform", std::to_string(facts.platform_index)},
                         {"device_id", std::to_string(facts.index_in_platform)}};
    device.memory_infos.push_back({"OpenCL", OrtAllocatorType::kArena, DeviceOf(facts), 64});
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

OpenClProvider::OpenClProvider(Options options)
    : IExecutionProvider(kName, DeviceOf(options.device)),
      options_(std::move(options)),
      context_(DeviceContext::Open(options_.device)),
      streams_(std::make_shared<StreamSet>()),
      arena_(
          std::make_shared<DeviceArena>(context_, streams_, options_.mem_limit, options_.extend)),
      pinned_(std::make_shared<PinnedAllocator>(context_)),
      registry_(std::make_shared<KernelRegistry>()) {
  Families families(*registry_, context_->facts());
  kernels::RegisterAll(families);
}

std::unique_ptr<IDataTransfer> OpenClProvider::GetDataTransfer() const {
  return std::make_unique<ClTransfer>(context_);
}

std::unique_ptr<Stream> OpenClProvider::CreateStream() const {
  return std::make_unique<ClStream>(context_, streams_, options_.profile);
}

void OpenClProvider::OnRunStart(const RunOptions&) { context_->CheckAlive(); }

ProviderFactory MakeFactory() {
  ProviderFactory factory = Entry();
  factory.version = std::string(Version());
  factory.unavailable = WhyNoDevice;
  factory.devices = ListDevices;
  factory.create = [](const ProviderOptions& options, const ProviderEnvironment&) {
    return std::make_shared<OpenClProvider>(ParseOptions(options));
  };
  return factory;
}

}  // namespace switchyard::opencl
