// Any bytes are either a model or an Error; a model that loads is written, and loads again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "onnx/export.h"
#include "onnx/import.h"
#include "switchyard/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using switchyard::Error;
  using switchyard::ErrorCode;
  switchyard::ImportOptions options;
  options.limits.nodes = 100'000;
  options.limits.sparse_bytes = 1 << 20;
  std::unique_ptr<switchyard::Graph> graph;
  try {
    graph = switchyard::ImportModelBytes(
        std::as_bytes(std::span(reinterpret_cast<const char*>(data), size)), options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kEngineError) throw;
    return 0;
  }
  std::string written;
  try {
    written = switchyard::WriteModelBytes(*graph);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kEngineError) throw;
    return 0;
  }
  switchyard::ImportModelBytes(std::as_bytes(std::span(written)), options);
  return 0;
}
