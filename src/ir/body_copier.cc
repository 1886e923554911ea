#include "ir/body_copier.h"

#include "ir/constant_node.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

// Sizes of the function's own symbols mean nothing outside.
ValueType WithoutSymbols(const ValueType& type) {
  ValueType result = type;
  for (std::size_t i = 0; result.shape.ranked() && i < result.shape.rank(); ++i) {
    if (!result.shape[i].is_value()) result.shape[i] = Dim();
  }
  if (type.element) {
    result.element = std::make_shared<const ValueType>(WithoutSymbols(*type.element));
  }
  return result;
}

}  // namespace

void FunctionCall::Fail(const std::string& text) const {
  throw Error(ErrorCode::kInvalidGraph, where + ": " + text);
}

NodeArg* BodyCopier::Copy(const NodeArg* value) {
  if (value == nullptr) return nullptr;
  const auto known = values_.find(value);
  if (known != values_.end()) return known->second;
  NodeArg* copy = nullptr;
  if (value->is_captured()) {
    if (outer_ != nullptr) {
      const NodeArg* outside = outer_->source_.FindValue(value->Name());
      SY_CHECK(outside != nullptr);
      NodeArg* outside_copy = outer_->Copy(outside);
      copy = outside_copy != nullptr ? target_.Capture(outside_copy->Name()) : nullptr;
    } else {
      copy = target_.FindValue(value->Name());
      if (copy == nullptr) copy = target_.Capture(value->Name());
    }
  } else {
    copy = NewValue(*value);
  }
  values_.emplace(value, copy);
  return copy;
}

void BodyCopier::CopyConstants() {
  for (ValueId id = 0; id < source_.value_limit(); ++id) {
    const NodeArg* value = source_.value(id);
    if (value == nullptr || !value->is_constant() || value->is_captured()) continue;
    Bind(value,
         target_.AddConstant(target_.UniqueName(call_.prefix + value->Name()), value->constant()));
  }
}

// A literal as it is, a reference as what it refers to.
std::optional<Attribute> BodyCopier::Bound(const Attribute& attribute) const {
  const auto* reference = std::get_if<AttributeReference>(&attribute.value);
  if (reference == nullptr) return attribute;
  const Attribute* given = call_.attributes.Find(reference->name);
  if (given == nullptr) given = call_.function.default_attributes.Find(reference->name);
  if (given == nullptr) return std::nullopt;
  if (reference->type != AttributeType::kUndefined && given->type() != reference->type) {
    call_.Fail("attribute '" + reference->name + "' is of type " +
               std::to_string(static_cast<int>(given->type())) + ", the function expects " +
               std::to_string(static_cast<int>(reference->type)));
  }
  Attribute result = *given;
  result.name = attribute.name;
  return result;
}

std::shared_ptr<Graph> BodyCopier::CopyBody(const Graph& body) {
  auto copy = std::make_shared<Graph>(target_.shared_context(), &target_);
  BodyCopier inner(call_, body, *copy, this);
  for (const NodeArg* input : body.inputs()) {
    NodeArg* made = copy->AddInput(copy->UniqueName(call_.prefix + input->Name()),
                                   WithoutSymbols(input->type()));
    inner.Bind(input, made);
    if (input->constant()) copy->SetConstant(made, input->constant());
  }
  inner.CopyConstants();
  inner.CopyNodes();
  for (const NodeArg* output : body.outputs()) {
    NodeArg* value = inner.Copy(output);
    if (value == nullptr) call_.Fail("a body gives out an input that the call leaves out");
    copy->MarkOutput(value);
  }
  return copy;
}

Attributes BodyCopier::CopyAttributes(const Node& node) {
  Attributes result;
  for (const Attribute& attribute : node.attributes()) {
    std::optional<Attribute> bound = Bound(attribute);
    if (!bound) continue;
    const bool of_call = std::holds_alternative<AttributeReference>(attribute.value);
    const auto copy_body = [&](std::shared_ptr<Graph>& body) {
      // A body that the call hands in sees the graph around the call.
      body = of_call ? std::shared_ptr<Graph>(body->CloneInto(target_.shared_context(), &target_))
                     : CopyBody(*body);
    };
    if (auto* body = std::get_if<std::shared_ptr<Graph>>(&bound->value)) {
      copy_body(*body);
    } else if (auto* bodies = std::get_if<Attribute::Graphs>(&bound->value)) {
      for (auto& item : *bodies) copy_body(item);
    }
    result.Set(std::move(*bound));
  }
  return result;
}

std::vector<Node*> BodyCopier::CopyNodes() {
  std::vector<Node*> made;
  for (const NodeIndex index : source_.TopologicalOrder()) {
    const Node& node = *source_.node(index);
    Attributes attributes = CopyAttributes(node);
    if (node.OpType() == "Constant" && node.Domain().empty() && node.outputs().size() == 1) {
      const auto bound = values_.find(node.outputs()[0]);
      NodeArg* value = target_.AddConstant("", ConstantOfAttributes(attributes));
      if (bound == values_.end()) {
        Bind(node.outputs()[0], value);
      } else {
        NodeArg* const inputs[] = {value};
        NodeArg* const outputs[] = {bound->second};
        made.push_back(target_.AddNode(
            "Identity", "", target_.UniqueName(call_.prefix + "Identity"), inputs, outputs, {}));
      }
      continue;
    }
    std::vector<NodeArg*> inputs, outputs;
    for (const NodeArg* input : node.inputs()) inputs.push_back(Copy(input));
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    for (const NodeArg* output : node.outputs()) outputs.push_back(Copy(output));
    const std::string& stem = node.Name().empty() ? node.OpType() : node.Name();
    Node* copy =
        target_.AddNode(node.OpType(), node.Domain(), target_.UniqueName(call_.prefix + stem),
                        inputs, outputs, std::move(attributes), node.SinceVersion());
    if (!node.Overload().empty()) target_.SetOverload(copy, node.Overload());
    made.push_back(copy);
  }
  return made;
}

}  // namespace switchyard
