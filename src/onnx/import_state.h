#pragma once
// What the parts of one import share: limits and their counters, the places bytes come from, and
// what gets reported.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "onnx/external_data.h"
#include "onnx/import.h"
#include "onnx/model_bytes.h"
#include "switchyard/tensor/allocator.h"

namespace switchyard {
class OpSchemaRegistry;
}

namespace switchyard::onnx {

[[noreturn]] void ThrowInvalid(std::string message);         // InvalidGraph
[[noreturn]] void ThrowNotImplemented(std::string message);  // NotImplemented
[[noreturn]] void ThrowLimit(std::string_view what, std::uint64_t limit);

// Reading `message` failed inside `where`: the same error, with the place in front. Exceptions that
// are not Errors (exhausted memory) become Fail.
template <typename Body, typename Where>
auto InContext(Where&& where, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw error.WithContext(where());
  }
}

class ImportState {
 public:
  ImportState(const ImportOptions& options, ModelBytes& bytes, ExternalFiles files);

  const ImportOptions& options() const { return options_; }
  const ImportLimits& limits() const { return options_.limits; }
  const OpSchemaRegistry& schemas() const { return *schemas_; }
  const ModelBytes& bytes() const { return bytes_; }
  ExternalFiles& files() { return files_; }
  const AllocatorPtr& allocator() const { return allocator_; }

  void CountNode();
  void CountValue();
  void CountConstant(std::uint64_t bytes);
  void CountSparse(std::uint64_t bytes);
  void Warn(std::string text);

  // A name: valid UTF-8 without zero bytes, within the limit.
  std::string_view CheckName(std::string_view text, const char* what) const;
  // Of the schema that an operator resolves to, or the opset version itself.
  int SinceVersion(std::string_view domain, std::string_view op_type, int opset) const;

 private:
  void CheckTime();
  const ImportOptions& options_;
  const OpSchemaRegistry* schemas_;
  ModelBytes& bytes_;
  ExternalFiles files_;
  AllocatorPtr allocator_;
  std::chrono::steady_clock::time_point start_;
  std::size_t nodes_ = 0;
  std::size_t values_ = 0;
  std::uint64_t constant_bytes_ = 0;
  std::uint64_t sparse_bytes_ = 0;
};

}  // namespace switchyard::onnx
