#include "onnx/import_state.h"

#include <fmt/format.h>

#include "base/time_limit.h"
#include "switchyard/base/error.h"
#include "switchyard/ir/schema.h"

namespace switchyard::onnx {
namespace {

const OpSchemaRegistry& BuiltInSchemas() {
  static const OpSchemaRegistry registry;
  return registry;
}

// Rejects overlong forms, surrogates and values above U+10FFFF.
bool IsUtf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = at + text.size();
  while (at != end) {
    const unsigned char lead = *at++;
    if (lead < 0x80) continue;
    int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || end - at < more) return false;
    const unsigned char next = *at;
    if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
        (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f)) {
      return false;
    }
    for (; more > 0; --more) {
      if ((*at++ & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace

void ThrowInvalid(std::string message) {
  throw Error(ErrorCode::kInvalidGraph, std::move(message));
}

void ThrowNotImplemented(std::string message) {
  throw Error(ErrorCode::kNotImplemented, std::move(message));
}

void ThrowLimit(std::string_view what, std::uint64_t limit) {
  throw Error(ErrorCode::kFail, fmt::format("the model has more than {} {}", limit, what));
}

ImportState::ImportState(const ImportOptions& options, ModelBytes& bytes, ExternalFiles files)
    : options_(options),
      schemas_(options.schemas != nullptr ? options.schemas : &BuiltInSchemas()),
      bytes_(bytes),
      files_(std::move(files)),
      allocator_(MakeHostAllocator()),
      start_(std::chrono::steady_clock::now()) {}

void ImportState::CheckTime() {
  CheckTimeLimit();
  if (limits().time.count() == 0) return;
  if (std::chrono::steady_clock::now() - start_ > limits().time) {
    throw Error(ErrorCode::kFail,
                fmt::format("loading takes longer than {} ms", limits().time.count()));
  }
}

void ImportState::CountNode() {
  if (++nodes_ > limits().nodes) ThrowLimit("nodes", limits().nodes);
  if (nodes_ % 256 == 0) CheckTime();
}

void ImportState::CountValue() {
  if (++values_ > limits().values) ThrowLimit("values", limits().values);
}

void ImportState::CountConstant(std::uint64_t bytes) {
  CheckTime();
  if (bytes > limits().constant_bytes - constant_bytes_) {
    ThrowLimit("bytes of constants", limits().constant_bytes);
  }
  constant_bytes_ += bytes;
}

void ImportState::CountSparse(std::uint64_t bytes) {
  if (bytes > limits().sparse_bytes - sparse_bytes_) {
    ThrowLimit("bytes of sparse tensors once they are dense", limits().sparse_bytes);
  }
  sparse_bytes_ += bytes;
}

void ImportState::Warn(std::string text) {
  if (options_.warnings != nullptr) options_.warnings->push_back(std::move(text));
}

std::string_view ImportState::CheckName(std::string_view text, const char* what) const {
  if (text.size() > limits().name_bytes) {
    throw Error(ErrorCode::kFail, fmt::format("{} of {} bytes, the limit is {}", what, text.size(),
                                              limits().name_bytes));
  }
  if (!IsUtf8(text) || text.find('\0') != text.npos) {
    throw Error(ErrorCode::kInvalidProtobuf, fmt::format("{} is not valid UTF-8 text", what));
  }
  return text;
}

int ImportState::SinceVersion(std::string_view domain, std::string_view op_type, int opset) const {
  const OpSchema* schema = schemas_->Find(domain, op_type, opset);
  return schema != nullptr ? schema->since_version : opset;
}

}  // namespace switchyard::onnx
