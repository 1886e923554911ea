#include "providers/cpu/math/vec_elementwise.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "providers/cpu/math/vec_cast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_elementwise.cc"
#define SY_VEC_NO_AVX512
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

// Independent iterations even where the output is one of the inputs; compilers otherwise fall back
// to scalar code.
#ifndef SY_IVDEP
#if defined(__clang__)
#define SY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SY_IVDEP _Pragma("GCC ivdep")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kFill = 256;  // elements of a repeated scalar kept in L1

// Signed integers are computed as unsigned ones where the bits are the same, which also makes
// overflow wrap.
struct AddOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct SubOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return static_cast<T>(a - b);
  }
};
struct MulOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    if constexpr (std::is_same_v<T, uint16_t>) {
      return static_cast<T>(static_cast<uint32_t>(a) * b);
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct DivOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return a / b;
  }
};
struct MinOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T m = a < b ? a : b;  // b if either is NaN
      return a != a ? a : m;
    } else {
      return a < b ? a : b;
    }
  }
};
struct MaxOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T m = a > b ? a : b;
      return a != a ? a : m;
    } else {
      return a > b ? a : b;
    }
  }
};
struct AndOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct OrOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct XorOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct ShlOp {
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    constexpr T kBits = sizeof(T) * 8;
    const T s = static_cast<T>(b & (kBits - 1));
    return b < kBits ? static_cast<T>(a << s) : T(0);
  }
};
struct ShrOp {  // b is taken as unsigned
  template <class T>
  static HWY_INLINE T Run(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U kBits = sizeof(T) * 8;
    const U ub = static_cast<U>(b);
    const U s = ub < kBits ? ub : static_cast<U>(kBits - 1);
    const T y = static_cast<T>(a >> s);
    return ub < kBits ? y : static_cast<T>(a < 0 ? -1 : 0);
  }
};
struct EqOp {
  template <class T>
  static HWY_INLINE uint8_t Run(T a, T b) {
    return a == b;
  }
};
struct LtOp {
  template <class T>
  static HWY_INLINE uint8_t Run(T a, T b) {
    return a < b;
  }
};
struct LeOp {
  template <class T>
  static HWY_INLINE uint8_t Run(T a, T b) {
    return a <= b;
  }
};

template <class Op, class T>
uint32_t Loop(const void* va, const void* vb, void* vo, int64_t n, Span span) {
  using R = decltype(Op::Run(T(), T()));
  const T* a = static_cast<const T*>(va);
  const T* b = static_cast<const T*>(vb);
  R* o = static_cast<R*>(vo);
  if (span == Span::kVectorVector) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = Op::Run(a[i], b[i]);
    return 0;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (span == Span::kVectorScalar) {
      const T s = *b;
      SY_IVDEP
      for (int64_t i = 0; i < n; ++i) o[i] = Op::Run(a[i], s);
    } else {
      const T s = *a;
      SY_IVDEP
      for (int64_t i = 0; i < n; ++i) o[i] = Op::Run(s, b[i]);
    }
  } else {
    alignas(64) T fill[kFill];
    const bool left = span == Span::kScalarVector;
    const T s = left ? *a : *b;
    const int64_t m = n < kFill ? n : kFill;
    for (int64_t i = 0; i < m; ++i) fill[i] = s;
    for (int64_t at = 0; at < n; at += kFill) {
      const int64_t len = n - at < kFill ? n - at : kFill;
      Loop<Op, T>(left ? fill : a + at, left ? b + at : fill, o + at, len, Span::kVectorVector);
    }
  }
  return 0;
}

uint32_t PowFloat(const void* va, const void* vb, void* vo, int64_t n, Span span) {
  const float* a = static_cast<const float*>(va);
  const float* b = static_cast<const float*>(vb);
  float* o = static_cast<float*>(vo);
  const D64 d;
  const hn::Rebind<float, D64> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t sa = span == Span::kScalarVector ? 0 : 1;
  const int64_t sb = span == Span::kVectorScalar ? 0 : 1;
  if (!sb && (*b == 2.0f || *b == 1.0f)) {
    const bool square = *b == 2.0f;
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = square ? a[i] * a[i] : a[i];
    return 0;
  }
  alignas(64) float ta[HWY_MAX_BYTES / 8] = {}, tb[HWY_MAX_BYTES / 8] = {};
  const auto va0 = hn::PromoteTo(d, hn::Set(df, *a)), vb0 = hn::PromoteTo(d, hn::Set(df, *b));
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t m = n - i < lanes ? n - i : lanes;
    const float* pa = a + i * sa;
    const float* pb = b + i * sb;
    if (m < lanes) {
      for (int64_t j = 0; j < m; ++j) ta[j] = pa[j * sa], tb[j] = pb[j * sb];
      pa = ta, pb = tb;
    }
    const auto x = sa || m < lanes ? hn::PromoteTo(d, hn::LoadU(df, pa)) : va0;
    const auto y = sb || m < lanes ? hn::PromoteTo(d, hn::LoadU(df, pb)) : vb0;
    const auto r = hn::DemoteTo(df, Pow64(x, y));
    if (m < lanes) {
      hn::Store(r, df, ta);
      for (int64_t j = 0; j < m; ++j) o[i + j] = ta[j];
    } else {
      hn::StoreU(r, df, o + i);
    }
  }
  return 0;
}

