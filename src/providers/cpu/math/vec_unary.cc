#include <cmath>
#include <cstring>
#include <type_traits>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_unary.cc"
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "providers/cpu/math/vec_math-inl.h"

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

// Float operations: Run(x, p0, p1), all lanes independent.
#define SY_OP(NAME, EXPR)                              \
  struct NAME {                                        \
    static HWY_INLINE V32 Run(V32 x, V32 p0, V32 p1) { \
      (void)p0;                                        \
      (void)p1;                                        \
      return EXPR;                                     \
    }                                                  \
  };

HWY_INLINE V32 Zero() { return hn::Zero(D32()); }
HWY_INLINE V32 NegInf() { return C32(-HUGE_VALF); }

HWY_INLINE V32 Sign32(V32 x) {
  const V32 s = hn::CopySignToAbs(C32(1.0f), x);
  return Blend(hn::Or(hn::Eq(x, Zero()), hn::IsNaN(x)), x, s);
}
HWY_INLINE V32 Clip32(V32 x, V32 lo, V32 hi) {
  const V32 y = Blend(hn::Lt(x, lo), lo, x);
  return Blend(hn::Gt(y, hi), hi, y);
}
HWY_INLINE V32 Unit32(V32 y) { return Clip32(y, Zero(), C32(1.0f)); }
HWY_INLINE V32 SiluScaled32(V32 x, V32 p) {
  const V32 y = hn::Mul(x, Sigmoid32(hn::Mul(p, x)));
  return Blend(hn::And(hn::Eq(x, NegInf()), hn::Gt(p, Zero())), C32(-0.0f), y);
}
HWY_INLINE V32 Shrink32(V32 x, V32 lambda, V32 bias) {
  const V32 y = Blend(hn::Lt(x, hn::Neg(lambda)), hn::Add(x, bias), Zero());
  const V32 r = Blend(hn::Gt(x, lambda), hn::Sub(x, bias), y);
  return Blend(hn::IsNaN(x), Zero(), r);
}

SY_OP(NegOp, hn::Neg(x))
SY_OP(AbsOp, hn::Abs(x))
SY_OP(SignOp, Sign32(x))
SY_OP(FloorOp, hn::Floor(x))
SY_OP(CeilOp, hn::Ceil(x))
SY_OP(RoundOp, hn::Round(x))
SY_OP(TruncOp, hn::Trunc(x))
SY_OP(SquareOp, hn::Mul(x, x))
SY_OP(SqrtOp, hn::Sqrt(x))
SY_OP(RsqrtOp, hn::Div(C32(1.0f), hn::Sqrt(x)))
SY_OP(ReciprocalOp, hn::Div(C32(1.0f), x))
SY_OP(ExpOp, Exp32(x))
SY_OP(Expm1Op, ExpM132(x))
SY_OP(LogOp, Log32(x))
SY_OP(TanhOp, Tanh32(x))
SY_OP(ErfOp, Erf32(x))
SY_OP(SigmoidOp, Sigmoid32(x))
SY_OP(SiluOp, SiluScaled32(x, p0))
SY_OP(GeluErfOp, GeluErf32(x))
SY_OP(GeluTanhOp, GeluTanh32(x))
SY_OP(ReluOp, Blend(hn::Lt(x, Zero()), Zero(), x))
SY_OP(LeakyOp, Blend(hn::Lt(x, Zero()), hn::Mul(x, p0), x))
SY_OP(ThresholdOp, Blend(hn::Gt(x, p0), x, Zero()))
SY_OP(ClipOp, Clip32(x, p0, p1))
SY_OP(EluOp, Blend(hn::Lt(x, Zero()), hn::Mul(p0, ExpM132(x)), x))
SY_OP(SeluOp, hn::Mul(p1, Blend(hn::Gt(x, Zero()), x, hn::Mul(p0, ExpM132(x)))))
SY_OP(CeluOp, Blend(hn::Lt(x, Zero()), hn::Mul(p0, ExpM132(hn::Div(x, p0))), x))
SY_OP(SoftplusOp, Softplus32(x))
SY_OP(SoftsignOp, Blend(hn::Eq(hn::Abs(x), C32(HUGE_VALF)), hn::CopySignToAbs(C32(1.0f), x),
                        hn::Div(x, hn::Add(C32(1.0f), hn::Abs(x)))))
