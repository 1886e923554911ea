#pragma once
// A provider for tests that is wrong on purpose, where asked: it takes Add, Sub, Mul, Neg and Abs
// of float tensors. Options: kernel=OP makes the kernel of that operator add 0.5; pass=1 adds a
// pass that turns Sub into Add, after one that rightly turns Neg(Neg(x)) into x.

#include <memory>
#include <string>

#include "switchyard/ep/provider_factory.h"

namespace switchyard::test {

inline constexpr const char* kWrongExecutionProvider = "WrongExecutionProvider";

class WrongProvider final : public IExecutionProvider {
 public:
  explicit WrongProvider(const ProviderOptions& options);
  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return registry_; }
  void AddPasses(PassPipeline& pipeline, const GraphOptimizerRegistry& optimizers) const override;
  ProviderOptions GetProviderOptions() const override { return options_; }

 private:
  ProviderOptions options_;
  std::shared_ptr<KernelRegistry> registry_;
  bool wrong_pass_ = false;
};

ProviderFactory MakeWrongFactory();

}  // namespace switchyard::test
