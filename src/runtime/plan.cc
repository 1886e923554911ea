#include "runtime/plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"
#include "base/time_limit.h"

namespace switchyard {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(std::unique_ptr<Graph> graph, const Placement& placement, const CopyPlan& copies,
              ConstantStore& constants, const PlanOptions& options)
      : placement_(placement),
        copies_(copies),
        constants_(constants),
        options_(options),
        plan_(std::make_unique<Plan>()) {
    plan_->graph = std::move(graph);
  }

  std::unique_ptr<Plan> Run() {
    AddBlock(*plan_->graph, -1, BlockKind::kMain);
    constants_.EndPacking();
    FindLastUses();
    ChooseMemoryRoots();
    for (std::size_t index : packed_indices_) plan_->packed.push_back(constants_.packed(index));
    for (const auto& [value, constant, space] : dense_) {
      auto& list = plan_->values[value].is_constant ? plan_->constants : plan_->defaults;
      list.emplace_back(value, &constants_.Dense(constant, space));
    }
    return std::move(plan_);
  }

 private:
  std::int32_t AddBlock(const Graph& graph, std::int32_t parent, BlockKind kind) {
    const auto id = static_cast<std::int32_t>(plan_->blocks.size());
    plan_->blocks.emplace_back();
    plan_->blocks.back().graph = &graph;
    plan_->blocks.back().parent = parent;
    plan_->blocks.back().kind = kind;
    NumberValues(graph, id);
    Block block = plan_->blocks[static_cast<std::size_t>(id)];
    // Steps of a block are consecutive: bodies come after.
    block.first_step = static_cast<std::uint32_t>(plan_->steps.size());
    std::vector<std::pair<std::uint32_t, const Node*>> with_bodies;
    for (NodeIndex index : graph.TopologicalOrder()) {
      const Node& node = *graph.node(index);
      if (copies_.followed.count(&node) != 0) {
        block.items.push_back({false, AddFollowed(node)});
        continue;
      }
      const std::uint32_t step = AddStep(graph, node);
      block.items.push_back({true, step});
      if (plan_->steps[step].kind >= StepKind::kIf) with_bodies.emplace_back(step, &node);
    }
    block.end_step = static_cast<std::uint32_t>(plan_->steps.size());
    for (const NodeArg* value : graph.inputs()) block.inputs.push_back(IdOf(value));
    for (const NodeArg* value : graph.outputs()) {
      PlanValue& output = plan_->values[IdOf(value)];
      if (output.block == id) {
        output.is_block_output = true;
        if (output.output_index < 0)
          output.output_index = static_cast<std::int32_t>(block.outputs.size());
      }
      block.outputs.push_back(IdOf(value));
    }
    plan_->blocks[static_cast<std::size_t>(id)] = std::move(block);
    for (const auto& [step, node] : with_bodies) {
      for (const auto& [name, body] : OrderedBodies(*node)) {
        const BlockKind inner_kind =
            plan_->steps[step].kind == StepKind::kIf ? BlockKind::kBranch : BlockKind::kLoopBody;
        const std::int32_t inner = AddBlock(*body, id, inner_kind);
        plan_->steps[step].bodies.push_back(inner);
      }
    }
    return id;
  }

  // then before else, whatever the attribute order.
  static std::vector<std::pair<std::string, Graph*>> OrderedBodies(const Node& node) {
    auto bodies = node.bodies();
    if (node.OpType() == "If") {
      std::sort(bodies.begin(), bodies.end(),
                [](const auto& a, const auto& b) { return a.first > b.first; });
      SY_CHECK(bodies.size() == 2 && bodies[0].first == "then_branch");
    }
    return bodies;
  }

  PlanValueId IdOf(const NodeArg* value) const {
    return value == nullptr ? kAbsent : ids_.at(value);
  }

  void NumberValues(const Graph& graph, std::int32_t block) {
    for (std::size_t v = 0; v < graph.value_limit(); ++v) {
      const NodeArg* value = graph.value(static_cast<ValueId>(v));
      if (value == nullptr) continue;
      if (value->is_captured()) {
        Capture(graph, *value, block);
        continue;
      }
      const auto id = static_cast<PlanValueId>(plan_->values.size());
      ids_[value] = id;
      PlanValue info;
      info.arg = value;
      info.space = copies_.of(value);
      info.block = block;
      info.is_constant = value->constant() != nullptr && !value->is_input();
      info.is_block_input = value->is_input();
      const ValueType& type = value->type();
      info.is_tensor =
          type.is_tensor() && type.elem != DataType::kString && type.elem != DataType::kUndefined;
      // Inside bodies only constants: a loop may run with other shapes each time.
      info.is_static = type.is_tensor() && type.shape.is_concrete() &&
                       (block == 0 ? !value->is_overridable() : info.is_constant);
      plan_->values.push_back(info);
      if (value->constant() != nullptr &&
          (value->is_input() || value->constant()->bytes() <= kAlwaysDense)) {
        NeedDense(id);
      }
    }
  }

