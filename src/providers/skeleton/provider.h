#pragma once
// The least that a kernel-style provider in host memory needs. With memory of its own it would also
// override CreatePreferredAllocators and GetDataTransfer; with queues, CreateStream; to compile
// groups of nodes, GetCapability and Compile instead of the registry.

#include "switchyard/ep/provider_factory.h"

namespace switchyard::skeleton {

inline constexpr const char* kName = "SkeletonExecutionProvider";

class SkeletonProvider final : public IExecutionProvider {
 public:
  // Throws InvalidArgument listing the known keys for an unknown one.
  explicit SkeletonProvider(const ProviderOptions& options);

  // The default GetCapability claims what is registered here.
  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return registry_; }
  ProviderOptions GetProviderOptions() const override { return options_; }

 private:
  ProviderOptions options_;
  std::shared_ptr<KernelRegistry> registry_;
};

// What the catalog is told; nothing of the provider is made before a session asks.
ProviderFactory MakeFactory();

}  // namespace switchyard::skeleton
