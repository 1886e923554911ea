#pragma once
// Opens the library of a provider module.

#include <string>

#include "switchyard/ep/provider_factory.h"

namespace switchyard {

// Throws NoSuchFile; Fail when it can't be opened, is no module, or has another ABI stamp.
ProviderFactory LoadProviderModule(const std::string& path);

}  // namespace switchyard
