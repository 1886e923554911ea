#pragma once
// From an ONNX file, or its bytes, to a Graph. Structure is checked here: names, wiring, tensors,
// functions, limits. What operators mean is not: arity and types are the verifier's, shapes the
// inference's.
//
// Tensors above a few KiB stay in the file and are read through ByteSource when somebody asks; a
// file that was cut meanwhile gives an Error then. Everything else is copied out at once.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/base/export.h"
#include "switchyard/ir/graph.h"

namespace switchyard {

class OpSchemaRegistry;

inline constexpr std::int64_t kNewestIrVersion = 14;

// Crossing one of them is an Error that names it (Fail; InvalidGraph for depth and rank).
struct ImportLimits {
  std::uint64_t file_bytes = std::uint64_t{1} << 44;      // of the model file
  std::uint64_t constant_bytes = std::uint64_t{1} << 44;  // all tensors together
  std::uint64_t sparse_bytes = std::uint64_t{1} << 30;    // sparse tensors made dense, together
  std::size_t nodes = 10'000'000;   // of the graph with every model-local function inlined
  std::size_t values = 50'000'000;  // of all graphs as they are in the file
  std::size_t name_bytes = 1 << 20;
  int depth = 100;  // bodies inside bodies
  int rank = 256;
  std::chrono::milliseconds time{0};  // 0: none
};

struct ImportOptions {
  // Tells since-versions; nullptr: the built-in operators.
  const OpSchemaRegistry* schemas = nullptr;
  // Where external data of a model given as bytes lies; empty: such a model is refused.
  std::string external_folder;
  // What the caller has of external data, may be nullptr: tensors by name, whose files are not
  // looked for (the type and dims must be the model's), and contents of files by their location.
  const std::map<std::string, OrtValue>* external_tensors = nullptr;
  const std::map<std::string, std::shared_ptr<const ByteSource>>* external_files = nullptr;
  ImportLimits limits;
  // What looks wrong but does no harm; may be nullptr.
  std::vector<std::string>* warnings = nullptr;
};

// Throws Error: NoSuchFile (model or external data missing), InvalidProtobuf (not the wire format,
// or no model in it), InvalidGraph (a model that contradicts itself), NotImplemented (a newer IR or
// opset, float6), Fail (unreadable, a limit, refused external data).
SWITCHYARD_API std::unique_ptr<Graph> ImportModel(const std::string& path,
                                                  const ImportOptions& options = {});
// The bytes are not needed after the call.
SWITCHYARD_API std::unique_ptr<Graph> ImportModelBytes(std::span<const std::byte> bytes,
                                                       const ImportOptions& options = {});

}  // namespace switchyard
