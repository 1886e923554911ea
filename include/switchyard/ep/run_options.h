#pragma once
// Options of one Run. The caller may set terminate from another thread while the Run goes on.

#include <atomic>
#include <map>
#include <string>

#include "switchyard/base/logging.h"

namespace switchyard {

class RunOptions {
 public:
  RunOptions() = default;
  RunOptions(const RunOptions& other)
      : tag(other.tag),
        log_severity(other.log_severity),
        log_verbosity(other.log_verbosity),
        config(other.config),
        terminate_(other.terminated()) {}

  std::string tag;        // stands in log lines and in the profile
  int log_severity = -1;  // -1: the session's
  int log_verbosity = 0;
  std::map<std::string, std::string> config;

  // The Run ends with Fail ("terminated") before its next step.
  void SetTerminate() { terminate_.store(true, std::memory_order_relaxed); }
  void UnsetTerminate() { terminate_.store(false, std::memory_order_relaxed); }
  bool terminated() const { return terminate_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> terminate_{false};
};

}  // namespace switchyard
