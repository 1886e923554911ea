#include "session/saved_graph.h"

#include <string>

namespace switchyard {

void SavedGraph::Fuse(const Graph& placed, const Placement& placement,
                      const ExecutionProviders& providers, const GraphOptimizerRegistry& optimizers,
                      const std::function<PassContext()>& make_context, PassPipeline::Limits limits,
                      std::int64_t patches_left) {
  Match(placed, *copy_, placement);
  limits.up_to = PassStage::kExtended;
  for (std::size_t p = 0; p < providers.size(); ++p) {
    PassPipeline pipeline;
    providers[p].AddPasses(pipeline, optimizers);
    const auto registry = providers[p].GetKernelRegistry();
    if (pipeline.size() == 0 || !registry) continue;
    const int maker = static_cast<int>(p);
    PassContext context = make_context();
    context.may_touch = [&](const Node& node) { return ProviderOf(node, maker) == maker; };
    context.refuse_node = [&](const Node& node) {
      // The file says which opset its operators are from.
      if (node.Domain().empty() && node.SinceVersion() > copy_->opset("")) {
        return "newer than opset " + std::to_string(copy_->opset(""));
      }
      std::string reason;
      return registry->Find(node, &reason) != nullptr ? std::string() : reason;
    };
    static_cast<void>(pipeline.Run(*copy_, context, limits, &patches_left));
    for (Owners& owners : owners_) {
      for (NodeIndex index = owners.limit; index < owners.graph->node_limit(); ++index)
        owners.provider.emplace(index, maker);
    }
  }
}

// Nodes that stand in both graphs have one index; opened functions and compiled groups are in one.
void SavedGraph::Match(const Graph& placed, Graph& copy, const Placement& placement) {
  Owners owners{&copy, copy.node_limit(), {}};
  const auto rows = placement.nodes.find(&placed);
  for (NodeIndex index : copy.TopologicalOrder()) {
    const Node* theirs = index < placed.node_limit() ? placed.node(index) : nullptr;
    const Node& ours = *copy.node(index);
    if (theirs == nullptr || theirs->OpType() != ours.OpType()) continue;
    if (rows != placement.nodes.end()) {
      const auto row = rows->second.find(index);
      if (row != rows->second.end() && !row->second.fused)
        owners.provider.emplace(index, row->second.provider);
    }
    const auto inside = theirs->bodies();
    const auto bodies = ours.bodies();
    for (std::size_t b = 0; b < bodies.size() && b < inside.size(); ++b)
      Match(*inside[b].second, *bodies[b].second, placement);
  }
  owners_.push_back(std::move(owners));
}

int SavedGraph::ProviderOf(const Node& node, int maker) const {
  for (const Owners& owners : owners_) {
    const NodeIndex index = node.Index();
    if (index >= owners.graph->node_limit() || owners.graph->node(index) != &node) continue;
    const auto row = owners.provider.find(index);
    if (row != owners.provider.end()) return row->second;
    return index >= owners.limit ? maker : -1;
  }
  return -1;
}

}  // namespace switchyard
