#include "providers/cpu/math/vec_broadcast.h"

#include <cstring>

namespace switchyard::cpu::math {
namespace {

struct Pair {
  uint64_t a, b;
};

template <class T>
void ExpandTyped(const BroadcastPlan& plan, int input, const T* src, T* dst, int64_t begin,
                 int64_t end) {
  BroadcastCursor cursor(plan, begin);
  const bool scalar = plan.strides[input][plan.rank - 1] == 0;
  while (begin < end) {
    const int64_t n = cursor.run() < end - begin ? cursor.run() : end - begin;
    const T* s = src + cursor.offset(input);
    if (scalar) {
      const T v = *s;
      for (int64_t i = 0; i < n; ++i) dst[i] = v;
    } else if (n < 32) {
      for (int64_t i = 0; i < n; ++i) dst[i] = s[i];
    } else {
      std::memcpy(dst, s, static_cast<size_t>(n) * sizeof(T));
    }
    dst += n;
    begin += n;
    cursor.Advance(n);
  }
}

}  // namespace

bool MakeBroadcastPlan(std::span<const int64_t> out, std::span<const BroadcastInput> inputs,
                       BroadcastPlan* plan) {
  *plan = BroadcastPlan();
  const int count = static_cast<int>(inputs.size());
  if (count > BroadcastPlan::kMaxInputs) return false;
  plan->num_inputs = count;
  plan->size = 1;
  for (int64_t d : out) plan->size *= d;

  // Built from the innermost dim outwards, reversed at the end.
  int64_t dims[BroadcastPlan::kMaxRank];
  int64_t strides[BroadcastPlan::kMaxInputs][BroadcastPlan::kMaxRank];
  int rank = 0;
  int64_t dense[BroadcastPlan::kMaxInputs];
  for (int64_t& d : dense) d = 1;
  for (int k = 0; k < count; ++k) {
    if (inputs[k].dims.size() > out.size()) return false;
  }
  for (size_t back = 0; back < out.size(); ++back) {
    const int64_t dim = out[out.size() - 1 - back];
    int64_t stride[BroadcastPlan::kMaxInputs] = {};
    for (int k = 0; k < count; ++k) {
      const auto& in = inputs[k];
      if (back >= in.dims.size()) continue;
      const size_t at = in.dims.size() - 1 - back;
      const int64_t own = in.dims[at];
      if (own != 1 && own != dim) return false;
      if (own != 1) stride[k] = in.strides.empty() ? dense[k] : in.strides[at];
      dense[k] *= own;
    }
    if (dim == 1) continue;
    bool merge = rank > 0;
    for (int k = 0; k < count && merge; ++k) {
      merge = stride[k] == strides[k][rank - 1] * dims[rank - 1];
    }
    if (merge) {
      dims[rank - 1] *= dim;
      continue;
    }
    if (rank == BroadcastPlan::kMaxRank) return false;
    dims[rank] = dim;
    for (int k = 0; k < count; ++k) strides[k][rank] = stride[k];
    ++rank;
  }
  if (rank == 0) {
    dims[0] = 1;
    for (int k = 0; k < count; ++k) strides[k][0] = 1;
    rank = 1;
  }
  for (int k = 0; k < count; ++k) {
    if (strides[k][0] != 0 && strides[k][0] != 1) return false;
  }
  plan->rank = rank;
  for (int i = 0; i < rank; ++i) {
    plan->dims[i] = dims[rank - 1 - i];
    for (int k = 0; k < count; ++k) plan->strides[k][i] = strides[k][rank - 1 - i];
  }
  return true;
}

BroadcastCursor::BroadcastCursor(const BroadcastPlan& plan, int64_t index) : plan_(plan) {
  if (plan.size == 0) return;
  for (int i = plan.rank - 1; i >= 0; --i) {
    pos_[i] = index % plan.dims[i];
    index /= plan.dims[i];
    for (int k = 0; k < plan.num_inputs; ++k) offsets_[k] += pos_[i] * plan.strides[k][i];
  }
}

void BroadcastCursor::Advance(int64_t n) {
  int i = plan_.rank - 1;
  pos_[i] += n;
  for (int k = 0; k < plan_.num_inputs; ++k) offsets_[k] += n * plan_.strides[k][i];
  while (i > 0 && pos_[i] == plan_.dims[i]) {
    for (int k = 0; k < plan_.num_inputs; ++k) {
      offsets_[k] += plan_.strides[k][i - 1] - plan_.dims[i] * plan_.strides[k][i];
    }
    pos_[i] = 0;
    ++pos_[--i];
  }
}

void ExpandRange(const BroadcastPlan& plan, int input, const void* src, void* dst, int bytes,
                 int64_t begin, int64_t end) {
  switch (bytes) {
    case 1:
      return ExpandTyped(plan, input, static_cast<const uint8_t*>(src), static_cast<uint8_t*>(dst),
                         begin, end);
    case 2:
      return ExpandTyped(plan, input, static_cast<const uint16_t*>(src),
                         static_cast<uint16_t*>(dst), begin, end);
    case 4:
      return ExpandTyped(plan, input, static_cast<const uint32_t*>(src),
                         static_cast<uint32_t*>(dst), begin, end);
    case 8:
      return ExpandTyped(plan, input, static_cast<const uint64_t*>(src),
                         static_cast<uint64_t*>(dst), begin, end);
    case 16:
      return ExpandTyped(plan, input, static_cast<const Pair*>(src), static_cast<Pair*>(dst), begin,
                         end);
    default:
      return;
  }
}

}  // namespace switchyard::cpu::math
