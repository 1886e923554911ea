#include "providers/cpu/math/vec_reduce.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_reduce_core.h"

namespace switchyard::cpu::math {
namespace {

constexpr int64_t kChunk = 1024;   // elements folded in one go along a row
constexpr int64_t kColumns = 256;  // outputs folded side by side
constexpr int64_t kPartial = 64;   // positions folded in T before they join the wide accumulator
constexpr uint64_t kSignBit = 1ULL << 63;

// What partial results are kept in; both are 8 bytes.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

int64_t OffsetOf(const int64_t* dims, const int64_t* strides, int rank, int64_t index) {
  int64_t offset = 0;
  for (int i = rank - 1; i > 0; --i) {
    offset += (index % dims[i]) * strides[i];
    index /= dims[i];
  }
  return rank > 0 ? offset + index * strides[0] : 0;
}

int64_t Positions(const ReducePlan& p) {
  int64_t n = 1;
  for (int i = 0; i < p.red_rank; ++i) n *= p.red_dims[i];
  return n;
}

int64_t ChunksPerRun(const ReducePlan& p) {
  return p.inner_reduced ? (p.run + kChunk - 1) / kChunk : 1;
}

Fold FoldOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProd:
      return Fold::kProd;
    case ReduceOp::kMin:
      return Fold::kMin;
    case ReduceOp::kMax:
      return Fold::kMax;
    case ReduceOp::kSumSquare:
    case ReduceOp::kL2:
      return Fold::kSumSquare;
    case ReduceOp::kL1:
      return Fold::kSumAbs;
    case ReduceOp::kLogSumExp:
      return Fold::kSumExp;
    default:
      return Fold::kSum;
  }
}

template <class W>
W Neutral(Fold f) {
  if (f == Fold::kProd) return W(1);
  if constexpr (std::is_floating_point_v<W>) {
    if (f == Fold::kMin) return HUGE_VAL;
    if (f == Fold::kMax) return -HUGE_VAL;
  } else {
    if (f == Fold::kMin) return INT64_MAX;
    if (f == Fold::kMax) return INT64_MIN;
  }
  return W(0);
}

template <class W>
W Join(Fold f, W a, W b) {
  if (f == Fold::kMin || f == Fold::kMax) {
    const bool take = f == Fold::kMin ? b < a : b > a;
    return a != a ? a : (take || b != b) ? b : a;
  }
  if constexpr (std::is_floating_point_v<W>) {
    return f == Fold::kProd ? a * b : a + b;
  } else {
    const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    return static_cast<W>(f == Fold::kProd ? ua * ub : ua + ub);
  }
}

// Everything that a fold needs besides the outputs it works on.
template <class T>
struct Job {
  const ReducePlan& plan;
  const char* in;
  int in_bytes;
  ConvertFn load;  // null: in holds T
  bool flip_sign;  // uint64 compared as int64
  RowFold<T> row;
  ColumnFold<T> column;
  Fold fold;

  const T* Fetch(int64_t offset, int64_t n, T* buffer) const {
    const char* p = in + offset * in_bytes;
    if (load != nullptr) {
      load(p, buffer, n);
      return buffer;
    }
    if constexpr (std::is_integral_v<T>) {
      if (flip_sign) {
        const uint64_t* s = reinterpret_cast<const uint64_t*>(p);
        for (int64_t i = 0; i < n; ++i) buffer[i] = static_cast<T>(s[i] ^ kSignBit);
        return buffer;
      }
    }
    return reinterpret_cast<const T*>(p);
  }
};

// Units [u0, u1) of one output whose innermost run is reduced.
template <class T>
Wide<T> FoldRow(const Job<T>& job, int64_t out, int64_t u0, int64_t u1, T shift) {
  const ReducePlan& p = job.plan;
  alignas(64) T buffer[kChunk];
  const int64_t base = OffsetOf(p.kept_dims, p.kept_strides, p.kept_rank, out);
  const int64_t chunks = ChunksPerRun(p);
  Wide<T> acc = Neutral<Wide<T>>(job.fold);
  for (int64_t u = u0; u < u1; ++u) {
    const int64_t pos = chunks == 1 ? u : u / chunks;
    const int64_t at = chunks == 1 ? 0 : (u % chunks) * kChunk;
    const int64_t n = p.run - at < kChunk ? p.run - at : kChunk;
    const int64_t offset = base + OffsetOf(p.red_dims, p.red_strides, p.red_rank, pos) + at;
    const T part = job.row(job.Fetch(offset, n, buffer), n, shift);
    acc = Join<Wide<T>>(job.fold, acc, part);
  }
  return acc;
}