  void Capture(const Graph& graph, const NodeArg& value, std::int32_t block) {
    for (const Graph* outer = graph.parent(); outer != nullptr; outer = outer->parent()) {
      const NodeArg* found = outer->FindValue(value.Name());
      if (found == nullptr || found->is_captured()) continue;
      const PlanValueId id = ids_.at(found);
      ids_[&value] = id;
      plan_->values[id].is_captured = true;
      plan_->blocks[static_cast<std::size_t>(block)].captured.push_back(id);
      return;
    }
    Throw(ErrorCode::kInvalidGraph, "a body reads '{}', which no surrounding graph has",
          value.Name());
  }

  std::uint32_t AddArguments(std::span<NodeArg* const> arguments) {
    const auto at = static_cast<std::uint32_t>(plan_->arguments.size());
    for (const NodeArg* value : arguments) plan_->arguments.push_back(IdOf(value));
    return at;
  }

  std::uint32_t AddFollowed(const Node& node) {
    FollowedNode followed;
    followed.node = &node;
    followed.infer = options_.inference.Find(node);
    followed.inputs = AddArguments(node.inputs());
    followed.num_inputs = static_cast<std::uint32_t>(node.inputs().size());
    followed.outputs = AddArguments(node.outputs());
    followed.num_outputs = static_cast<std::uint32_t>(node.outputs().size());
    for (const NodeArg* output : node.outputs()) {
      if (output != nullptr) plan_->values[IdOf(output)].is_followed = true;
    }
    plan_->followed.push_back(followed);
    return static_cast<std::uint32_t>(plan_->followed.size() - 1);
  }

  std::uint32_t AddStep(const Graph& graph, const Node& node) {
    Step step;
    step.node = &node;
    step.inputs = AddArguments(node.inputs());
    step.num_inputs = static_cast<std::uint32_t>(node.inputs().size());
    step.outputs = AddArguments(node.outputs());
    step.num_outputs = static_cast<std::uint32_t>(node.outputs().size());
    step.is_static = true;
    for (const NodeArg* value : node.inputs()) {
      // Followed integers differ from binding to binding even where their dims do not.
      step.is_static &= value == nullptr || (plan_->values[IdOf(value)].is_static &&
                                             !plan_->values[IdOf(value)].is_followed);
    }
    for (const NodeArg* value : node.outputs()) {
      step.is_static &= value == nullptr || plan_->values[IdOf(value)].is_static;
    }
    if (node.Domain() == kInternalDomain && node.OpType() == kCopyOp) {
      step.kind = StepKind::kCopy;
      step.for_caller = copies_.for_caller.count(&node) != 0;
    } else if (placement_.of(graph, node.Index()).provider < 0) {
      step.kind = node.OpType() == "If"
                      ? StepKind::kIf
                      : (node.OpType() == "Loop" ? StepKind::kLoop : StepKind::kScan);
      step.is_static = false;
      for (const NodeArg* value : node.inputs()) NeedDenseOf(value);
    } else {
      AddKernel(graph, node, &step);
    }
    const auto id = static_cast<std::uint32_t>(plan_->steps.size());
    for (const NodeArg* output : node.outputs()) {
      if (output == nullptr) continue;
      plan_->values[IdOf(output)].producer = static_cast<std::int32_t>(id);
      step.has_heap_outputs |=
          output->type().is_tensor() && output->type().elem == DataType::kString;
    }
    plan_->steps.push_back(std::move(step));
    return id;
  }

  void AddKernel(const Graph& graph, const Node& node, Step* step) {
    CheckTimeLimit();
    const NodePlacement& placement = placement_.of(graph, node.Index());
    step->provider = placement.provider;
    step->infer = options_.inference.Find(node);
    if (placement.fused) {
      step->kernel = placement.fused->kernel.get();
      plan_->fused.push_back(placement.fused);
      for (const NodeArg* value : node.inputs()) NeedDenseOf(value);
    } else {
      OpKernelInfo info(node, options_.providers[static_cast<std::size_t>(placement.provider)]);
      std::unique_ptr<OpKernel> kernel = placement.kernel->create(info);
      if (!kernel)
        Throw(ErrorCode::kEpFail, "{}: the kernel factory answered nothing", node.Describe());
      step->kernel = kernel.get();
      plan_->kernels.push_back(std::move(kernel));
      RequestConstants(node, info, step);
    }
    const std::size_t bytes = step->kernel->state_bytes();
    step->state = plan_->state_bytes;
    plan_->state_bytes += static_cast<std::uint32_t>((bytes + 63) / 64 * 64);
  }