SY_OP(HardSigmoidOp, Unit32(hn::Add(hn::Mul(p0, x), p1)))
SY_OP(HardSwishOp, hn::Mul(x, Unit32(hn::Add(hn::Mul(x, C32(1.0f / 6.0f)), C32(0.5f)))))
SY_OP(MishOp, Mish32(x))
SY_OP(ShrinkOp, Shrink32(x, p0, p1))
SY_OP(AffineOp, hn::MulAdd(p0, x, p1))

template <class Op>
void FloatLoop(const void* in, void* out, int64_t n, const float* params) {
  const float* s = static_cast<const float*>(in);
  float* d = static_cast<float*>(out);
  const D32 d32;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d32));
  const V32 p0 = hn::Set(d32, params[0]), p1 = hn::Set(d32, params[1]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Op::Run(hn::LoadU(d32, s + i), p0, p1), d32, d + i);
  }
  if (i < n) {
    HWY_ALIGN float tmp[HWY_MAX_BYTES / 4] = {};
    const size_t rest = static_cast<size_t>(n - i) * sizeof(float);
    std::memcpy(tmp, s + i, rest);
    hn::Store(Op::Run(hn::Load(d32, tmp), p0, p1), d32, tmp);
    std::memcpy(d + i, tmp, rest);
  }
}

// Functions whose float result is rounded from a double one. kBound: larger arguments go to libm
// one by one.
#define SY_OP64(NAME, FN, SCALAR, BOUND)                 \
  struct NAME {                                          \
    static constexpr double kBound = BOUND;              \
    static HWY_INLINE V64 Run(V64 x) { return FN(x); }   \
    static double Scalar(double x) { return SCALAR(x); } \
  };
SY_OP64(SinOp, SinCos64<0>, std::sin, 1048576.0)
SY_OP64(CosOp, SinCos64<1>, std::cos, 1048576.0)
SY_OP64(TanOp, Tan64, std::tan, 1048576.0)
SY_OP64(AsinOp, Asin64, std::asin, HUGE_VAL)
SY_OP64(AcosOp, Acos64, std::acos, HUGE_VAL)
SY_OP64(AtanOp, Atan64, std::atan, HUGE_VAL)
SY_OP64(SinhOp, Sinh64, std::sinh, HUGE_VAL)
SY_OP64(CoshOp, Cosh64, std::cosh, HUGE_VAL)
SY_OP64(AsinhOp, Asinh64, std::asinh, HUGE_VAL)
SY_OP64(AcoshOp, Acosh64, std::acosh, HUGE_VAL)
SY_OP64(AtanhOp, Atanh64, std::atanh, HUGE_VAL)

template <class Op>
void WideLoop(const void* in, void* out, int64_t n, const float*) {
  const float* s = static_cast<const float*>(in);
  float* d = static_cast<float*>(out);
  const D64 d64;
  const hn::Rebind<float, D64> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d64));
  HWY_ALIGN float tmp[HWY_MAX_BYTES / 8] = {};
  HWY_ALIGN float arg[HWY_MAX_BYTES / 8] = {};
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t m = n - i < lanes ? n - i : lanes;
    const float* p = s + i;
    if (m < lanes) {
      std::memcpy(tmp, p, static_cast<size_t>(m) * sizeof(float));
      p = tmp;
    }
    const auto x = hn::PromoteTo(d64, hn::LoadU(df, p));
    auto y = hn::DemoteTo(df, Op::Run(x));
    if (Op::kBound < HUGE_VAL &&
        HWY_UNLIKELY(!hn::AllFalse(d64, hn::Gt(hn::Abs(x), hn::Set(d64, Op::kBound))))) {
      std::memcpy(arg, p, static_cast<size_t>(lanes) * sizeof(float));
      hn::Store(y, df, tmp);
      for (int64_t j = 0; j < lanes; ++j) {
        if (std::fabs(arg[j]) > Op::kBound) tmp[j] = static_cast<float>(Op::Scalar(arg[j]));
      }
      y = hn::Load(df, tmp);
    }
    if (m < lanes) {
      hn::Store(y, df, tmp);
      std::memcpy(d + i, tmp, static_cast<size_t>(m) * sizeof(float));
    } else {
      hn::StoreU(y, df, d + i);
    }
  }
}

