#pragma once
// A group of nodes as a model of OpenVINO's that reads the weights where they are.

#include <memory>
#include <string>

#include "providers/openvino/blob_cache.h"
#include "providers/openvino/library.h"
#include "switchyard/base/thread_team.h"
#include "switchyard/ir/model_writer.h"

namespace switchyard::openvino {

// Constants of the model keep our storage alive as long as OpenVINO keeps the constants. Inputs
// and outputs are in the window's order.
std::shared_ptr<ov::Model> ConvertGroup(Library& library, const ModelWriter& writer,
                                        const GraphViewer& group);

// A name for the group in a cache: its nodes, types and the contents of its constants.
std::string KeyOfGroup(const ModelWriter& writer, const GraphViewer& group, const BlobCache& cache,
                       ThreadTeam* team);

}  // namespace switchyard::openvino
