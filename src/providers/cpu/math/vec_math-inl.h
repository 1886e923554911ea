// Elementary functions over Highway vectors, included once per target. Float functions ending in 32
// work on float vectors; those ending in 64 work on double vectors and carry about 40 good bits:
// enough to be rounded to float, not a replacement for double libm. Polynomial coefficients are own
// minimax fits (Lawson iteration on Chebyshev nodes). No function depends on neighbouring lanes, so
// results do not depend on how a range is split.

#if defined(SY_VEC_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SY_VEC_MATH_INL_H_
#undef SY_VEC_MATH_INL_H_
#else
#define SY_VEC_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<float>;
using D64 = hn::ScalableTag<double>;
using I32 = hn::ScalableTag<int32_t>;
using I64 = hn::ScalableTag<int64_t>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;

HWY_INLINE V32 C32(float x) { return hn::Set(D32(), x); }
HWY_INLINE V64 C64(double x) { return hn::Set(D64(), x); }

template <class V>
HWY_INLINE V Const(double x) {
  const hn::DFromV<V> d;
  return hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(x));
}

// Coefficients low to high.
template <class V, class... Rest>
HWY_INLINE V Poly(V x, double c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return Const<V>(c0);
  } else {
    return hn::MulAdd(Poly(x, rest...), x, Const<V>(c0));
  }
}

template <class V>
HWY_INLINE V Blend(hn::Mask<hn::DFromV<V>> m, V yes, V no) {
  return hn::IfThenElse(m, yes, no);
}

// r + r^2 P(r) = exp(r) - 1 on |r| <= ln2 / 2.
HWY_INLINE V32 ExpM1Core32(V32 r) {
  const V32 p = Poly(r, 0.49999994, 0.166665152, 0.041668456, 0.00836941879, 0.00138131424);
  return hn::MulAdd(hn::Mul(r, r), p, r);
}

// x = n ln2 + r for |x| < 2^21. The low bits of `bits` hold n: adding 1.5 * 2^23 rounds to an
// integer and leaves it there.
HWY_INLINE void ReduceExp32(V32 x, V32& n, V32& r, hn::Vec<I32>& bits) {
  const V32 magic = C32(12582912.0f);
  const V32 t = hn::MulAdd(x, C32(1.44269504f), magic);
  bits = hn::BitCast(I32(), t);
  n = hn::Sub(t, magic);
  r = hn::NegMulAdd(n, C32(0.693145752f), x);
  r = hn::NegMulAdd(n, C32(1.42860677e-6f), r);
}

// 2^n as a product of two powers: 2^128 and the denormal powers have no factor of their own.
HWY_INLINE void SplitPow2(hn::Vec<I32> bits, V32& s1, V32& s2) {
  const I32 di;
  const auto bias = hn::Set(di, 127 << 23);
  const auto half =
      hn::And(hn::ShiftLeft<22>(bits), hn::Set(di, static_cast<int32_t>(0xff800000u)));
  s1 = hn::BitCast(D32(), hn::Add(half, bias));
  s2 = hn::BitCast(D32(), hn::Add(hn::Sub(hn::ShiftLeft<23>(bits), half), bias));
}

// Min and Max return their second operand where one is NaN (x86) or NaN itself: this order lets NaN
// through.
HWY_INLINE V32 ClampExp32(V32 x, float low) { return hn::Min(C32(89.0f), hn::Max(C32(low), x)); }

// Overflow to infinity and denormal results come out of the last two products.
HWY_INLINE V32 Exp32(V32 x) {
  V32 n, r, s1, s2;
  hn::Vec<I32> bits;
  ReduceExp32(ClampExp32(x, -110.0f), n, r, bits);
  SplitPow2(bits, s1, s2);
  return hn::Mul(hn::Mul(hn::Add(ExpM1Core32(r), C32(1.0f)), s1), s2);
}

// Accurate also near zero; overflows like exp.
HWY_INLINE V32 ExpM132(V32 x) {
  V32 n, r, s1, s2;
  hn::Vec<I32> bits;
  ReduceExp32(ClampExp32(x, -30.0f), n, r, bits);
  SplitPow2(bits, s1, s2);
  const V32 p = ExpM1Core32(r);
  // 2^n p + (2^n - 1); 2^128 itself overflows, and for n > 30 the 1 no longer counts.
  const V32 mid = hn::MulAdd(hn::Mul(p, s1), s2, hn::MulSub(s1, s2, C32(1.0f)));
  const V32 high = hn::Mul(hn::Mul(hn::Add(p, C32(1.0f)), s1), s2);
  const V32 y = Blend(hn::Gt(n, C32(30.0f)), high, Blend(hn::Eq(n, C32(0.0f)), p, mid));
  return Blend(hn::Eq(x, C32(0.0f)), x, y);
}