// Positions [u0, u1) of n <= kColumns neighbouring outputs whose innermost run is kept.
template <class T>
void FoldColumns(const Job<T>& job, int64_t out, int64_t n, int64_t u0, int64_t u1, const T* shift,
                 Wide<T>* acc) {
  const ReducePlan& p = job.plan;
  alignas(64) T buffer[kColumns], part[kColumns];
  const int64_t base =
      OffsetOf(p.kept_dims, p.kept_strides, p.kept_rank, out / p.run) + out % p.run;
  for (int64_t i = 0; i < n; ++i) acc[i] = Neutral<Wide<T>>(job.fold);
  for (int64_t u = u0; u < u1;) {
    const int64_t stop = u + kPartial < u1 ? u + kPartial : u1;
    for (int64_t i = 0; i < n; ++i) part[i] = static_cast<T>(Neutral<Wide<T>>(job.fold));
    for (; u < stop; ++u) {
      const int64_t offset = base + OffsetOf(p.red_dims, p.red_strides, p.red_rank, u);
      job.column(part, job.Fetch(offset, n, buffer), shift, n);
    }
    for (int64_t i = 0; i < n; ++i) acc[i] = Join<Wide<T>>(job.fold, acc[i], part[i]);
  }
}

// Outputs [begin, begin + n) with n <= kColumns, units [u0, u1); outputs may cross runs.
template <class T>
void FoldOutputs(const Job<T>& job, int64_t begin, int64_t n, int64_t u0, int64_t u1,
                 const T* shift, Wide<T>* acc) {
  if (job.plan.inner_reduced) {
    for (int64_t i = 0; i < n; ++i) {
      acc[i] = FoldRow(job, begin + i, u0, u1, shift == nullptr ? T(0) : shift[i]);
    }
    return;
  }
  for (int64_t i = 0; i < n;) {
    const int64_t left = job.plan.run - (begin + i) % job.plan.run;
    const int64_t len = left < n - i ? left : n - i;
    FoldColumns(job, begin + i, len, u0, u1, shift == nullptr ? nullptr : shift + i, acc + i);
    i += len;
  }
}

int64_t UnitsOf(const ReducePlan& p) { return Positions(p) * ChunksPerRun(p); }

template <class T>
void FoldPart(const Job<T>& job, int64_t begin, int64_t n, int64_t part, Wide<T>* acc) {
  const int64_t units = UnitsOf(job.plan), parts = job.plan.parts;
  FoldOutputs<T>(job, begin, n, units * part / parts, units * (part + 1) / parts, nullptr, acc);
}

// log(sum(exp(x))) of n outputs.
template <class T>
void LogSumExp(Job<T> job, IsaLevel level, int64_t begin, int64_t n, double* acc) {
  T shift[kColumns];
  Job<T> top = job;
  top.fold = Fold::kMax;
  if constexpr (std::is_same_v<T, float>) {
    top.row = FloatRowFold(Fold::kMax, level);
    top.column = FloatColumnFold(Fold::kMax, level);
  } else {
    top.row = DoubleRowFold(Fold::kMax, level);
    top.column = DoubleColumnFold(Fold::kMax, level);
  }
  const int64_t units = UnitsOf(job.plan);
  FoldOutputs<T>(top, begin, n, 0, units, nullptr, acc);
  for (int64_t i = 0; i < n; ++i) shift[i] = std::isfinite(acc[i]) ? static_cast<T>(acc[i]) : T(0);
  FoldOutputs<T>(job, begin, n, 0, units, shift, acc);
  for (int64_t i = 0; i < n; ++i) acc[i] = std::log(acc[i]) + static_cast<double>(shift[i]);
}

enum class Canon { kFloat, kDouble, kInt };

Canon CanonOf(ReduceOp op, ElemType t) {
  switch (t) {
    case ElemType::kFloat:
    case ElemType::kFloat16:
    case ElemType::kBfloat16:
      return Canon::kFloat;
    case ElemType::kDouble:
      return Canon::kDouble;
    default:
      return op == ReduceOp::kL2 || op == ReduceOp::kLogSum || op == ReduceOp::kLogSumExp
                 ? Canon::kDouble
                 : Canon::kInt;
  }
}

