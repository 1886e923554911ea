// Sequences and optional values.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::sequence {
namespace {

using Kind = ValueType::Kind;

ValueType Unknown() { return {}; }

// The type inside a sequence or optional; unknown if it is neither or not known.
ValueType Inside(const ValueType& type) {
  return type.element != nullptr ? *type.element : Unknown();
}

// What a list of tensors of both types holds.
ValueType Common(const InferenceContext& ctx, const ValueType& a, const ValueType& b) {
  if (!a.is_tensor() || !b.is_tensor()) return a.known() ? a : b;
  if (a.elem != b.elem && a.elem != DataType::kUndefined && b.elem != DataType::kUndefined) {
    ctx.Fail("tensors of " + a.ToString() + " and " + b.ToString() + " in one sequence");
  }
  const DataType elem = a.elem != DataType::kUndefined ? a.elem : b.elem;
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) {
    return ValueType::Tensor(elem);
  }
  Shape shape = Shape::OfRank(a.shape.rank());
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (a.shape[i] == b.shape[i]) shape[i] = a.shape[i];
  }
  return ValueType::Tensor(elem, std::move(shape));
}

void SetSequence(InferenceContext& ctx, ValueType element) {
  if (element.known()) ctx.SetType(0, ValueType::Sequence(std::move(element)));
}

void InferConstruct(InferenceContext& ctx) {
  ValueType element = ctx.input_type(0);
  for (std::size_t i = 1; i < ctx.num_inputs(); ++i) {
    element = Common(ctx, element, ctx.input_type(i));
  }
  SetSequence(ctx, std::move(element));
}

void InferEmpty(InferenceContext& ctx) {
  SetSequence(ctx, ValueType::Tensor(DataTypeAttribute(ctx, "dtype", DataType::kFloat)));
}

void InferInsert(InferenceContext& ctx) {
  SetSequence(ctx, Common(ctx, Inside(ctx.input_type(0)), ctx.input_type(1)));
}

void InferErase(InferenceContext& ctx) { CopyType(ctx, 0, 0); }

void InferAt(InferenceContext& ctx) {
  ValueType element = Inside(ctx.input_type(0));
  if (element.known()) ctx.SetType(0, std::move(element));
}

void InferLength(InferenceContext& ctx) { ctx.SetTensor(0, DataType::kInt64, Shape::Scalar()); }

void InferSplit(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (!ctx.input_type(0).known()) return;
  if (!x.ranked()) return SetSequence(ctx, ValueType::Tensor(ctx.input_elem(0)));
  const auto axis = static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), x.rank()));
  Shape part = x;
  if (!ctx.has_input(1)) {
    const bool keep = ctx.attributes().Int("keepdims", 1) != 0;
    part = Shape::Scalar();
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (i != axis || keep) part.push_back(i == axis ? Dim(1) : x[i]);
    }
    return SetSequence(ctx, ValueType::Tensor(ctx.input_elem(0), std::move(part)));
  }
  part[axis] = Dim();
  Ints sizes;
  const bool one_size = ctx.input_shape(1).ranked() && ctx.input_shape(1).rank() == 0;
  if (ctx.ReadInts(1, &sizes) && !sizes.empty()) {
    bool equal = true;
    for (const Dim& d : sizes) equal = equal && d == sizes[0];
    const bool exact =
        !one_size || (x[axis].is_value() && sizes[0].is_value() && sizes[0].value() > 0 &&
                      x[axis].value() % sizes[0].value() == 0);
    if (equal && exact) part[axis] = sizes[0];
  }
  SetSequence(ctx, ValueType::Tensor(ctx.input_elem(0), std::move(part)));
}

void InferConcat(InferenceContext& ctx) {
  const ValueType element = Inside(ctx.input_type(0));
  if (!element.is_tensor()) return;
  const bool stack = ctx.attributes().Int("new_axis", 0) != 0;
  if (!element.shape.ranked()) return ctx.SetTensor(0, element.elem, {});
  const std::size_t rank = element.shape.rank() + (stack ? 1 : 0);
  const auto axis = static_cast<std::size_t>(ctx.Axis(ctx.attributes().Int("axis", 0), rank));
  Shape out = Shape::OfRank(rank);
  std::size_t from = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i == axis) {
      from += stack ? 0 : 1;
    } else {
      out[i] = element.shape[from++];
    }
  }
  ctx.SetTensor(0, element.elem, std::move(out));
}

// The body sees one element of each sequence, and tensors as they are.
void InferMap(InferenceContext& ctx) {
  const std::shared_ptr<Graph> body = ctx.attributes().Subgraph("body");
  if (!body) ctx.Fail("attribute 'body' is missing");
  if (body->inputs().size() != ctx.num_inputs()) {
    ctx.Fail("the body has " + std::to_string(body->inputs().size()) + " inputs, expected " +
             std::to_string(ctx.num_inputs()));
  }
  std::vector<ValueInfo> inputs(ctx.num_inputs());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = ctx.input_type(i);
    inputs[i].type = type.kind == Kind::kSequence ? Inside(type) : type;
  }
  const std::vector<ValueInfo> outputs = ctx.InferBodyOutputs(*body, inputs);
  for (std::size_t i = 0; i < outputs.size() && i < ctx.num_outputs(); ++i) {
    if (outputs[i].type.known()) ctx.SetType(i, ValueType::Sequence(outputs[i].type));
  }
}

void InferOptional(InferenceContext& ctx) {
  if (ctx.has_input(0)) {
    if (ctx.input_type(0).known()) ctx.SetType(0, ValueType::Optional(ctx.input_type(0)));
    return;
  }
  const Attribute* type = ctx.attributes().Find("type");
  const auto* element = type != nullptr ? std::get_if<ValueType>(&type->value) : nullptr;
  if (element == nullptr) ctx.Fail("without an input, attribute 'type' must give the type");
  ctx.SetType(0, ValueType::Optional(*element));
}

void InferHasElement(InferenceContext& ctx) { ctx.SetTensor(0, DataType::kBool, Shape::Scalar()); }

void InferGetElement(InferenceContext& ctx) {
  const ValueType& type = ctx.input_type(0);
  if (!type.known()) return;
  // From version 18 a value that is not optional is its own element.
  ValueType element = type.kind == Kind::kOptional ? Inside(type) : type;
  if (element.known()) ctx.SetType(0, std::move(element));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("SequenceConstruct", InferConstruct);
  registry.Register("SequenceEmpty", InferEmpty);
  registry.Register("SequenceInsert", InferInsert);
  registry.Register("SequenceErase", InferErase);
  registry.Register("SequenceAt", InferAt);
  registry.Register("SequenceLength", InferLength);
  registry.Register("SplitToSequence", InferSplit);
  registry.Register("ConcatFromSequence", InferConcat);
  registry.Register("SequenceMap", InferMap);
  registry.Register("Optional", InferOptional);
  registry.Register("OptionalHasElement", InferHasElement);
  registry.Register("OptionalGetElement", InferGetElement);
}

}  // namespace switchyard::ir::ops::sequence
