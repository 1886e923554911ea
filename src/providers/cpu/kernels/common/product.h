#pragma once
// Calling the matrix products from kernels whose core is more than one product: the ops of a type,
// scratch layout and the thread rule.

#include <algorithm>

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/gemm.h"

namespace switchyard::cpu {

template <typename C>
const math::GemmOpsT<C>& GemmOpsOf(math::IsaLevel level) {
  if constexpr (std::is_same_v<C, double>) {
    return math::GemmF64For(level);
  } else {
    return math::GemmFor(level);
  }
}

// Hands out 64-byte aligned parts of a kernel's scratch memory.
class ScratchLayout {
 public:
  template <typename C>
  std::size_t Reserve(std::int64_t elements) {
    return ReserveBytes(static_cast<std::size_t>(elements) * sizeof(C));
  }
  std::size_t ReserveBytes(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += Rounded(bytes);
    return at;
  }
  std::size_t bytes() const { return bytes_; }
  static std::size_t Rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  std::size_t bytes_ = 0;
};

// Scratch for `plan` on `workers` threads.
inline std::size_t ProductScratch(const math::GemmPlan& plan, int workers) {
  return ScratchLayout::Rounded(plan.scratch_bytes) * static_cast<std::size_t>(workers);
}

template <typename C>
void RunProduct(ThreadTeam& team, const math::GemmOpsT<C>& ops, const math::GemmPlan& plan,
                const math::GemmArgsT<C>& args, std::byte* scratch) {
  constexpr double kFlopsWorthAThread = 4e5;
  const std::size_t slice = ScratchLayout::Rounded(plan.scratch_bytes);
  if (plan.flops_per_chunk * static_cast<double>(plan.chunks) < kFlopsWorthAThread) {
    for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk)
      ops.run_chunk(plan, args, chunk, scratch);
    return;
  }
  team.ParallelFor(plan.chunks, [&](std::int64_t chunk, int worker) {
    ops.run_chunk(plan, args, chunk, scratch + slice * static_cast<std::size_t>(worker));
  });
}

}  // namespace switchyard::cpu