HWY_INLINE V32 Sigmoid32(V32 x) {
  // exp(-|x|) never overflows, and both branches keep full relative accuracy.
  const V32 e = Exp32(hn::Neg(hn::Abs(x)));
  const V32 d = hn::Add(C32(1.0f), e);
  return hn::Div(Blend(hn::Lt(x, C32(0.0f)), e, C32(1.0f)), d);
}

HWY_INLINE V32 Tanh32(V32 x) {
  const V32 a = hn::Abs(x);
  const V32 s = hn::Mul(x, x);
  const V32 small = hn::MulAdd(
      hn::Mul(x, s),
      Poly(s, -0.333333284, 0.133331329, -0.053937465, 0.0216501523, -0.00805394258, 0.00203174842),
      x);
  const V32 e = Exp32(hn::Mul(hn::Min(C32(20.0f), a), C32(2.0f)));
  const V32 large = hn::Sub(C32(1.0f), hn::Div(C32(2.0f), hn::Add(e, C32(1.0f))));
  return Blend(hn::Lt(a, C32(0.65f)), small, hn::CopySign(large, x));
}

HWY_INLINE V32 Erf32(V32 x) {
  const V32 a = hn::Abs(x);
  const V32 s = hn::Mul(x, x);
  const V32 small = hn::MulAdd(x,
                               Poly(s, 0.128379166, -0.376126349, 0.112836942, -0.0268592704,
                                    0.00520063424, -0.00081374374, 8.34522507e-05),
                               x);
  const V32 t = hn::Min(C32(4.1f), a);
  const V32 r = Poly(t, -0.000169205305, 1.12948835, 0.633400857, 0.108220384, -0.0250806175,
                     0.00415625563, -0.00043139371, 2.0828631e-05);
  const V32 large = hn::Sub(C32(1.0f), Exp32(hn::Neg(r)));
  return Blend(hn::Lt(a, C32(0.92f)), small, hn::CopySign(large, x));
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); x must be positive and finite. Handles denormals.
HWY_INLINE void SplitLog32(V32 x, V32& m, V32& e) {
  const I32 di;
  const auto den = hn::Lt(x, C32(1.17549435e-38f));
  const V32 xs = Blend(den, hn::Mul(x, C32(16777216.0f)), x);
  const auto bits = hn::BitCast(di, xs);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto ei = hn::ShiftRight<23>(shifted);
  m = hn::BitCast(D32(), hn::Sub(bits, hn::ShiftLeft<23>(ei)));
  e = hn::ConvertTo(D32(), ei);
  e = hn::Sub(e, hn::IfThenElseZero(den, C32(24.0f)));
}

// The tail of log(1 + f): everything but f itself.
HWY_INLINE V32 LogCore32(V32 f) {
  const V32 p = Poly(f, 0.333333135, -0.250000089, 0.200021192, -0.166679963, 0.142195508,
                     -0.124055915, 0.118881747, -0.116756409, 0.0674660131);
  const V32 f2 = hn::Mul(f, f);
  return hn::MulAdd(hn::Mul(f2, f), p, hn::Mul(f2, C32(-0.5f)));
}

HWY_INLINE V32 LogSpecial32(V32 x, V32 y) {
  y = Blend(hn::Eq(x, C32(0.0f)), C32(-HUGE_VALF), y);
  y = Blend(hn::Lt(x, C32(0.0f)), C32(NAN), y);
  y = Blend(hn::Eq(x, C32(HUGE_VALF)), x, y);
  return Blend(hn::IsNaN(x), x, y);
}

HWY_INLINE V32 Log32(V32 x) {
  V32 m, e;
  SplitLog32(x, m, e);
  const V32 f = hn::Sub(m, C32(1.0f));
  V32 y = LogCore32(f);
  y = hn::MulAdd(e, C32(-2.12194440e-4f), y);
  y = hn::Add(y, f);
  y = hn::MulAdd(e, C32(0.693359375f), y);
  return LogSpecial32(x, y);
}