UnaryKernel::Fn PickFloat(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return FloatLoop<NegOp>;
    case UnaryOp::kAbs:
      return FloatLoop<AbsOp>;
    case UnaryOp::kSign:
      return FloatLoop<SignOp>;
    case UnaryOp::kFloor:
      return FloatLoop<FloorOp>;
    case UnaryOp::kCeil:
      return FloatLoop<CeilOp>;
    case UnaryOp::kRound:
      return FloatLoop<RoundOp>;
    case UnaryOp::kTrunc:
      return FloatLoop<TruncOp>;
    case UnaryOp::kSquare:
      return FloatLoop<SquareOp>;
    case UnaryOp::kSqrt:
      return FloatLoop<SqrtOp>;
    case UnaryOp::kRsqrt:
      return FloatLoop<RsqrtOp>;
    case UnaryOp::kReciprocal:
      return FloatLoop<ReciprocalOp>;
    case UnaryOp::kExp:
      return FloatLoop<ExpOp>;
    case UnaryOp::kExpm1:
      return FloatLoop<Expm1Op>;
    case UnaryOp::kLog:
      return FloatLoop<LogOp>;
    case UnaryOp::kSin:
      return WideLoop<SinOp>;
    case UnaryOp::kCos:
      return WideLoop<CosOp>;
    case UnaryOp::kTan:
      return WideLoop<TanOp>;
    case UnaryOp::kAsin:
      return WideLoop<AsinOp>;
    case UnaryOp::kAcos:
      return WideLoop<AcosOp>;
    case UnaryOp::kAtan:
      return WideLoop<AtanOp>;
    case UnaryOp::kSinh:
      return WideLoop<SinhOp>;
    case UnaryOp::kCosh:
      return WideLoop<CoshOp>;
    case UnaryOp::kTanh:
      return FloatLoop<TanhOp>;
    case UnaryOp::kAsinh:
      return WideLoop<AsinhOp>;
    case UnaryOp::kAcosh:
      return WideLoop<AcoshOp>;
    case UnaryOp::kAtanh:
      return WideLoop<AtanhOp>;
    case UnaryOp::kErf:
      return FloatLoop<ErfOp>;
    case UnaryOp::kSigmoid:
      return FloatLoop<SigmoidOp>;
    case UnaryOp::kSilu:
      return FloatLoop<SiluOp>;
    case UnaryOp::kGeluErf:
      return FloatLoop<GeluErfOp>;
    case UnaryOp::kGeluTanh:
      return FloatLoop<GeluTanhOp>;
    case UnaryOp::kRelu:
      return FloatLoop<ReluOp>;
    case UnaryOp::kLeakyRelu:
      return FloatLoop<LeakyOp>;
    case UnaryOp::kThresholdedRelu:
      return FloatLoop<ThresholdOp>;
    case UnaryOp::kClip:
      return FloatLoop<ClipOp>;
    case UnaryOp::kElu:
      return FloatLoop<EluOp>;
    case UnaryOp::kSelu:
      return FloatLoop<SeluOp>;
    case UnaryOp::kCelu:
      return FloatLoop<CeluOp>;
    case UnaryOp::kSoftplus:
      return FloatLoop<SoftplusOp>;
    case UnaryOp::kSoftsign:
      return FloatLoop<SoftsignOp>;
    case UnaryOp::kHardSigmoid:
      return FloatLoop<HardSigmoidOp>;
    case UnaryOp::kHardSwish:
      return FloatLoop<HardSwishOp>;
    case UnaryOp::kMish:
      return FloatLoop<MishOp>;
    case UnaryOp::kShrink:
      return FloatLoop<ShrinkOp>;
    case UnaryOp::kAffine:
      return FloatLoop<AffineOp>;
    default:
      return nullptr;
  }
}

}  // namespace

