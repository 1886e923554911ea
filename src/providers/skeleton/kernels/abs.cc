#include <cmath>

#include "switchyard/ep/kernel_registry.h"

namespace switchyard::skeleton::kernels::abs {
namespace {

class Abs final : public OpKernel {
 public:
  explicit Abs(OpKernelInfo&) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const float* in = x.data<float>();
    float* out = context.Output(0).data_mutable<float>();
    constexpr std::int64_t kGrain = 16384;  // elements that are worth a thread
    context.team().ParallelRange(x.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = std::fabs(in[i]);
    });
  }
};

}  // namespace

void Register(KernelRegistry& registry);
void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("Abs").Input(0, types::kFloat32).MayAlias(0, 0).Make<Abs>());
}

}  // namespace switchyard::skeleton::kernels::abs
