#pragma once
// 16-bit float tensors as float for kernels that compute in float: what is float already is read in
// place, the rest is widened into scratch.

#include "providers/cpu/kernels/common/product.h"
#include "providers/cpu/math/vec_cast.h"

namespace switchyard::cpu {

template <typename T>
class Widening {
  using C = ComputeOf<T>;

 public:
  explicit Widening(math::IsaLevel level) {
    if constexpr (kIsHalf<T>) {
      const auto type = static_cast<math::ElemType>(DataTypeOf<T>);
      widen_ = math::GetCast(type, math::ElemType::kFloat, level);
      narrow_ = math::GetCast(math::ElemType::kFloat, type, level);
    }
  }

  // How many elements of scratch Read and Write want for a tensor of n.
  static constexpr std::int64_t Room(std::int64_t n) { return kIsHalf<T> ? n : 0; }

  const C* Read(OpKernelContext& context, const Tensor& tensor, std::byte* room) const {
    if constexpr (kIsHalf<T>) {
      ParallelItems(context, tensor.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(widen_, tensor.data<T>(), room, begin, end);
      });
      return reinterpret_cast<const C*>(room);
    } else {
      return tensor.data<T>();
    }
  }
  const C* ReadOptional(OpKernelContext& context, std::size_t input, std::byte* room) const {
    const Tensor* tensor = context.OptionalInput(input);
    return tensor != nullptr ? Read(context, *tensor, room) : nullptr;
  }
  // Where to compute a tensor before Finish stores it.
  static C* Target(Tensor& tensor, std::byte* room) {
    if constexpr (kIsHalf<T>) {
      return reinterpret_cast<C*>(room);
    } else {
      return tensor.data_mutable<T>();
    }
  }
  void Finish(OpKernelContext& context, const C* from, Tensor& tensor) const {
    if constexpr (kIsHalf<T>) {
      ParallelItems(context, tensor.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(narrow_, from, tensor.data_mutable<T>(), begin, end);
      });
    }
  }
  const math::CastKernel& widen() const { return widen_; }

 private:
  math::CastKernel widen_, narrow_;
};

}  // namespace switchyard::cpu
