#pragma once
// A line on standard error about work that takes more than two seconds: nothing before that,
// nothing where standard error is no terminal, and nothing left behind.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace switchyard::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // total 0: how much there is to do is not known.
  void Set(std::size_t done, std::size_t total, std::string what);
  // What the line says after `seconds`.
  static std::string Line(const std::string& what, std::size_t done, std::size_t total,
                          double seconds);

 private:
  void Tick();

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string what_;
  std::size_t done_ = 0, total_ = 0;
  bool stop_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::thread ticker_;
};

}  // namespace switchyard::cli
