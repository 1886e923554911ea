#pragma once
// Y = alpha * op(A) * op(B) + beta * C for batches of matrices, by this provider's own kernels.
// Not a kernel of the registry: MatMul, Gemm and the convolution launch it.

#include "providers/opencl/kernel.h"

namespace switchyard::opencl {

struct GemmKind {
  bool trans_a = false;  // A is stored k by m
  bool trans_b = false;  // B is stored n by k
  bool adds = false;     // C is there
};

// Sizes and steps in elements. Y is dense; A and B have contiguous rows.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_row = 0, b_row = 0;     // from one stored row to the next
  std::int64_t c_row = 0, c_column = 0;  // 0: the same for all
  std::int64_t batches = 1;              // Y's are dense
  Dims batch_dims, batch_a, batch_b;     // up to 8 dims; empty: one batch
  float alpha = 1, beta = 1;
};

class GemmLauncher {
 public:
  using Builder = std::function<EntryPoint(std::string_view code, const Defines& defines,
                                           const std::string& entry, const Sizes& local)>;
  // lanes: columns that one work-item holds as a vector; 1 leaves vectors to the device.
  GemmLauncher(DataType type, const Builder& builder, int lanes, GemmKind kind);
  void Run(OpKernelContext& context, const Tensor& a, const Tensor& b, const Tensor* c, Tensor& y,
           const GemmShape& shape) const;

 private:
  static constexpr int kRows = 4;  // of Y per work-item
  int lanes_;
  EntryPoint entry_;
};

}  // namespace switchyard::opencl