// log(1 + t) for t in [0, 1].
HWY_INLINE V32 Log1pUnit32(V32 t) {
  const V32 u = hn::Add(t, C32(1.0f));
  const V32 c = hn::Div(hn::Sub(t, hn::Sub(u, C32(1.0f))), u);
  return hn::Add(Log32(u), c);
}

HWY_INLINE V32 Softplus32(V32 x) {
  const V32 t = Exp32(hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(C32(0.0f), x), Log1pUnit32(t));
}

HWY_INLINE V32 Mish32(V32 x) {
  const V32 e = Exp32(hn::Min(C32(20.0f), x));
  const V32 n = hn::Mul(e, hn::Add(e, C32(2.0f)));
  const V32 y = hn::Mul(x, hn::Div(n, hn::Add(n, C32(2.0f))));
  const V32 r = Blend(hn::Gt(x, C32(20.0f)), x, y);
  return Blend(hn::Eq(x, C32(-HUGE_VALF)), C32(-0.0f), r);
}

HWY_INLINE V32 Silu32(V32 x) {
  const V32 y = hn::Mul(x, Sigmoid32(x));
  return Blend(hn::Eq(x, C32(-HUGE_VALF)), C32(-0.0f), y);
}

HWY_INLINE V32 GeluErf32(V32 x) {
  const V32 h = hn::Mul(x, C32(0.5f));
  const V32 y = hn::MulAdd(h, Erf32(hn::Mul(x, C32(0.707106781f))), h);
  return Blend(hn::Eq(x, C32(-HUGE_VALF)), C32(-0.0f), y);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u), which keeps its accuracy for negative x.
HWY_INLINE V32 GeluTanh32(V32 x) {
  const V32 inner =
      hn::MulAdd(hn::Mul(hn::Mul(x, x), x), C32(0.0713548163f), hn::Mul(x, C32(1.59576912f)));
  const V32 y = hn::Mul(x, Sigmoid32(inner));
  return Blend(hn::Eq(x, C32(-HUGE_VALF)), C32(-0.0f), y);
}

// ---- double vectors, about 40 bits ----

// x is clamped to a range whose ends round to 0 and infinity as float.
HWY_INLINE V64 Exp64(V64 x) {
  const V64 xc = hn::Min(hn::Max(x, C64(-600.0)), C64(600.0));
  const V64 n = hn::Round(hn::Mul(xc, C64(1.4426950408889634)));
  V64 r = hn::NegMulAdd(n, C64(0.69314718036912382), xc);
  r = hn::NegMulAdd(n, C64(1.9082149292705877e-10), r);
  const V64 p = Poly(r, 0.49999999999951383, 0.16666666666631383, 0.041666666793643094,
                     0.0083333333650349398, 0.0013888837083907712, 0.00019841189840949508,
                     2.4869206348591075e-05, 2.7634132875639356e-06);
  const V64 e = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), C64(1.0));
  // n + 1023 sits in the low mantissa bits after adding 2^52 * 1.5.
  const auto bits = hn::BitCast(I64(), hn::Add(n, C64(6755399441055744.0 + 1023.0)));
  const V64 y = hn::Mul(e, hn::BitCast(D64(), hn::ShiftLeft<52>(bits)));
  return Blend(hn::IsNaN(x), x, y);
}

// Positive normal x only; zero, infinities, NaN and negative values as in log.
HWY_INLINE V64 Log64(V64 x) {
  const I64 di;
  const auto bits = hn::BitCast(di, x);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3fe6a09e667f3bcdLL));
  // Arithmetic shift by 52 through the high words: exponent as a double by the 2^52 trick.
  const auto eb = hn::And(hn::Add(shifted, hn::Set(di, 0x4000000000000000LL)),
                          hn::Set(di, 0x7ff0000000000000LL));
  const auto k = hn::BitCast(hn::ScalableTag<uint64_t>(), eb);
  const auto ku = hn::ShiftRight<52>(k);
  const V64 e = hn::Sub(
      hn::BitCast(D64(), hn::Or(ku, hn::Set(hn::ScalableTag<uint64_t>(), 0x4330000000000000ULL))),
      C64(4503599627370496.0 + 1024.0));
  const auto dm = hn::Sub(eb, hn::Set(di, 0x4000000000000000LL));
  const V64 m = hn::BitCast(D64(), hn::Sub(bits, dm));
  const V64 s = hn::Div(hn::Sub(m, C64(1.0)), hn::Add(m, C64(1.0)));
  const V64 s2 = hn::Mul(s, s);
  const V64 p = Poly(s2, 1.0, 0.33333333333275467, 0.20000000031156373, 0.14285707979084575,
                     0.11111718908828765, 0.090609262089771048, 0.084192346575213087);
  V64 y = hn::MulAdd(e, C64(0.69314718055994531), hn::Mul(hn::Add(s, s), p));
  y = Blend(hn::Eq(x, C64(0.0)), C64(-HUGE_VAL), y);
  y = Blend(hn::Lt(x, C64(0.0)), C64(NAN), y);
  y = Blend(hn::Eq(x, C64(HUGE_VAL)), x, y);
  return Blend(hn::IsNaN(x), x, y);
}

