#include "base/time_limit.h"

#include "base/format.h"

namespace switchyard {
namespace {

thread_local const TimeLimit* current = nullptr;

// Longer than any load; keeps the sum within the clock's range.
constexpr std::int64_t kLongest = std::int64_t{1000} * 60 * 60 * 24 * 365;

}  // namespace

TimeLimit::TimeLimit(std::int64_t milliseconds, std::string what)
    : end_(std::chrono::steady_clock::now() +
           std::chrono::milliseconds(milliseconds < kLongest ? milliseconds : kLongest)),
      milliseconds_(milliseconds),
      what_(std::move(what)),
      outer_(current) {
  if (milliseconds > 0) current = this;
}

TimeLimit::~TimeLimit() { current = outer_; }

const TimeLimit* TimeLimit::Current() { return current; }

void TimeLimit::Check() const {
  if (std::chrono::steady_clock::now() < end_) return;
  Throw(ErrorCode::kFail, "loading takes longer than the {} ms of {}", milliseconds_, what_);
}

}  // namespace switchyard
