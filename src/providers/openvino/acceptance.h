#pragma once
// Where OpenVINO would answer, but not what ONNX says: the nodes that this provider leaves to
// others although the library takes them. What the library itself does not take, node_probe.h asks
// it.

#include <string>

#include "switchyard/ir/graph_viewer.h"
#include "switchyard/ir/schema.h"

namespace switchyard::openvino {

// "" or the reason.
std::string WhyNotExact(const Node& node, const GraphViewer& graph,
                        const OpSchemaRegistry& schemas);

}  // namespace switchyard::openvino
