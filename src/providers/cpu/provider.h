#pragma once
// The CPU execution provider: node kernels over host memory, for every graph the core hands it.
// Not the memory arena nor the thread team: those belong to the core.

#include <memory>
#include <string>

#include "providers/cpu/math/isa.h"
#include "switchyard/ep/execution_provider.h"
#include "switchyard/ep/provider_factory.h"

namespace switchyard::cpu {

// Thread-safe after construction.
class CpuExecutionProvider : public IExecutionProvider {
 public:
  // `options` are those of the factory's keys; `environment` gives the session's configuration.
  // Throws InvalidArgument for a bad value; unknown keys warn.
  CpuExecutionProvider(const ProviderOptions& options, const ProviderEnvironment& environment);

  math::IsaLevel isa() const { return isa_; }
  // switchyard.accuracy=exact: no algorithm that re-associates more than a different summation
  // order.
  bool exact() const { return exact_; }

  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override;
  void AddPasses(PassPipeline& pipeline, const GraphOptimizerRegistry& optimizers) const override;
  std::vector<AllocatorPtr> CreatePreferredAllocators() override;
  ProviderOptions GetProviderOptions() const override;

 private:
  ProviderOptions options_;
  math::IsaLevel isa_;
  bool exact_ = false;
};

ProviderFactory MakeCpuProviderFactory();

// What the manifest of built-in providers calls.
void Register(ProviderCatalog& catalog);

}  // namespace switchyard::cpu
