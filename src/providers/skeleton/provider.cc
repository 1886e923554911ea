#include "providers/skeleton/provider.h"

#include <string_view>

#include "switchyard/base/version.h"

namespace switchyard::skeleton {

namespace kernels {
void RegisterAll(KernelRegistry& registry);
}

namespace {

constexpr std::string_view kVerboseKey = "verbose";

}  // namespace

SkeletonProvider::SkeletonProvider(const ProviderOptions& options)
    : IExecutionProvider(kName), options_(options), registry_(std::make_shared<KernelRegistry>()) {
  for (const auto& [key, value] : options) {
    if (key != kVerboseKey || (value != "0" && value != "1")) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string(kName) + ": option " + key + "='" + value + "'; known: verbose=0|1");
    }
  }
  kernels::RegisterAll(*registry_);
}

ProviderFactory MakeFactory() {
  ProviderFactory factory;
  factory.name = kName;
  factory.aliases = {"skeleton"};
  factory.device_kind = "cpu";
  factory.option_keys = {std::string(kVerboseKey)};
  factory.version = std::string(Version());
  factory.create = [](const ProviderOptions& options, const ProviderEnvironment&) {
    return std::make_shared<SkeletonProvider>(options);
  };
  return factory;
}

// In the shared library the manifest calls this; a module is asked through module.cc.
void Register(ProviderCatalog& catalog);
void Register(ProviderCatalog& catalog) { catalog.Add(MakeFactory()); }

}  // namespace switchyard::skeleton
