#include "providers/openvino/claims.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard::openvino {
namespace {

constexpr double kAssumedDim = 32;
// One infer request, bound anew: 3 to 9 us measured; plus each tensor that crosses.
constexpr double kEnter = 6000, kCross = 500;
// What a core does in a nanosecond, roughly, on any machine.
constexpr double kMacs = 16, kBytes = 8;
// Of the work in a group, the part that compiling it whole can be hoped to save.
constexpr double kGain = 0.25;

double Elements(const ValueType& type) {
  if (!type.is_tensor() || !type.shape.ranked()) return kAssumedDim;
  double count = 1;
  for (const Dim& dim : type.shape)
    count *= dim.is_value() ? static_cast<double>(dim.value()) : kAssumedDim;
  return count;
}

double Bytes(const NodeArg& value) {
  return Elements(value.type()) * std::max(BitsOf(value.type().elem), 1) / 8;
}

double DimOf(const ValueType& type, std::size_t from_end) {
  if (!type.is_tensor() || !type.shape.ranked() || type.shape.rank() <= from_end)
    return kAssumedDim;
  const Dim& dim = type.shape[type.shape.rank() - 1 - from_end];
  return dim.is_value() ? static_cast<double>(dim.value()) : kAssumedDim;
}

// Multiply-adds of the operators that are more than a pass over their tensors.
double Macs(const Node& node) {
  const std::string& op = node.OpType();
  const auto input = [&](std::size_t i) -> const ValueType* {
    return i < node.inputs().size() && node.inputs()[i] != nullptr ? &node.inputs()[i]->type()
                                                                   : nullptr;
  };
  const double made = node.outputs()[0] != nullptr ? Elements(node.outputs()[0]->type()) : 0;
  if ((op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul") && input(0) != nullptr)
    return made * DimOf(*input(0), 0);
  if (op == "Gemm" && input(0) != nullptr)
    return made * DimOf(*input(0), node.attributes().Int("transA", 0) != 0 ? 1 : 0);
  if (op.find("Conv") != std::string::npos && input(1) != nullptr && input(1)->shape.ranked() &&
      input(1)->shape.rank() > 2) {
    const Dim& first = input(1)->shape[0];
    const double kernels = first.is_value() ? static_cast<double>(first.value()) : kAssumedDim;
    return made * Elements(*input(1)) / std::max(kernels, 1.0);
  }
  if ((op == "LSTM" || op == "GRU" || op == "RNN") && input(1) != nullptr && input(2) != nullptr)
    return (Elements(*input(1)) + Elements(*input(2))) * DimOf(*input(0), 2);
  return 0;
}

double Work(const Node& node) {
  double bytes = 0;
  for (const NodeArg* value : node.inputs()) {
    if (value != nullptr) bytes += Bytes(*value);
  }
  for (const NodeArg* value : node.outputs()) {
    if (value != nullptr) bytes += Bytes(*value);
  }
  return std::max(Macs(node) / kMacs, bytes / kBytes);
}

}  // namespace

bool Island::worth() const { return work * kGain >= border; }

std::vector<Island> FindIslands(const GraphViewer& graph, std::span<const NodeIndex> accepted) {
  std::vector<Island> islands;
  for (std::vector<NodeIndex>& group : graph.ConvexGroups(accepted)) {
    if (group.empty()) continue;
    Island island;
    for (NodeIndex index : group) {
      const Node& node = *graph.GetNode(index);
      const bool followed = std::all_of(
          node.outputs().begin(), node.outputs().end(),
          [](const NodeArg* value) { return value == nullptr || value->info().has_value; });
      if (!followed) island.work += Work(node);
    }
    const GraphViewer window(graph.graph(), group);
    island.border = kEnter + kCross * static_cast<double>(window.GetInputs().size() +
                                                          window.GetOutputs().size());
    island.nodes = std::move(group);
    islands.push_back(std::move(island));
  }
  return islands;
}

std::string WhyNotWorth(const Island& island) {
  return fmt::format(
      "an island of {} node{}: about {:.1f} us of work, of which compiling it may save {:.1f}, and "
      "its border costs {:.1f} us (claim_all=1 takes it all the same)",
      island.nodes.size(), island.nodes.size() == 1 ? "" : "s", island.work * 1e-3,
      island.work * kGain * 1e-3, island.border * 1e-3);
}

}  // namespace switchyard::openvino
