#include "switchyard/base/logging.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

namespace switchyard {
namespace {

void WriteToStandardError(Severity severity, std::string_view category, std::string_view id,
                          std::string_view text) {
  static constexpr std::array<char, 5> kLetters = {'V', 'I', 'W', 'E', 'F'};
  std::string line = "[";
  line += kLetters[static_cast<std::size_t>(severity)];
  line += ' ';
  line += category;
  if (!id.empty()) {
    line += ' ';
    line += id;
  }
  line += "] ";
  line += text;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

struct Logger::Target {
  std::mutex mutex;
  LogSink sink;
};

Logger::Logger() : Logger(Severity::kWarning, "") {}

Logger::Logger(Severity minimum, std::string id, LogSink sink)
    : minimum_(minimum), id_(std::move(id)), target_(std::make_shared<Target>()) {
  target_->sink = sink ? std::move(sink) : LogSink(WriteToStandardError);
}

void Logger::Log(Severity severity, std::string_view category, std::string_view text) const {
  if (!Enabled(severity)) return;
  const std::lock_guard lock(target_->mutex);
  target_->sink(severity, category, id_, text);
}

Logger Logger::Derive(Severity minimum, std::string id) const {
  Logger derived = *this;
  derived.minimum_ = minimum;
  derived.id_ = std::move(id);
  return derived;
}

}  // namespace switchyard
