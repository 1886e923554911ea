#pragma once
// What the kernels over products of 8-bit integers share: which operands are packed at load,
// scales and zero points as arrays, the loop over chunks.

#include <span>

#include "providers/cpu/kernels/common/product.h"
#include "providers/cpu/math/igemm.h"

namespace switchyard::cpu {

inline constexpr TypeSet kByteTypes = DataType::kUint8 | DataType::kInt8;

// The products of `level` on this machine.
const math::IgemmOps& IgemmOf(math::IsaLevel level);

// A constant right-hand matrix [k, n], or [n, k] if transposed, of 8-bit integers.
PackedForm PackedBytes(const Constant& matrix, math::IsaLevel level, bool transposed);

// A scale or zero point: absent, one number, or several.
struct QuantParameter {
  const Tensor* tensor = nullptr;
  float absent = 0;

  std::int64_t size() const { return tensor != nullptr ? tensor->size() : 1; }
  bool is_one() const { return size() == 1; }
  float At(std::int64_t i) const;
  // One per entry of `to`, from `first` on, repeated from there where there are too few.
  void Read(std::int64_t first, std::span<float> to) const;
  void Read(std::int64_t first, std::span<std::int32_t> to) const;
};

// Runs all chunks on `scratch`, laid out by ProductScratch.
void RunIntegerProduct(OpKernelContext& context, const math::IgemmOps& ops,
                       const math::GemmPlan& plan, const math::IgemmArgs& args, std::byte* scratch);

inline math::IgemmResult ByteResult(DataType type) {
  return type == DataType::kInt8 ? math::IgemmResult::kInt8 : math::IgemmResult::kUint8;
}

}  // namespace switchyard::cpu
