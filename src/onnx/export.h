#pragma once
// From a Graph to an ONNX file that the ONNX checker accepts and that loads as the same graph
// again. Large constants go from where they are straight to the file, piece by piece.

#include <cstdint>
#include <memory>
#include <string>

#include "switchyard/base/export.h"
#include "switchyard/ir/graph.h"
#include "switchyard/ir/model_writer.h"

namespace switchyard {

class OpSchemaRegistry;

struct ExportOptions {
  // Tells since-versions; nullptr: the built-in operators.
  const OpSchemaRegistry* schemas = nullptr;
  // Name, without folder, of a file beside the model for the large constants. Empty: none, unless
  // the model would pass max_file_bytes; then "<file name>.data".
  std::string external_file;
  std::uint64_t external_min_bytes = 1024;
  std::uint64_t max_file_bytes = 0x7fffffff;  // what protobuf readers accept
};

// Throws Fail (nothing is left behind, a file of that name is untouched) or NotImplemented: nodes
// of one domain whose versions no single opset has.
SWITCHYARD_API void WriteModel(const Graph& graph, const std::string& path,
                               const ExportOptions& options = {});
// Throws Fail when the model is above max_file_bytes. external_file must be empty.
SWITCHYARD_API std::string WriteModelBytes(const Graph& graph, const ExportOptions& options = {});

// What the session hands to providers. Knows the built-in operators; metadata and documentation
// of the model are left out.
SWITCHYARD_API std::shared_ptr<const ModelWriter> MakeModelWriter();

}  // namespace switchyard
