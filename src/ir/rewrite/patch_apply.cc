// The applying half.
#include <algorithm>
#include <unordered_set>

#include "ir/rewrite/patch_impl.h"
#include "switchyard/ir/schema.h"

namespace switchyard {
namespace {

bool SameDim(const Dim& a, const Dim& b) { return a == b || (a.is_unknown() && b.is_unknown()); }

bool SameShape(const Shape& a, const Shape& b) {
  if (a.ranked() != b.ranked()) return false;
  return !a.ranked() || std::equal(a.begin(), a.end(), b.begin(), b.end(), SameDim);
}

bool SameInfo(const ValueInfo& a, const ValueInfo& b) {
  if (a.type.kind != b.type.kind || a.type.elem != b.type.elem || a.has_value != b.has_value) {
    return false;
  }
  if (!SameShape(a.type.shape, b.type.shape)) return false;
  return !a.has_value ||
         std::equal(a.value.begin(), a.value.end(), b.value.begin(), b.value.end(), SameDim);
}

// Whether `found` may stand where `known` is expected.
std::string Contradiction(const ValueInfo& known, const ValueInfo& found) {
  if (!known.type.known() || !found.type.known()) return {};
  if (!known.type.SameAs(found.type) && found.type.elem != DataType::kUndefined) {
    return "type " + known.type.ToString() + " would become " + found.type.ToString();
  }
  if (known.type.is_tensor() && !MergeShapes(known.type.shape, found.type.shape)) {
    return "shape " + known.type.shape.ToString() + " would become " + found.type.shape.ToString();
  }
  return {};
}

// Adds to `info` what `known`, which describes the same value, says more.
void Refine(const ValueInfo& known, ValueInfo* info) {
  if (!info->type.known()) info->type = known.type;
  if (info->type.is_tensor() && known.type.is_tensor() && known.type.shape.ranked()) {
    Shape& shape = info->type.shape;
    if (!shape.ranked()) {
      shape = known.type.shape;
    } else if (shape.rank() == known.type.shape.rank()) {
      for (std::size_t i = 0; i < shape.rank(); ++i) {
        const Dim& dim = known.type.shape[i];
        if (shape[i].is_unknown() || (dim.is_value() && !shape[i].is_value())) shape[i] = dim;
      }
    }
  }
  if (!info->has_value && known.has_value) {
    info->has_value = true;
    info->value = known.value;
  }
}

bool IsRead(const Graph& graph, const NodeArg& value) {
  return !value.consumers().empty() || graph.is_output(&value);
}

}  // namespace

bool Patch::Impl::IsRemoved(NodeIndex index) const {
  return std::find(removals.begin(), removals.end(), index) != removals.end();
}

const Patch::Impl::Replacement* Patch::Impl::ReplacementOf(const NodeArg* value) const {
  for (const Replacement& replacement : replacements) {
    if (replacement.old == value) return &replacement;
  }
  return nullptr;
}

Patch::Result Patch::Impl::Commit(Graph& target, const InferenceRegistry& inference,
                                  const NodeCheck& check) {
  Result result;
  result.refused = CheckReferences(target);
  if (!result.refused.empty()) return result;
  DecideOutputs(target);
  try {
    ResolveStaged(target);
    result.refused = InferStaged(target, inference, check);
    if (result.refused.empty()) result.refused = CheckEdits(target, inference);
  } catch (const Error& error) {
    result.refused = error.message();
  }
  if (result.refused.empty()) result.refused = CheckReplacements(target);
  if (result.refused.empty()) result.refused = CheckRemovals(target);
  if (result.refused.empty()) result.refused = CheckCycle(target);
  if (!result.refused.empty()) return result;
  Splice(target, &result);
  RemoveDead(target, &result);
  Propagate(target, inference, &result);
  auto& touched = result.touched;
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  std::erase_if(touched, [&](NodeIndex index) { return target.node(index) == nullptr; });
  return result;
}

std::string Patch::Impl::CheckReferences(const Graph& target) const {
  if (&target != &graph) return "it was made for another graph";
  std::vector<NodeIndex> all = removals;
  for (const InputEdit& edit : input_edits) all.push_back(edit.node);
  for (const AttributeEdit& edit : attribute_edits) all.push_back(edit.node);
  for (NodeIndex index : all) {
    if (target.node(index) == nullptr) return "a node of it is gone";
  }
  for (const Replacement& replacement : replacements) {
    if (replacement.with.empty()) return "'" + replacement.old->Name() + "' is replaced by nothing";
    if (Resolve(replacement.with) == replacement.old) return "a value is replaced by itself";
  }
  return {};
}

// A graph output keeps its name: the new value takes it over, unless that one has a name to keep
// too. Then `old` stays, made by an Identity.
void Patch::Impl::DecideOutputs(const Graph& target) {
  std::vector<const NodeArg*> named;
  for (Replacement& replacement : replacements) {
    if (!target.is_output(replacement.old)) continue;
    const NodeArg* with = Resolve(replacement.with);
    const bool free = !with->is_input() && !with->is_captured() && !target.is_output(with) &&
                      std::find(named.begin(), named.end(), with) == named.end() &&
                      replacement.old->producer() != kNoNode;
    replacement.keeps_output = !free;
    named.push_back(with);
  }
}

void Patch::Impl::ResolveStaged(Graph& target) {
  for (Staged& value : values) value.arg->name_ = target.UniqueName(value.stem);
  for (StagedNode& staged : nodes) {
    Node& node = *staged.node;
    for (const Ref& ref : staged.inputs) node.inputs_.push_back(Resolve(ref));
    for (const Ref& ref : staged.outputs) node.outputs_.push_back(Resolve(ref));
    if (node.has_body()) CloneBodies(target, staged);
  }
}

std::string Patch::Impl::InferStaged(Graph& target, const InferenceRegistry& inference,
                                     const NodeCheck& check) {
  for (StagedNode& staged : nodes) {
    const Node& node = *staged.node;
    for (const auto& [name, body] : node.bodies()) {
      for (ValueId id = 0; id < body->value_limit(); ++id) {
        NodeArg* captured = body->value(id);
        if (captured == nullptr || !captured->is_captured()) continue;
        for (const NodeArg* outer : node.implicit_inputs()) {
          if (outer->Name() == captured->Name()) body->SetInfo(captured, outer->info());
        }
      }
    }
    std::vector<ValueInfo> found = InferOutputs(target, node, inference);
    for (std::size_t i = 0; i < found.size(); ++i) {
      NodeArg* output = node.outputs_[i];
      if (output == nullptr) continue;
      std::string problem = Contradiction(output->info_, found[i]);
      if (!problem.empty()) return node.Describe() + ": " + problem;
      Refine(output->info_, &found[i]);
      found[i].tensor = nullptr;
      output->info_ = std::move(found[i]);
    }
    if (!check) continue;
    std::string problem = check(node);
    if (!problem.empty()) return node.Describe() + ": " + problem;
  }
  return {};
}

std::string Patch::Impl::CheckEdits(const Graph& target, const InferenceRegistry& inference) const {
  std::vector<NodeIndex> edited;
  for (const InputEdit& edit : input_edits) edited.push_back(edit.node);
  for (const AttributeEdit& edit : attribute_edits) edited.push_back(edit.node);
  for (NodeIndex index : edited) {
    Node trial = *target.node(index);
    for (const InputEdit& edit : input_edits) {
      if (edit.node != index) continue;
      if (edit.slot >= trial.inputs_.size()) trial.inputs_.resize(edit.slot + 1);
      trial.inputs_[edit.slot] = Resolve(edit.value);
    }
    for (const AttributeEdit& edit : attribute_edits) {
      if (edit.node != index) continue;
      if (edit.erase) {
        trial.attributes_.Erase(edit.attribute.name);
      } else {
        trial.attributes_.Set(edit.attribute);
      }
    }
    const std::vector<ValueInfo> found = InferOutputs(target, trial, inference);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const NodeArg* output = trial.outputs()[i];
      if (output == nullptr) continue;
      std::string problem = Contradiction(output->info(), found[i]);
      if (!problem.empty()) return "'" + output->Name() + "': " + problem;
    }
  }
  return {};
}

