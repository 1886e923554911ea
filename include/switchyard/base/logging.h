#pragma once
// Log lines with a severity and a category, to a sink that the embedding program may replace.
// Not a formatting library: build the text first and ask Enabled before an expensive one.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "switchyard/base/export.h"

namespace switchyard {

// The values equal OrtLoggingLevel.
enum class Severity : int { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };

// Called from any thread, never concurrently for one Logger.
using LogSink = std::function<void(Severity, std::string_view category, std::string_view id,
                                   std::string_view text)>;

// Thread-safe. Copies share the sink.
class SWITCHYARD_API Logger {
 public:
  Logger();  // warnings and worse to standard error
  Logger(Severity minimum, std::string id, LogSink sink = nullptr);

  bool Enabled(Severity severity) const { return severity >= minimum_; }
  Severity minimum() const { return minimum_; }
  const std::string& id() const { return id_; }
  void Log(Severity severity, std::string_view category, std::string_view text) const;
  // The same sink with another threshold and id: a session's or a run's own logger.
  Logger Derive(Severity minimum, std::string id) const;

 private:
  struct Target;
  Severity minimum_;
  std::string id_;
  std::shared_ptr<Target> target_;
};

}  // namespace switchyard