UnaryKernel::Fn FloatFnFor(UnaryOp op) { return PickFloat(op); }

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

// Double: libm, one element at a time; the same formulas for float's NaN tests.
template <class T>
struct Real {
  static T Sign(T x) { return x == 0 || x != x ? x : std::copysign(T(1), x); }
  static T Sigmoid(T x) {
    const T e = std::exp(-std::fabs(x));
    return (x < 0 ? e : T(1)) / (1 + e);
  }
  static T Softplus(T x) {
    return (x > 0 ? x : (x != x ? x : T(0))) + std::log1p(std::exp(-std::fabs(x)));
  }
  static T Clip(T x, T lo, T hi) {
    const T y = x < lo ? lo : x;
    return y > hi ? hi : y;
  }
  static T Times(T x, T gate) { return gate == 0 && x < 0 ? T(-0.0) : x * gate; }
  static T GeluTanh(T x) {
    return Times(x, Sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x)));
  }
  static T Softsign(T x) { return std::isinf(x) ? std::copysign(T(1), x) : x / (1 + std::fabs(x)); }
  static T Shrink(T x, T lambda, T bias) {
    return x < -lambda ? x + bias : x > lambda ? x - bias : T(0);
  }
};

#define SY_D(NAME, EXPR)                                            \
  void NAME(const void* in, void* out, int64_t n, const float* p) { \
    using R = Real<double>;                                         \
    (void)sizeof(R);                                                \
    (void)p;                                                        \
    const double* s = static_cast<const double*>(in);               \
    double* d = static_cast<double*>(out);                          \
    for (int64_t i = 0; i < n; ++i) {                               \
      const double x = s[i];                                        \
      d[i] = EXPR;                                                  \
    }                                                               \
  }
SY_D(DNeg, -x)
SY_D(DAbs, std::fabs(x))
SY_D(DSign, R::Sign(x))
SY_D(DFloor, std::floor(x))
SY_D(DCeil, std::ceil(x))
SY_D(DRound, std::nearbyint(x))
SY_D(DTrunc, std::trunc(x))
SY_D(DSquare, x* x)
SY_D(DSqrt, std::sqrt(x))
SY_D(DRsqrt, 1 / std::sqrt(x))
SY_D(DReciprocal, 1 / x)
SY_D(DExp, std::exp(x))
SY_D(DExpm1, std::expm1(x))
SY_D(DLog, std::log(x))
SY_D(DSin, std::sin(x))
SY_D(DCos, std::cos(x))
SY_D(DTan, std::tan(x))
SY_D(DAsin, std::asin(x))
SY_D(DAcos, std::acos(x))
SY_D(DAtan, std::atan(x))
SY_D(DSinh, std::sinh(x))
SY_D(DCosh, std::cosh(x))
SY_D(DTanh, std::tanh(x))
SY_D(DAsinh, std::asinh(x))
SY_D(DAcosh, std::acosh(x))
SY_D(DAtanh, std::atanh(x))
SY_D(DErf, std::erf(x))
SY_D(DSigmoid, R::Sigmoid(x))
SY_D(DSilu, R::Times(x, R::Sigmoid(x* static_cast<double>(p[0]))))
SY_D(DGeluErf, R::Times(x, 0.5 * std::erfc(x * -0.70710678118654752)))
SY_D(DGeluTanh, R::GeluTanh(x))
SY_D(DRelu, x < 0 ? 0.0 : x)
SY_D(DLeaky, x < 0 ? x * static_cast<double>(p[0]) : x)
SY_D(DThreshold, x > static_cast<double>(p[0]) ? x : 0.0)
SY_D(DClip, R::Clip(x, p[0], p[1]))
SY_D(DElu, x < 0 ? static_cast<double>(p[0]) * std::expm1(x) : x)
SY_D(DSelu, static_cast<double>(p[1]) * (x > 0 ? x : static_cast<double>(p[0]) * std::expm1(x)))
SY_D(DCelu, x < 0 ? static_cast<double>(p[0]) * std::expm1(x / static_cast<double>(p[0])) : x)
SY_D(DSoftplus, R::Softplus(x))
SY_D(DSoftsign, R::Softsign(x))
SY_D(DHardSigmoid, R::Clip(static_cast<double>(p[0]) * x + static_cast<double>(p[1]), 0.0, 1.0))
SY_D(DHardSwish, x* R::Clip(x / 6 + 0.5, 0.0, 1.0))
SY_D(DMish, x == -HUGE_VAL ? -0.0 : x * std::tanh(R::Softplus(x)))
SY_D(DShrink, R::Shrink(x, p[0], p[1]))
SY_D(DAffine, static_cast<double>(p[0]) * x + static_cast<double>(p[1]))

