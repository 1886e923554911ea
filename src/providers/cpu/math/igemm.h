// Exact integer matrix products (A - a_zero) * (B - b_zero), A and B 8-bit, signed or not. Sums
// wrap modulo 2^32, nothing saturates before the result is stored: as 32-bit sums, requantised to 8
// bits, or scaled to float. Pure functions, chunked like gemm.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/gemm.h"
#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

enum class IgemmResult : std::uint8_t {
  kSums,   // int32: the sum with the bias
  kUint8,  // saturate(round_half_even(sum * scale) + c_zero), multiplied in double
  kInt8,
  kFloat,  // float(sum) * scale + float_bias_col
};

struct IgemmArgs {
  const void* a = nullptr;  // [M, K] row-major, or packed by pack_a with the same a_signed
  std::int64_t lda = 0;
  bool a_signed = false;
  const void* b = nullptr;  // form as in the shape; packed: by pack_b with the same b_signed
  std::int64_t ldb = 0;
  bool b_signed = true;
  void* c = nullptr;
  std::int64_t ldc = 0;
  IgemmResult result = IgemmResult::kSums;
  std::int32_t a_zero = 0;
  const std::int32_t* a_zero_rows = nullptr;  // one per row, in place of a_zero
  std::int32_t b_zero = 0;
  const std::int32_t* b_zero_cols = nullptr;  // one per column, in place of b_zero
  const std::int32_t* bias_row = nullptr;
  const std::int32_t* bias_col = nullptr;
  float scale = 1;
  const float* scale_rows = nullptr;  // one per row, in place of scale
  const float* scale_cols = nullptr;  // one per column, in place of scale; not both
  const float* float_bias_col = nullptr;
  std::int32_t c_zero = 0;
  std::int64_t a_batch_stride = 0;  // bytes
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;  // elements
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;
};

// One row of a convolution of one channel: start + the sum over taps of rows[t][i] * weights[t].
struct IdepthwiseArgs {
  const std::int16_t* const* rows = nullptr;  // up to 16 elements beyond the row are read
  const std::int16_t* weights = nullptr;
  std::int64_t taps = 0;  // at most 64
  std::int32_t start = 0;
  IgemmResult result = IgemmResult::kSums;  // not kFloat
  float scale = 1;
  std::int32_t c_zero = 0;
};

struct IgemmOps {
  std::int64_t tile_cols;
  GemmPlan (*plan)(const GemmShape& shape);  // A row-major or packed
  void (*run_chunk)(const GemmPlan& plan, const IgemmArgs& args, std::int64_t chunk, void* scratch);
  // Panels are independent; 64-byte aligned destinations.
  std::int64_t (*b_panels)(std::int64_t n);
  std::size_t (*packed_b_bytes)(std::int64_t k, std::int64_t n);
  void (*pack_b)(const void* b, bool b_signed, std::int64_t ldb, MatrixForm form, std::int64_t k,
                 std::int64_t n, std::int64_t panel_begin, std::int64_t panel_end, void* packed);
  std::size_t (*packed_a_bytes)(std::int64_t m, std::int64_t k);
  void (*pack_a)(const void* a, bool a_signed, std::int64_t lda, std::int64_t m, std::int64_t k,
                 std::int64_t row_begin, std::int64_t row_end, void* packed);
  void (*widen)(const std::uint8_t* x, bool is_signed, std::int32_t zero, std::int64_t n,
                std::int16_t* to);  // to = x - zero
  void (*depthwise_row)(const IdepthwiseArgs& args, std::int64_t n, void* c);
};

// kAvx512 needs VNNI as well: without it kAvx2 runs.
const IgemmOps& IgemmFor(IsaLevel level, bool has_vnni);

}  // namespace switchyard::cpu::math
