#include "runtime/partition.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/time_limit.h"

namespace switchyard {

bool IsControlFlow(const Node& node) {
  return node.Domain().empty() &&
         (node.OpType() == "If" || node.OpType() == "Loop" || node.OpType() == "Scan");
}

namespace {

using Placements = std::unordered_map<NodeIndex, NodePlacement>;

void AddRefusal(NodePlacement& placement, const std::string& provider, std::string reason) {
  for (auto& [name, text] : placement.refusals) {
    if (name == provider) {
      text = std::move(reason);
      return;
    }
  }
  placement.refusals.emplace_back(provider, std::move(reason));
}

class Lookup final : public IKernelLookup {
 public:
  Lookup(std::vector<std::shared_ptr<KernelRegistry>> registries, const std::string& provider,
         Placements& placements)
      : registries_(std::move(registries)), provider_(provider), placements_(placements) {}

  const KernelCreateInfo* LookUpKernel(const Node& node) const override {
    if (IsControlFlow(node)) return nullptr;
    std::string reason = "the provider has no kernels";
    for (const auto& registry : registries_) {
      if (const KernelCreateInfo* info = registry->Find(node, &reason)) return info;
    }
    Decline(node, std::move(reason));
    return nullptr;
  }
  void Decline(const Node& node, std::string reason) const override {
    AddRefusal(placements_[node.Index()], provider_, std::move(reason));
  }

 private:
  std::vector<std::shared_ptr<KernelRegistry>> registries_;
  const std::string& provider_;
  Placements& placements_;
};

class Accountant final : public IResourceAccountant {
 public:
  explicit Accountant(std::size_t budget) : budget_(budget) {}
  std::size_t budget() const override { return budget_; }
  std::size_t consumed() const override { return consumed_; }
  std::size_t CostOf(const Node& node) const override {
    std::size_t bytes = 0;
    for (const NodeArg* input : node.inputs()) {
      if (input == nullptr || !input->is_constant()) continue;
      if (charged_.count(IdOf(*input)) == 0) bytes += input->constant()->bytes();
    }
    return bytes;
  }
  using ConstantId = std::pair<const void*, std::uint64_t>;
  struct Receipt {
    std::size_t bytes = 0;
    std::vector<ConstantId> constants;  // first charged by this claim
  };
  // "": charged; otherwise the figures.
  std::string Charge(std::size_t bytes, const std::vector<const Node*>& nodes, Receipt* receipt) {
    if (exhausted_ || (budget_ != 0 && consumed_ + bytes > budget_)) {
      exhausted_ = true;
      return fmt::format("over budget: {} bytes used of {}, this needs {} more", consumed_, budget_,
                         bytes);
    }
    consumed_ += bytes;
    receipt->bytes = bytes;
    for (const Node* node : nodes) {
      for (const NodeArg* input : node->inputs()) {
        if (input == nullptr || !input->is_constant()) continue;
        if (charged_.insert(IdOf(*input)).second) receipt->constants.push_back(IdOf(*input));
      }
    }
    return {};
  }
  // The claim came to nothing.
  void Refund(const Receipt& receipt) {
    consumed_ -= receipt.bytes;
    for (const ConstantId& constant : receipt.constants) charged_.erase(constant);
  }