template <class T>
constexpr ElemType kCanonType = std::is_same_v<T, float>    ? ElemType::kFloat
                                : std::is_same_v<T, double> ? ElemType::kDouble
                                                            : ElemType::kInt64;

bool FlipsSign(const ReduceKernel& k) {
  return k.type == ElemType::kUint64 && (k.op == ReduceOp::kMin || k.op == ReduceOp::kMax);
}

template <class T>
Job<T> MakeJob(const ReduceKernel& k, const ReducePlan& plan, const void* in) {
  const Fold fold = FoldOf(k.op);
  Job<T> job{
      plan, static_cast<const char*>(in), BytesOf(k.type), nullptr, FlipsSign(k), nullptr, nullptr,
      fold};
  const bool raw =
      k.type == kCanonType<T> || (std::is_integral_v<T> && k.type == ElemType::kUint64);
  if (!raw) job.load = GetCast(k.type, kCanonType<T>, k.level).load;
  if constexpr (std::is_same_v<T, float>) {
    job.row = FloatRowFold(fold, k.level);
    job.column = FloatColumnFold(fold, k.level);
  } else if constexpr (std::is_same_v<T, double>) {
    job.row = DoubleRowFold(fold, k.level);
    job.column = DoubleColumnFold(fold, k.level);
  } else {
    job.row = Int64RowFold(fold, k.level);
    job.column = Int64ColumnFold(fold, k.level);
  }
  return job;
}

template <class W>
void Finish(const ReduceKernel& k, const ReducePlan& plan, W* acc, int64_t n, void* out) {
  if constexpr (std::is_floating_point_v<W>) {
    for (int64_t i = 0; i < n; ++i) {
      if (k.op == ReduceOp::kMean) acc[i] /= static_cast<double>(plan.count);
      if (k.op == ReduceOp::kL2) acc[i] = std::sqrt(acc[i]);
      if (k.op == ReduceOp::kLogSum) acc[i] = std::log(acc[i]);
    }
    RunCast(GetCast(ElemType::kDouble, k.type, k.level), acc, out, 0, n);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      if (k.op == ReduceOp::kMean && plan.count != 0) {
        acc[i] =
            k.type == ElemType::kUint64
                ? static_cast<W>(static_cast<uint64_t>(acc[i]) / static_cast<uint64_t>(plan.count))
                : acc[i] / plan.count;
      }
      if (FlipsSign(k)) acc[i] = static_cast<W>(static_cast<uint64_t>(acc[i]) ^ kSignBit);
    }
    RunCast(GetCast(ElemType::kInt64, k.type, k.level), acc, out, 0, n);
  }
}

template <class T>
void RunTyped(const ReduceKernel& k, const ReducePlan& plan, const void* in, void* out,
              int64_t begin, int64_t end) {
  const Job<T> job = MakeJob<T>(k, plan, in);
  Wide<T> acc[kColumns], more[kColumns];
  for (; begin < end; begin += kColumns) {
    const int64_t n = end - begin < kColumns ? end - begin : kColumns;
    if constexpr (std::is_floating_point_v<T>) {
      if (k.op == ReduceOp::kLogSumExp) {
        LogSumExp<T>(job, k.level, begin, n, acc);
        Finish(k, plan, acc, n, static_cast<char*>(out) + begin * BytesOf(k.type));
        continue;
      }
    }
    FoldPart<T>(job, begin, n, 0, acc);
    for (int64_t part = 1; part < plan.parts; ++part) {
      FoldPart<T>(job, begin, n, part, more);
      for (int64_t i = 0; i < n; ++i) acc[i] = Join<Wide<T>>(job.fold, acc[i], more[i]);
    }
    Finish(k, plan, acc, n, static_cast<char*>(out) + begin * BytesOf(k.type));
  }
}

template <class T>
void PartTyped(const ReduceKernel& k, const ReducePlan& plan, const void* in, int64_t part,
               void* acc) {
  const Job<T> job = MakeJob<T>(k, plan, in);
  Wide<T>* mine = static_cast<Wide<T>*>(acc) + part * plan.out_size;
  for (int64_t at = 0; at < plan.out_size; at += kColumns) {
    const int64_t n = plan.out_size - at < kColumns ? plan.out_size - at : kColumns;
    if constexpr (std::is_floating_point_v<T>) {
      if (k.op == ReduceOp::kLogSumExp) {
        if (part == 0) LogSumExp<T>(job, k.level, at, n, mine + at);
        continue;
      }
    }
    FoldPart<T>(job, at, n, part, mine + at);
  }
}

