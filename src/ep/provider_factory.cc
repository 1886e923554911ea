#include "switchyard/ep/provider_factory.h"

#include <algorithm>

#include "base/format.h"
#include "ep/provider_module.h"

namespace switchyard {

std::string_view AbiStamp() { return kAbiStamp; }

void ProviderCatalog::Add(ProviderFactory factory) {
  const std::lock_guard lock(mutex_);
  for (ProviderFactory& known : factories_) {
    if (known.name == factory.name) {
      known = std::move(factory);
      return;
    }
  }
  factories_.push_back(std::move(factory));
}

std::string ProviderCatalog::LoadLibrary(const std::string& path) {
  ProviderFactory factory = LoadProviderModule(path);
  const std::string name = factory.name;
  Add(std::move(factory));
  return name;
}

std::optional<ProviderFactory> ProviderCatalog::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const ProviderFactory& factory : factories_) {
    if (factory.name == name ||
        std::find(factory.aliases.begin(), factory.aliases.end(), name) != factory.aliases.end()) {
      return factory;
    }
  }
  return std::nullopt;
}

ProviderFactory ProviderCatalog::Fallback() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(factories_.begin(), factories_.end(),
                                  [](const ProviderFactory& factory) { return factory.fallback; });
  SY_CHECK(found != factories_.end());
  return *found;
}

std::vector<ProviderFactory> ProviderCatalog::all() const {
  const std::lock_guard lock(mutex_);
  return factories_;
}

}  // namespace switchyard
