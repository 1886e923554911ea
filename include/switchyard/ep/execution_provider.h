#pragma once
// The seam: what a provider says and does. It proposes; partitions, copies, memory and order belong
// to the core.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ep/compute_capability.h"
#include "switchyard/ep/data_transfer.h"
#include "switchyard/ep/kernel_registry.h"
#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {

using ProviderOptions = std::map<std::string, std::string>;

inline constexpr const char* kCpuExecutionProvider = "CPUExecutionProvider";

// Asked by GetCapability: the kernel a node would get, and the place for reasons why not.
class SWITCHYARD_API IKernelLookup {
 public:
  virtual ~IKernelLookup();
  // nullptr: none; the reason has been recorded for the node.
  virtual const KernelCreateInfo* LookUpKernel(const Node& node) const = 0;
  virtual void Decline(const Node& node, std::string reason) const = 0;
};

// Bytes a provider may still take. The core charges accepted claims in order.
class SWITCHYARD_API IResourceAccountant {
 public:
  virtual ~IResourceAccountant();
  virtual std::size_t budget() const = 0;
  virtual std::size_t consumed() const = 0;
  // What the node's constants would take.
  virtual std::size_t CostOf(const Node& node) const = 0;
};

// Level-2 fusions that providers may pick by name for their own partitions.
class SWITCHYARD_API GraphOptimizerRegistry {
 public:
  virtual ~GraphOptimizerRegistry();
  virtual const Pass* Find(std::string_view name) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
};

// One accepted group, to be compiled. `graph` shows its nodes; constants are to be had from it.
struct FusedNodeAndGraph {
  const Node& fused_node;
  const GraphViewer& graph;
  const IndexedSubGraph::MetaDef& meta;
};

struct CompileContext {
  std::string cache_directory;  // "": none
  std::string cache_key;        // of subgraph, weights, options, device, library version
  std::function<bool()> stop_requested;
  ThreadTeam* team = nullptr;
};

class SWITCHYARD_API IExecutionProvider {
 public:
  using IKernelLookup = switchyard::IKernelLookup;
  using GraphOptimizerRegistry = switchyard::GraphOptimizerRegistry;
  using IResourceAccountant = switchyard::IResourceAccountant;

  explicit IExecutionProvider(std::string type, OrtDevice device = OrtDevice());
  virtual ~IExecutionProvider();
  IExecutionProvider(const IExecutionProvider&) = delete;
  IExecutionProvider& operator=(const IExecutionProvider&) = delete;

  const std::string& Type() const { return type_; }
  const OrtDevice& device() const { return device_; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
  // What can you run? The full form is asked; by default it calls the short form, which by default
  // claims every node that the registry has a kernel for. It changes nothing.
  virtual std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& lookup,
      const GraphOptimizerRegistry& optimizers, IResourceAccountant* accountant = nullptr) const;
  virtual std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& lookup) const;
#pragma GCC diagnostic pop
  // nullptr: it compiles.
  virtual std::shared_ptr<KernelRegistry> GetKernelRegistry() const;
  // One kernel per group, in order. NotImplemented dissolves a claim with its reason.
  virtual std::vector<std::unique_ptr<OpKernel>> Compile(
      const std::vector<FusedNodeAndGraph>& groups, CompileContext& context);
  // One per memory type; the first serves this provider's device. Empty: host memory.
  virtual std::vector<AllocatorPtr> CreatePreferredAllocators();
  virtual std::unique_ptr<IDataTransfer> GetDataTransfer() const;  // nullptr: host memory
  virtual std::unique_ptr<Stream> CreateStream() const;            // nullptr: synchronous
  // Passes for this provider's own partitions.
  virtual void AddPasses(PassPipeline& pipeline, const GraphOptimizerRegistry& optimizers) const;
  // The options in force; give them to another instance and it behaves the same.
  virtual ProviderOptions GetProviderOptions() const;
  virtual void OnRunStart(const RunOptions& options);
  // After each OnRunStart that returned, errors included. sync: work must be done on return.
  virtual void OnRunEnd(bool sync, const RunOptions& options);
  virtual void Sync() const;

 private:
  std::string type_;
  OrtDevice device_;
};

// The providers of a session in priority order. The second of one type is "Type:1" in look-up.
class SWITCHYARD_API ExecutionProviders {
 public:
  // Throws InvalidArgument when the same instance is added twice.
  void Add(std::shared_ptr<IExecutionProvider> provider);
  const IExecutionProvider* Get(std::string_view name) const;  // nullptr: none
  std::size_t size() const { return items_.size(); }
  IExecutionProvider& operator[](std::size_t i) const { return *items_[i].provider; }
  const std::shared_ptr<IExecutionProvider>& shared(std::size_t i) const {
    return items_[i].provider;
  }
  const std::string& name(std::size_t i) const { return items_[i].name; }

 private:
  struct Item {
    std::string name;
    std::shared_ptr<IExecutionProvider> provider;
  };
  std::vector<Item> items_;
};

}  // namespace switchyard