// |x| <= 2^20 only (see the callers for larger ones). Quadrant in the two low bits of q.
HWY_INLINE void ReducePi64(V64 x, V64& r, hn::Vec<I64>& q) {
  const V64 n = hn::Round(hn::Mul(x, C64(0.63661977236758134)));
  r = hn::NegMulAdd(n, C64(1.5707963267341256), x);
  r = hn::NegMulAdd(n, C64(6.0771005065061922e-11), r);
  q = hn::BitCast(I64(), hn::Add(n, C64(6755399441055744.0)));
}

HWY_INLINE V64 SinPoly64(V64 r, V64 s) {
  return hn::MulAdd(hn::Mul(r, s),
                    Poly(s, -0.16666666666663818, 0.0083333333310348159, -0.00019841266873534848,
                         2.755597773460873e-06, -2.4804411490989325e-08),
                    r);
}

HWY_INLINE V64 CosPoly64(V64 s) {
  return hn::MulAdd(hn::Mul(s, s),
                    Poly(s, 0.041666666666664624, -0.0013888888887245061, 2.4801585179473717e-05,
                         -2.7556360133653921e-07, 2.0699713808391664e-09),
                    hn::NegMulAdd(s, C64(0.5), C64(1.0)));
}

template <int kShift>  // 0: sin, 1: cos
HWY_INLINE V64 SinCos64(V64 x) {
  V64 r;
  hn::Vec<I64> q;
  ReducePi64(x, r, q);
  if (kShift) q = hn::Add(q, hn::Set(I64(), 1));
  const V64 s = hn::Mul(r, r);
  const auto odd = hn::MaskFromVec(hn::BitCast(D64(), hn::Neg(hn::And(q, hn::Set(I64(), 1)))));
  const V64 y = Blend(odd, CosPoly64(s), SinPoly64(r, s));
  const V64 sign = hn::BitCast(D64(), hn::ShiftLeft<62>(hn::And(q, hn::Set(I64(), 2))));
  return hn::Xor(y, sign);
}

HWY_INLINE V64 Tan64(V64 x) {
  V64 r;
  hn::Vec<I64> q;
  ReducePi64(x, r, q);
  const V64 s = hn::Mul(r, r);
  const V64 sn = SinPoly64(r, s), cs = CosPoly64(s);
  const auto odd = hn::MaskFromVec(hn::BitCast(D64(), hn::Neg(hn::And(q, hn::Set(I64(), 1)))));
  return hn::Div(Blend(odd, hn::Neg(cs), sn), Blend(odd, sn, cs));
}

HWY_INLINE V64 Atan64(V64 x) {
  const V64 a = hn::Abs(x);
  const auto inv = hn::Gt(a, C64(1.0));
  const V64 z = Blend(inv, hn::Div(C64(1.0), a), a);
  const auto mid = hn::Gt(z, C64(0.41421356237309503));
  const V64 w = Blend(mid, hn::Div(hn::Sub(z, C64(1.0)), hn::Add(z, C64(1.0))), z);
  const V64 s = hn::Mul(w, w);
  const V64 p =
      Poly(s, 0.999999999999999, -0.33333333333222515, 0.19999999978587313, -0.14285712674276785,
           0.11111049242320417, -0.090895364738419041, 0.076735982362591396, -0.065063300997001944,
           0.050257833220228573, -0.02532885193713862);
  V64 y = hn::MulAdd(w, p, hn::IfThenElseZero(mid, C64(0.78539816339744831)));
  y = Blend(inv, hn::Sub(C64(1.5707963267948966), y), y);
  return hn::CopySignToAbs(y, x);
}

