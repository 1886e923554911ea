#include "session/report_nodes.h"

#include <algorithm>

namespace switchyard {

std::string ShortType(const ValueType& type) {
  if (!type.is_tensor()) return type.known() ? type.ToString() : "";
  return std::string(DataTypeName(type.elem)) + (type.shape.ranked() ? type.shape.ToString() : "");
}

void NodeReporter::AddGraph(const Graph& graph, const Placement& placement, const CopyPlan& copies,
                            const ExecutionProviders& providers) {
  placement_ = &placement;
  copies_ = &copies;
  providers_ = &providers;
  for (const NodeArg* input : graph.inputs())
    report_.inputs.push_back({input->Name(), ShortType(input->type())});
  for (const NodeArg* output : graph.outputs())
    report_.outputs.push_back({output->Name(), ShortType(output->type())});
  AddBody(graph, "");
}

void NodeReporter::AddBody(const Graph& graph, const std::string& path) {
  paths_[&graph] = path;
  for (NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = *graph.node(index);
    const auto& nodes = placement_->nodes.at(&graph);
    const auto it = nodes.find(index);
    if (it == nodes.end()) {  // a copy: as far from the start as what it copies
      if (const NodeArg* input = node.inputs()[0]; input->producer() != kNoNode)
        depths_[&node] = depths_[graph.node(input->producer())];
      continue;
    }
    AddNode(graph, node, it->second);
    if (it->second.provider >= 0) continue;
    for (const auto& [name, body] : node.bodies())
      AddBody(*body, path + (path.empty() ? "" : "/") + node.Name() + "." + name);
  }
}

void NodeReporter::AddNode(const Graph& graph, const Node& node, const NodePlacement& placement) {
  SessionReport::NodeRow row;
  row.graph = paths_.at(&graph);
  row.name = node.Name();
  row.op = node.OpType();
  row.domain = node.Domain();
  row.since_version = node.SinceVersion();
  row.provider = placement.provider < 0
                     ? "executor"
                     : providers_->name(static_cast<std::size_t>(placement.provider));
  row.cause = placement.cause;
  row.followed = copies_->followed.count(&node) != 0;
  row.refusals = placement.refusals;
  if (placement.fused) row.inside = placement.fused->node_names;
  row.partition = PartitionOf(graph, node, row.provider);
  AddValues(node, row);
  rows_[&node] = report_.nodes.size();
  report_.nodes.push_back(std::move(row));
}

void NodeReporter::AddValues(const Node& node, SessionReport::NodeRow& row) const {
  const auto add = [&row](const NodeArg* value) {
    if (value == nullptr) return;
    auto& list = value->is_constant() ? row.constants : row.inputs;
    if (std::find(list.begin(), list.end(), value->Name()) == list.end())
      list.push_back(value->Name());
  };
  for (const NodeArg* input : node.inputs()) add(input);
  for (const NodeArg* input : node.implicit_inputs()) add(input);
  for (const NodeArg* output : node.outputs()) {
    if (output != nullptr) row.outputs.push_back({output->Name(), ShortType(output->type())});
  }
}

int NodeReporter::PartitionOf(const Graph& graph, const Node& node, const std::string& provider) {
  int depth = 0;
  const auto follow = [&](const NodeArg* value) {
    if (value == nullptr || value->producer() == kNoNode) return;
    const auto before = depths_.find(graph.node(value->producer()));
    if (before == depths_.end()) return;
    const auto& [other, reached] = before->second;
    depth = std::max(depth, reached + (other == provider ? 0 : 1));
  };
  for (const NodeArg* input : node.inputs()) follow(input);
  for (const NodeArg* input : node.implicit_inputs()) follow(input);
  depths_[&node] = {provider, depth};
  const std::string& path = paths_.at(&graph);
  const auto [at, added] = partitions_.try_emplace({path, {provider, depth}},
                                                   static_cast<int>(report_.partitions.size()));
  if (added) report_.partitions.push_back({path, provider, 0});
  ++report_.partitions[static_cast<std::size_t>(at->second)].nodes;
  return at->second;
}

void NodeReporter::AddVariants(const Plan& plan) {
  for (const Step& step : plan.steps) {
    const auto row = rows_.find(step.node);
    if (row != rows_.end() && step.kernel != nullptr)
      report_.nodes[row->second].variant = step.kernel->Variant();
  }
}

}  // namespace switchyard
