#include "providers/cpu/kernels/common/integer_product.h"

#include "switchyard/base/cpu_features.h"

namespace switchyard::cpu {

const math::IgemmOps& IgemmOf(math::IsaLevel level) {
  return math::IgemmFor(level, DetectCpuFeatures().avx512_vnni);
}

PackedForm PackedBytes(const Constant& matrix, math::IsaLevel level, bool transposed) {
  const std::int64_t k = matrix.dims()[transposed ? 1 : 0], n = matrix.dims()[transposed ? 0 : 1];
  const math::IgemmOps& ops = IgemmOf(level);
  PackedForm form;
  form.id = "igemm.b." + std::to_string(ops.tile_cols) + "." +
            std::to_string(static_cast<int>(level)) + (transposed ? ".t" : "");
  form.bytes = ops.packed_b_bytes(k, n);
  form.parts = ops.b_panels(n);
  form.pack = [ops = &ops, transposed, k, n](const Tensor& dense, std::int64_t begin,
                                             std::int64_t end, std::byte* to) {
    ops->pack_b(dense.raw(), dense.type() == DataType::kInt8, transposed ? k : n,
                transposed ? math::MatrixForm::kTransposed : math::MatrixForm::kRowMajor, k, n,
                begin, end, to);
  };
  return form;
}

float QuantParameter::At(std::int64_t i) const {
  float value = absent;
  if (tensor == nullptr || tensor->size() == 0) return value;
  DispatchType(tensor->type(), NumericTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = static_cast<float>(Widen(tensor->data<T>()[i % tensor->size()]));
  });
  return value;
}

void QuantParameter::Read(std::int64_t first, std::span<float> to) const {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = At(first + static_cast<std::int64_t>(i));
}

void QuantParameter::Read(std::int64_t first, std::span<std::int32_t> to) const {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::int32_t>(At(first + static_cast<std::int64_t>(i)));
}

void RunIntegerProduct(OpKernelContext& context, const math::IgemmOps& ops,
                       const math::GemmPlan& plan, const math::IgemmArgs& args,
                       std::byte* scratch) {
  constexpr double kFlopsWorthAThread = 4e5;
  const std::size_t slice = ScratchLayout::Rounded(plan.scratch_bytes);
  if (plan.flops_per_chunk * static_cast<double>(plan.chunks) < kFlopsWorthAThread) {
    for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk)
      ops.run_chunk(plan, args, chunk, scratch);
    return;
  }
  context.team().ParallelFor(plan.chunks, [&](std::int64_t chunk, int worker) {
    ops.run_chunk(plan, args, chunk, scratch + slice * static_cast<std::size_t>(worker));
  });
}

}  // namespace switchyard::cpu
