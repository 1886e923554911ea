#pragma once
// A list of providers by name, as the Python, C and command-line interfaces take it: lenient where
// SessionOptions::AppendExecutionProvider of C++ is strict.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/ep/provider_factory.h"
#include "switchyard/session/session_options.h"

namespace switchyard {

using NamedProvider = std::pair<std::string, ProviderOptions>;

// Appends the usable ones to `options` under their full names, in order. The answer is one warning
// for each that can't be used here: name, reason, who takes over. With the configuration entry
// "switchyard.strict_providers" = "1" that is an Error (Fail) instead. A name that `catalog` does
// not know: NotFound listing the known ones; nothing is appended then.
SWITCHYARD_API std::vector<std::string> AppendProvidersByName(
    const ProviderCatalog& catalog, std::span<const NamedProvider> providers,
    SessionOptions& options);

}  // namespace switchyard
