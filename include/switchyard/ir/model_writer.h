#pragma once
// Turns a part of a graph into an ONNX model, for providers whose library reads that format. The
// session hands one over in ProviderEnvironment; ir itself knows no file format.

#include <cstdint>
#include <functional>
#include <string>

#include "switchyard/ir/graph_viewer.h"

namespace switchyard {

struct ModelWriteOptions {
  // Constants of so many bytes or more are not written: external_data names kModelInMemory as
  // location, an address of this process as offset, and the length.
  std::uint64_t by_address_from = UINT64_MAX;
  // That address; empty: of the dense tensor. Whoever reads the model sees to it that the bytes
  // are there as long as needed.
  std::function<const void*(const Constant&)> address;
};

inline constexpr const char* kModelInMemory = "*/_ORT_MEM_ADDR_/*";

class SWITCHYARD_API ModelWriter {
 public:
  virtual ~ModelWriter();
  // Values that cross the border of `part` are the model's inputs and outputs, constants its
  // initializers. Throws NotImplemented where no opset has all the nodes, Fail above 2 GiB.
  virtual std::string Write(const GraphViewer& part,
                            const ModelWriteOptions& options = {}) const = 0;
};

}  // namespace switchyard
