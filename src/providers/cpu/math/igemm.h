// Exact integer matrix products: C (32-bit) = (A - a_zero) * (B - b_zero), A and B 8-bit, signed or
// not. Sums wrap modulo 2^32, nothing saturates. Pure functions, chunked like gemm.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/epilogue.h"
#include "providers/cpu/math/gemm.h"
#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// Called once per finished piece of C; `tile` is rows x cols of the final sums at (row0, col0).
using IgemmProgram = TileProgram<std::int32_t>;

struct IgemmArgs {
  const void* a = nullptr;  // [M, K] row-major
  std::int64_t lda = 0;
  bool a_signed = false;
  const void* b = nullptr;  // form as in the shape; packed: by pack_b with the same b_signed
  std::int64_t ldb = 0;
  bool b_signed = true;
  std::int32_t* c = nullptr;
  std::int64_t ldc = 0;
  std::int32_t a_zero = 0;
  const std::int32_t* a_zero_rows = nullptr;  // one per row, in place of a_zero
  std::int32_t b_zero = 0;
  const std::int32_t* b_zero_cols = nullptr;  // one per column, in place of b_zero
  const std::int32_t* bias_row = nullptr;
  const std::int32_t* bias_col = nullptr;
  std::int64_t a_batch_stride = 0;  // bytes
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;  // elements
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;
  IgemmProgram tile_program = nullptr;
  void* tile_context = nullptr;
};

struct IgemmOps {
  std::int64_t tile_cols;
  GemmPlan (*plan)(const GemmShape& shape);  // A row-major
  void (*run_chunk)(const GemmPlan& plan, const IgemmArgs& args, std::int64_t chunk, void* scratch);
  // Panels are independent; 64-byte aligned destinations.
  std::int64_t (*b_panels)(std::int64_t n);
  std::size_t (*packed_b_bytes)(std::int64_t k, std::int64_t n);
  void (*pack_b)(const void* b, bool b_signed, std::int64_t ldb, MatrixForm form, std::int64_t k,
                 std::int64_t n, std::int64_t panel_begin, std::int64_t panel_end, void* packed);
};

// kAvx512 needs VNNI as well; without it pass kAvx2.
const IgemmOps& IgemmFor(IsaLevel level);

}  // namespace switchyard::cpu::math
