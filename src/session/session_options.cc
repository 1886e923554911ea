#include "switchyard/session/session_options.h"

#include "base/format.h"

namespace switchyard {

void SessionOptions::AppendExecutionProvider(std::shared_ptr<IExecutionProvider> provider) {
  if (!provider)
    Throw(ErrorCode::kInvalidArgument, "AppendExecutionProvider: the provider is null");
  providers_.push_back({std::move(provider), "", {}});
}

void SessionOptions::AppendExecutionProvider(std::string name, ProviderOptions options) {
  providers_.push_back({nullptr, std::move(name), std::move(options)});
}

void SessionOptions::AddCustomOpDomain(std::shared_ptr<const CustomOpDomain> domain) {
  if (!domain) Throw(ErrorCode::kInvalidArgument, "AddCustomOpDomain: the domain is null");
  domains_.push_back(std::move(domain));
}

void SessionOptions::AddConfigEntry(std::string key, std::string value) {
  if (key.empty() || key.size() > 1024 || value.size() > 8192) {
    Throw(
        ErrorCode::kInvalidArgument,
        "configuration entry: keys have 1 to 1024 characters and values up to 8192, got {} and {}",
        key.size(), value.size());
  }
  config[std::move(key)] = std::move(value);
}

std::string SessionOptions::ConfigEntry(std::string_view key, std::string_view absent) const {
  const auto it = config.find(std::string(key));
  return it == config.end() ? std::string(absent) : it->second;
}

}  // namespace switchyard
