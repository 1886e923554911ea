#pragma once
// What the last Run of a RunState shows of memory and kernels, for explain. Read while nobody runs.

#include <string>
#include <utility>

#include "runtime/run_state.h"

namespace switchyard {

struct ArenaUse {
  struct Row {
    // Of the value; of all that lie in this memory, the largest first, where some are parts of
    // another. Of the node for scratch.
    std::string name;
    bool scratch = false;
    std::uint64_t offset = 0, bytes = 0;
    std::int32_t first = 0, last = 0;  // steps, counted from the first of the block
  };
  const Graph* graph = nullptr;
  int segment = 0;
  int space = 0;
  std::uint64_t bytes = 0;
  std::vector<Row> rows;  // by first step
};

// Of the frame used last; nothing before the first Run.
std::vector<ArenaUse> ReportArenas(const Plan& plan, const RunState& state);

// What kernels chose for the shapes of that frame, where they say.
std::vector<std::pair<const Node*, std::string>> ReportVariants(const Plan& plan,
                                                                const RunState& state);

}  // namespace switchyard
