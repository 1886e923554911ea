#pragma once
// What sessions of a process share: the logger, the providers known by name, allocators, and a
// thread team if asked for. Create one and keep it as long as its sessions.

#include <memory>
#include <mutex>
#include <string>

#include "switchyard/base/logging.h"
#include "switchyard/base/thread_team.h"
#include "switchyard/ep/provider_factory.h"

namespace switchyard {

struct EnvironmentOptions {
  Severity log_severity = Severity::kWarning;
  std::string log_id = "Default";
  LogSink log_sink;        // empty: standard error
  int shared_threads = 0;  // > 0: a team for all sessions that do not ask for their own
};

// Thread-safe.
class SWITCHYARD_API Environment {
 public:
  explicit Environment(EnvironmentOptions options = {});
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  Logger logger() const;  // as it is now
  // Sessions made later log from this severity on.
  void set_log_severity(Severity severity);
  ProviderCatalog& providers() { return catalog_; }
  const ProviderCatalog& providers() const { return catalog_; }
  std::shared_ptr<ThreadTeam> shared_team() const { return team_; }
  AllocatorPtr host_allocator() const { return host_; }

 private:
  mutable std::mutex logger_mutex_;
  Logger logger_;
  ProviderCatalog catalog_;
  std::shared_ptr<ThreadTeam> team_;
  AllocatorPtr host_;
};

}  // namespace switchyard
