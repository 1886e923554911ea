#pragma once
// Binds a segment of a block to exact shapes: infers them, lets kernels prepare, plans memory and
// points the values at it. Nothing is allocated when the frame has seen as much before.

#include "runtime/run_state.h"

namespace switchyard {

struct BindEnvironment {
  const Plan& plan;
  const MemorySpaces& spaces;
  ThreadTeam& team;
  RunCounters& counters;
};

// A frame with constants in place and nothing bound.
std::unique_ptr<Frame> MakeFrame(const Plan& plan, const AllocatorPtr& host);

// Dims of the block's inputs as they are in the frame, for comparison.
void BlockKey(const Plan& plan, const Frame& frame, const Block& block,
              std::vector<std::int64_t>* key);

// The inputs of a block have other shapes than before: forget its segments.
void StartBlock(const BindEnvironment& env, RunState& state, Frame& frame, std::int32_t block);

// Binds the segment that starts at `first_item` as the block's segment number `ordinal`.
void BindSegment(const BindEnvironment& env, RunState& state, Frame& frame, std::int32_t block,
                 std::size_t ordinal, std::uint32_t first_item);

// Whether segment `ordinal` may run as it is bound: same entry shapes, same contents read.
bool SegmentHolds(const Plan& plan, const Frame& frame, std::int32_t block, std::size_t ordinal,
                  std::uint32_t first_item);
// Points the values of a bound segment at the arena again, which another frame has moved.
void PlaceSegment(const Plan& plan, const MemorySpaces& spaces, RunState& state, Frame& frame,
                  std::int32_t block, std::size_t ordinal);

}  // namespace switchyard
