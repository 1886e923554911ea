#pragma once
// Which groups of accepted nodes are worth a border.

#include <string>
#include <vector>

#include "switchyard/ir/graph_viewer.h"

namespace switchyard::openvino {

// A group with what it costs to enter and leave it and what its nodes do, in nanoseconds.
struct Island {
  std::vector<NodeIndex> nodes;
  double work = 0, border = 0;
  bool worth() const;
};

// `accepted` split into convex groups, each weighed by its types; unknown dims count as 32.
std::vector<Island> FindIslands(const GraphViewer& graph, std::span<const NodeIndex> accepted);

// Why the island is left: "an island of 2 nodes: about 0.4 us of work ...".
std::string WhyNotWorth(const Island& island);

}  // namespace switchyard::openvino
