// A collapsed loop nest over up to sixteen broadcast inputs and one dense output. Built once per
// shape binding; a caller may run any sub-range [begin, end) of the output's elements, so loops
// split freely over threads.
#pragma once

#include <cstdint>
#include <span>

namespace switchyard::cpu::math {

struct BroadcastPlan {
  static constexpr int kMaxRank = 12;
  static constexpr int kMaxInputs = 16;
  int rank = 0;  // after collapsing; at least 1
  int num_inputs = 0;
  int64_t size = 0;  // elements of the output
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxInputs][kMaxRank] = {};  // in elements; innermost is 0 or 1
};

// One input: dims aligned to the right of the output's; strides empty means dense.
struct BroadcastInput {
  std::span<const int64_t> dims;
  std::span<const int64_t> strides;
};

// False if a shape does not broadcast to `out`, if an innermost stride is neither 0 nor 1, or if
// more than kMaxRank dims remain after collapsing.
bool MakeBroadcastPlan(std::span<const int64_t> out, std::span<const BroadcastInput> inputs,
                       BroadcastPlan* plan);

// Walks a plan: position of each input at output element `index`.
class BroadcastCursor {
 public:
  BroadcastCursor(const BroadcastPlan& plan, int64_t index);
  int64_t offset(int input) const { return offsets_[input]; }
  // Elements left in the innermost run.
  int64_t run() const { return plan_.dims[plan_.rank - 1] - pos_[plan_.rank - 1]; }
  void Advance(int64_t n);  // n <= run()

 private:
  const BroadcastPlan& plan_;
  int64_t pos_[BroadcastPlan::kMaxRank] = {};
  int64_t offsets_[BroadcastPlan::kMaxInputs] = {};
};

// Copies elements [begin, end) of input `input` as the output sees them to `dst`, densely. `bytes`
// is 1, 2, 4, 8 or 16. This is Expand, and how short innermost runs are made long.
void ExpandRange(const BroadcastPlan& plan, int input, const void* src, void* dst, int bytes,
                 int64_t begin, int64_t end);

}  // namespace switchyard::cpu::math