std::string Patch::Impl::CheckReplacements(const Graph& target) const {
  for (const auto& [input, shape] : refinements) {
    if (!input->is_input()) return "'" + input->Name() + "' is no graph input";
    if (!MergeShapes(input->type().shape, shape)) {
      return "'" + input->Name() + "': shape " + input->type().shape.ToString() + " would become " +
             shape.ToString();
    }
  }
  for (const Replacement& replacement : replacements) {
    const NodeArg& old = *replacement.old;
    const std::string problem = Contradiction(old.info(), Resolve(replacement.with)->info());
    if (!problem.empty()) return "'" + old.Name() + "': " + problem;
    // An Identity that only gives an output its name would be replaced by the same again.
    if (!replacement.keeps_output || !old.consumers().empty() || old.producer() == kNoNode) {
      continue;
    }
    const Node& producer = *target.node(old.producer());
    if (producer.OpType() == "Identity" && producer.Domain().empty() &&
        producer.inputs()[0] == replacement.with.existing) {
      return "'" + old.Name() + "' needs its Identity: it is a graph output";
    }
  }
  return {};
}

std::string Patch::Impl::CheckRemovals(const Graph& target) const {
  for (NodeIndex index : removals) {
    const Node& node = *target.node(index);
    for (const NodeArg* output : node.outputs()) {
      if (output == nullptr || ReplacementOf(output) != nullptr) continue;
      if (target.is_output(output))
        return "the graph output '" + output->Name() + "' would be lost";
      for (NodeIndex user : output->consumers()) {
        const bool rewired =
            std::any_of(input_edits.begin(), input_edits.end(), [&](const InputEdit& edit) {
              return edit.node == user && edit.slot < target.node(user)->inputs().size() &&
                     target.node(user)->inputs()[edit.slot] == output;
            });
        if (!IsRemoved(user) && !rewired) {
          return "'" + output->Name() + "' is still read by " + target.node(user)->Describe();
        }
      }
    }
    for (const StagedNode& staged : nodes) {
      for (const NodeArg* input : staged.node->inputs()) {
        if (input != nullptr && input->producer() == index) {
          return "'" + input->Name() + "' is removed and still needed";
        }
      }
    }
    for (const Replacement& replacement : replacements) {
      const NodeArg* with = Resolve(replacement.with);
      if (with->producer() == index) return "'" + with->Name() + "' is removed and still needed";
    }
  }
  return {};
}

