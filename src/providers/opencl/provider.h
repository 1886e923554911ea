#pragma once
// OpenCL as a provider with kernels of its own and separate memory.

#include "providers/opencl/entry.h"
#include "providers/opencl/memory.h"

namespace switchyard::opencl {

struct Options {
  DeviceFacts device;
  std::size_t mem_limit = 0;  // 0: none
  ExtendStrategy extend = ExtendStrategy::kNextPowerOfTwo;
  std::string cache_dir;  // "": programs are not kept on disk
  bool profile = false;
  ProviderOptions effective;  // gives the same again
};

// Throws InvalidArgument naming the known keys, or the values that the key allows; Fail when there
// is no device.
Options ParseOptions(const ProviderOptions& given);

class OpenClProvider final : public IExecutionProvider {
 public:
  explicit OpenClProvider(Options options);

  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return registry_; }
  std::vector<AllocatorPtr> CreatePreferredAllocators() override { return {arena_, pinned_}; }
  std::unique_ptr<IDataTransfer> GetDataTransfer() const override;
  std::unique_ptr<Stream> CreateStream() const override;
  ProviderOptions GetProviderOptions() const override { return options_.effective; }
  void OnRunStart(const RunOptions& options) override;

  DeviceContext& context() const { return *context_; }
  const Options& options() const { return options_; }

 private:
  Options options_;
  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<StreamSet> streams_;
  std::shared_ptr<DeviceArena> arena_;
  std::shared_ptr<PinnedAllocator> pinned_;
  std::shared_ptr<KernelRegistry> registry_;
};

ProviderFactory MakeFactory();

}  // namespace switchyard::opencl
