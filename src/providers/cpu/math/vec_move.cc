#include "providers/cpu/math/vec_move.h"

#include <cstring>

#include "providers/cpu/math/vec_transpose.h"

namespace switchyard::cpu::math {
namespace {

struct Pair {
  uint64_t a, b;
};

constexpr int64_t kRunBytes = 1 << 16;  // of a contiguous run per unit

bool KnownSize(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// Calls fn with a value of the unsigned type of that size.
template <class Fn>
void BySize(int bytes, const Fn& fn) {
  switch (bytes) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    case 8:
      return fn(uint64_t());
    default:
      return fn(Pair());
  }
}

struct Axis {
  int64_t dim, src, dst;
};

int64_t Magnitude(int64_t v) { return v < 0 ? -v : v; }

// Removes dims of 1, orders by falling destination stride and merges what is contiguous on both
// sides.
int Collapse(Axis* axes, int rank) {
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    if (axes[i].dim != 1) axes[kept++] = axes[i];
  }
  for (int i = 1; i < kept; ++i) {
    for (int j = i; j > 0 && Magnitude(axes[j - 1].dst) < Magnitude(axes[j].dst); --j) {
      const Axis t = axes[j];
      axes[j] = axes[j - 1];
      axes[j - 1] = t;
    }
  }
  int out = 0;
  for (int i = 0; i < kept; ++i) {
    if (out > 0) {
      Axis& outer = axes[out - 1];
      if (outer.src == axes[i].src * axes[i].dim && outer.dst == axes[i].dst * axes[i].dim) {
        outer = {outer.dim * axes[i].dim, axes[i].src, axes[i].dst};
        continue;
      }
    }
    axes[out++] = axes[i];
  }
  return out;
}

template <class T>
void StridedRun(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t n) {
  if (dst_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * src_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

template <class T>
void ShortRun(const T* src, T* dst, int64_t n) {
  if (n * static_cast<int64_t>(sizeof(T)) >= 64) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
  }
}

template <class T>
void Inner(const CopyPlan& p, IsaLevel level, const T* src, T* dst, int64_t chunk) {
  const int64_t at = chunk * p.chunk;
  const int64_t total = p.kind == CopyPlan::Kind::kTranspose ? p.m : p.n;
  const int64_t len = total - at < p.chunk ? total - at : p.chunk;
  switch (p.kind) {
    case CopyPlan::Kind::kRun:
      return ShortRun(src + at, dst + at, len);
    case CopyPlan::Kind::kFill: {
      const T v = *src;
      for (int64_t i = at; i < at + len; ++i) dst[i] = v;
      return;
    }
    case CopyPlan::Kind::kTranspose:
      return TransposeBlock(src + at, p.src_n, dst + at * p.dst_m, p.dst_m, p.n, len,
                            static_cast<int>(sizeof(T)), level);
    default:
      return StridedRun(src + at * p.src_n, p.src_n, dst + at * p.dst_n, p.dst_n, len);
  }
}

template <class T>
void RunTyped(const CopyPlan& p, IsaLevel level, const T* src, T* dst, int64_t begin, int64_t end) {
  int64_t pos[CopyPlan::kMaxRank] = {};
  int64_t rest = begin / p.chunks, chunk = begin % p.chunks;
  for (int i = p.rank - 1; i >= 0; --i) {
    pos[i] = rest % p.dims[i];
    rest /= p.dims[i];
    src += pos[i] * p.src_strides[i];
    dst += pos[i] * p.dst_strides[i];
  }
  for (int64_t u = begin; u < end; ++u) {
    Inner(p, level, src, dst, chunk);
    if (++chunk < p.chunks) continue;
    chunk = 0;
    for (int i = p.rank - 1; i >= 0; --i) {
      src += p.src_strides[i];
      dst += p.dst_strides[i];
      if (++pos[i] < p.dims[i]) break;
      src -= pos[i] * p.src_strides[i];
      dst -= pos[i] * p.dst_strides[i];
      pos[i] = 0;
    }
  }
}

}  // namespace

bool MakeCopyPlan(std::span<const int64_t> dims, std::span<const int64_t> src_strides,
                  std::span<const int64_t> dst_strides, int bytes, CopyPlan* plan) {
  *plan = CopyPlan();
  const int rank = static_cast<int>(dims.size());
  if (!KnownSize(bytes) || rank > CopyPlan::kMaxRank) return false;
  plan->bytes = bytes;
  Axis axes[CopyPlan::kMaxRank + 1];
  for (int i = 0; i < rank; ++i) {
    axes[i] = {dims[i], src_strides[i], dst_strides[i]};
    if (dims[i] == 0) return true;
  }
  int left = Collapse(axes, rank);
  if (left == 0) axes[left++] = {1, 1, 1};
  const Axis inner = axes[--left];
  plan->n = inner.dim, plan->src_n = inner.src, plan->dst_n = inner.dst;
  plan->kind = CopyPlan::Kind::kStrided;
  plan->chunk = kRunBytes / bytes;
  if (inner.dst == 1 && inner.src == 1) {
    plan->kind = CopyPlan::Kind::kRun;
  } else if (inner.dst == 1 && inner.src == 0) {
    plan->kind = CopyPlan::Kind::kFill;
  } else if (inner.dst == 1) {
    for (int i = left - 1; i >= 0; --i) {
      if (axes[i].src != 1) continue;
      plan->kind = CopyPlan::Kind::kTranspose;
      plan->m = axes[i].dim, plan->src_m = 1, plan->dst_m = axes[i].dst;
      plan->chunk = 64;
      for (int k = i; k + 1 < left; ++k) axes[k] = axes[k + 1];
      --left;
      break;
    }
  }
  const int64_t total = plan->kind == CopyPlan::Kind::kTranspose ? plan->m : plan->n;
  plan->chunks = (total + plan->chunk - 1) / plan->chunk;
  plan->rank = left;
  plan->units = plan->chunks;
  for (int i = 0; i < left; ++i) {
    plan->dims[i] = axes[i].dim;
    plan->src_strides[i] = axes[i].src;
    plan->dst_strides[i] = axes[i].dst;
    plan->units *= axes[i].dim;
  }
  return true;
}

bool MakeTransposePlan(std::span<const int64_t> in_dims, std::span<const int64_t> perm, int bytes,
                       CopyPlan* plan) {
  const int rank = static_cast<int>(in_dims.size());
  *plan = CopyPlan();
  if (rank > CopyPlan::kMaxRank || perm.size() != in_dims.size()) return false;
  int64_t in_strides[CopyPlan::kMaxRank], dims[CopyPlan::kMaxRank], src[CopyPlan::kMaxRank],
      dst[CopyPlan::kMaxRank];
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) in_strides[i] = stride, stride *= in_dims[i];
  stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (perm[i] < 0 || perm[i] >= rank) return false;
    dims[i] = in_dims[perm[i]];
    src[i] = in_strides[perm[i]];
    dst[i] = stride;
    stride *= dims[i];
  }
  const size_t count = static_cast<size_t>(rank);
  return MakeCopyPlan({dims, count}, {src, count}, {dst, count}, bytes, plan);
}

