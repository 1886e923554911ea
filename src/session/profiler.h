#pragma once
// Collects step timings of all Runs and writes them in Chrome's trace format. Thread-safe.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

class Profiler {
 public:
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  explicit Profiler(const std::string& prefix);
  std::int64_t start_ns() const { return start_ns_; }
  // category: "Session" or "Node".
  void Add(std::string name, const char* category, std::int64_t start_ns, std::int64_t end_ns,
           Arguments arguments = {});
  // Writes the file on the first call; answers its name.
  std::string Finish();

 private:
  struct Event {
    std::string name;
    const char* category;
    std::int64_t start_ns, end_ns;
    std::uint64_t thread;
    Arguments arguments;
  };
  std::mutex mutex_;
  std::string file_;
  std::int64_t start_ns_;
  bool finished_ = false;
  std::vector<Event> events_;
};

std::int64_t SteadyNow();

}  // namespace switchyard
