#pragma once
// OpenVINO as a provider that compiles: its claims are the largest convex groups of nodes that the
// library really accepts, its kernels infer requests of compiled models. In host memory.

#include "providers/openvino/blob_cache.h"
#include "providers/openvino/library.h"
#include "providers/openvino/node_probe.h"
#include "switchyard/ep/provider_factory.h"
#include "switchyard/ir/schema.h"

namespace switchyard::openvino {

class OpenVinoProvider final : public IExecutionProvider {
 public:
  // Throws InvalidArgument for options that are unknown or can't be had here.
  OpenVinoProvider(std::shared_ptr<Library> library, const ProviderOptions& options,
                   const ProviderEnvironment& environment);

  using IExecutionProvider::GetCapability;
  std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& lookup) const override;
  std::vector<std::unique_ptr<OpKernel>> Compile(const std::vector<FusedNodeAndGraph>& groups,
                                                 CompileContext& context) override;
  ProviderOptions GetProviderOptions() const override { return options_.effective; }

 private:
  std::string WhyNotByRule(const Node& node, const GraphViewer& graph) const;
  ov::CompiledModel CompileOne(const FusedNodeAndGraph& group, CompileContext& context,
                               std::shared_ptr<const void>* keep);
  std::string Scope() const;

  std::shared_ptr<Library> library_;
  std::shared_ptr<const ModelWriter> writer_;
  Options options_;
  ov::AnyMap properties_;
  Logger logger_;
  BlobCache cache_;
  OpSchemaRegistry schemas_;
  mutable NodeProbe probe_;
};

ProviderFactory MakeFactory();

}  // namespace switchyard::openvino
