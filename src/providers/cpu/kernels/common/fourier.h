#pragma once
// Discrete Fourier transforms of any length, in double: mixed radix by the prime factors, and
// Bluestein's chirp form where a factor is large. Tables and work space are the caller's.

#include <complex>
#include <cstdint>

namespace switchyard::cpu {

class Fourier {
 public:
  using Complex = std::complex<double>;

  // Elements of the table and of one worker's space that a length needs.
  static std::int64_t TableSize(std::int64_t n);
  static std::int64_t WorkSize(std::int64_t n);

  // Fills `table`, which must outlive this.
  Fourier(std::int64_t n, bool inverse, Complex* table);

  // out = transform of in, both n elements, not scaled. `work` has WorkSize elements.
  void Run(const Complex* in, Complex* out, Complex* work) const;

 private:
  static bool HasLargeFactor(std::int64_t n);
  static std::int64_t ChirpLength(std::int64_t n);
  // Roots of unity of order `order`, of which this transform takes every `step`-th.
  struct Roots {
    const Complex* data;
    std::int64_t order;
  };
  static void Mixed(const Roots& roots, std::int64_t n, std::int64_t stride, const Complex* in,
                    Complex* out);
  void Chirped(const Complex* in, Complex* out, Complex* work) const;

  std::int64_t n_;
  bool chirped_;
  Complex* table_;
};

}  // namespace switchyard::cpu
