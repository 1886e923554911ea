#pragma once
// What a session runs: flat steps over integers. Immutable once built; shared by all Runs.
// A block is the main graph or one body; values of all blocks are numbered in one table, so a
// captured value simply is the outer one's number.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/constant_store.h"
#include "runtime/copies.h"
#include "runtime/partition.h"
#include "switchyard/ir/inference.h"

namespace switchyard {

using PlanValueId = std::uint32_t;
inline constexpr PlanValueId kAbsent = static_cast<PlanValueId>(-1);
inline constexpr std::int32_t kForever = INT32_MAX;  // as a step: after all of the block

enum class StepKind : std::uint8_t { kKernel, kCopy, kIf, kLoop, kScan };

struct PlanValue {
  const NodeArg* arg = nullptr;  // its NodeArg in the block that makes it
  int space = kHostSpace;
  std::int32_t block = 0;
  std::int32_t producer = -1;  // step, -1: input, constant, or followed only
  bool is_tensor = false;      // of a fixed element size: planned memory
  bool is_constant = false;
  bool is_block_input = false;
  bool is_block_output = false;     // its memory is given by whoever runs the block
  bool is_static = false;           // concrete dims known at load
  bool read_on_host = false;        // main inputs: by a step other than a Copy
  bool is_followed = false;         // made by inference, not by a step
  bool is_captured = false;         // read inside a body or copied: lives to the end of its block
  std::int32_t output_index = -1;   // of its block, the first if several
  std::int32_t caller_output = -1;  // main output whose copy for the caller reads it
  PlanValueId root = kAbsent;       // views: the value whose memory it shows
  std::int32_t last_use = -1;       // step of its block, views of it included
  // Of values that own memory, for parts (PrepareContext::OutputIsPart and InputIsPart), which
  // share memory or not as the shapes are:
  PlanValueId part_of = kAbsent;      // may become a view of a part of this owner's memory
  bool may_move = false;              // may be written into the output of a step that reads it
  std::int32_t reach = -1;            // last_use with all that may become its parts
  std::int32_t last_write = -1;       // step that makes it, or writes it in place
  std::int32_t rewritten = kForever;  // first step that writes it in place
};

struct Step {
  StepKind kind = StepKind::kKernel;
  bool is_static = false;                        // all dims known at load: bound once
  bool for_caller = false;                       // a Copy that only the caller reads
  bool has_heap_outputs = false;                 // strings
  bool part_views = false, part_inputs = false;  // as in KernelCreateInfo
  std::int32_t provider = -1;
  const Node* node = nullptr;
  const OpKernel* kernel = nullptr;
  InferenceFn infer = nullptr;
  std::uint32_t inputs = 0, num_inputs = 0;  // into Plan::arguments
  std::uint32_t outputs = 0, num_outputs = 0;
  std::uint32_t packed = 0;       // into Plan::packed
  std::uint32_t state = 0;        // offset of its POD state
  std::int32_t in_place_of = -1;  // input whose memory an output takes over
  std::vector<std::pair<PlanValueId, PlanValueId>> views;  // output, the input it shows
  std::vector<std::int32_t> bodies;                        // blocks
};

// A node that only computes followed integers: run by inference at binding.
struct FollowedNode {
  const Node* node = nullptr;
  InferenceFn infer = nullptr;
  std::uint32_t inputs = 0, num_inputs = 0;
  std::uint32_t outputs = 0, num_outputs = 0;
};

// In execution order: a step, or a followed node.
struct BlockItem {
  bool is_step = true;
  std::uint32_t index = 0;
};

// How output memory comes about: the main graph's is the caller's or a pool's, a loop body's is the
// executor's, a branch's is part of its own arena.
enum class BlockKind : std::uint8_t { kMain, kBranch, kLoopBody };

struct Block {
  const Graph* graph = nullptr;
  BlockKind kind = BlockKind::kMain;
  std::int32_t parent = -1;
  std::vector<BlockItem> items;
  std::uint32_t first_step = 0, end_step = 0;
  std::vector<PlanValueId> inputs, outputs, captured;
};

struct Plan {
  std::unique_ptr<Graph> graph;  // kept for names, attributes and types
  std::vector<Block> blocks;     // 0 is the main graph
  std::vector<Step> steps;
  std::vector<FollowedNode> followed;
  std::vector<PlanValue> values;
  std::vector<PlanValueId> arguments;
  std::vector<const std::byte*> packed;
  std::vector<std::pair<PlanValueId, const Tensor*>> constants;
  std::vector<std::pair<PlanValueId, const Tensor*>>
      defaults;  // of main inputs that need not be fed
  std::vector<std::unique_ptr<OpKernel>> kernels;
  std::vector<std::shared_ptr<FusedGroup>> fused;
  std::uint32_t state_bytes = 0;
  std::vector<int> stream_spaces;  // providers that offer a stream
};

struct PlanOptions {
  const ExecutionProviders& providers;
  const MemorySpaces& spaces;
  const InferenceRegistry& inference;
  ThreadTeam& team;
  bool reuse_memory = true;  // in place and views
};

// Creates kernels, places constants, packs weights. Takes the graph.
std::unique_ptr<Plan> BuildPlan(std::unique_ptr<Graph> graph, const Placement& placement,
                                const CopyPlan& copies, ConstantStore& constants,
                                const PlanOptions& options);

}  // namespace switchyard