  void RequestConstants(const Node& node, const OpKernelInfo& info, Step* step) {
    std::uint64_t packed_only = 0;
    step->packed = static_cast<std::uint32_t>(packed_indices_.size());
    for (const OpKernelInfo::Request& request : info.packed_requests()) {
      packed_indices_.push_back(
          constants_.Request(node.inputs()[request.input]->constant(), request.form));
      packed_only |= std::uint64_t{1} << request.input;
    }
    constants_.Pack(options_.team);
    packed_only &= ~info.keep_dense();
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (i < 64 && ((packed_only >> i) & 1) != 0) continue;
      NeedDenseOf(node.inputs()[i]);
    }
  }

  void NeedDenseOf(const NodeArg* value) {
    if (value != nullptr && plan_->values[IdOf(value)].is_constant) NeedDense(IdOf(value));
  }
  void NeedDense(PlanValueId id) {
    if (!dense_seen_.insert(id).second) return;
    const PlanValue& value = plan_->values[id];
    dense_.push_back({id, value.arg->constant(), value.space});
  }

  void FindLastUses() {
    for (std::size_t s = 0; s < plan_->steps.size(); ++s) {
      const Step& step = plan_->steps[s];
      for (std::uint32_t i = 0; i < step.num_inputs; ++i) {
        const PlanValueId id = plan_->arguments[step.inputs + i];
        if (id == kAbsent) continue;
        PlanValue& value = plan_->values[id];
        value.last_use = std::max(value.last_use, static_cast<std::int32_t>(s));
        // A queued copy may read its source later than the step.
        if (step.kind == StepKind::kCopy) {
          value.is_captured = true;
          if (step.for_caller)
            value.caller_output = plan_->values[plan_->arguments[step.outputs]].output_index;
        } else {
          value.read_on_host = true;
        }
      }
    }
    for (const Block& block : plan_->blocks) {
      for (PlanValueId id : block.outputs) NeedDenseOf(plan_->values[id].arg);
      for (PlanValueId id : block.captured) {
        NeedDenseOf(plan_->values[id].arg);
        plan_->values[id].read_on_host = true;
      }
    }
  }

  // Views and in-place outputs. A value that outlives its block's steps owns its memory.
  void ChooseMemoryRoots() {
    if (!options_.reuse_memory) return;
    for (PlanValue& value : plan_->values) {
      value.reach = value.is_captured || value.is_block_output ? kForever : value.last_use;
      value.last_write = value.producer;
    }
    for (const Block& block : plan_->blocks) {
      for (std::uint32_t s = block.first_step; s < block.end_step; ++s) {
        Step& step = plan_->steps[s];
        if (step.kind != StepKind::kKernel || step.provider < 0) continue;
        const NodePlacement& placement = placement_.of(*block.graph, step.node->Index());
        if (placement.kernel == nullptr) continue;
        for (const auto& [input, output] : placement.kernel->must_alias) TryView(s, input, output);
        for (const auto& [input, output] : placement.kernel->may_alias)
          TryInPlace(s, input, output);
        step.part_views = placement.kernel->part_views;
        for (std::size_t i = 0; step.part_views && i < step.num_outputs; ++i) TryPart(s, i);
        step.part_inputs = placement.kernel->part_inputs;
      }
    }
    for (PlanValue& value : plan_->values) value.may_move = MayMove(value);
  }

  PlanValueId RootOf(PlanValueId id) const {
    while (id != kAbsent && plan_->values[id].root != kAbsent) id = plan_->values[id].root;
    return id;
  }

  // Whether the value's bytes may lie in the owner's memory.
  bool MayShare(PlanValueId id, PlanValueId owner) const {
    for (id = RootOf(id); id != kAbsent; id = RootOf(plan_->values[id].part_of)) {
      if (id == owner) return true;
    }
    return false;
  }

  bool Arguments(std::uint32_t s, std::size_t input, std::size_t output, PlanValueId* from,
                 PlanValueId* to) const {
    const Step& step = plan_->steps[s];
    if (input >= step.num_inputs || output >= step.num_outputs) return false;
    *from = plan_->arguments[step.inputs + input];
    *to = plan_->arguments[step.outputs + output];
    if (*from == kAbsent || *to == kAbsent) return false;
    const PlanValue& f = plan_->values[*from];
    const PlanValue& t = plan_->values[*to];
    return f.is_tensor && t.is_tensor && !t.is_block_output && f.space == t.space &&
           t.root == kAbsent;
  }

  void TryView(std::uint32_t s, std::size_t input, std::size_t output) {
    PlanValueId from, to;
    if (!Arguments(s, input, output, &from, &to)) return;
    const PlanValueId root = RootOf(from);
    plan_->values[to].root = root;
    plan_->steps[s].views.emplace_back(to, from);
    plan_->values[root].last_use =
        std::max(plan_->values[root].last_use, plan_->values[to].last_use);
    if (plan_->values[to].is_captured) plan_->values[root].is_captured = true;
    Extend(root, plan_->values[to].reach);
  }

  // The owner's memory, and all that it may be a part of, is read up to `reach`.
  void Extend(PlanValueId owner, std::int32_t reach) {
    for (; owner != kAbsent; owner = RootOf(plan_->values[owner].part_of)) {
      plan_->values[owner].reach = std::max(plan_->values[owner].reach, reach);
    }
  }

  void TryPart(std::uint32_t s, std::size_t output) {
    PlanValueId from, to;
    if (!Arguments(s, 0, output, &from, &to)) return;
    plan_->values[to].part_of = RootOf(from);
    Extend(plan_->values[to].part_of, plan_->values[to].reach);
  }

  bool MayMove(const PlanValue& value) const {
    return value.is_tensor && value.root == kAbsent && value.producer >= 0 && !value.is_constant &&
           !value.is_block_input && !value.is_block_output && !value.is_captured &&
           !value.is_followed &&
           MakesOwnMemory(plan_->steps[static_cast<std::size_t>(value.producer)]);
  }

  void TryInPlace(std::uint32_t s, std::size_t input, std::size_t output) {
    PlanValueId from, to;
    if (plan_->steps[s].in_place_of >= 0 || !Arguments(s, input, output, &from, &to)) return;
    // It may be made in the caller's memory.
    if (plan_->values[to].caller_output >= 0) return;
    const PlanValueId root = RootOf(from);
    const PlanValue& owner = plan_->values[root];
    if (owner.producer >= 0 &&
        !MakesOwnMemory(plan_->steps[static_cast<std::size_t>(owner.producer)]))
      return;
    if (owner.is_constant || owner.is_block_input || owner.is_block_output || owner.is_captured)
      return;
    if (owner.is_followed || owner.producer < 0 || owner.reach != static_cast<std::int32_t>(s) ||
        owner.part_of != kAbsent)
      return;
    if (owner.block != plan_->values[to].block) return;
    const ValueType& a = owner.arg->type();
    const ValueType& b = plan_->values[to].arg->type();
    if (!(a.shape == b.shape) || BitsOf(a.elem) != BitsOf(b.elem)) return;
    // Another argument must not read the memory that is being written.
    const Step& step = plan_->steps[s];
    for (std::uint32_t i = 0; i < step.num_inputs; ++i) {
      const PlanValueId other = plan_->arguments[step.inputs + i];
      if (i != input && other != kAbsent && MayShare(other, root)) return;
    }
    plan_->steps[s].in_place_of = static_cast<std::int32_t>(input);
    TryView(s, input, output);
    PlanValue& written = plan_->values[root];
    written.last_write = static_cast<std::int32_t>(s);
    written.rewritten = std::min(written.rewritten, written.last_write);
  }

  // Whether nobody else holds the memory of a step's outputs. A copy of a fed value may be the
  // caller's own buffer; an If passes on captured values and constants, a loop without iterations
  // what it was given, a sequence its element; a compiled kernel may hand over what it keeps.
  bool MakesOwnMemory(const Step& step) const {
    if (step.kind != StepKind::kKernel) return false;
    for (const std::shared_ptr<FusedGroup>& group : plan_->fused) {
      if (group->kernel.get() == step.kernel) return false;
    }
    for (std::uint32_t i = 0; i < step.num_inputs; ++i) {
      const PlanValueId id = plan_->arguments[step.inputs + i];
      if (id != kAbsent && !plan_->values[id].arg->type().is_tensor()) return false;
    }
    return true;
  }

  static constexpr std::size_t kAlwaysDense = 4096;  // inference reads small constants at binding

  struct DenseUse {
    PlanValueId value;
    ConstantPtr constant;
    int space;
  };

  const Placement& placement_;
  const CopyPlan& copies_;
  ConstantStore& constants_;
  const PlanOptions& options_;
  std::unique_ptr<Plan> plan_;
  std::unordered_map<const NodeArg*, PlanValueId> ids_;
  std::vector<std::size_t> packed_indices_;
  std::vector<DenseUse> dense_;
  std::unordered_set<PlanValueId> dense_seen_;
};

}  // namespace

std::unique_ptr<Plan> BuildPlan(std::unique_ptr<Graph> graph, const Placement& placement,
                                const CopyPlan& copies, ConstantStore& constants,
                                const PlanOptions& options) {
  return PlanBuilder(std::move(graph), placement, copies, constants, options).Run();
}

}  // namespace switchyard
