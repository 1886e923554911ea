// Matrix products C = alpha * A * B + beta * C with an epilogue, float and double, on raw pointers.
// Pure functions: no allocation, no threads, no errors. The caller runs a plan's chunks in any
// order on any threads; plan and bits depend on the shape and the ISA level only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/epilogue.h"
#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// A is [M, K] row-major, or [K, M] if trans; B is [K, N] row-major, or [N, K] if trans.
enum class MatrixForm : std::uint8_t { kRowMajor, kTransposed, kPacked };

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  MatrixForm a = MatrixForm::kRowMajor;
  MatrixForm b = MatrixForm::kRowMajor;
};

enum class GemmPath : std::uint8_t {
  kNothing,    // an empty output
  kTiles,      // register tiles over packed B (packed in the chunk's scratch where B is not)
  kRowStream,  // few rows, B row-major, read once in place
  kDot,        // few rows, B transposed: dot products
};

// Plain data, fixed by shape and ISA level.
struct GemmPlan {
  GemmShape shape;
  GemmPath path = GemmPath::kNothing;
  std::int64_t k_block = 0;
  std::int64_t m_chunk = 0;
  std::int64_t n_chunk = 0;
  std::int64_t m_chunks = 0;
  std::int64_t n_chunks = 0;
  std::int64_t chunks = 0;        // batch * m_chunks * n_chunks
  std::size_t scratch_bytes = 0;  // per running chunk, 64-byte aligned
  double flops_per_chunk = 0;     // for the caller's cost model
};

// Leading dimensions in elements; packed operands ignore theirs. The operand of batch entry i is at
// offset i * stride, or offsets[i] where a table is given (broadcasting). Batched packed operands
// are `Packed*Elements` apart unless a stride is given.
template <typename T>
struct GemmArgsT {
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  T alpha = 1;
  T beta = 0;  // 0: C is not read
  std::int64_t a_batch_stride = 0;
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;
  const EpilogueT<T>* epilogue = nullptr;
};

template <typename T>
struct GemmOpsT {
  std::int64_t tile_rows;  // rows of a packed A panel
  std::int64_t tile_cols;  // columns of a packed B panel

  GemmPlan (*plan)(const GemmShape& shape);
  // chunk in [0, plan.chunks)
  void (*run_chunk)(const GemmPlan& plan, const GemmArgsT<T>& args, std::int64_t chunk,
                    void* scratch);

  // Packed forms: panels are independent, so ranges may be packed in parallel. `b` in either
  // unpacked form; 64-byte aligned destinations.
  std::int64_t (*b_panels)(std::int64_t n);
  std::size_t (*packed_b_elements)(std::int64_t k, std::int64_t n);
  void (*pack_b)(const T* b, std::int64_t ldb, MatrixForm form, std::int64_t k, std::int64_t n,
                 std::int64_t panel_begin, std::int64_t panel_end, T* packed);
  // Rows [k_begin, k_end) of those panels only: `b` is at (k_begin, first column of panel_begin).
  void (*pack_b_rows)(const T* b, std::int64_t ldb, MatrixForm form, std::int64_t k, std::int64_t n,
                      std::int64_t k_begin, std::int64_t k_end, std::int64_t panel_begin,
                      std::int64_t panel_end, T* packed);
  std::int64_t (*a_panels)(std::int64_t m);
  std::size_t (*packed_a_elements)(std::int64_t m, std::int64_t k);
  void (*pack_a)(const T* a, std::int64_t lda, MatrixForm form, std::int64_t m, std::int64_t k,
                 std::int64_t panel_begin, std::int64_t panel_end, T* packed);
};

using GemmArgs = GemmArgsT<float>;
using GemmOps = GemmOpsT<float>;
using GemmOpsF64 = GemmOpsT<double>;

const GemmOps& GemmFor(IsaLevel level);
const GemmOpsF64& GemmF64For(IsaLevel level);

}  // namespace switchyard::cpu::math
