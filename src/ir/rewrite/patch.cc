// The staging half.
#include "switchyard/ir/rewrite/patch.h"

#include <algorithm>

#include "ir/constant_info.h"
#include "ir/rewrite/patch_impl.h"
#include "switchyard/ir/schema.h"

namespace switchyard {

Patch::Patch(const Graph& graph) : impl_(std::make_unique<Impl>(graph)) {}
Patch::~Patch() = default;
Patch::Patch(Patch&&) noexcept = default;

Patch::Ref Patch::AddConstant(ConstantPtr constant, std::string_view stem) {
  SY_CHECK(constant != nullptr);
  ValueInfo info = InfoOf(*constant);
  const Ref ref = impl_->NewValue(stem.empty() ? "constant" : stem);
  NodeArg& made = *impl_->Resolve(ref);
  made.info_ = std::move(info);
  made.constant_ = std::move(constant);
  return ref;
}

std::vector<Patch::Ref> Patch::AddNode(std::string_view op_type, std::string_view domain,
                                       std::span<const Ref> inputs, Attributes attributes,
                                       std::size_t num_outputs, std::string_view name,
                                       int since_version) {
  return impl_->NewNode(op_type, domain, inputs, std::move(attributes),
                        std::vector<bool>(num_outputs, true), name, since_version);
}

Patch::Ref Patch::AddNode1(std::string_view op_type, std::string_view domain,
                           std::initializer_list<Ref> inputs, Attributes attributes,
                           std::string_view name) {
  return AddNode(op_type, domain, std::span<const Ref>(inputs.begin(), inputs.size()),
                 std::move(attributes), 1, name)[0];
}

void Patch::SetInfo(Ref value, ValueInfo info) {
  SY_CHECK(value.staged >= 0);
  info.tensor = nullptr;
  impl_->Resolve(value)->info_ = std::move(info);
}

void Patch::RefineInput(NodeArg* input, Shape shape) {
  impl_->refinements.emplace_back(input, std::move(shape));
}

void Patch::Remove(const Node& node) { impl_->removals.push_back(node.Index()); }

void Patch::SetInput(const Node& node, std::size_t slot, Ref value) {
  impl_->input_edits.push_back({node.Index(), slot, value});
}

void Patch::SetAttribute(const Node& node, Attribute attribute) {
  impl_->attribute_edits.push_back({node.Index(), std::move(attribute), false});
}

void Patch::EraseAttribute(const Node& node, std::string_view name) {
  impl_->attribute_edits.push_back({node.Index(), Attribute{std::string(name), {}}, true});
}

void Patch::ReplaceUses(NodeArg* old, Ref with) { impl_->replacements.push_back({old, with}); }

bool Patch::empty() const {
  return impl_->nodes.empty() && impl_->removals.empty() && impl_->input_edits.empty() &&
         impl_->attribute_edits.empty() && impl_->replacements.empty() &&
         impl_->refinements.empty();
}

std::vector<NodeIndex> Patch::edited_nodes() const {
  std::vector<NodeIndex> result = impl_->removals;
  for (const auto& edit : impl_->input_edits) result.push_back(edit.node);
  for (const auto& edit : impl_->attribute_edits) result.push_back(edit.node);
  return result;
}

Patch::Result Patch::Commit(Graph& graph, const InferenceRegistry& inference,
                            const NodeCheck& check) && {
  return impl_->Commit(graph, inference, check);
}

Patch::Ref Patch::Impl::NewValue(std::string_view stem) {
  Staged staged;
  staged.arg = std::make_unique<NodeArg>();
  staged.raw = staged.arg.get();
  staged.stem = stem;
  values.push_back(std::move(staged));
  Ref ref;
  ref.staged = static_cast<int>(values.size()) - 1;
  return ref;
}

std::vector<Patch::Ref> Patch::Impl::NewNode(std::string_view op_type, std::string_view domain,
                                             std::span<const Ref> inputs, Attributes attributes,
                                             const std::vector<bool>& has_output,
                                             std::string_view name, int since_version) {
  StagedNode staged;
  staged.node = std::make_unique<Node>();
  Node& node = *staged.node;
  node.op_type_ = op_type;
  node.domain_ = domain == "ai.onnx" ? "" : domain;
  node.name_ = name;
  node.attributes_ = std::move(attributes);
  const OpSchemaRegistry schemas;
  staged.opset = graph.opset(node.domain_);
  if (staged.opset == 0) staged.opset = std::max(schemas.NewestOpset(node.domain_), 1);
  const OpSchema* schema = schemas.Find(node.domain_, op_type, staged.opset);
  node.since_version_ = since_version != 0  ? since_version
                        : schema != nullptr ? schema->since_version
                                            : staged.opset;
  staged.inputs.assign(inputs.begin(), inputs.end());
  while (!staged.inputs.empty() && staged.inputs.back().empty()) staged.inputs.pop_back();
  std::vector<Ref> outputs;
  for (const bool present : has_output) {
    outputs.push_back(present ? NewValue(name.empty() ? op_type : name) : Ref());
  }
  staged.outputs = outputs;
  nodes.push_back(std::move(staged));
  return outputs;
}

namespace {

void ResolveReferences(Attributes* attributes, const Attributes* arguments) {
  const Attributes before = *attributes;
  for (const Attribute& attribute : before) {
    const auto* reference = std::get_if<AttributeReference>(&attribute.value);
    if (reference == nullptr) continue;
    const Attribute* argument = arguments != nullptr ? arguments->Find(reference->name) : nullptr;
    if (argument != nullptr) {
      attributes->Set(Attribute{attribute.name, argument->value});
    } else {
      attributes->Erase(attribute.name);
    }
  }
}

void ResolveBodyReferences(Graph& body, const Attributes* arguments) {
  for (NodeIndex i = 0; i < body.node_limit(); ++i) {
    Node* node = body.node(i);
    if (node == nullptr) continue;
    const Attributes before = node->attributes();
    Attributes resolved = before;
    ResolveReferences(&resolved, arguments);
    for (const Attribute& attribute : before) {
      if (!std::holds_alternative<AttributeReference>(attribute.value)) continue;
      const Attribute* now = resolved.Find(attribute.name);
      if (now == nullptr) {
        body.EraseAttribute(node, attribute.name);
      } else {
        body.SetAttribute(node, *now);
      }
    }
    for (const auto& [name, inner] : node->bodies()) ResolveBodyReferences(*inner, arguments);
  }
}

}  // namespace

std::vector<Patch::Ref> Patch::Inline(const Graph& body, std::span<const Ref> inputs,
                                      std::string_view prefix, const Attributes* arguments) {
  std::vector<Ref> known(body.value_limit());
  for (std::size_t i = 0; i < body.inputs().size() && i < inputs.size(); ++i) {
    known[body.inputs()[i]->id()] = inputs[i];
  }
  for (ValueId id = 0; id < body.value_limit(); ++id) {
    const NodeArg* value = body.value(id);
    if (value == nullptr) continue;
    if (value->is_captured()) {
      known[id] = Ref(impl_->graph.FindValue(value->Name()));
    } else if (value->is_constant()) {
      known[id] = AddConstant(value->constant(), value->Name());
    }
  }
  const bool same_symbols = &body.context() == &impl_->graph.context();
  for (NodeIndex index : body.TopologicalOrder()) {
    impl_->InlineNode(*body.node(index), prefix, arguments, same_symbols, &known);
  }
  std::vector<Ref> outputs;
  for (const NodeArg* output : body.outputs()) outputs.push_back(known[output->id()]);
  return outputs;
}

void Patch::Impl::InlineNode(const Node& node, std::string_view prefix, const Attributes* arguments,
                             bool same_symbols, std::vector<Ref>* known) {
  std::vector<Ref> inputs;
  for (const NodeArg* input : node.inputs()) {
    inputs.push_back(input != nullptr ? (*known)[input->id()] : Ref());
  }
  std::vector<bool> has_output;
  for (const NodeArg* output : node.outputs()) has_output.push_back(output != nullptr);
  Attributes attributes = node.attributes();
  ResolveReferences(&attributes, arguments);
  const std::vector<Ref> outputs =
      NewNode(node.OpType(), node.Domain(), inputs, std::move(attributes), has_output,
              std::string(prefix) + node.Name(), node.SinceVersion());
  StagedNode& staged = nodes.back();
  staged.node->overload_ = node.Overload();
  staged.arguments = arguments != nullptr ? std::make_optional(*arguments) : std::nullopt;
  staged.resolve = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NodeArg* output = node.outputs()[i];
    if (output == nullptr) continue;
    (*known)[output->id()] = outputs[i];
    Staged& value = values[static_cast<std::size_t>(outputs[i].staged)];
    value.stem = std::string(prefix) + output->Name();
    if (same_symbols) value.arg->info_ = output->info();
  }
  for (const NodeArg* outer : node.implicit_inputs()) {
    staged.captures.emplace_back(outer->Name(), (*known)[outer->id()]);
  }
}

