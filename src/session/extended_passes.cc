#include "session/extended_passes.h"

namespace switchyard {

namespace passes::extended {
void RegisterAll(PassRegistry& registry);
}

ExtendedPasses::ExtendedPasses() { passes::extended::RegisterAll(registry_); }

const Pass* ExtendedPasses::Find(std::string_view name) const {
  for (const auto& pass : registry_.passes()) {
    if (pass->name() == name) return pass.get();
  }
  return nullptr;
}

std::vector<std::string_view> ExtendedPasses::names() const {
  std::vector<std::string_view> all;
  for (const auto& pass : registry_.passes()) all.push_back(pass->name());
  return all;
}

}  // namespace switchyard
