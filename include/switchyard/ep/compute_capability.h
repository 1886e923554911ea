#pragma once
// What a provider proposes to run: single nodes by kernel, or groups that it compiles.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/ir/graph_viewer.h"

namespace switchyard {

// A set of nodes; with a MetaDef they are to be fused into one node that the provider compiles.
struct IndexedSubGraph {
  struct MetaDef {
    std::string name;  // of the fused operator, unique per claim
    std::string domain;
    int since_version = 1;
    std::vector<std::string> inputs;  // value names, ordered
    std::vector<std::string> outputs;
    std::vector<std::string> constant_initializers;  // kept inside: not inputs, not uploaded
    std::vector<std::size_t> host_inputs;            // inputs wanted in host memory
    std::vector<std::size_t> host_outputs;
    Attributes attributes;
  };

  std::vector<NodeIndex> nodes;

  void SetMetaDef(std::unique_ptr<MetaDef> meta) { meta_def = std::move(meta); }
  const MetaDef* GetMetaDef() const { return meta_def.get(); }

  std::unique_ptr<MetaDef> meta_def;  // nullptr: exactly one node, run by a kernel of the registry
};

struct ComputeCapability {
  ComputeCapability() = default;
  explicit ComputeCapability(std::unique_ptr<IndexedSubGraph> graph)
      : sub_graph(std::move(graph)) {}

  std::unique_ptr<IndexedSubGraph> sub_graph;
  // Bytes that the claim would take from the resource accountant; nullopt: the constants it reads.
  std::optional<std::size_t> resource_bytes;
};

// The MetaDef of a group: inputs and outputs are the values that cross its border, constants stay
// inside. `name` should be unique per provider.
SWITCHYARD_API std::unique_ptr<IndexedSubGraph> MakeFusedSubGraph(const GraphViewer& graph,
                                                                  std::vector<NodeIndex> nodes,
                                                                  std::string name,
                                                                  std::string domain);

}  // namespace switchyard
