// Reductions over any set of axes, arg-reductions and cumulative sums. Pure functions over raw
// pointers, nothing is allocated. Sums run in fixed chunks whose borders depend on the shape alone,
// so results depend neither on how outputs are split over threads nor on their number.
#pragma once

#include <cstdint>
#include <span>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

enum class ReduceOp : int {
  kSum,
  kMean,
  kProd,
  kMin,  // NaN if any element is
  kMax,
  kSumSquare,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,  // stable
};

// A dense input collapsed into alternating kept and reduced dims.
struct ReducePlan {
  static constexpr int kMaxRank = 8;
  int kept_rank = 0;
  int red_rank = 0;
  int64_t kept_dims[kMaxRank] = {}, kept_strides[kMaxRank] = {};
  int64_t red_dims[kMaxRank] = {}, red_strides[kMaxRank] = {};
  bool inner_reduced =
      false;        // the innermost run of `run` elements is reduced; otherwise it is kept
  int64_t run = 1;  // excluded from the dims above
  int64_t out_size = 1;
  int64_t count = 1;  // input elements per output
  int64_t parts = 1;  // fixed by the shape: how many parts a reduction of few outputs is cut into
};

// reduced[i] tells whether dim i is reduced. False if too many dims alternate.
bool MakeReducePlan(std::span<const int64_t> dims, std::span<const bool> reduced, ReducePlan* plan);

struct ReduceKernel {
  ReduceOp op = ReduceOp::kSum;
  ElemType type = ElemType::kFloat;
  IsaLevel level = IsaLevel::kBaseline;
  bool valid = false;
};

// Float, double, float16, bfloat16 and all integers; integer means truncate, integer logs and roots
// are taken in double.
ReduceKernel GetReduce(ReduceOp op, ElemType type, IsaLevel level);

// Outputs [begin, end).
void RunReduce(const ReduceKernel& kernel, const ReducePlan& plan, const void* in, void* out,
               int64_t begin, int64_t end);

// The same cut into plan.parts parts, so that few outputs can use many threads: each part writes
// its partial results of all outputs to acc[part * out_size ...] (8 bytes each), then FinishReduce
// combines them in order. Equal to RunReduce bit by bit.
void RunReducePart(const ReduceKernel& kernel, const ReducePlan& plan, const void* in, int64_t part,
                   void* acc);
void FinishReduce(const ReduceKernel& kernel, const ReducePlan& plan, const void* acc, void* out);

// Index (int64) of the largest or smallest element along one axis of [outer, axis, inner]; the
// first NaN wins. Outputs [begin, end) of outer * inner.
void RunArgReduce(bool largest, bool select_last, ElemType type, IsaLevel level, const void* in,
                  int64_t* out, int64_t axis, int64_t inner, int64_t begin, int64_t end);

// Running sum along an axis of [outer, axis, inner] for outer slices [begin, end); out is another
// buffer than in. Float, double, int32, int64, uint32, uint64, float16 and bfloat16 (summed in
// float). False if the type has none.
bool RunCumSum(ElemType type, bool exclusive, bool reverse, const void* in, void* out, int64_t axis,
               int64_t inner, int64_t begin, int64_t end);
bool RunCumProd(ElemType type, bool exclusive, bool reverse, const void* in, void* out,
                int64_t axis, int64_t inner, int64_t begin, int64_t end);

}  // namespace switchyard::cpu::math
