#include "custom_execution_provider.h"

#include <cmath>
#include <cstring>
#include <new>

namespace example {
namespace {

constexpr std::size_t kAlignment = 64;

// A real device would call its driver here.
class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(OrtDevice device)
      : Allocator({"Custom", OrtAllocatorType::kDevice, device, kAlignment}) {}
  void* Alloc(std::size_t bytes) override {
    return bytes == 0 ? nullptr : ::operator new(bytes, std::align_val_t(kAlignment));
  }
  void Free(void* block) noexcept override {
    ::operator delete(block, std::align_val_t(kAlignment));
  }
};

class CustomDataTransfer final : public IDataTransfer {
 public:
  explicit CustomDataTransfer(OrtDevice device) : device_(device) {}
  bool CanCopy(const OrtDevice& source, const OrtDevice& destination) const override {
    return (source == device_ || source.is_host()) &&
           (destination == device_ || destination.is_host());
  }
  void Copy(const Tensor& source, Tensor& destination, Stream*) const override {
    std::memcpy(destination.raw_mutable(), source.raw(), source.bytes());
  }

 private:
  OrtDevice device_;
};

float Relu(float x) { return x > 0 ? x : 0; }
float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

template <float (*kFunction)(float)>
class UnaryKernel final : public OpKernel {
 public:
  explicit UnaryKernel(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const float* in = x.data<float>();
    float* out = context.Output(0).data_mutable<float>();
    for (std::int64_t i = 0; i < x.size(); ++i) out[i] = kFunction(in[i]);
  }
};

template <float (*kFunction)(float)>
KernelCreateInfo Unary(const char* op) {
  KernelCreateInfo info = KernelCreateInfo::For(op);
  return info.Input(0, types::kFloat32).MayAlias(0, 0).Make<UnaryKernel<kFunction>>();
}

}  // namespace

CustomExecutionProvider::CustomExecutionProvider(const std::string& type, OrtDevice device)
    : IExecutionProvider(type, device),
      kernel_registry_(std::make_shared<KernelRegistry>()),
      allocator_(std::make_shared<DeviceAllocator>(device)) {
  kernel_registry_->Register(Unary<Relu>("Relu"));
  kernel_registry_->Register(Unary<Sigmoid>("Sigmoid"));
}

std::vector<std::unique_ptr<ComputeCapability>> CustomExecutionProvider::GetCapability(
    const GraphViewer& graph, const IKernelLookup& kernel_lookup) const {
  std::vector<std::unique_ptr<ComputeCapability>> claims;
  for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
    if (kernel_lookup.LookUpKernel(*graph.GetNode(index)) == nullptr) continue;
    auto nodes = std::make_unique<IndexedSubGraph>();
    nodes->nodes.push_back(index);
    claims.push_back(std::make_unique<ComputeCapability>(std::move(nodes)));
  }
  return claims;
}

std::unique_ptr<IDataTransfer> CustomExecutionProvider::GetDataTransfer() const {
  return std::make_unique<CustomDataTransfer>(device());
}

}  // namespace example
