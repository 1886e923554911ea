// Copied to src/providers/cpu/kernels: nothing else is edited.

#include "switchyard/ep/kernel_registry.h"

namespace switchyard::cpu::kernels::scratch_kernel {
namespace {

class ScratchKernel final : public OpKernel {
 public:
  explicit ScratchKernel(OpKernelInfo&) {}
  void Compute(OpKernelContext&) const override {
    throw Error(ErrorCode::kNotImplemented, "Scratch: only its registration is tested");
  }
};

}  // namespace

void Register(KernelRegistry& registry);
void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("Scratch", "test.scratch").Since(1).Make<ScratchKernel>());
}

}  // namespace switchyard::cpu::kernels::scratch_kernel
