#include "providers/cpu/kernels/common/copy_nd.h"

#include "providers/cpu/math/vec_move.h"

namespace switchyard::cpu {
namespace {

void CopyStrings(std::span<const std::int64_t> dims, std::span<const std::int64_t> from_strides,
                 const std::string* from, std::span<const std::int64_t> to_strides,
                 std::string* to) {
  Dims at(dims.size(), 0);
  const std::int64_t total = Product(dims);
  std::int64_t source = 0, target = 0;
  for (std::int64_t i = 0; i < total; ++i) {
    to[target] = from[source];
    for (std::size_t k = dims.size(); k-- > 0;) {
      source += from_strides[k];
      target += to_strides[k];
      if (++at[k] < dims[k]) break;
      source -= from_strides[k] * dims[k];
      target -= to_strides[k] * dims[k];
      at[k] = 0;
    }
  }
}

}  // namespace

Dims DenseStrides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void CopyNd(OpKernelContext& context, math::IsaLevel level, const ElementCopy& element,
            std::span<const std::int64_t> dims, std::span<const std::int64_t> from_strides,
            const void* from, std::span<const std::int64_t> to_strides, void* to) {
  if (Product(dims) == 0) return;
  if (element.is_string) {
    return CopyStrings(dims, from_strides, static_cast<const std::string*>(from), to_strides,
                       static_cast<std::string*>(to));
  }
  math::CopyPlan plan;
  if (!math::MakeCopyPlan(dims, from_strides, to_strides, static_cast<int>(element.bytes), &plan)) {
    context.Fail("too many dimensions to copy: " + DimsToString(dims), ErrorCode::kNotImplemented);
  }
  const double bytes = static_cast<double>(Product(dims)) * static_cast<double>(element.bytes);
  const double ns_per_byte = plan.kind == math::CopyPlan::Kind::kStrided ? 0.2 : 0.08;
  ParallelItems(context, plan.units, bytes * ns_per_byte / static_cast<double>(plan.units),
                [&](std::int64_t begin, std::int64_t end) {
                  math::RunCopy(plan, level, from, to, begin, end);
                });
}

}  // namespace switchyard::cpu