void RunCopy(const CopyPlan& plan, IsaLevel level, const void* src, void* dst, int64_t begin,
             int64_t end) {
  if (plan.kind == CopyPlan::Kind::kEmpty) return;
  BySize(plan.bytes, [&](auto zero) {
    using T = decltype(zero);
    RunTyped(plan, level, static_cast<const T*>(src), static_cast<T*>(dst), begin, end);
  });
}

template <class Index>
int64_t GatherRows(const void* src, void* dst, const Index* index, int64_t axis, int64_t count,
                   int64_t row_bytes, int64_t begin, int64_t end) {
  const char* s = static_cast<const char*>(src);
  char* d = static_cast<char*>(dst);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t i = r % count;
    int64_t at = static_cast<int64_t>(index[i]);
    if (at < 0) at += axis;
    if (at < 0 || at >= axis) return i;
    const char* from = s + ((r / count) * axis + at) * row_bytes;
    char* to = d + r * row_bytes;
    switch (row_bytes) {
      case 1:
        *to = *from;
        break;
      case 2:
        std::memcpy(to, from, 2);
        break;
      case 4:
        std::memcpy(to, from, 4);
        break;
      case 8:
        std::memcpy(to, from, 8);
        break;
      default:
        std::memcpy(to, from, static_cast<size_t>(row_bytes));
        break;
    }
  }
  return -1;
}

