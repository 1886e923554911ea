#pragma once
// The one error system: exceptions with a code. Borders (C ABI, Python, CLI) translate them once.
// Not for broken invariants of our own: those are SY_CHECK, which throws EngineError and is always
// on.

#include <exception>
#include <string>
#include <string_view>

#include "switchyard/base/export.h"

namespace switchyard {

// The values equal OrtErrorCode.
enum class ErrorCode : int {
  kOk = 0,
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kNoModel = 4,
  kEngineError = 5,
  kRuntimeException = 6,
  kInvalidProtobuf = 7,
  kModelLoaded = 8,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
  kModelLoadCanceled = 12,
  kModelRequiresCompilation = 13,
  kNotFound = 14,
};

// "InvalidArgument", "NoSuchFile" ...: also the name of the Python exception class.
SWITCHYARD_API std::string_view ErrorCodeName(ErrorCode code);

class SWITCHYARD_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  ~Error() override;

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // The same error with `context` and ": " in front of the message.
  Error WithContext(std::string_view context) const;

 private:
  ErrorCode code_;
  std::string message_;
};

namespace internal {
[[noreturn]] SWITCHYARD_API void CheckFailed(const char* expression, const char* file, int line);
}  // namespace internal

}  // namespace switchyard

// An invariant of our own. Never for what a model, a caller or a device can cause.
#define SY_CHECK(expression)     \
  (static_cast<bool>(expression) \
       ? static_cast<void>(0)    \
       : ::switchyard::internal::CheckFailed(#expression, __FILE_NAME__, __LINE__))

#if !defined(__FILE_NAME__)
#define __FILE_NAME__ __FILE__
#endif
