#include "switchyard/ep/execution_provider.h"

#include <utility>

#include "base/format.h"

namespace switchyard {

Event::~Event() = default;
Stream::~Stream() = default;
IDataTransfer::~IDataTransfer() = default;
IKernelLookup::~IKernelLookup() = default;
IResourceAccountant::~IResourceAccountant() = default;
GraphOptimizerRegistry::~GraphOptimizerRegistry() = default;

IExecutionProvider::IExecutionProvider(std::string type, OrtDevice device)
    : type_(std::move(type)), device_(device) {}

IExecutionProvider::~IExecutionProvider() = default;

std::vector<std::unique_ptr<ComputeCapability>> IExecutionProvider::GetCapability(
    const GraphViewer& graph, const IKernelLookup& lookup, const GraphOptimizerRegistry&,
    IResourceAccountant*) const {
  return GetCapability(graph, lookup);
}

std::vector<std::unique_ptr<ComputeCapability>> IExecutionProvider::GetCapability(
    const GraphViewer& graph, const IKernelLookup& lookup) const {
  std::vector<std::unique_ptr<ComputeCapability>> claims;
  for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
    if (lookup.LookUpKernel(*graph.GetNode(index)) == nullptr) continue;
    auto nodes = std::make_unique<IndexedSubGraph>();
    nodes->nodes.push_back(index);
    claims.push_back(std::make_unique<ComputeCapability>(std::move(nodes)));
  }
  return claims;
}

std::shared_ptr<KernelRegistry> IExecutionProvider::GetKernelRegistry() const { return nullptr; }

std::vector<std::unique_ptr<OpKernel>> IExecutionProvider::Compile(
    const std::vector<FusedNodeAndGraph>&, CompileContext&) {
  Throw(ErrorCode::kNotImplemented, "{} claimed a group of nodes but can't compile one", type_);
}

std::vector<AllocatorPtr> IExecutionProvider::CreatePreferredAllocators() { return {}; }
std::unique_ptr<IDataTransfer> IExecutionProvider::GetDataTransfer() const { return nullptr; }
std::unique_ptr<Stream> IExecutionProvider::CreateStream() const { return nullptr; }
void IExecutionProvider::AddPasses(PassPipeline&, const GraphOptimizerRegistry&) const {}
ProviderOptions IExecutionProvider::GetProviderOptions() const { return {}; }
void IExecutionProvider::OnRunStart(const RunOptions&) {}
void IExecutionProvider::OnRunEnd(bool, const RunOptions&) {}
void IExecutionProvider::Sync() const {}

void ExecutionProviders::Add(std::shared_ptr<IExecutionProvider> provider) {
  if (!provider) Throw(ErrorCode::kInvalidArgument, "a null execution provider was added");
  int same_type = 0;
  for (const Item& item : items_) {
    if (item.provider == provider) {
      Throw(ErrorCode::kInvalidArgument, "execution provider {} was added twice", item.name);
    }
    if (item.provider->Type() == provider->Type()) ++same_type;
  }
  std::string name = provider->Type();
  if (same_type > 0) name += ":" + std::to_string(same_type);
  items_.push_back({std::move(name), std::move(provider)});
}

const IExecutionProvider* ExecutionProviders::Get(std::string_view name) const {
  for (const Item& item : items_) {
    if (item.name == name) return item.provider.get();
  }
  return nullptr;
}

}  // namespace switchyard
