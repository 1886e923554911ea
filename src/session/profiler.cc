#include "session/profiler.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/format.h"

namespace switchyard {

std::int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Profiler::Profiler(const std::string& prefix) : start_ns_(SteadyNow()) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &local);
  file_ = fmt::format("{}_{}_{}.json", prefix, stamp, start_ns_ % 1000000);
}

void Profiler::Add(std::string name, const char* category, std::int64_t start_ns,
                   std::int64_t end_ns, Arguments arguments) {
  const std::uint64_t thread = std::hash<std::thread::id>()(std::this_thread::get_id()) % 1000000;
  const std::lock_guard lock(mutex_);
  if (!finished_)
    events_.push_back({std::move(name), category, start_ns, end_ns, thread, std::move(arguments)});
}

std::string Profiler::Finish() {
  using nlohmann::json;
  const std::lock_guard lock(mutex_);
  if (finished_) return file_;
  finished_ = true;
  std::ofstream file(file_);
  // One event a line: tools that read traces of ONNX Runtime go through them so.
  file << "[";
  const char* separator = "\n";
  for (const Event& event : events_) {
    json arguments = json::object();
    for (const auto& [key, value] : event.arguments) arguments[key] = value;
    const json row{{"cat", event.category},
                   {"pid", static_cast<int>(getpid())},
                   {"tid", event.thread},
                   {"dur", (event.end_ns - event.start_ns) / 1000},
                   {"ts", (event.start_ns - start_ns_) / 1000},
                   {"ph", "X"},
                   {"name", event.name},
                   {"args", std::move(arguments)}};
    file << separator << row.dump(-1, ' ', false, json::error_handler_t::replace);
    separator = ",\n";
  }
  file << "\n]\n";
  if (!file) Throw(ErrorCode::kFail, "the profile can't be written to '{}'", file_);
  events_.clear();
  return file_;
}

}  // namespace switchyard
