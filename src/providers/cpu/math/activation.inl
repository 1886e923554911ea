// Activations on F32 vectors, after simd.inl. Within 4 ulp of the exact value where that is a
// normal number (erf form: relative to x). NaN gives NaN.
#pragma once

#include "providers/cpu/math/epilogue.h"
#include "providers/cpu/math/simd.inl"

namespace switchyard::cpu::math {
namespace {

// Degree-6 Taylor-Chebyshev on |r| <= ln2 / 2, results clamped to normal numbers.
SY_INLINE F32::Reg ExpClamped(F32::Reg x) {
  x = F32::Max(F32::Set1(-87.0f), F32::Min(F32::Set1(88.0f), x));
  const F32::Reg magic = F32::Set1(12582912.0f);
  const F32::Reg t = F32::Add(F32::Mul(x, F32::Set1(1.44269504f)), magic);
  const F32::Reg n = F32::Sub(t, magic);
  F32::Reg r = F32::Fma(n, F32::Set1(-0.693359375f), x);
  r = F32::Fma(n, F32::Set1(2.12194440e-4f), r);
  F32::Reg p = F32::Set1(1.9875691500e-4f);
  p = F32::Fma(p, r, F32::Set1(1.3981999507e-3f));
  p = F32::Fma(p, r, F32::Set1(8.3334519073e-3f));
  p = F32::Fma(p, r, F32::Set1(4.1665795894e-2f));
  p = F32::Fma(p, r, F32::Set1(1.6666665459e-1f));
  p = F32::Fma(p, r, F32::Set1(5.0000001201e-1f));
  p = F32::Add(F32::Fma(p, F32::Mul(r, r), r), F32::Set1(1.0f));
  return F32::Mul(p, F32::ExponentFromMagic(t));
}

SY_INLINE F32::Reg Sigmoid(F32::Reg x) {
  const F32::Reg one = F32::Set1(1.0f);
  return F32::Div(one, F32::Add(one, ExpClamped(F32::Sub(F32::Zero(), x))));
}

SY_INLINE F32::Reg Tanh(F32::Reg x) {
  const F32::Reg a = F32::Abs(x);
  const F32::Reg e = ExpClamped(F32::Add(a, a));
  F32::Reg large =
      F32::Sub(F32::Set1(1.0f), F32::Div(F32::Set1(2.0f), F32::Add(e, F32::Set1(1.0f))));
  large = F32::SelectLess(x, F32::Zero(), F32::Sub(F32::Zero(), large), large);
  const F32::Reg z = F32::Mul(x, x);
  F32::Reg p = F32::Set1(-5.70498872745e-3f);
  p = F32::Fma(p, z, F32::Set1(2.06390887954e-2f));
  p = F32::Fma(p, z, F32::Set1(-5.37397155531e-2f));
  p = F32::Fma(p, z, F32::Set1(1.33314422036e-1f));
  p = F32::Fma(p, z, F32::Set1(-3.33332819422e-1f));
  const F32::Reg small = F32::Fma(F32::Mul(p, z), x, x);
  return F32::SelectLess(a, F32::Set1(0.625f), small, large);
}

// x times the normal distribution function: erfc(y) = exp(-y^2) t P(t), t = 1 / (1 + 0.38 y), own
// fit of erfcx to 2e-8 relative, so that the negative tail keeps its relative accuracy.
SY_INLINE F32::Reg GeluErf(F32::Reg x) {
  const F32::Reg y = F32::Mul(F32::Abs(x), F32::Set1(0.70710678f));
  const F32::Reg t = F32::Div(F32::Set1(1.0f), F32::Fma(y, F32::Set1(0.38f), F32::Set1(1.0f)));
  F32::Reg p = F32::Set1(5.904776349e-02f);
  p = F32::Fma(p, t, F32::Set1(-2.626905100e-01f));
  p = F32::Fma(p, t, F32::Set1(3.647452640e-01f));
  p = F32::Fma(p, t, F32::Set1(-1.625198379e-01f));
  p = F32::Fma(p, t, F32::Set1(2.307972200e-01f));
  p = F32::Fma(p, t, F32::Set1(1.383016279e-01f));
  p = F32::Fma(p, t, F32::Set1(2.040015503e-01f));
  p = F32::Fma(p, t, F32::Set1(2.139050771e-01f));
  p = F32::Fma(p, t, F32::Set1(2.144118652e-01f));
  const F32::Reg e = ExpClamped(F32::Mul(F32::Mul(x, x), F32::Set1(-0.5f)));
  const F32::Reg tail = F32::Mul(F32::Mul(F32::Mul(p, t), F32::Set1(0.5f)), e);
  const F32::Reg phi = F32::SelectLess(x, F32::Zero(), tail, F32::Sub(F32::Set1(1.0f), tail));
  // Below -13 the product is under the smallest normal number; -inf must give 0, not NaN.
  const F32::Reg bounded = F32::Max(F32::Set1(-13.5f), x);
  return F32::Mul(bounded, phi);
}

SY_INLINE F32::Reg GeluTanh(F32::Reg x) {
  const F32::Reg bounded = F32::Max(F32::Set1(-20.0f), x);
  const F32::Reg z = F32::Min(F32::Set1(20.0f), bounded);
  const F32::Reg inner = F32::Mul(F32::Mul(z, F32::Set1(0.7978845608f)),
                                  F32::Fma(F32::Mul(z, z), F32::Set1(0.044715f), F32::Set1(1.0f)));
  // 0.5 (1 + tanh u) = sigmoid(2 u)
  return F32::Mul(bounded, Sigmoid(F32::Add(inner, inner)));
}

struct ActivationArgs {
  Activation kind;
  F32::Reg a, b;
};

SY_INLINE F32::Reg ActivateOne(const ActivationArgs& act, F32::Reg x) {
  const F32::Reg zero = F32::Zero();
  const F32::Reg one = F32::Set1(1.0f);
  switch (act.kind) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return F32::Max(zero, x);
    case Activation::kClip:
      return F32::Min(act.b, F32::Max(act.a, x));
    case Activation::kLeakyRelu:
      return F32::SelectLess(x, zero, F32::Mul(x, act.a), x);
    case Activation::kHardSigmoid:
      return F32::Min(one, F32::Max(zero, F32::Fma(x, act.a, act.b)));
    case Activation::kHardSwish:
      return F32::Mul(
          x, F32::Min(one, F32::Max(zero, F32::Fma(x, F32::Set1(1.0f / 6.0f), F32::Set1(0.5f)))));
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kTanh:
      return Tanh(x);
    case Activation::kSilu:
      // The clamped sigmoid is not small enough for huge x.
      return F32::SelectLess(F32::Mul(x, act.a), F32::Set1(-87.5f), zero,
                             F32::Mul(x, Sigmoid(F32::Mul(x, act.a))));
    case Activation::kGeluTanh:
      return GeluTanh(x);
    case Activation::kGeluErf:
      return GeluErf(x);
  }
  return x;
}

// One row of a hot tile; the switch is outside of the loop.
template <Activation kKind>
SY_INLINE void ActivateRowAs(float* row, std::int64_t n, float a, float b) {
  const ActivationArgs act{kKind, F32::Set1(a), F32::Set1(b)};
  std::int64_t i = 0;
  for (; i + F32::kW <= n; i += F32::kW) F32::Store(row + i, ActivateOne(act, F32::Load(row + i)));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    F32::StoreN(row + i, ActivateOne(act, F32::LoadN(row + i, rest)), rest);
  }
}

__attribute__((noinline, unused)) void ActivateRow(Activation kind, float* row, std::int64_t n,
                                                   float a, float b) {
  switch (kind) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return ActivateRowAs<Activation::kRelu>(row, n, a, b);
    case Activation::kClip:
      return ActivateRowAs<Activation::kClip>(row, n, a, b);
    case Activation::kLeakyRelu:
      return ActivateRowAs<Activation::kLeakyRelu>(row, n, a, b);
    case Activation::kHardSigmoid:
      return ActivateRowAs<Activation::kHardSigmoid>(row, n, a, b);
    case Activation::kHardSwish:
      return ActivateRowAs<Activation::kHardSwish>(row, n, a, b);
    case Activation::kSigmoid:
      return ActivateRowAs<Activation::kSigmoid>(row, n, a, b);
    case Activation::kTanh:
      return ActivateRowAs<Activation::kTanh>(row, n, a, b);
    case Activation::kSilu:
      return ActivateRowAs<Activation::kSilu>(row, n, a, b);
    case Activation::kGeluTanh:
      return ActivateRowAs<Activation::kGeluTanh>(row, n, a, b);
    case Activation::kGeluErf:
      return ActivateRowAs<Activation::kGeluErf>(row, n, a, b);
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
