#pragma once
// A limit on how long loading may take. It holds for the thread that made it, until its end, so
// that every station and every long loop can ask without being handed it; loops on a team take the
// caller's along (Current).

#include <chrono>
#include <cstdint>
#include <string>

namespace switchyard {

class TimeLimit {
 public:
  // what: "switchyard.load_time_limit_ms", for the message. 0 milliseconds: no limit.
  TimeLimit(std::int64_t milliseconds, std::string what);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  static const TimeLimit* Current();  // of this thread, nullptr: none
  // Throws Fail when the time is over. About 30 ns.
  void Check() const;

 private:
  std::chrono::steady_clock::time_point end_;
  std::int64_t milliseconds_;
  std::string what_;
  const TimeLimit* outer_;
};

// Asks this thread's limit, if it has one.
inline void CheckTimeLimit() {
  if (const TimeLimit* limit = TimeLimit::Current()) limit->Check();
}

}  // namespace switchyard