// In the order of UnaryOp, from kNeg; kBitNot has no double form.
constexpr UnaryKernel::Fn kDoubleFns[] = {
    DNeg,      DAbs,         DSign,      nullptr,     DFloor,   DCeil,  DRound,   DTrunc,
    DSquare,   DSqrt,        DRsqrt,     DReciprocal, DExp,     DExpm1, DLog,     DSin,
    DCos,      DTan,         DAsin,      DAcos,       DAtan,    DSinh,  DCosh,    DTanh,
    DAsinh,    DAcosh,       DAtanh,     DErf,        DSigmoid, DSilu,  DGeluErf, DGeluTanh,
    DRelu,     DLeaky,       DThreshold, DClip,       DElu,     DSelu,  DCelu,    DSoftplus,
    DSoftsign, DHardSigmoid, DHardSwish, DMish,       DShrink,  DAffine};
static_assert(sizeof(kDoubleFns) / sizeof(kDoubleFns[0]) ==
              static_cast<int>(UnaryOp::kIsNan) - static_cast<int>(UnaryOp::kNeg));

template <class T>
void IsNanLoop(const void* in, void* out, int64_t n, const float*) {
  const T* s = static_cast<const T*>(in);
  uint8_t* d = static_cast<uint8_t*>(out);
  for (int64_t i = 0; i < n; ++i) d[i] = s[i] != s[i];
}

template <class T>
void IsInfLoop(const void* in, void* out, int64_t n, const float* p) {
  const T* s = static_cast<const T*>(in);
  uint8_t* d = static_cast<uint8_t*>(out);
  const T inf = static_cast<T>(HUGE_VAL);
  const uint8_t neg = p[0] != 0, pos = p[1] != 0;
  for (int64_t i = 0; i < n; ++i) {
    d[i] = static_cast<uint8_t>((pos & (s[i] == inf)) | (neg & (s[i] == -inf)));
  }
}

template <class T>
void IntLoop(UnaryOp op, const T* s, T* d, int64_t n) {
  using U = std::make_unsigned_t<T>;
  if (op == UnaryOp::kNeg) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<T>(U(0) - static_cast<U>(s[i]));
  } else if (op == UnaryOp::kAbs) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      d[i] = s[i] < 0 ? static_cast<T>(U(0) - static_cast<U>(s[i])) : s[i];
    }
  } else if (op == UnaryOp::kSign) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<T>((s[i] > 0) - (s[i] < 0));
  } else if (op == UnaryOp::kBitNot) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<T>(~s[i]);
  } else if (op == UnaryOp::kSquare) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      d[i] = static_cast<T>(static_cast<uint64_t>(s[i]) * static_cast<uint64_t>(s[i]));
    }
  } else if (op == UnaryOp::kRelu) {
    SY_IVDEP
    for (int64_t i = 0; i < n; ++i) d[i] = s[i] < 0 ? T(0) : s[i];
  }
}

template <class T, UnaryOp kOp>
void IntFn(const void* in, void* out, int64_t n, const float*) {
  IntLoop(kOp, static_cast<const T*>(in), static_cast<T*>(out), n);
}