template int64_t GatherRows<int32_t>(const void*, void*, const int32_t*, int64_t, int64_t, int64_t,
                                     int64_t, int64_t);
template int64_t GatherRows<int64_t>(const void*, void*, const int64_t*, int64_t, int64_t, int64_t,
                                     int64_t, int64_t);

void FillElements(void* dst, const void* value, int bytes, int64_t n) {
  BySize(bytes, [&](auto zero) {
    using T = decltype(zero);
    T v;
    std::memcpy(&v, value, sizeof(T));
    T* d = static_cast<T*>(dst);
    for (int64_t i = 0; i < n; ++i) d[i] = v;
  });
}

bool MakePadPlan(PadMode mode, std::span<const int64_t> in_dims, std::span<const int64_t> before,
                 std::span<const int64_t> after, int bytes, PadPlan* plan) {
  *plan = PadPlan();
  const int rank = static_cast<int>(in_dims.size());
  if (!KnownSize(bytes) || rank > PadPlan::kMaxRank || before.size() != in_dims.size() ||
      after.size() != in_dims.size()) {
    return false;
  }
  plan->mode = mode;
  plan->bytes = bytes;
  plan->rank = rank > 0 ? rank : 1;
  if (rank == 0) plan->in_dims[0] = plan->out_dims[0] = plan->in_strides[0] = 1;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    plan->in_dims[i] = in_dims[i];
    plan->before[i] = before[i];
    plan->out_dims[i] = in_dims[i] + before[i] + after[i];
    plan->in_strides[i] = stride;
    stride *= in_dims[i];
    if (plan->out_dims[i] < 0) return false;
    if (mode != PadMode::kConstant && in_dims[i] == 0 && plan->out_dims[i] > 0) return false;
  }
  plan->rows = 1;
  for (int i = 0; i + 1 < plan->rank; ++i) plan->rows *= plan->out_dims[i];
  return true;
}

namespace {

// Input coordinate that output coordinate `at` (relative to the input's start) reads; -1: the
// constant.
int64_t PadSource(PadMode mode, int64_t at, int64_t dim) {
  if (at >= 0 && at < dim) return at;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return at < 0 ? 0 : dim - 1;
    case PadMode::kWrap: {
      const int64_t r = at % dim;
      return r < 0 ? r + dim : r;
    }
    case PadMode::kReflect: {
      if (dim == 1) return 0;
      const int64_t period = 2 * (dim - 1);
      int64_t r = at % period;
      if (r < 0) r += period;
      return r < dim ? r : period - r;
    }
  }
  return -1;
}

template <class T>
void PadRow(const PadPlan& p, const T* src, T value, T* dst) {
  const int last = p.rank - 1;
  const int64_t n = p.out_dims[last], dim = p.in_dims[last], before = p.before[last];
  int64_t i = 0;
  for (; i < n && i < before; ++i) {
    const int64_t s = PadSource(p.mode, i - before, dim);
    dst[i] = s < 0 ? value : src[s];
  }
  const int64_t stop = before + dim < n ? before + dim : n;
  if (stop > i) {
    std::memcpy(dst + i, src + (i - before), static_cast<size_t>(stop - i) * sizeof(T));
    i = stop;
  }
  for (; i < n; ++i) {
    const int64_t s = PadSource(p.mode, i - before, dim);
    dst[i] = s < 0 ? value : src[s];
  }
}

}  // namespace

void RunPad(const PadPlan& p, const void* src, const void* value, void* dst, int64_t begin,
            int64_t end) {
  BySize(p.bytes, [&](auto zero) {
    using T = decltype(zero);
    T v;
    std::memcpy(&v, value, sizeof(T));
    const int64_t width = p.out_dims[p.rank - 1];
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = 0;
      bool inside = true;
      for (int i = p.rank - 2; i >= 0; --i) {
        const int64_t s = PadSource(p.mode, rest % p.out_dims[i] - p.before[i], p.in_dims[i]);
        rest /= p.out_dims[i];
        inside = inside && s >= 0;
        offset += s * p.in_strides[i];
      }
      T* d = static_cast<T*>(dst) + row * width;
      if (inside) {
        PadRow(p, static_cast<const T*>(src) + offset, v, d);
      } else {
        for (int64_t i = 0; i < width; ++i) d[i] = v;
      }
    }
  });
}

}  // namespace switchyard::cpu::math
