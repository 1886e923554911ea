#pragma once
// Station 8: Copy nodes between memory spaces. A value is copied at most once into a space, always
// from where it was made; constants are placed at load and need no node; values that a body
// captures are copied before entry.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/followed.h"
#include "runtime/memory_spaces.h"

namespace switchyard {

inline constexpr const char* kInternalDomain = "sy";
inline constexpr const char* kCopyOp = "Copy";

struct CopyPlan {
  // Where each value lives; absent: the host.
  std::unordered_map<const NodeArg*, int> space;
  // Copies whose only reader is the caller: skipped when an output is wanted on the device.
  std::unordered_set<const Node*> for_caller;
  struct Row {
    const Node* node;
    std::string value;
    int from, to;
  };
  std::vector<Row> copies;
  // Shape arithmetic: on the host whoever claimed it, and its inputs are not brought anywhere.
  std::unordered_set<const Node*> followed;

  int of(const NodeArg* value) const {
    const auto it = space.find(value);
    return it == space.end() ? kHostSpace : it->second;
  }
};

// Inserts the nodes into the graph and its bodies.
CopyPlan PlanCopies(Graph& graph, const Placement& placement, const MemorySpaces& spaces,
                    const InferenceRegistry& inference);

}  // namespace switchyard