HWY_INLINE V64 Asin64(V64 x) {
  const V64 y = Atan64(hn::Div(x, hn::Sqrt(hn::Mul(hn::Sub(C64(1.0), x), hn::Add(C64(1.0), x)))));
  return Blend(hn::Gt(hn::Abs(x), C64(1.0)), C64(NAN), Blend(hn::IsNaN(x), x, y));
}

HWY_INLINE V64 Acos64(V64 x) {
  const V64 y = Atan64(hn::Sqrt(hn::Div(hn::Sub(C64(1.0), x), hn::Add(C64(1.0), x))));
  return Blend(hn::Gt(hn::Abs(x), C64(1.0)), C64(NAN), Blend(hn::IsNaN(x), x, hn::Add(y, y)));
}

HWY_INLINE V64 Sinh64(V64 x) {
  const V64 y = hn::Mul(C64(0.5), hn::Sub(Exp64(x), Exp64(hn::Neg(x))));
  const V64 t = hn::MulAdd(hn::Mul(x, hn::Mul(x, x)), C64(1.0 / 6), x);
  return Blend(hn::Lt(hn::Abs(x), C64(1e-3)), t, y);
}

HWY_INLINE V64 Cosh64(V64 x) { return hn::Mul(C64(0.5), hn::Add(Exp64(x), Exp64(hn::Neg(x)))); }

HWY_INLINE V64 Asinh64(V64 x) {
  const V64 a = hn::Abs(x);
  const V64 y = Log64(hn::Add(a, hn::Sqrt(hn::MulAdd(a, a, C64(1.0)))));
  const V64 t = hn::MulAdd(hn::Mul(a, hn::Mul(a, a)), C64(-1.0 / 6), a);
  return hn::CopySignToAbs(Blend(hn::Lt(a, C64(1e-3)), t, y), x);
}

HWY_INLINE V64 Acosh64(V64 x) {
  const V64 d = hn::Sub(x, C64(1.0));
  const V64 q = hn::Sqrt(hn::Mul(d, hn::Add(x, C64(1.0))));
  // log1p(w) with w = d + q; for small w the series keeps relative accuracy.
  const V64 w = hn::Add(d, q);
  const V64 t = hn::Mul(w, hn::MulAdd(w, hn::MulAdd(w, C64(1.0 / 3), C64(-0.5)), C64(1.0)));
  const V64 y = Blend(hn::Lt(w, C64(1e-4)), t, Log64(hn::Add(C64(1.0), w)));
  return Blend(hn::Lt(x, C64(1.0)), C64(NAN), y);
}

HWY_INLINE V64 Atanh64(V64 x) {
  const V64 y = hn::Mul(C64(0.5), Log64(hn::Div(hn::Add(C64(1.0), x), hn::Sub(C64(1.0), x))));
  const V64 t = hn::MulAdd(hn::Mul(x, hn::Mul(x, x)), C64(1.0 / 3), x);
  return Blend(hn::Lt(hn::Abs(x), C64(1e-3)), t, y);
}

HWY_INLINE V64 Pow64(V64 x, V64 y) {
  const V64 ax = hn::Abs(x);
  V64 r = Exp64(hn::Mul(y, Log64(ax)));
  const auto y_int = hn::Eq(hn::Floor(y), y);
  const V64 hy = hn::Mul(y, C64(0.5));
  const auto y_odd = hn::AndNot(hn::Eq(hn::Floor(hy), hy), y_int);
  const auto neg = hn::MaskFromVec(hn::BitCast(D64(), hn::BroadcastSignBit(hn::BitCast(I64(), x))));
  const auto bad = hn::And(hn::AndNot(y_int, hn::Lt(x, C64(0.0))), hn::Gt(x, C64(-HUGE_VAL)));
  r = Blend(bad, C64(NAN), r);
  r = Blend(hn::And(neg, y_odd), hn::Neg(r), r);
  const auto one = hn::Or(hn::Or(hn::Eq(x, C64(1.0)), hn::Eq(y, C64(0.0))),
                          hn::And(hn::Eq(ax, C64(1.0)), hn::Eq(hn::Abs(y), C64(HUGE_VAL))));
  return Blend(one, C64(1.0), r);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#endif
