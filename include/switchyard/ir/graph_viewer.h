#pragma once
// A read-only window on a graph, optionally on a subset of its nodes: all that a provider sees.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ir/graph.h"

namespace switchyard {

class SWITCHYARD_API GraphViewer {
 public:
  explicit GraphViewer(const Graph& graph);
  // Only these nodes; inputs and outputs are then the values that cross the border.
  GraphViewer(const Graph& graph, std::span<const NodeIndex> nodes);

  const std::vector<NodeIndex>& GetNodesInTopologicalOrder() const { return order_; }
  // nullptr when the node is not in the window.
  const Node* GetNode(NodeIndex index) const;
  std::size_t NumberOfNodes() const { return order_.size(); }
  bool IsSubset() const { return is_subset_; }

  // Required inputs, in order; not constants.
  const std::vector<const NodeArg*>& GetInputs() const { return inputs_; }
  const std::vector<const NodeArg*>& GetOutputs() const { return outputs_; }
  // Constants that nodes of the window read.
  const std::vector<const NodeArg*>& GetConstants() const { return constants_; }
  const NodeArg* GetNodeArg(std::string_view name) const { return graph_.FindValue(name); }
  // nullptr: not constant in every Run.
  ConstantPtr GetConstantInitializer(std::string_view name) const;
  bool IsGraphOutput(const NodeArg* value) const { return graph_.is_output(value); }
  const Node* GetProducerNode(const NodeArg* value) const;

  const std::map<std::string, int>& DomainToVersionMap() const;
  const ModelContext& context() const { return graph_.context(); }
  bool IsSubgraph() const { return graph_.parent() != nullptr; }
  const Graph& graph() const { return graph_; }

  // Splits `nodes` into the fewest groups such that fusing each group makes no cycle, groups in
  // topological order. For providers that compile.
  std::vector<std::vector<NodeIndex>> ConvexGroups(std::span<const NodeIndex> nodes) const;

 private:
  void CollectBorder();
  const Graph& graph_;
  bool is_subset_ = false;
  std::vector<NodeIndex> order_;
  std::vector<bool> member_;
  std::vector<const NodeArg*> inputs_, outputs_, constants_;
};

}  // namespace switchyard