 private:
  static ConstantId IdOf(const NodeArg& value) {
    return {value.constant()->source_id(), value.constant()->source_offset()};
  }
  std::size_t budget_;
  std::size_t consumed_ = 0;
  bool exhausted_ = false;
  std::set<ConstantId> charged_;
};

// A value leaves the group and comes back into it through a node outside.
bool MakesCycle(const Graph& graph, const std::set<NodeIndex>& group) {
  std::set<NodeIndex> tainted;  // outside the group, reached from it
  for (NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = *graph.node(index);
    bool from_group = false, from_tainted = false;
    const auto look = [&](const NodeArg* value) {
      if (value == nullptr || value->producer() == kNoNode) return;
      from_group |= group.count(value->producer()) != 0;
      from_tainted |= tainted.count(value->producer()) != 0;
    };
    for (const NodeArg* value : node.inputs()) look(value);
    for (const NodeArg* value : node.implicit_inputs()) look(value);
    if (group.count(index) != 0) {
      if (from_tainted) return true;
    } else if (from_group || from_tainted) {
      tainted.insert(index);
    }
  }
  return false;
}

// What a group's MetaDef leaves out of what crosses its border; "": nothing.
std::string BorderGap(const Graph& graph, const IndexedSubGraph& sub) {
  const IndexedSubGraph::MetaDef& meta = *sub.meta_def;
  const std::set<NodeIndex> group(sub.nodes.begin(), sub.nodes.end());
  const std::set<std::string_view> inputs(meta.inputs.begin(), meta.inputs.end());
  const std::set<std::string_view> outputs(meta.outputs.begin(), meta.outputs.end());
  std::set<std::string_view> made;
  for (NodeIndex index : sub.nodes) {
    const Node& node = *graph.node(index);
    for (const NodeArg* output : node.outputs()) {
      if (output == nullptr) continue;
      made.insert(output->Name());
      const auto users = output->consumers();
      const bool leaves = graph.is_output(output) ||
                          std::any_of(users.begin(), users.end(),
                                      [&](NodeIndex user) { return group.count(user) == 0; });
      if (leaves && outputs.count(output->Name()) == 0) {
        return fmt::format("its group '{}' does not give '{}', which is used outside", meta.name,
                           output->Name());
      }
    }
    for (const auto list : {node.inputs(), node.implicit_inputs()}) {
      for (const NodeArg* input : list) {
        if (input == nullptr || input->is_constant() || group.count(input->producer()) != 0)
          continue;
        if (inputs.count(input->Name()) == 0) {
          return fmt::format("its group '{}' does not take '{}', which comes from outside",
                             meta.name, input->Name());
        }
      }
    }
  }
  for (std::string_view name : outputs) {
    if (graph.FindValue(name) != nullptr && made.count(name) == 0)
      return fmt::format("its group '{}' gives '{}', which is made outside", meta.name, name);
  }
  return {};
}

class Partitioner {
 public:
  Partitioner(PartitionOptions& options) : options_(options) {
    for (std::size_t p = 0; p < options.providers.size(); ++p) {
      accountants_.emplace_back(p < options.budgets.size() ? options.budgets[p] : 0);
    }
  }

  Placement Run(Graph& graph) {
    OpenFunctions(graph);
    Placement placement;
    Assign(graph, true, placement);
    return placement;
  }

 private:
  static constexpr int kMaxRounds = 64;

  // Inlines function operators that nobody takes until none is left. Asks only.
  void OpenFunctions(Graph& graph) {
    for (int round = 0; round < kMaxRounds; ++round) {
      Placement trial;
      for (Accountant& accountant : accountants_) accountant = Accountant(accountant.budget());
      Assign(graph, false, trial);
      if (!InlineUnclaimed(graph, trial)) break;
    }
    for (Accountant& accountant : accountants_) accountant = Accountant(accountant.budget());
  }

  bool InlineUnclaimed(Graph& graph, const Placement& trial) {
    bool inlined = false;
    const std::vector<NodeIndex> order(graph.TopologicalOrder().begin(),
                                       graph.TopologicalOrder().end());
    for (NodeIndex index : order) {
      Node& node = *graph.node(index);
      if (trial.of(graph, index).provider >= 0) continue;
      if (IsControlFlow(node)) {
        for (const auto& [name, body] : node.bodies()) inlined |= InlineUnclaimed(*body, trial);
        continue;
      }
      inlined |= options_.inline_function && options_.inline_function(graph, node);
    }
    return inlined;
  }

  void Assign(Graph& graph, bool final, Placement& placement) {
    Placements& placements = placement.nodes[&graph];
    for (int round = 0; round < kMaxRounds; ++round) {
      for (NodeIndex index : graph.TopologicalOrder()) placements.try_emplace(index);
      for (std::size_t p = 0; p < options_.providers.size(); ++p) {
        Ask(graph, static_cast<int>(p), final, placements);
      }
      // Functions that a claim held until Compile dissolved it.
      if (!final || !InlineLeft(graph, placements)) break;
    }
    const std::vector<NodeIndex> order(graph.TopologicalOrder().begin(),
                                       graph.TopologicalOrder().end());
    for (NodeIndex index : order) {
      Node& node = *graph.node(index);
      if (placements.at(index).provider >= 0) continue;
      if (IsControlFlow(node)) {
        placements.at(index).cause = "run by the executor";
        for (const auto& [name, body] : node.bodies()) Assign(*body, final, placement);
      } else if (final) {
        Unplaced(node, placements.at(index));
      }
    }
  }

  // Whether there is anything new to be asked about. What was said of a function holds for the
  // nodes of its body until something else is said.
  bool InlineLeft(Graph& graph, Placements& placements) {
    if (!options_.inline_function) return false;
    bool inlined = false;
    const std::vector<NodeIndex> order(graph.TopologicalOrder().begin(),
                                       graph.TopologicalOrder().end());
    for (NodeIndex index : order) {
      Node& node = *graph.node(index);
      if (placements.at(index).provider >= 0 || IsControlFlow(node)) continue;
      const NodeIndex first = graph.node_limit();
      if (!options_.inline_function(graph, node)) continue;
      inlined = true;
      for (NodeIndex made = first; made < graph.node_limit(); ++made) {
        if (graph.node(made) != nullptr) placements[made].refusals = placements.at(index).refusals;
      }
      placements.erase(index);
    }
    return inlined;
  }

