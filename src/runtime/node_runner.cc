#include "runtime/node_runner.h"

#include "runtime/executor.h"

namespace switchyard {
namespace {

class NoOptimizers final : public GraphOptimizerRegistry {
 public:
  const Pass* Find(std::string_view) const override { return nullptr; }
  std::vector<std::string_view> names() const override { return {}; }
};

class OwnedSink final : public OutputSink {
 public:
  explicit OwnedSink(AllocatorPtr host) : host_(std::move(host)) {}
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    return Tensor(type, dims, host_);
  }

 private:
  AllocatorPtr host_;
};

struct Runner {
  std::shared_ptr<IExecutionProvider> provider;
  std::vector<std::shared_ptr<KernelRegistry>> custom_kernels;
  const InferenceRegistry& inference;
  ThreadTeam& team;
  AllocatorPtr host;

  std::vector<Tensor> Run(const Node& node, const Graph& graph,
                          std::span<const Tensor* const> inputs) const {
    auto single = std::make_unique<Graph>(graph.shared_context());
    std::vector<NodeArg*> arguments, outputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Tensor* tensor = i < inputs.size() ? inputs[i] : nullptr;
      arguments.push_back(tensor == nullptr
                              ? nullptr
                              : single->AddConstant("i" + std::to_string(i),
                                                    std::make_shared<const Constant>(*tensor)));
    }
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const NodeArg* output = node.outputs()[i];
      outputs.push_back(
          output == nullptr ? nullptr : single->AddValue("o" + std::to_string(i), output->type()));
    }
    single->AddNode(node.OpType(), node.Domain(), node.Name(), arguments, outputs,
                    node.attributes(), node.SinceVersion());
    for (NodeArg* output : outputs) {
      if (output != nullptr) single->MarkOutput(output);
    }
    ExecutionProviders providers;
    providers.Add(provider);
    const MemorySpaces spaces(providers, host);
    const NoOptimizers optimizers;
    PartitionOptions partition{providers, custom_kernels, 0, optimizers, nullptr, {}, {}};
    const Placement placement = PartitionGraph(*single, partition);
    const CopyPlan copies = PlanCopies(*single, placement, spaces, inference);
    ConstantStore constants(spaces);
    const PlanOptions options{providers, spaces, inference, team};
    const auto plan = BuildPlan(std::move(single), placement, copies, constants, options);
    RunState state(*plan, providers);
    RunCounters counters;
    const RunOptions run_options;
    Executor executor({*plan, providers, spaces, team, counters}, state, run_options, nullptr);
    OwnedSink sink(host);
    const std::vector<OutputSink*> sinks(plan->blocks[0].outputs.size(), &sink);
    std::vector<OrtValue> results(sinks.size());
    executor.Run({}, sinks, results);
    std::vector<Tensor> tensors(node.outputs().size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (outputs[i] != nullptr) tensors[i] = results[next++].tensor();
    }
    return tensors;
  }
};

}  // namespace

NodeEvaluator MakeNodeEvaluator(std::shared_ptr<IExecutionProvider> provider,
                                std::vector<std::shared_ptr<KernelRegistry>> custom_kernels,
                                const InferenceRegistry& inference, ThreadTeam& team,
                                AllocatorPtr host) {
  auto runner = std::make_shared<Runner>(
      Runner{std::move(provider), std::move(custom_kernels), inference, team, std::move(host)});
  return [runner](const Node& node, const Graph& graph,
                  std::span<const Tensor* const> inputs) -> std::optional<std::vector<Tensor>> {
    if (node.has_body()) return std::nullopt;
    try {
      return runner->Run(node, graph, inputs);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  };
}

}  // namespace switchyard
