#include "session/provider_list.h"

#include "base/format.h"

namespace switchyard {
namespace {

std::string KnownNames(const ProviderCatalog& catalog) {
  std::string names;
  for (const ProviderFactory& factory : catalog.all()) {
    if (!names.empty()) names += ", ";
    names += factory.name;
  }
  return names;
}

}  // namespace

ExecutionProviders MakeProviders(const SessionOptions& options, const Environment& environment,
                                 const ProviderEnvironment& provider_environment) {
  const ProviderCatalog& catalog = environment.providers();
  ExecutionProviders providers;
  for (const SessionOptions::ProviderRequest& request : options.providers()) {
    if (request.instance) {
      providers.Add(request.instance);
      continue;
    }
    const auto factory = catalog.Find(request.name);
    if (!factory) {
      Throw(ErrorCode::kInvalidArgument, "execution provider '{}' is unknown; known here: {}",
            request.name, KnownNames(catalog));
    }
    if (factory->unavailable) {
      if (const auto reason = factory->unavailable()) {
        Throw(ErrorCode::kFail, "execution provider '{}' is not available: {}", factory->name,
              *reason);
      }
    }
    providers.Add(factory->create(request.options, provider_environment));
  }
  const ProviderFactory fallback = catalog.Fallback();
  if (providers.Get(fallback.name) == nullptr) {
    providers.Add(fallback.create({}, provider_environment));
  }
  return providers;
}

}  // namespace switchyard
