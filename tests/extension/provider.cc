// Copied to src/providers/scratch: nothing else is edited.

#include "switchyard/ep/execution_provider.h"
#include "switchyard/ep/provider_factory.h"

namespace switchyard::scratch {
namespace {

class ScratchProvider final : public IExecutionProvider {
 public:
  ScratchProvider() : IExecutionProvider("ScratchExecutionProvider") {}
};

}  // namespace

void Register(ProviderCatalog& catalog);
void Register(ProviderCatalog& catalog) {
  ProviderFactory factory;
  factory.name = "ScratchExecutionProvider";
  factory.device_kind = "cpu";
  factory.create = [](const ProviderOptions&, const ProviderEnvironment&) {
    return std::make_shared<ScratchProvider>();
  };
  catalog.Add(std::move(factory));
}

}  // namespace switchyard::scratch