template <class T>
BinaryKernel::Fn PickBits(BinaryOp op) {  // T unsigned: the same for both signs
  switch (op) {
    case BinaryOp::kAdd:
      return Loop<AddOp, T>;
    case BinaryOp::kSub:
      return Loop<SubOp, T>;
    case BinaryOp::kMul:
      return Loop<MulOp, T>;
    case BinaryOp::kBitAnd:
      return Loop<AndOp, T>;
    case BinaryOp::kBitOr:
      return Loop<OrOp, T>;
    case BinaryOp::kBitXor:
      return Loop<XorOp, T>;
    case BinaryOp::kShiftLeft:
      return Loop<ShlOp, T>;
    case BinaryOp::kEqual:
      return Loop<EqOp, T>;
    default:
      return nullptr;
  }
}

template <class T>
BinaryKernel::Fn PickOrdered(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMin:
      return Loop<MinOp, T>;
    case BinaryOp::kMax:
      return Loop<MaxOp, T>;
    case BinaryOp::kLess:
      return Loop<LtOp, T>;
    case BinaryOp::kLessOrEqual:
      return Loop<LeOp, T>;
    case BinaryOp::kShiftRight:
      if constexpr (std::is_integral_v<T>) return Loop<ShrOp, T>;
      return nullptr;
    default:
      return nullptr;
  }
}

template <class T>
BinaryKernel::Fn PickReal(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return Loop<AddOp, T>;
    case BinaryOp::kSub:
      return Loop<SubOp, T>;
    case BinaryOp::kMul:
      return Loop<MulOp, T>;
    case BinaryOp::kDiv:
      return Loop<DivOp, T>;
    case BinaryOp::kEqual:
      return Loop<EqOp, T>;
    case BinaryOp::kPow:
      return std::is_same_v<T, float> ? PowFloat : nullptr;
    default:
      return PickOrdered<T>(op);
  }
}

template <class T>
BinaryKernel::Fn PickInt(BinaryOp op) {
  if (auto fn = PickBits<std::make_unsigned_t<T>>(op)) return fn;
  return PickOrdered<T>(op);
}

BinaryKernel::Fn PickBinary(BinaryOp op, ElemType type) {
  switch (type) {
    case ElemType::kFloat:
      return PickReal<float>(op);
    case ElemType::kDouble:
      return PickReal<double>(op);
    case ElemType::kInt8:
      return PickInt<int8_t>(op);
    case ElemType::kUint8:
      return PickInt<uint8_t>(op);
    case ElemType::kInt16:
      return PickInt<int16_t>(op);
    case ElemType::kUint16:
      return PickInt<uint16_t>(op);
    case ElemType::kInt32:
      return PickInt<int32_t>(op);
    case ElemType::kUint32:
      return PickInt<uint32_t>(op);
    case ElemType::kInt64:
      return PickInt<int64_t>(op);
    case ElemType::kUint64:
      return PickInt<uint64_t>(op);
    case ElemType::kBool:
      switch (op) {
        case BinaryOp::kBitAnd:
        case BinaryOp::kBitOr:
        case BinaryOp::kBitXor:
        case BinaryOp::kEqual:
          return PickBits<uint8_t>(op);
        default:
          return PickOrdered<uint8_t>(op);
      }
    default:
      return nullptr;
  }
}

}  // namespace

BinaryKernel::Fn BinaryFnFor(BinaryOp op, ElemType type) { return PickBinary(op, type); }

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

// Operations without a vector form: integer division, remainders, double pow.
template <class T>
T DivInt(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (b == -1) return static_cast<T>(U(0) - static_cast<U>(a));
  }
  return static_cast<T>(a / b);
}

