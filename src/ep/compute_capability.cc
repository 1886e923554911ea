#include "switchyard/ep/compute_capability.h"

namespace switchyard {

std::unique_ptr<IndexedSubGraph> MakeFusedSubGraph(const GraphViewer& graph,
                                                   std::vector<NodeIndex> nodes, std::string name,
                                                   std::string domain) {
  const GraphViewer window(graph.graph(), nodes);
  auto meta = std::make_unique<IndexedSubGraph::MetaDef>();
  meta->name = std::move(name);
  meta->domain = std::move(domain);
  for (const NodeArg* value : window.GetInputs()) meta->inputs.push_back(value->Name());
  for (const NodeArg* value : window.GetOutputs()) meta->outputs.push_back(value->Name());
  for (const NodeArg* value : window.GetConstants()) {
    meta->constant_initializers.push_back(value->Name());
  }
  auto result = std::make_unique<IndexedSubGraph>();
  result->nodes = window.GetNodesInTopologicalOrder();
  result->SetMetaDef(std::move(meta));
  return result;
}

}  // namespace switchyard