template <class W>
void FinishTyped(const ReduceKernel& k, const ReducePlan& plan, const void* acc, void* out) {
  const W* all = static_cast<const W*>(acc);
  const int64_t parts = k.op == ReduceOp::kLogSumExp ? 1 : plan.parts;
  W sum[kColumns];
  for (int64_t at = 0; at < plan.out_size; at += kColumns) {
    const int64_t n = plan.out_size - at < kColumns ? plan.out_size - at : kColumns;
    for (int64_t i = 0; i < n; ++i) sum[i] = all[at + i];
    for (int64_t part = 1; part < parts; ++part) {
      const W* more = all + part * plan.out_size + at;
      for (int64_t i = 0; i < n; ++i) sum[i] = Join<W>(FoldOf(k.op), sum[i], more[i]);
    }
    Finish(k, plan, sum, n, static_cast<char*>(out) + at * BytesOf(k.type));
  }
}

}  // namespace

bool MakeReducePlan(std::span<const int64_t> dims, std::span<const bool> reduced,
                    ReducePlan* plan) {
  *plan = ReducePlan();
  constexpr int kMax = 2 * ReducePlan::kMaxRank;
  int64_t d[kMax], s[kMax];
  bool r[kMax];
  int rank = 0;
  int64_t stride = 1;
  // From the innermost dim outwards.
  for (size_t back = 0; back < dims.size(); ++back) {
    const size_t i = dims.size() - 1 - back;
    if (reduced[i]) {
      plan->count *= dims[i];
    } else {
      plan->out_size *= dims[i];
    }
    if (dims[i] != 1) {
      if (rank > 0 && r[rank - 1] == reduced[i]) {
        d[rank - 1] *= dims[i];
      } else {
        if (rank == kMax) return false;
        d[rank] = dims[i], s[rank] = stride, r[rank] = reduced[i];
        ++rank;
      }
    }
    stride *= dims[i];
  }
  if (plan->count == 0) {  // every output is the neutral element
    plan->inner_reduced = false;
    plan->run = plan->out_size > 0 ? plan->out_size : 1;
    plan->red_rank = 1;
    plan->red_dims[0] = 0;
    return true;
  }
  if (rank > 0) {
    plan->inner_reduced = r[0];
    plan->run = d[0];
  }
  for (int i = rank - 1; i >= 1; --i) {
    int& n = r[i] ? plan->red_rank : plan->kept_rank;
    if (n == ReducePlan::kMaxRank) return false;
    (r[i] ? plan->red_dims : plan->kept_dims)[n] = d[i];
    (r[i] ? plan->red_strides : plan->kept_strides)[n] = s[i];
    ++n;
  }
  const int64_t units = UnitsOf(*plan);
  if (plan->out_size < 32 && plan->count >= (1 << 17)) {
    const int64_t wanted = plan->count / (1 << 16);
    plan->parts = wanted > 16 ? 16 : wanted;
    if (plan->parts > units) plan->parts = units;
  }
  return true;
}

ReduceKernel GetReduce(ReduceOp op, ElemType type, IsaLevel level) {
  ReduceKernel k{op, type, level, false};
  switch (type) {
    case ElemType::kFloat:
    case ElemType::kDouble:
    case ElemType::kFloat16:
    case ElemType::kBfloat16:
    case ElemType::kInt8:
    case ElemType::kUint8:
    case ElemType::kInt16:
    case ElemType::kUint16:
    case ElemType::kInt32:
    case ElemType::kUint32:
    case ElemType::kInt64:
    case ElemType::kUint64:
      k.valid = true;
      break;
    case ElemType::kBool:
      k.valid = op == ReduceOp::kMin || op == ReduceOp::kMax;
      break;
    default:
      break;
  }
  return k;
}

void RunReduce(const ReduceKernel& k, const ReducePlan& plan, const void* in, void* out,
               int64_t begin, int64_t end) {
  switch (CanonOf(k.op, k.type)) {
    case Canon::kFloat:
      return RunTyped<float>(k, plan, in, out, begin, end);
    case Canon::kDouble:
      return RunTyped<double>(k, plan, in, out, begin, end);
    case Canon::kInt:
      return RunTyped<int64_t>(k, plan, in, out, begin, end);
  }
}

