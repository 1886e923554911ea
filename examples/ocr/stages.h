#pragma once
// Time per stage of the example, in the order in which the stages were first entered.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ocr {

class Stages {
 public:
  // Runs the work and adds its time to the stage.
  template <typename Work>
  auto operator()(const std::string& name, Work&& work) {
    const Timer timer{*this, name};
    return std::forward<Work>(work)();
  }

  const std::vector<std::pair<std::string, double>>& milliseconds() const { return milliseconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Timer {
    Stages& stages;
    std::string name;
    Clock::time_point start = Clock::now();

    ~Timer() {
      stages.Add(name, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
  };

  void Add(const std::string& name, double milliseconds) {
    const auto stage = std::find_if(milliseconds_.begin(), milliseconds_.end(),
                                    [&name](const auto& entry) { return entry.first == name; });
    if (stage == milliseconds_.end()) {
      milliseconds_.emplace_back(name, milliseconds);
    } else {
      stage->second += milliseconds;
    }
  }

  std::vector<std::pair<std::string, double>> milliseconds_;
};

}  // namespace ocr
