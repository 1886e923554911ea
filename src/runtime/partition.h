#pragma once
// Stations 4 to 6 of session creation: which provider runs which node. Providers propose in
// priority order, groups are fused and compiled, function operators that nobody takes are opened,
// and what is left without a taker is an error that holds every provider's reason.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "switchyard/ep/execution_provider.h"

namespace switchyard {

// A fused claim after Compile. `scratch` holds the fused node that Compile saw.
struct FusedGroup {
  std::unique_ptr<IndexedSubGraph> claim;
  std::unique_ptr<Graph> scratch;
  std::unique_ptr<OpKernel> kernel;
  std::vector<std::string> node_names;  // of the nodes inside, described
};

struct NodePlacement {
  int provider = -1;                         // -1: run by the executor (If, Loop, Scan)
  const KernelCreateInfo* kernel = nullptr;  // nullptr: fused, or the executor
  std::shared_ptr<FusedGroup> fused;
  std::string cause;                                          // why here
  std::vector<std::pair<std::string, std::string>> refusals;  // provider name, reason
};

struct Placement {
  std::map<const Graph*, std::unordered_map<NodeIndex, NodePlacement>> nodes;
  const NodePlacement& of(const Graph& graph, NodeIndex node) const {
    return nodes.at(&graph).at(node);
  }
};

struct PartitionOptions {
  const ExecutionProviders& providers;
  // Registries of user kernels; they rank before those of the provider at `custom_provider`.
  std::vector<std::shared_ptr<KernelRegistry>> custom_kernels;
  int custom_provider = 0;
  const GraphOptimizerRegistry& optimizers;
  // Replaces a function operator by its body and infers it; false: not a function.
  std::function<bool(Graph&, Node&)> inline_function;
  // Bytes per provider, 0 or absent: no limit.
  std::vector<std::size_t> budgets;
  CompileContext compile;
};

// Edits the graph: fuses groups, inlines functions. Throws NotImplemented naming operator, domain,
// version, types and each provider's reason; EpFail when a provider fails to compile.
Placement PartitionGraph(Graph& graph, PartitionOptions& options);

// Operators that the executor itself runs: If, Loop, Scan.
bool IsControlFlow(const Node& node);

}  // namespace switchyard