void RunReducePart(const ReduceKernel& k, const ReducePlan& plan, const void* in, int64_t part,
                   void* acc) {
  switch (CanonOf(k.op, k.type)) {
    case Canon::kFloat:
      return PartTyped<float>(k, plan, in, part, acc);
    case Canon::kDouble:
      return PartTyped<double>(k, plan, in, part, acc);
    case Canon::kInt:
      return PartTyped<int64_t>(k, plan, in, part, acc);
  }
}

void FinishReduce(const ReduceKernel& k, const ReducePlan& plan, const void* acc, void* out) {
  if (CanonOf(k.op, k.type) == Canon::kInt) {
    FinishTyped<int64_t>(k, plan, acc, out);
  } else {
    FinishTyped<double>(k, plan, acc, out);
  }
}

namespace {

template <class T>
struct ArgJob {
  const char* in;
  int bytes;
  ConvertFn load;
  uint64_t flip;
  bool largest, last;

  const T* Fetch(int64_t offset, int64_t n, T* buffer) const {
    const char* p = in + offset * bytes;
    if (load == nullptr) return reinterpret_cast<const T*>(p);
    load(p, buffer, n);
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < n; ++i)
        buffer[i] = static_cast<T>(static_cast<uint64_t>(buffer[i]) ^ flip);
    }
    return buffer;
  }
  bool Beats(T x, T best) const {
    if (best != best) return false;
    if (x != x) return true;
    if (last && x == best) return true;
    return largest ? x > best : x < best;
  }
};

template <class T>
void ArgRow(const ArgJob<T>& job, RowFold<T> fold, int64_t base, int64_t axis, int64_t* out) {
  alignas(64) T buffer[kChunk];
  T best = job.Fetch(base, 1, buffer)[0];
  int64_t best_at = 0;
  for (int64_t at = 0; at < axis; at += kChunk) {
    const int64_t n = axis - at < kChunk ? axis - at : kChunk;
    const T* x = job.Fetch(base + at, n, buffer);
    const T top = fold(x, n, T(0));
    if (at > 0 && !job.Beats(top, best)) continue;
    best = top;
    // The chunk holds it: look for the first or last one.
    int64_t i = 0;
    if (top != top) {
      while (x[i] == x[i]) ++i;
    } else if (job.last) {
      i = n - 1;
      while (x[i] != top) --i;
    } else {
      while (x[i] != top) ++i;
    }
    best_at = at + i;
  }
  *out = best_at;
}

template <class T>
void ArgColumns(const ArgJob<T>& job, int64_t base, int64_t axis, int64_t inner, int64_t n,
                int64_t* out) {
  alignas(64) T buffer[kColumns], best[kColumns];
  std::memcpy(best, job.Fetch(base, n, buffer), static_cast<size_t>(n) * sizeof(T));
  for (int64_t i = 0; i < n; ++i) out[i] = 0;
  for (int64_t k = 1; k < axis; ++k) {
    const T* x = job.Fetch(base + k * inner, n, buffer);
    for (int64_t i = 0; i < n; ++i) {
      if (job.Beats(x[i], best[i])) best[i] = x[i], out[i] = k;
    }
  }
}

template <class T>
void ArgTyped(const ArgJob<T>& job, RowFold<T> fold, int64_t* out, int64_t axis, int64_t inner,
              int64_t begin, int64_t end) {
  if (inner == 1) {
    for (int64_t o = begin; o < end; ++o) ArgRow(job, fold, o * axis, axis, out + o);
    return;
  }
  while (begin < end) {
    const int64_t column = begin % inner;
    int64_t n = inner - column < end - begin ? inner - column : end - begin;
    if (n > kColumns) n = kColumns;
    ArgColumns(job, (begin / inner) * axis * inner + column, axis, inner, n, out + begin);
    begin += n;
  }
}

void CopyInt64(const void* src, void* dst, int64_t n) {
  std::memcpy(dst, src, static_cast<size_t>(n) * 8);
}

}  // namespace

