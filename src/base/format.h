#pragma once
// Error texts built in place: Throw(ErrorCode::kInvalidGraph, "axis {} is out of range", axis).

#include <fmt/format.h>

#include "switchyard/base/error.h"

namespace switchyard {

template <typename... Args>
[[noreturn]] void Throw(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace switchyard