template <class T>
UnaryKernel::Fn PickInt(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return IntFn<T, UnaryOp::kNeg>;
    case UnaryOp::kAbs:
      return IntFn<T, UnaryOp::kAbs>;
    case UnaryOp::kSign:
      return IntFn<T, UnaryOp::kSign>;
    case UnaryOp::kBitNot:
      return IntFn<T, UnaryOp::kBitNot>;
    case UnaryOp::kSquare:
      return IntFn<T, UnaryOp::kSquare>;
    case UnaryOp::kRelu:
      return IntFn<T, UnaryOp::kRelu>;
    default:
      return nullptr;
  }
}

void NotBool(const void* in, void* out, int64_t n, const float*) {
  const uint8_t* s = static_cast<const uint8_t*>(in);
  uint8_t* d = static_cast<uint8_t*>(out);
  SY_IVDEP
  for (int64_t i = 0; i < n; ++i) d[i] = s[i] == 0;
}

UnaryKernel::Fn IntFnFor(UnaryOp op, ElemType type) {
  switch (type) {
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
      return op == UnaryOp::kBitNot ? NotBool : nullptr;
    default:
      return nullptr;
  }
}

UnaryKernel::Fn RealFnFor(UnaryOp op, ElemType type, IsaLevel level) {
  const bool wide = type == ElemType::kDouble;
  if (op == UnaryOp::kIsNan) return wide ? IsNanLoop<double> : IsNanLoop<float>;
  if (op == UnaryOp::kIsInf) return wide ? IsInfLoop<double> : IsInfLoop<float>;
  if (wide) return kDoubleFns[static_cast<int>(op) - static_cast<int>(UnaryOp::kNeg)];
  return SY_VEC_DISPATCH(level, FloatFnFor(op));
}

template <int kBytes>
void CopyBytes(const void* in, void* out, int64_t n, const float*) {
  std::memmove(out, in, static_cast<size_t>(n) * kBytes);
}

UnaryKernel::Fn CopyFor(int bytes) {
  return bytes == 1   ? CopyBytes<1>
         : bytes == 2 ? CopyBytes<2>
         : bytes == 4 ? CopyBytes<4>
         : bytes == 8 ? CopyBytes<8>
                      : nullptr;
}

bool IsReal(ElemType t) {
  return t == ElemType::kFloat || t == ElemType::kDouble || t == ElemType::kFloat16 ||
         t == ElemType::kBfloat16;
}

}  // namespace

UnaryKernel GetUnary(UnaryOp op, ElemType type, IsaLevel level) {
  UnaryKernel k;
  const bool half = type == ElemType::kFloat16 || type == ElemType::kBfloat16;
  k.in_bytes = BytesOf(type);
  k.out_bytes = op >= UnaryOp::kIsNan ? 1 : k.in_bytes;
  if (op == UnaryOp::kCopy) {
    k.fn = CopyFor(k.in_bytes);
  } else if (IsReal(type)) {
    k.fn = RealFnFor(op, half ? ElemType::kFloat : type, level);
  } else {
    k.fn = IntFnFor(op, type);
  }
  if (half && op != UnaryOp::kCopy) {
    k.load = GetConvert(type, ElemType::kFloat, level);
    if (op < UnaryOp::kIsNan) k.store = GetConvert(ElemType::kFloat, type, level);
  }
  return k;
}

void RunUnary(const UnaryKernel& k, const void* in, void* out, int64_t n, float p0, float p1) {
  const float params[2] = {p0, p1};
  if (k.load == nullptr) {
    k.fn(in, out, n, params);
    return;
  }
  constexpr int64_t kBlock = 512;
  alignas(64) float x[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t len = n - at < kBlock ? n - at : kBlock;
    char* dst = static_cast<char*>(out) + at * k.out_bytes;
    k.load(static_cast<const char*>(in) + at * k.in_bytes, x, len);
    if (k.store == nullptr) {
      k.fn(x, dst, len, params);
    } else {
      k.fn(x, x, len, params);
      k.store(x, dst, len);
    }
  }
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
