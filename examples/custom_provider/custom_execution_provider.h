#pragma once
// A provider with memory of its own: an imaginary device whose bytes only this provider touches.
// The core allocates there, copies values in and out where they cross, and calls the kernels.

#include "onnxruntime/core/framework/execution_provider.h"

namespace example {

using namespace onnxruntime;

// Free for providers outside the tree.
inline constexpr OrtDevice::DeviceType kCustomDevice = OrtDevice::kFirstCustom + 1;

class CustomExecutionProvider : public IExecutionProvider {
 public:
  CustomExecutionProvider(const std::string& type, OrtDevice device);

  // Which nodes can be run here: the short form.
  using IExecutionProvider::GetCapability;
  std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& kernel_lookup) const override;
  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return kernel_registry_; }
  std::vector<AllocatorPtr> CreatePreferredAllocators() override { return {allocator_}; }
  std::unique_ptr<IDataTransfer> GetDataTransfer() const override;

 private:
  std::shared_ptr<KernelRegistry> kernel_registry_;
  AllocatorPtr allocator_;
};

}  // namespace example
