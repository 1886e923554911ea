#pragma once
// Fills in the nodes and partitions of a SessionReport from the placed graph, and the variants of
// their kernels once the plan has them.

#include <unordered_map>

#include "runtime/copies.h"
#include "runtime/partition.h"
#include "runtime/plan.h"
#include "switchyard/session/session_report.h"

namespace switchyard {

class NodeReporter {
 public:
  explicit NodeReporter(SessionReport& report) : report_(report) {}
  void AddGraph(const Graph& graph, const Placement& placement, const CopyPlan& copies,
                const ExecutionProviders& providers);
  void AddVariants(const Plan& plan);
  // What rows call the graphs.
  std::unordered_map<const Graph*, std::string> TakePaths() { return std::move(paths_); }
  // Which row of the report is which node's.
  std::unordered_map<const Node*, std::size_t> TakeRows() { return std::move(rows_); }

 private:
  void AddBody(const Graph& graph, const std::string& path);
  void AddNode(const Graph& graph, const Node& node, const NodePlacement& placement);
  void AddValues(const Node& node, SessionReport::NodeRow& row) const;
  int PartitionOf(const Graph& graph, const Node& node, const std::string& provider);

  SessionReport& report_;
  const Placement* placement_ = nullptr;
  const CopyPlan* copies_ = nullptr;
  const ExecutionProviders* providers_ = nullptr;
  std::unordered_map<const Graph*, std::string> paths_;
  std::unordered_map<const Node*, std::size_t> rows_;
  // How often the provider changes on the way to a node: nodes of one provider and depth never
  // wait for another provider between them.
  std::unordered_map<const Node*, std::pair<std::string, int>> depths_;
  std::map<std::pair<std::string, std::pair<std::string, int>>, int> partitions_;
};

// "float[N,3]", "seq(tensor(float))".
std::string ShortType(const ValueType& type);

}  // namespace switchyard