// New edges go from what the patch reads to those whose inputs it changes. Ranks grow along edges,
// so nothing can be wrong where all the former rank below the latter; else the paths between are
// searched.
std::string Patch::Impl::CheckCycle(const Graph& target) {
  target.RankNodes();
  const auto& rank = target.rank_;
  std::unordered_set<NodeIndex> sources;
  const auto add_source = [&](const NodeArg* value) {
    if (value != nullptr && value->producer() != kNoNode) sources.insert(value->producer());
  };
  for (const StagedNode& staged : nodes) {
    for (const NodeArg* value : staged.node->inputs()) add_source(value);
    for (const NodeArg* value : staged.node->implicit_inputs()) add_source(value);
  }
  std::vector<NodeIndex> readers;
  for (const Replacement& replacement : replacements) {
    add_source(Resolve(replacement.with));
    for (NodeIndex user : replacement.old->consumers()) {
      if (!IsRemoved(user)) readers.push_back(user);
    }
  }
  for (const InputEdit& edit : input_edits) {
    if (!edit.value.empty()) add_source(Resolve(edit.value));
    readers.push_back(edit.node);
  }
  std::uint64_t high = ~std::uint64_t{0};
  low = 0;
  for (NodeIndex index : sources) low = std::max(low, rank[index]);
  for (NodeIndex index : readers) high = std::min(high, rank[index]);
  if (low < high) {
    const std::uint64_t gap = high == ~std::uint64_t{0} ? (nodes.size() + 1) << 32 : high - low;
    step = gap / (nodes.size() + 1);
    keeps_ranks = step > 0;
    return {};
  }
  std::unordered_set<NodeIndex> seen;
  std::vector<NodeIndex> stack = readers;
  while (!stack.empty()) {
    const NodeIndex at = stack.back();
    stack.pop_back();
    if (rank[at] > low || !seen.insert(at).second) continue;
    if (sources.contains(at)) return "it would make a cycle through " + target.node(at)->Describe();
    for (const NodeArg* output : target.node(at)->outputs()) {
      if (output == nullptr) continue;
      for (NodeIndex user : output->consumers()) {
        if (!IsRemoved(user)) stack.push_back(user);
      }
    }
  }
  return {};
}

