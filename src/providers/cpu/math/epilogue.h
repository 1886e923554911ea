// What is done to a finished tile of a matrix product or convolution before it leaves the cache.
// Not a program: programs hook in through `tile_program`.
#pragma once

#include <cstdint>

namespace switchyard::cpu::math {

enum class Activation : std::uint8_t {
  kNone,
  kRelu,
  kClip,         // min(max(x, a), b)
  kLeakyRelu,    // x < 0 ? a * x : x
  kHardSigmoid,  // clip(a * x + b, 0, 1)
  kHardSwish,    // x * clip(x / 6 + 0.5, 0, 1)
  kSigmoid,
  kTanh,
  kSilu,      // x * sigmoid(a * x)
  kGeluTanh,  // the tanh form
  kGeluErf,   // the erf form
};

// Called once per finished tile, after bias, residual and activation. `tile` is rows x cols with
// row stride ld, at (row0, col0) of the output of batch entry `batch`.
template <typename T>
using TileProgram = void (*)(void* context, std::int64_t batch, std::int64_t row0,
                             std::int64_t col0, std::int64_t rows, std::int64_t cols, T* tile,
                             std::int64_t ld);

// Order: alpha * product + beta * C + bias_row + bias_col + residual, activation, program.
// Minimum and maximum keep NaN. All pointers may be null.
template <typename T>
struct EpilogueT {
  const T* bias_row = nullptr;  // one value per output row
  const T* bias_col = nullptr;  // one value per output column
  const T* residual = nullptr;  // same shape as the output
  std::int64_t residual_ld = 0;
  std::int64_t residual_batch_stride = 0;
  Activation activation = Activation::kNone;  // double: only kNone, kRelu, kClip, kLeakyRelu
  T a = 0;
  T b = 0;
  TileProgram<T> tile_program = nullptr;
  void* tile_context = nullptr;
};
using Epilogue = EpilogueT<float>;

}  // namespace switchyard::cpu::math