template <class T>
T RemInt(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <class T>
T ModInt(T a, T b) {
  T r = RemInt(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (r != 0 && ((r < 0) != (b < 0))) r = static_cast<T>(r + b);
  }
  return r;
}

template <class T>
T PowInt(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (std::is_signed_v<T>) {
    if (b < 0) {
      if (a == 1) return 1;
      if (a == -1) return (b & 1) ? T(-1) : T(1);
      return 0;
    }
  }
  uint64_t base = static_cast<U>(a), result = 1;
  for (U e = static_cast<U>(b); e != 0; e = static_cast<U>(e >> 1)) {
    if (e & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <class T>
T ModReal(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(T(0), b);
  return ((r < 0) != (b < 0)) ? r + b : r;
}

enum class Slow { kDiv, kMod, kRem, kPow };

template <Slow kOp, class T>
T SlowOne(T a, T b, uint32_t* flags) {
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kOp == Slow::kMod) return ModReal(a, b);
    if constexpr (kOp == Slow::kRem) return std::fmod(a, b);
    return std::pow(a, b);
  } else {
    if constexpr (kOp == Slow::kPow) return PowInt(a, b);
    if (b == 0) {
      *flags |= kDivideByZero;
      return 0;
    }
    if constexpr (kOp == Slow::kDiv) return DivInt(a, b);
    if constexpr (kOp == Slow::kMod) return ModInt(a, b);
    return RemInt(a, b);
  }
}

template <Slow kOp, class T>
uint32_t SlowLoop(const void* va, const void* vb, void* vo, int64_t n, Span span) {
  const T* a = static_cast<const T*>(va);
  const T* b = static_cast<const T*>(vb);
  T* o = static_cast<T*>(vo);
  const int64_t sa = span == Span::kScalarVector ? 0 : 1;
  const int64_t sb = span == Span::kVectorScalar ? 0 : 1;
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; ++i) o[i] = SlowOne<kOp, T>(a[i * sa], b[i * sb], &flags);
  return flags;
}

template <class T>
BinaryKernel::Fn PickSlow(BinaryOp op) {
  switch (op) {
    case BinaryOp::kDiv:
      if constexpr (std::is_integral_v<T>) return SlowLoop<Slow::kDiv, T>;
      return nullptr;
    case BinaryOp::kMod:
      return SlowLoop<Slow::kMod, T>;
    case BinaryOp::kFmod:
      return SlowLoop<Slow::kRem, T>;
    case BinaryOp::kPow:
      return SlowLoop<Slow::kPow, T>;
    default:
      return nullptr;
  }
}

BinaryKernel::Fn SlowFnFor(BinaryOp op, ElemType type) {
  switch (type) {
    case ElemType::kFloat:
      return PickSlow<float>(op);
    case ElemType::kDouble:
      return PickSlow<double>(op);
    case ElemType::kInt8:
      return PickSlow<int8_t>(op);
    case ElemType::kUint8:
      return PickSlow<uint8_t>(op);
    case ElemType::kInt16:
      return PickSlow<int16_t>(op);
    case ElemType::kUint16:
      return PickSlow<uint16_t>(op);
    case ElemType::kInt32:
      return PickSlow<int32_t>(op);
    case ElemType::kUint32:
      return PickSlow<uint32_t>(op);
    case ElemType::kInt64:
      return PickSlow<int64_t>(op);
    case ElemType::kUint64:
      return PickSlow<uint64_t>(op);
    default:
      return nullptr;
  }
}

constexpr int64_t kBlock = 512;  // elements of 16-bit floats widened at a time

const char* At(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }
char* At(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }

uint32_t RunWidened(const BinaryKernel& k, const void* a, const void* b, void* out, int64_t n,
                    Span span) {
  alignas(64) float fa[kBlock], fb[kBlock], fo[kBlock];
  const bool va = span != Span::kScalarVector, vb = span != Span::kVectorScalar;
  if (!va) k.load(a, fa, 1);
  if (!vb) k.load(b, fb, 1);
  uint32_t flags = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t len = n - at < kBlock ? n - at : kBlock;
    if (va) k.load(At(a, at * k.in_bytes), fa, len);
    if (vb) k.load(At(b, at * k.in_bytes), fb, len);
    if (k.store == nullptr) {
      flags |= k.fn(fa, fb, At(out, at * k.out_bytes), len, span);
    } else {
      flags |= k.fn(fa, fb, fo, len, span);
      k.store(fo, At(out, at * k.out_bytes), len);
    }
  }
  return flags;
}

template <class T>
void WhereRun(const uint8_t* c, const T* x, const T* y, T* o, int64_t n, const int64_t* step) {
  if (step[0] == 0) {
    const T* s = *c ? x : y;
    const int64_t st = *c ? step[1] : step[2];
    for (int64_t i = 0; i < n; ++i) o[i] = s[i * st];
  } else if (step[1] && step[2]) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = c[i] ? x[i] : y[i];
  } else if (step[1]) {
    const T v = *y;
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = c[i] ? x[i] : v;
  } else if (step[2]) {
    const T v = *x;
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = c[i] ? v : y[i];
  } else {
    const T v = *x, w = *y;
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) o[i] = c[i] ? v : w;
  }
}