void Patch::Impl::NoteNeighbours(const Graph& target, const Node& node, Result* result) {
  constexpr std::size_t kFew = 16;
  for (const auto& list : {node.inputs(), node.implicit_inputs()}) {
    for (const NodeArg* value : list) {
      if (value == nullptr) continue;
      maybe_unread.push_back(value->id());
      if (value->producer() != kNoNode) {
        maybe_dead.push_back(value->producer());
        result->touched.push_back(value->producer());
      }
      if (value->consumers().size() <= kFew) {
        result->touched.insert(result->touched.end(), value->consumers().begin(),
                               value->consumers().end());
      }
    }
  }
  static_cast<void>(target);
}

void Patch::Impl::Splice(Graph& target, Result* result) {
  for (Staged& value : values) {
    NodeArg& made = *value.raw;
    made.id_ = static_cast<ValueId>(target.values_.size());
    maybe_unread.push_back(made.id_);
    target.by_name_.emplace(made.name_, &made);
    target.values_.push_back(std::move(value.arg));
  }
  std::vector<NodeIndex> gone = removals;
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  for (const Replacement& replacement : replacements) {
    const NodeIndex producer = replacement.old->producer();
    if (producer != kNoNode) {
      maybe_dead.push_back(producer);
      result->touched.push_back(producer);
    }
    maybe_unread.push_back(replacement.old->id());
  }
  for (NodeIndex index : gone) {
    const Node& node = *target.node(index);
    NoteNeighbours(target, node, result);
    for (const NodeArg* output : node.outputs()) {
      if (output != nullptr) maybe_unread.push_back(output->id());
    }
    target.RemoveNode(index);
    result->removed.push_back(index);
  }
  for (const Replacement& replacement : replacements) {
    SpliceReplacement(target, replacement, result);
  }
  SpliceNodes(target, result);
  for (const InputEdit& edit : input_edits) {
    Node* node = target.node(edit.node);
    NoteNeighbours(target, *node, result);
    result->touched.push_back(edit.node);
    target.SetInput(node, edit.slot, edit.value.empty() ? nullptr : Resolve(edit.value));
  }
  for (const AttributeEdit& edit : attribute_edits) {
    Node* node = target.node(edit.node);
    result->touched.push_back(edit.node);
    if (edit.erase) {
      target.EraseAttribute(node, edit.attribute.name);
    } else {
      target.SetAttribute(node, edit.attribute);
    }
  }
  for (auto& [input, shape] : refinements) {
    input->info_.type.shape = std::move(shape);
    changed.push_back(input);
  }
  target.order_valid_ = false;
  target.rank_valid_ = keeps_ranks;
}

void Patch::Impl::SpliceReplacement(Graph& target, const Replacement& replacement, Result* result) {
  NodeArg* old = replacement.old;
  NodeArg* with = Resolve(replacement.with);
  const bool was_constant = old->is_constant();
  const bool was_output = target.is_output(old);
  const ValueInfo before = old->info();
  if (target.inferred()) Refine(before, &with->info_);
  result->touched.insert(result->touched.end(), old->consumers().begin(), old->consumers().end());
  target.Rewire(old, with, !replacement.keeps_output);
  if (!SameInfo(before, with->info()) || (with->is_constant() && !was_constant)) {
    changed.push_back(with);
  }
  if (replacement.keeps_output) {
    if (old->producer() == kNoNode && (old->is_input() || old->constant() || old->is_captured())) {
      return;
    }
    if (old->producer() != kNoNode) {
      Node* producer = target.node(old->producer());
      const bool named_already = producer->OpType() == "Identity" && producer->Domain().empty() &&
                                 producer->inputs()[0] == with;
      if (named_already) return;
      // If the producer stays for its other outputs, this one may be a required one.
      NodeArg* unread = target.AddValue(target.UniqueName(old->Name()), old->type());
      const auto slot = static_cast<std::size_t>(old->producer_slot());
      target.SetOutput(producer, slot, unread);
    }
    identities.push_back({old, with});
    return;
  }
  const bool takes_name = was_output || (replacement.with.staged >= 0 && !target.is_output(with));
  if (!takes_name || old->is_input() || old->is_captured() || old->constant() != nullptr) return;
  const std::string name = old->Name();
  target.RenameValue(old, target.UniqueName(name));
  target.RenameValue(with, name);
}

