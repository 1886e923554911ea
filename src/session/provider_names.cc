#include "switchyard/session/provider_names.h"

#include <optional>

#include "base/format.h"
#include "session/config_keys.h"

namespace switchyard {
namespace {

struct Candidate {
  ProviderFactory factory;
  std::optional<std::string> unavailable;  // why
};

std::string KnownNames(const ProviderCatalog& catalog) {
  std::string names;
  for (const ProviderFactory& factory : catalog.all())
    names += (names.empty() ? "" : ", ") + factory.name;
  return names;
}

// The first usable one after `index`; past the end the one that every session has.
std::string Successor(const ProviderCatalog& catalog, std::span<const Candidate> candidates,
                      std::size_t index) {
  for (const Candidate& later : candidates.subspan(index + 1)) {
    if (!later.unavailable) return later.factory.name;
  }
  return catalog.Fallback().name;
}

}  // namespace

std::vector<std::string> AppendProvidersByName(const ProviderCatalog& catalog,
                                               std::span<const NamedProvider> providers,
                                               SessionOptions& options) {
  std::vector<Candidate> candidates;
  for (const auto& [name, provider_options] : providers) {
    std::optional<ProviderFactory> factory = catalog.Find(name);
    if (!factory) {
      Throw(ErrorCode::kNotFound, "Unknown Provider Type: {}, known are {}", name,
            KnownNames(catalog));
    }
    std::optional<std::string> reason;
    if (factory->unavailable) reason = factory->unavailable();
    candidates.push_back({*std::move(factory), std::move(reason)});
  }
  constexpr std::string_view kStrict = "switchyard.strict_providers";
  const bool strict = ConfigFlag(kStrict, options.ConfigEntry(kStrict));
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.unavailable) continue;
    const std::string text =
        fmt::format("{} is not available: {}", candidate.factory.name, *candidate.unavailable);
    if (strict) Throw(ErrorCode::kFail, "{} (switchyard.strict_providers is 1)", text);
    warnings.push_back(fmt::format("{}; {} takes over", text, Successor(catalog, candidates, i)));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].unavailable)
      options.AppendExecutionProvider(candidates[i].factory.name, providers[i].second);
  }
  return warnings;
}

}  // namespace switchyard
