#include "switchyard/session/environment.h"

namespace switchyard {

namespace providers {
void RegisterAll(ProviderCatalog& catalog);  // the generated manifest
}  // namespace providers

Environment::Environment(EnvironmentOptions options)
    : logger_(options.log_severity, options.log_id, std::move(options.log_sink)),
      host_(MakeHostAllocator()) {
  providers::RegisterAll(catalog_);
  if (options.shared_threads > 0) team_ = std::make_shared<ThreadTeam>(options.shared_threads);
}

Environment::~Environment() = default;

Logger Environment::logger() const {
  const std::lock_guard lock(logger_mutex_);
  return logger_;
}

void Environment::set_log_severity(Severity severity) {
  const std::lock_guard lock(logger_mutex_);
  logger_ = logger_.Derive(severity, logger_.id());
}

}  // namespace switchyard
