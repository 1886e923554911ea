// Any bytes are a session or an Error; a session with small static inputs runs or says why not, and
// another Run after an Error still works.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "switchyard/base/error.h"
#include "switchyard/session/inference_session.h"

namespace {

using namespace switchyard;

constexpr std::int64_t kLargest = 4096;  // elements of one input

// Zeros for every input, 2 for symbols; too few when one is too large or no tensor of numbers.
std::vector<OrtValue> Feeds(const Environment& environment, const InferenceSession& session) {
  std::vector<OrtValue> feeds;
  for (const SessionArg& input : session.inputs()) {
    if (!input.type.is_tensor() || input.type.elem == DataType::kString ||
        !input.type.shape.ranked())
      break;
    std::vector<std::int64_t> dims;
    std::int64_t size = 1;
    for (std::size_t i = 0; i < input.type.shape.rank(); ++i) {
      dims.push_back(input.type.shape[i].value_or(2));
      if (dims.back() > kLargest || (size *= dims.back()) > kLargest) return feeds;
    }
    Tensor tensor(input.type.elem, dims, environment.host_allocator());
    if (tensor.bytes() > 0) std::memset(tensor.raw_mutable(), 0, tensor.bytes());
    feeds.emplace_back(std::move(tensor));
  }
  return feeds;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto environment = [] {
    EnvironmentOptions options;
    options.log_severity = Severity::kFatal;
    return std::make_shared<Environment>(options);
  }();
  SessionOptions options;
  options.intra_op_num_threads = 1;
  const auto bytes = std::as_bytes(std::span(reinterpret_cast<const char*>(data), size));
  try {
    InferenceSession session(environment, bytes, options);
    const std::vector<OrtValue> feeds = Feeds(*environment, session);
    if (feeds.size() != session.inputs().size()) return 0;
    std::vector<std::string> names;
    for (const SessionArg& input : session.inputs()) names.push_back(input.name);
    for (int round = 0; round < 2; ++round) {
      try {
        session.Run({}, names, feeds, {});
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kEngineError) throw;
      }
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kEngineError) throw;
  }
  return 0;
}
