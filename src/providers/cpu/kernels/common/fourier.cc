#include "providers/cpu/kernels/common/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace switchyard::cpu {

namespace {

using Complex = Fourier::Complex;

constexpr std::int64_t kLargeFactor = 64;

std::int64_t SmallestFactor(std::int64_t n) {
  if (n % 4 == 0) return 4;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// std::complex's own product checks for NaN.
Complex Times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(sign * 2 pi i k / order).
Complex Root(std::int64_t k, std::int64_t order, double sign) {
  const double angle =
      sign * 2 * std::numbers::pi * static_cast<double>(k % order) / static_cast<double>(order);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

bool Fourier::HasLargeFactor(std::int64_t n) {
  while (n > 1) {
    const std::int64_t p = SmallestFactor(n);
    if (p > kLargeFactor) return true;
    n /= p;
  }
  return false;
}

// A power of two that holds the linear convolution of two chirps.
std::int64_t Fourier::ChirpLength(std::int64_t n) {
  std::int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

// Chirped: the chirp, the transform of its conjugate, roots forwards and backwards.
std::int64_t Fourier::TableSize(std::int64_t n) {
  return HasLargeFactor(n) ? n + 3 * ChirpLength(n) : n;
}

std::int64_t Fourier::WorkSize(std::int64_t n) {
  return HasLargeFactor(n) ? 2 * ChirpLength(n) : 0;
}

Fourier::Fourier(std::int64_t n, bool inverse, Complex* table)
    : n_(n), chirped_(HasLargeFactor(n)), table_(table) {
  const double sign = inverse ? 1 : -1;
  if (!chirped_) {
    for (std::int64_t k = 0; k < n; ++k) table[k] = Root(k, n, sign);
    return;
  }
  const std::int64_t m = ChirpLength(n);
  Complex* spectrum = table + n;
  Complex* forward = spectrum + m;
  Complex* backward = forward + m;
  for (std::int64_t k = 0; k < m; ++k) {
    forward[k] = Root(k, m, -1);
    backward[k] = Root(k, m, 1);
  }
  // exp(sign * pi i k^2 / n); k^2 modulo 2n keeps the angle exact.
  for (std::int64_t k = 0; k < n; ++k) table[k] = Root(k * k % (2 * n), 2 * n, sign);
  // The spectrum is made where the backward roots are needed last: through its own copy.
  for (std::int64_t k = 0; k < m; ++k) spectrum[k] = 0;
  Complex* conjugates = backward;  // refilled below
  for (std::int64_t k = 0; k < m; ++k) conjugates[k] = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    conjugates[k] = std::conj(table[k]);
    if (k > 0) conjugates[m - k] = std::conj(table[k]);
  }
  Mixed({forward, m}, m, 1, conjugates, spectrum);
  for (std::int64_t k = 0; k < m; ++k) backward[k] = Root(k, m, 1);
}

void Fourier::Mixed(const Roots& roots, std::int64_t n, std::int64_t stride, const Complex* in,
                    Complex* out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const std::int64_t p = SmallestFactor(n), m = n / p;
  for (std::int64_t k = 0; k < p; ++k) Mixed(roots, m, stride * p, in + k * stride, out + k * m);
  const std::int64_t step = roots.order / n;
  if (p == 2) {
    for (std::int64_t i = 0; i < m; ++i) {
      const Complex b = Times(out[m + i], roots.data[i * step]);
      out[m + i] = out[i] - b;
      out[i] += b;
    }
    return;
  }
  if (p == 4) {
    // The root of order four is -i forwards, i backwards.
    const double turn = roots.data[roots.order / 4].imag();
    for (std::int64_t i = 0; i < m; ++i) {
      const Complex a = out[i], b = Times(out[m + i], roots.data[i * step]);
      const Complex c = Times(out[2 * m + i], roots.data[2 * i * step]);
      const Complex d = Times(out[3 * m + i], roots.data[3 * i * step]);
      const Complex sum = a + c, difference = a - c, pair = b + d, odd = b - d;
      const Complex turned(-turn * odd.imag(), turn * odd.real());
      out[i] = sum + pair;
      out[m + i] = difference + turned;
      out[2 * m + i] = sum - pair;
      out[3 * m + i] = difference - turned;
    }
    return;
  }
  Complex column[kLargeFactor];
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = 0; k < p; ++k)
      column[k] = Times(out[k * m + i], roots.data[k * i * step % roots.order]);
    for (std::int64_t q = 0; q < p; ++q) {
      Complex sum = column[0];
      for (std::int64_t k = 1; k < p; ++k)
        sum += Times(column[k], roots.data[k * q * m * step % roots.order]);
      out[q * m + i] = sum;
    }
  }
}

void Fourier::Chirped(const Complex* in, Complex* out, Complex* work) const {
  const std::int64_t m = ChirpLength(n_);
  const Complex* spectrum = table_ + n_;
  Complex* a = work;
  Complex* b = work + m;
  for (std::int64_t k = 0; k < n_; ++k) a[k] = Times(in[k], table_[k]);
  std::fill(a + n_, a + m, Complex());
  Mixed({spectrum + m, m}, m, 1, a, b);
  for (std::int64_t k = 0; k < m; ++k) b[k] = Times(b[k], spectrum[k]);
  Mixed({spectrum + 2 * m, m}, m, 1, b, a);
  const double scale = 1 / static_cast<double>(m);
  for (std::int64_t k = 0; k < n_; ++k) out[k] = Times(a[k], table_[k]) * scale;
}

void Fourier::Run(const Complex* in, Complex* out, Complex* work) const {
  if (chirped_) return Chirped(in, out, work);
  Mixed({table_, n_}, n_, 1, in, out);
}

}  // namespace switchyard::cpu
