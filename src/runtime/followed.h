#pragma once
// Shape arithmetic: nodes all of whose outputs inference knows as integers. They are computed while
// shapes are bound and never run, so they stay on the host whoever claimed them.

#include <unordered_set>

#include "runtime/partition.h"
#include "switchyard/ir/inference.h"

namespace switchyard {

// Those of one graph, bodies not included.
std::unordered_set<const Node*> FindFollowed(const Graph& graph, const Placement& placement,
                                             const InferenceRegistry& inference);

}  // namespace switchyard
