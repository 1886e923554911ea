#pragma once
// The graph that optimized_model_filepath is to hold: as it was before placement, with the level-2
// fusions that the providers pick for the nodes they run, as far as the opsets that the model
// imports have them. No copies, fused claims or internal
// operators.

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/partition.h"
#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {

class SavedGraph {
 public:
  // Before placement.
  explicit SavedGraph(const Graph& graph) : copy_(graph.Clone()) {}

  // After placement of the graph that this is a copy of. make_context: a context without checks.
  void Fuse(const Graph& placed, const Placement& placement, const ExecutionProviders& providers,
            const GraphOptimizerRegistry& optimizers,
            const std::function<PassContext()>& make_context, PassPipeline::Limits limits,
            std::int64_t patches_left);

  const Graph& graph() const { return *copy_; }

 private:
  void Match(const Graph& placed, Graph& copy, const Placement& placement);
  int ProviderOf(const Node& node, int maker) const;

  struct Owners {
    const Graph* graph;
    NodeIndex limit;  // later nodes were made by passes
    std::unordered_map<NodeIndex, int> provider;
  };
  std::unique_ptr<Graph> copy_;
  std::vector<Owners> owners_;
};

}  // namespace switchyard