void Patch::Impl::CloneBodies(Graph& target, StagedNode& staged) {
  const auto adopt = [&](std::shared_ptr<Graph>& body) {
    if (!body) return;
    body = body->CloneInto(target.shared_context(), &target);
    if (staged.resolve) {
      ResolveBodyReferences(*body, staged.arguments ? &*staged.arguments : nullptr);
    }
    // Two steps, so that a new name that is another's old one does no harm.
    std::vector<std::pair<std::string, NodeArg*>> renames;
    for (const auto& [inner, ref] : staged.captures) {
      const NodeArg* captured = body->FindValue(inner);
      if (captured == nullptr || !captured->is_captured()) continue;
      NodeArg* outer = Resolve(ref);
      if (outer == nullptr || inner == outer->Name()) continue;
      const std::string between = body->UniqueName(inner);
      body->RenameCapture(inner, between);
      renames.emplace_back(between, outer);
    }
    for (const auto& [between, outer] : renames) body->RenameCapture(between, outer->Name());
    for (ValueId id = 0; id < body->value_limit(); ++id) {
      NodeArg* captured = body->value(id);
      if (captured == nullptr || !captured->is_captured()) continue;
      NodeArg* outer = target.FindValue(captured->Name());
      for (const Staged& value : values) {
        if (outer == nullptr && value.raw->Name() == captured->Name()) outer = value.raw;
      }
      if (outer == nullptr) continue;
      body->SetInfo(captured, outer->info());
      captured->constant_ = outer->is_constant() ? outer->constant_ : nullptr;
      auto& implicit = staged.node->implicit_inputs_;
      if (std::find(implicit.begin(), implicit.end(), outer) == implicit.end()) {
        implicit.push_back(outer);
      }
    }
  };
  const Attributes before = staged.node->attributes_;
  for (const Attribute& attribute : before) {
    Attribute own = attribute;
    if (auto* body = std::get_if<std::shared_ptr<Graph>>(&own.value)) {
      adopt(*body);
    } else if (auto* bodies = std::get_if<Attribute::Graphs>(&own.value)) {
      for (auto& item : *bodies) adopt(item);
    } else {
      continue;
    }
    staged.node->attributes_.Set(std::move(own));
  }
}

}  // namespace switchyard
