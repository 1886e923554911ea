// Data movement by element size (1, 2, 4, 8 or 16 bytes): N-dimensional strided copies (transpose,
// slice with any steps, tile, expand, concat, split, depth-to-space are all this), gathers and
// padding. Pure functions over raw pointers, nothing is allocated. Work is counted in units that
// callers may split freely over threads.
#pragma once

#include <cstdint>
#include <span>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

struct CopyPlan {
  static constexpr int kMaxRank = 16;
  enum class Kind : int { kEmpty, kRun, kFill, kTranspose, kStrided };
  Kind kind = Kind::kEmpty;
  int bytes = 0;
  int rank = 0;  // outer dims
  int64_t dims[kMaxRank] = {}, src_strides[kMaxRank] = {}, dst_strides[kMaxRank] = {};
  // The inner loop: n elements; for kTranspose n x m with src unit stride along m and dst along n.
  int64_t n = 1, m = 1, src_n = 1, dst_n = 1, src_m = 0, dst_m = 0;
  int64_t chunk = 1;  // of n (or m for kTranspose) per unit
  int64_t chunks = 1;
  int64_t units = 0;
};

// dst[sum i_k * dst_strides[k]] = src[sum i_k * src_strides[k]] over all indices below dims;
// strides in elements, of any sign, source strides may be 0. Destination elements must not overlap.
// False if bytes or the rank is not supported.
bool MakeCopyPlan(std::span<const int64_t> dims, std::span<const int64_t> src_strides,
                  std::span<const int64_t> dst_strides, int bytes, CopyPlan* plan);

// Dense transpose: output dim k is input dim perm[k].
bool MakeTransposePlan(std::span<const int64_t> in_dims, std::span<const int64_t> perm, int bytes,
                       CopyPlan* plan);

// Units [begin, end) of plan.units.
void RunCopy(const CopyPlan& plan, IsaLevel level, const void* src, void* dst, int64_t begin,
             int64_t end);

// dst[o][i] = src[o][index[i]] for rows of row_bytes: src is [outer, axis, row], dst [outer, count,
// row]. Negative indices count from the end. Output rows [begin, end) of outer * count. Returns -1,
// or the position of the first index out of range, having copied the rows before it.
template <class Index>
int64_t GatherRows(const void* src, void* dst, const Index* index, int64_t axis, int64_t count,
                   int64_t row_bytes, int64_t begin, int64_t end);

enum class PadMode : int { kConstant, kReflect, kEdge, kWrap };

// Dense padding; negative pads crop. Output dims are in + before + after. Reflect needs in > 1
// where it pads.
struct PadPlan {
  static constexpr int kMaxRank = 12;
  PadMode mode = PadMode::kConstant;
  int rank = 0, bytes = 0;
  int64_t in_dims[kMaxRank] = {}, out_dims[kMaxRank] = {}, before[kMaxRank] = {};
  int64_t in_strides[kMaxRank] = {};
  int64_t rows = 0;  // runs of the innermost output dim
};
// Fails where a rank, element size or output dim is not possible, or a mode other than constant
// reads an empty dim.
bool MakePadPlan(PadMode mode, std::span<const int64_t> in_dims, std::span<const int64_t> before,
                 std::span<const int64_t> after, int bytes, PadPlan* plan);
// Output rows [begin, end); `value` is one element.
void RunPad(const PadPlan& plan, const void* src, const void* value, void* dst, int64_t begin,
            int64_t end);

void FillElements(void* dst, const void* value, int bytes, int64_t n);

}  // namespace switchyard::cpu::math