  void Ask(Graph& graph, int p, bool final, Placements& placements) {
    CheckTimeLimit();
    std::vector<NodeIndex> open;
    for (NodeIndex index : graph.TopologicalOrder()) {
      if (placements.at(index).provider < 0) open.push_back(index);
    }
    if (open.empty()) return;
    const auto pu = static_cast<std::size_t>(p);
    const IExecutionProvider& provider = options_.providers[pu];
    const Lookup lookup(Registries(p), options_.providers.name(pu), placements);
    std::vector<std::unique_ptr<ComputeCapability>> claims;
    {
      const GraphViewer viewer =
          open.size() == graph.node_count() ? GraphViewer(graph) : GraphViewer(graph, open);
      claims = provider.GetCapability(viewer, lookup, options_.optimizers, &accountants_[pu]);
    }
    std::set<NodeIndex> claimed;
    for (auto& claim : claims) {
      if (!claim || !claim->sub_graph) continue;
      Accept(graph, p, final, *claim, lookup, placements, claimed);
    }
    for (NodeIndex index : open) {
      const auto it = placements.find(index);
      if (it == placements.end() || it->second.provider >= 0) continue;
      const auto& refusals = it->second.refusals;
      const bool known = std::any_of(refusals.begin(), refusals.end(), [&](const auto& r) {
        return r.first == options_.providers.name(pu);
      });
      if (!known) AddRefusal(it->second, options_.providers.name(pu), "not claimed");
    }
  }

  std::vector<std::shared_ptr<KernelRegistry>> Registries(int p) const {
    std::vector<std::shared_ptr<KernelRegistry>> registries;
    if (p == options_.custom_provider) registries = options_.custom_kernels;
    if (auto own = options_.providers[static_cast<std::size_t>(p)].GetKernelRegistry()) {
      registries.push_back(std::move(own));
    }
    return registries;
  }

  void Accept(Graph& graph, int p, bool final, ComputeCapability& claim, const Lookup& lookup,
              Placements& placements, std::set<NodeIndex>& claimed) {
    IndexedSubGraph& sub = *claim.sub_graph;
    if (const std::set<NodeIndex> once(sub.nodes.begin(), sub.nodes.end());
        once.size() != sub.nodes.size()) {
      sub.nodes.assign(once.begin(), once.end());
    }
    std::vector<const Node*> nodes;
    const auto refuse = [&](const std::string& reason) {
      for (NodeIndex index : sub.nodes) {
        const Node* node = graph.node(index);
        if (node != nullptr && claimed.count(index) == 0) lookup.Decline(*node, reason);
      }
    };
    for (NodeIndex index : sub.nodes) {
      const Node* node = index < graph.node_limit() ? graph.node(index) : nullptr;
      const auto it = placements.find(index);
      if (node == nullptr || it == placements.end() || it->second.provider >= 0) {
        return refuse("its group holds a node that is already taken");
      }
      nodes.push_back(node);
    }
    if (nodes.empty()) return;
    const auto pu = static_cast<std::size_t>(p);
    std::size_t bytes = 0;
    for (const Node* node : nodes) bytes += accountants_[pu].CostOf(*node);
    const bool fused = sub.meta_def != nullptr;
    const KernelCreateInfo* kernel = nullptr;
    if (!fused) {
      if (nodes.size() != 1) return refuse("claimed as several nodes without a name to fuse them");
      if (IsControlFlow(*nodes[0])) return;
      kernel = lookup.LookUpKernel(*nodes[0]);
      if (kernel == nullptr) return;
    } else if (const std::string gap = BorderGap(graph, sub); !gap.empty()) {
      return refuse(gap);
    } else if (MakesCycle(graph, {sub.nodes.begin(), sub.nodes.end()})) {
      return refuse("its group would make a cycle through a node outside");
    }
    Accountant::Receipt receipt;
    if (std::string over =
            accountants_[pu].Charge(claim.resource_bytes.value_or(bytes), nodes, &receipt);
        !over.empty()) {
      return refuse(over);
    }
    claimed.insert(sub.nodes.begin(), sub.nodes.end());
    if (!fused) {
      NodePlacement& placement = placements.at(sub.nodes[0]);
      placement.provider = p;
      placement.kernel = kernel;
      placement.cause = p == 0 ? "first in the list" : "first provider that takes it";
    } else if (!final) {
      for (NodeIndex index : sub.nodes) placements.at(index).provider = p;
    } else if (!Fuse(graph, p, claim, placements)) {
      accountants_[pu].Refund(receipt);
    }
  }