void Patch::Impl::SpliceNodes(Graph& target, Result* result) {
  std::uint64_t rank = low;
  for (StagedNode& staged : nodes) {
    Node* node = staged.node.get();
    node->index_ = target.nodes_.size();
    auto& imports = target.context().opset_imports;
    imports.try_emplace(node->domain_, staged.opset);
    node->implicit_inputs_.clear();
    target.nodes_.push_back(std::move(staged.node));
    ++target.live_nodes_;
    rank += step;
    target.rank_.push_back(rank);
    for (NodeArg* input : node->inputs_) target.AddUse(input, node->index_);
    for (std::size_t i = 0; i < node->outputs_.size(); ++i) {
      if (node->outputs_[i] == nullptr) continue;
      node->outputs_[i]->producer_ = node->index_;
      node->outputs_[i]->producer_slot_ = static_cast<int>(i);
    }
    if (node->has_body()) target.UpdateImplicitInputs(node);
    result->created.push_back(node->index_);
    result->touched.push_back(node->index_);
    maybe_dead.push_back(node->index_);
  }
  for (const OutputIdentity& identity : identities) {
    NodeArg* with = identity.with;
    const OpSchema* schema = OpSchemaRegistry().Find("", "Identity", target.opset(""));
    const Node* made = target.AddNode("Identity", "", "", std::vector<NodeArg*>{with},
                                      std::vector<NodeArg*>{identity.old}, {},
                                      schema != nullptr ? schema->since_version : 0);
    const std::uint64_t after =
        with->producer() != kNoNode ? target.rank_[with->producer()] + 1 : 1;
    target.rank_.push_back(after);
    result->created.push_back(made->Index());
    result->touched.push_back(made->Index());
  }
}

void Patch::Impl::RemoveDead(Graph& target, Result* result) {
  while (!maybe_dead.empty()) {
    const NodeIndex index = maybe_dead.back();
    maybe_dead.pop_back();
    const Node* node = target.node(index);
    if (node == nullptr) continue;
    const bool read = std::any_of(
        node->outputs().begin(), node->outputs().end(),
        [&](const NodeArg* output) { return output != nullptr && IsRead(target, *output); });
    if (read) continue;
    for (const NodeArg* output : node->outputs()) {
      if (output != nullptr) maybe_unread.push_back(output->id());
    }
    NoteNeighbours(target, *node, result);
    target.RemoveNode(index);
    std::erase(result->created, index);
    result->removed.push_back(index);
  }
  for (ValueId id : maybe_unread) {
    NodeArg* value = target.value(id);
    if (value == nullptr || value->producer() != kNoNode || value->is_input()) continue;
    if (!IsRead(target, *value)) {
      std::erase(changed, value);
      target.RemoveValue(value);
    }
  }
}

// Readers of values that are known better now. What they find wrong with it is theirs to tell when
// they run: the edit stands.
void Patch::Impl::Propagate(Graph& target, const InferenceRegistry& inference,
                            Result* result) const {
  std::vector<NodeIndex> pending;
  for (const NodeArg* value : changed) {
    pending.insert(pending.end(), value->consumers().rbegin(), value->consumers().rend());
  }
  for (const AttributeEdit& edit : attribute_edits) pending.push_back(edit.node);
  for (const InputEdit& edit : input_edits) pending.push_back(edit.node);
  while (!pending.empty()) {
    const NodeIndex index = pending.back();
    pending.pop_back();
    Node* node = target.node(index);
    if (node == nullptr) continue;
    std::vector<ValueInfo> before;
    for (const NodeArg* output : node->outputs()) {
      before.push_back(output != nullptr ? output->info() : ValueInfo());
    }
    try {
      InferNode(target, *node, inference);
    } catch (const Error&) {
      continue;
    }
    result->touched.push_back(index);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const NodeArg* output = node->outputs()[i];
      if (output == nullptr || SameInfo(before[i], output->info())) continue;
      pending.insert(pending.end(), output->consumers().rbegin(), output->consumers().rend());
    }
  }
}

}  // namespace switchyard
