#include "switchyard/ir/graph_viewer.h"

#include <algorithm>

#include "switchyard/base/error.h"
#include "switchyard/ir/model_writer.h"

namespace switchyard {

ModelWriter::~ModelWriter() = default;

namespace {

template <typename Visit>
void ForEachRead(const Node& node, Visit visit) {
  for (const auto& list : {node.inputs(), node.implicit_inputs()}) {
    for (const NodeArg* value : list) {
      if (value != nullptr) visit(value);
    }
  }
}

}  // namespace

GraphViewer::GraphViewer(const Graph& graph) : graph_(graph), member_(graph.node_limit()) {
  const auto order = graph.TopologicalOrder();
  order_.assign(order.begin(), order.end());
  for (NodeIndex index : order_) member_[index] = true;
  CollectBorder();
}

GraphViewer::GraphViewer(const Graph& graph, std::span<const NodeIndex> nodes)
    : graph_(graph), is_subset_(true), member_(graph.node_limit()) {
  for (NodeIndex index : nodes) {
    if (graph.node(index) == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "the graph has no node " + std::to_string(index));
    }
    member_[index] = true;
  }
  for (NodeIndex index : graph.TopologicalOrder()) {
    if (member_[index]) order_.push_back(index);
  }
  CollectBorder();
}

void GraphViewer::CollectBorder() {
  std::vector<bool> seen(graph_.value_limit());
  const auto first_time = [&](const NodeArg* value) {
    if (seen[value->id()]) return false;
    seen[value->id()] = true;
    return true;
  };
  if (!is_subset_) {
    for (const NodeArg* input : graph_.inputs()) {
      first_time(input);
      if (input->constant() == nullptr) inputs_.push_back(input);
    }
    outputs_.assign(graph_.outputs().begin(), graph_.outputs().end());
  }
  for (NodeIndex index : order_) {
    ForEachRead(*graph_.node(index), [&](const NodeArg* value) {
      const bool inside = value->producer() != kNoNode && member_[value->producer()];
      if (inside || !first_time(value)) return;
      if (value->is_constant()) {
        constants_.push_back(value);
      } else if (is_subset_) {
        inputs_.push_back(value);
      }
    });
  }
  if (!is_subset_) return;
  for (NodeIndex index : order_) {
    for (const NodeArg* value : graph_.node(index)->outputs()) {
      if (value == nullptr) continue;
      const auto users = value->consumers();
      const bool leaves =
          graph_.is_output(value) ||
          std::any_of(users.begin(), users.end(), [&](NodeIndex user) { return !member_[user]; });
      if (leaves) outputs_.push_back(value);
    }
  }
}

const Node* GraphViewer::GetNode(NodeIndex index) const {
  return index < member_.size() && member_[index] ? graph_.node(index) : nullptr;
}

ConstantPtr GraphViewer::GetConstantInitializer(std::string_view name) const {
  const NodeArg* value = graph_.FindValue(name);
  return value != nullptr && value->is_constant() ? value->constant() : nullptr;
}

const Node* GraphViewer::GetProducerNode(const NodeArg* value) const {
  return value->producer() != kNoNode ? GetNode(value->producer()) : nullptr;
}

const std::map<std::string, int>& GraphViewer::DomainToVersionMap() const {
  return graph_.context().opset_imports;
}

// The level of a node is the largest number of times that a path leading to it crosses the border
// of the set: even for members (and for nodes with no member before them), odd for the others. The
// members of one level form a group: edges never go to a lower level, and a path between two
// members of a level stays inside. A path that crosses 2k times needs k + 1 groups, so none has
// fewer.
std::vector<std::vector<NodeIndex>> GraphViewer::ConvexGroups(
    std::span<const NodeIndex> nodes) const {
  std::vector<bool> chosen(graph_.node_limit());
  for (NodeIndex index : nodes) {
    if (graph_.node(index) != nullptr) chosen[index] = true;
  }
  std::vector<std::size_t> level(graph_.node_limit());
  std::vector<std::vector<NodeIndex>> groups;
  for (NodeIndex index : graph_.TopologicalOrder()) {
    std::size_t own = 0;
    ForEachRead(*graph_.node(index), [&](const NodeArg* value) {
      const NodeIndex producer = value->producer();
      if (producer == kNoNode) return;
      const bool leaves = chosen[producer] && !chosen[index];
      const bool returns = chosen[index] && level[producer] % 2 == 1;
      own = std::max(own, level[producer] + (leaves || returns ? 1 : 0));
    });
    level[index] = own;
    if (!chosen[index]) continue;
    const std::size_t group = own / 2;
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(index);
  }
  return groups;
}

}  // namespace switchyard
