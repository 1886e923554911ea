#pragma once
// Rotary position embedding of one head: the first `rotary` elements turn in pairs by the angles of
// a position's cosines and sines (rotary / 2 each), the rest is copied.

#include <algorithm>
#include <cstdint>

namespace switchyard::cpu {

template <typename C>
void RotateHead(const C* x, const C* cosines, const C* sines, std::int64_t size,
                std::int64_t rotary, bool interleaved, C* y) {
  const std::int64_t half = rotary / 2;
  if (interleaved) {
    for (std::int64_t k = 0; k < half; ++k) {
      const C a = x[2 * k], b = x[2 * k + 1];
      y[2 * k] = cosines[k] * a - sines[k] * b;
      y[2 * k + 1] = sines[k] * a + cosines[k] * b;
    }
  } else {
    for (std::int64_t k = 0; k < half; ++k) {
      const C a = x[k], b = x[k + half];
      y[k] = cosines[k] * a - sines[k] * b;
      y[k + half] = sines[k] * a + cosines[k] * b;
    }
  }
  if (x != y) std::copy(x + rotary, x + size, y + rotary);
}

}  // namespace switchyard::cpu
