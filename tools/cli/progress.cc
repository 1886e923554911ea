#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace switchyard::cli {
namespace {

constexpr std::chrono::milliseconds kQuiet{2000}, kPeriod{200};
constexpr std::size_t kBar = 24;

}  // namespace

std::string Progress::Line(const std::string& what, std::size_t done, std::size_t total,
                           double seconds) {
  char tail[64];
  std::string line;
  if (total != 0) {
    const std::size_t filled = std::min(done, total) * kBar / total;
    line = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] " +
           std::to_string(done) + "/" + std::to_string(total) + " ";
  }
  std::snprintf(tail, sizeof tail, " %.1f s", seconds);
  return line + what + tail;
}

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) != 0) ticker_ = std::thread([this] { Tick(); });
}

Progress::~Progress() {
  if (!ticker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ended_.notify_one();
  ticker_.join();
}

void Progress::Set(std::size_t done, std::size_t total, std::string what) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  what_ = std::move(what);
}

void Progress::Tick() {
  std::unique_lock lock(mutex_);
  bool shown = false;
  auto next = start_ + kQuiet;
  while (!ended_.wait_until(lock, next, [this] { return stop_; })) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    std::fprintf(stderr, "\r\033[K%s", Line(what_, done_, total_, spent.count()).c_str());
    std::fflush(stderr);
    shown = true;
    next = std::chrono::steady_clock::now() + kPeriod;
  }
  if (shown) std::fputs("\r\033[K", stderr);
}

}  // namespace switchyard::cli
