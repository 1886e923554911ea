#include "switchyard/base/error.h"

#include <array>
#include <utility>

namespace switchyard {

std::string_view ErrorCodeName(ErrorCode code) {
  static constexpr std::array<std::string_view, 15> kNames = {"Ok",
                                                              "Fail",
                                                              "InvalidArgument",
                                                              "NoSuchFile",
                                                              "NoModel",
                                                              "EngineError",
                                                              "RuntimeException",
                                                              "InvalidProtobuf",
                                                              "ModelLoaded",
                                                              "NotImplemented",
                                                              "InvalidGraph",
                                                              "EPFail",
                                                              "ModelLoadCanceled",
                                                              "ModelRequiresCompilation",
                                                              "NotFound"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Fail";
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

Error::~Error() = default;

Error Error::WithContext(std::string_view context) const {
  std::string text(context);
  text += ": ";
  text += message_;
  return Error(code_, std::move(text));
}

namespace internal {

void CheckFailed(const char* expression, const char* file, int line) {
  throw Error(ErrorCode::kEngineError, std::string("internal check failed: ") + expression + " (" +
                                           file + ":" + std::to_string(line) +
                                           "); please report this with the model");
}

}  // namespace internal
}  // namespace switchyard