  // false: the provider can't compile the group after all.
  bool Fuse(Graph& graph, int p, ComputeCapability& claim, Placements& placements) {
    auto group = std::make_shared<FusedGroup>();
    group->claim = std::move(claim.sub_graph);
    const IndexedSubGraph::MetaDef& meta = *group->claim->meta_def;
    const auto find = [&](const std::string& name) {
      NodeArg* value = graph.FindValue(name);
      if (value == nullptr) {
        Throw(ErrorCode::kEpFail, "{} names a value '{}' in the group '{}' that the graph has not",
              options_.providers.name(static_cast<std::size_t>(p)), name, meta.name);
      }
      return value;
    };
    std::vector<NodeArg*> inputs, outputs;
    for (const std::string& name : meta.inputs) inputs.push_back(find(name));
    for (const std::string& name : meta.outputs) outputs.push_back(find(name));
    for (NodeIndex index : group->claim->nodes)
      group->node_names.push_back(graph.node(index)->Describe());
    MakeScratch(graph, meta, inputs, outputs, *group);
    try {
      const GraphViewer viewer(graph, group->claim->nodes);
      const Node& fused_node = *group->scratch->node(group->scratch->TopologicalOrder()[0]);
      auto kernels = options_.providers[static_cast<std::size_t>(p)].Compile(
          {FusedNodeAndGraph{fused_node, viewer, meta}}, options_.compile);
      if (kernels.size() != 1 || !kernels[0])
        Throw(ErrorCode::kEpFail, "Compile answered no kernel");
      group->kernel = std::move(kernels[0]);
    } catch (const std::exception& error) {
      const std::string text = fmt::format("compiling '{}': {}", meta.name, error.what());
      const auto* own = dynamic_cast<const Error*>(&error);
      if (own == nullptr || own->code() != ErrorCode::kNotImplemented) {
        throw Error(ErrorCode::kEpFail,
                    options_.providers.name(static_cast<std::size_t>(p)) + ": " + text);
      }
      for (NodeIndex index : group->claim->nodes) {
        AddRefusal(placements.at(index), options_.providers.name(static_cast<std::size_t>(p)),
                   text);
      }
      return false;
    }
    for (NodeIndex index : group->claim->nodes) {
      graph.RemoveNode(index);
      placements.erase(index);
    }
    Node* node = graph.AddNode(meta.name, meta.domain.empty() ? "sy.fused" : meta.domain, meta.name,
                               inputs, outputs, meta.attributes, meta.since_version);
    graph.RemoveUnusedValues();
    NodePlacement& placement = placements[node->Index()];
    placement.provider = p;
    placement.cause =
        fmt::format("group of {} nodes compiled by the provider", group->node_names.size());
    placement.fused = std::move(group);
    return true;
  }

  static void MakeScratch(const Graph& graph, const IndexedSubGraph::MetaDef& meta,
                          const std::vector<NodeArg*>& inputs, const std::vector<NodeArg*>& outputs,
                          FusedGroup& group) {
    group.scratch = std::make_unique<Graph>(graph.shared_context());
    std::vector<NodeArg*> own_inputs, own_outputs;
    for (const NodeArg* value : inputs)
      own_inputs.push_back(group.scratch->AddInput(value->Name(), value->type()));
    for (const NodeArg* value : outputs)
      own_outputs.push_back(group.scratch->AddValue(value->Name(), value->type()));
    group.scratch->AddNode(meta.name, meta.domain.empty() ? "sy.fused" : meta.domain, meta.name,
                           own_inputs, own_outputs, meta.attributes, meta.since_version);
  }

  [[noreturn]] static void Unplaced(const Node& node, const NodePlacement& placement) {
    std::string types;
    for (const NodeArg* input : node.inputs()) {
      if (!types.empty()) types += ", ";
      types += input == nullptr ? "none" : input->type().ToString();
    }
    std::string reasons;
    for (const auto& [provider, reason] : placement.refusals) {
      reasons += fmt::format("; {}: {}", provider, reason);
    }
    Throw(ErrorCode::kNotImplemented, "{} of domain '{}' with inputs ({}): no provider takes it{}",
          node.Describe(), node.Domain().empty() ? "ai.onnx" : node.Domain(), types, reasons);
  }

  PartitionOptions& options_;
  std::vector<Accountant> accountants_;
};

}  // namespace

Placement PartitionGraph(Graph& graph, PartitionOptions& options) {
  return Partitioner(options).Run(graph);
}

}  // namespace switchyard