void RunArgReduce(bool largest, bool select_last, ElemType type, IsaLevel level, const void* in,
                  int64_t* out, int64_t axis, int64_t inner, int64_t begin, int64_t end) {
  const char* p = static_cast<const char*>(in);
  const int bytes = BytesOf(type);
  const Fold fold = largest ? Fold::kMax : Fold::kMin;
  const Canon canon = CanonOf(ReduceOp::kMax, type);
  if (canon == Canon::kFloat) {
    const ConvertFn load =
        type == ElemType::kFloat ? nullptr : GetConvert(type, ElemType::kFloat, level);
    ArgTyped<float>({p, bytes, load, 0, largest, select_last}, FloatRowFold(fold, level), out, axis,
                    inner, begin, end);
  } else if (canon == Canon::kDouble) {
    ArgTyped<double>({p, bytes, nullptr, 0, largest, select_last}, DoubleRowFold(fold, level), out,
                     axis, inner, begin, end);
  } else {
    const bool flip = type == ElemType::kUint64;
    const ConvertFn load = flip                       ? CopyInt64
                           : type == ElemType::kInt64 ? nullptr
                                                      : GetCast(type, ElemType::kInt64, level).load;
    ArgTyped<int64_t>({p, bytes, load, flip ? kSignBit : 0, largest, select_last},
                      Int64RowFold(fold, level), out, axis, inner, begin, end);
  }
}

namespace {

template <class T, bool kProduct>
void ScanSlice(const T* in, T* out, int64_t axis, int64_t inner, bool exclusive, bool reverse) {
  const T neutral = kProduct ? T(1) : T(0);
  const int64_t first = reverse ? axis - 1 : 0;
  const int64_t step = reverse ? -1 : 1;
  for (int64_t k = 0; k < axis; ++k) {
    const int64_t at = (first + k * step) * inner;
    const int64_t before = at - step * inner;
    for (int64_t i = 0; i < inner; ++i) {
      const T add = exclusive ? (k == 0 ? neutral : in[before + i]) : in[at + i];
      const T acc = k == 0 ? neutral : out[before + i];
      out[at + i] = static_cast<T>(kProduct ? acc * add : acc + add);
    }
  }
}

// 16-bit floats are accumulated in float, one column at a time.
template <bool kProduct>
void ScanHalf(ElemType type, const uint16_t* in, uint16_t* out, int64_t axis, int64_t inner,
              bool exclusive, bool reverse) {
  const ConvertFn load = GetConvert(type, ElemType::kFloat, IsaLevel::kBaseline);
  const ConvertFn store = GetConvert(ElemType::kFloat, type, IsaLevel::kBaseline);
  for (int64_t c = 0; c < inner; c += kColumns) {
    const int64_t n = inner - c < kColumns ? inner - c : kColumns;
    float acc[kColumns], x[kColumns];
    for (int64_t i = 0; i < n; ++i) acc[i] = kProduct ? 1.0f : 0.0f;
    for (int64_t k = 0; k < axis; ++k) {
      const int64_t at = (reverse ? axis - 1 - k : k) * inner + c;
      load(in + at, x, n);
      if (exclusive) store(acc, out + at, n);
      for (int64_t i = 0; i < n; ++i) acc[i] = kProduct ? acc[i] * x[i] : acc[i] + x[i];
      if (!exclusive) store(acc, out + at, n);
    }
  }
}

template <bool kProduct>
bool Scan(ElemType type, bool exclusive, bool reverse, const void* in, void* out, int64_t axis,
          int64_t inner, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    const int64_t at = o * axis * inner;
    auto run = [&](auto zero) {
      using T = decltype(zero);
      ScanSlice<T, kProduct>(static_cast<const T*>(in) + at, static_cast<T*>(out) + at, axis, inner,
                             exclusive, reverse);
    };
    switch (type) {
      case ElemType::kFloat:
        run(float());
        break;
      case ElemType::kDouble:
        run(double());
        break;
      case ElemType::kInt32:
      case ElemType::kUint32:
        run(uint32_t());
        break;
      case ElemType::kInt64:
      case ElemType::kUint64:
        run(uint64_t());
        break;
      case ElemType::kFloat16:
      case ElemType::kBfloat16:
        ScanHalf<kProduct>(type, static_cast<const uint16_t*>(in) + at,
                           static_cast<uint16_t*>(out) + at, axis, inner, exclusive, reverse);
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace

bool RunCumSum(ElemType type, bool exclusive, bool reverse, const void* in, void* out, int64_t axis,
               int64_t inner, int64_t begin, int64_t end) {
  return Scan<false>(type, exclusive, reverse, in, out, axis, inner, begin, end);
}

bool RunCumProd(ElemType type, bool exclusive, bool reverse, const void* in, void* out,
                int64_t axis, int64_t inner, int64_t begin, int64_t end) {
  return Scan<true>(type, exclusive, reverse, in, out, axis, inner, begin, end);
}

}  // namespace switchyard::cpu::math
