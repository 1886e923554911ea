#pragma once
// The smallest useful provider: it works in host memory, claims convolutions and brings its own
// kernel for them. Written with the names that ONNX Runtime users know.

#include "onnxruntime/core/framework/execution_provider.h"

class MyCustomEP : public onnxruntime::IExecutionProvider {
 public:
  MyCustomEP() : IExecutionProvider("MyCustomEP") {}

  std::vector<std::unique_ptr<onnxruntime::ComputeCapability>> GetCapability(
      const onnxruntime::GraphViewer& graph, const IKernelLookup& lookup,
      const GraphOptimizerRegistry& optimizers,
      IResourceAccountant* accountant = nullptr) const override;

  std::shared_ptr<onnxruntime::KernelRegistry> GetKernelRegistry() const override;
};
