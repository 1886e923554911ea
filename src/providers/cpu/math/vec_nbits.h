// Products with block-quantised weights of 4 and 8 bits: a column is a row of codes, low bits
// first, with a scale and a zero point per block along K. Pure functions over raw pointers, nothing
// is allocated; columns are independent.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

struct NBitsWeight {
  IsaLevel level = IsaLevel::kBaseline;
  int bits = 4;                    // 4 or 8
  int64_t blocks = 0;              // per column
  int64_t block = 32;              // elements of a block, a multiple of 16
  const uint8_t* codes = nullptr;  // blocks * block * bits / 8 bytes per column
  const float* scales = nullptr;   // blocks per column
  const float* zeros = nullptr;    // likewise, or one row for all columns:
  int64_t zeros_pitch = 0;         // blocks, or 0

  int64_t column_bytes() const { return blocks * block * bits / 8; }
};

// Rearranges a row of k <= blocks * block values for NBitsDot: blocks * block floats, zeros behind
// k, and the sum of each block.
void NBitsArrange(const NBitsWeight& weight, const float* row, int64_t k, float* arranged,
                  float* sums);

// The same with each block of the row quantised to [-127, 127] by its largest magnitude, as an
// accuracy_level of 4 allows: values, scale of each block, and scale * sum of its values. `real`,
// if given, takes the row as it was understood, k floats in their order.
void NBitsQuantize(const NBitsWeight& weight, const float* row, int64_t k, int16_t* values,
                   float* scales, float* sums, float* real);

// out[c] = row * column c for columns [begin, end).
void NBitsDot(const NBitsWeight& weight, const float* arranged, const float* sums, int64_t begin,
              int64_t end, float* out);

void NBitsIntegerDot(const NBitsWeight& weight, const int16_t* values, const float* scales,
                     const float* sums, int64_t begin, int64_t end, float* out);

// Column c as blocks * block floats.
void NBitsExpand(const NBitsWeight& weight, int64_t column, float* out);

}  // namespace switchyard::cpu::math