struct Pair {
  uint64_t a, b;
};

template <class T>
void WhereTyped(const BroadcastPlan& plan, const void* cond, const void* x, const void* y,
                void* out, int64_t begin, int64_t end) {
  BroadcastCursor cursor(plan, begin);
  int64_t step[3];
  for (int k = 0; k < 3; ++k) step[k] = plan.strides[k][plan.rank - 1];
  while (begin < end) {
    const int64_t n = cursor.run() < end - begin ? cursor.run() : end - begin;
    WhereRun(static_cast<const uint8_t*>(cond) + cursor.offset(0),
             static_cast<const T*>(x) + cursor.offset(1),
             static_cast<const T*>(y) + cursor.offset(2), static_cast<T*>(out) + begin, n, step);
    begin += n;
    cursor.Advance(n);
  }
}

}  // namespace

BinaryKernel GetBinary(BinaryOp op, ElemType type, IsaLevel level) {
  BinaryKernel k;
  const bool half = type == ElemType::kFloat16 || type == ElemType::kBfloat16;
  const ElemType compute = half ? ElemType::kFloat : type;
  if (op == BinaryOp::kGreater || op == BinaryOp::kGreaterOrEqual) {
    k.swapped = true;
    op = op == BinaryOp::kGreater ? BinaryOp::kLess : BinaryOp::kLessOrEqual;
  }
  k.fn = SY_VEC_DISPATCH(level, BinaryFnFor(op, compute));
  if (k.fn == nullptr) k.fn = SlowFnFor(op, compute);
  k.in_bytes = BytesOf(type);
  k.out_bytes = op >= BinaryOp::kEqual ? 1 : k.in_bytes;
  if (half) {
    k.load = GetConvert(type, ElemType::kFloat, level);
    if (op < BinaryOp::kEqual) k.store = GetConvert(ElemType::kFloat, type, level);
  }
  return k;
}

uint32_t RunBinary(const BinaryKernel& k, const void* a, const void* b, void* out, int64_t n,
                   Span span) {
  if (n <= 0) return 0;
  if (k.swapped) {
    const void* t = a;
    a = b;
    b = t;
    if (span == Span::kVectorScalar) {
      span = Span::kScalarVector;
    } else if (span == Span::kScalarVector) {
      span = Span::kVectorScalar;
    }
  }
  return k.load == nullptr ? k.fn(a, b, out, n, span) : RunWidened(k, a, b, out, n, span);
}

uint32_t RunBinary(const BinaryKernel& k, const BroadcastPlan& plan, const void* a, const void* b,
                   void* out, int64_t begin, int64_t end) {
  const int last = plan.rank - 1;
  const bool va = plan.strides[0][last] != 0, vb = plan.strides[1][last] != 0;
  uint32_t flags = 0;
  if ((plan.rank > 1 && plan.dims[last] < 32) || (!va && !vb)) {
    // Runs too short to be worth a call: operands are spread into L1 first.
    alignas(64) char ta[2048], tb[2048];
    const int64_t block = 2048 / k.in_bytes;
    for (; begin < end; begin += block) {
      const int64_t n = end - begin < block ? end - begin : block;
      ExpandRange(plan, 0, a, ta, k.in_bytes, begin, begin + n);
      ExpandRange(plan, 1, b, tb, k.in_bytes, begin, begin + n);
      flags |= RunBinary(k, ta, tb, At(out, begin * k.out_bytes), n, Span::kVectorVector);
    }
    return flags;
  }
  const Span span = va && vb ? Span::kVectorVector : va ? Span::kVectorScalar : Span::kScalarVector;
  BroadcastCursor cursor(plan, begin);
  while (begin < end) {
    const int64_t n = cursor.run() < end - begin ? cursor.run() : end - begin;
    flags |= RunBinary(k, At(a, cursor.offset(0) * k.in_bytes),
                       At(b, cursor.offset(1) * k.in_bytes), At(out, begin * k.out_bytes), n, span);
    begin += n;
    cursor.Advance(n);
  }
  return flags;
}

void RunWhere(const BroadcastPlan& plan, const void* cond, const void* x, const void* y, void* out,
              int bytes, int64_t begin, int64_t end) {
  switch (bytes) {
    case 1:
      return WhereTyped<uint8_t>(plan, cond, x, y, out, begin, end);
    case 2:
      return WhereTyped<uint16_t>(plan, cond, x, y, out, begin, end);
    case 4:
      return WhereTyped<uint32_t>(plan, cond, x, y, out, begin, end);
    case 8:
      return WhereTyped<uint64_t>(plan, cond, x, y, out, begin, end);
    case 16:
      return WhereTyped<Pair>(plan, cond, x, y, out, begin, end);
    default:
      return;
  }
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
