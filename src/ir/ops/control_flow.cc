// If, Loop, Scan: types of their outputs from those of their bodies.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::control_flow {
namespace {

using Kind = ValueType::Kind;

// What holds for values of both types: dims in which they differ become unknown.
ValueType Common(const InferenceContext& ctx, const ValueType& a, const ValueType& b,
                 std::string_view what) {
  if (!a.known()) return b;
  if (!b.known()) return a;
  const bool elem_fits =
      a.elem == b.elem || a.elem == DataType::kUndefined || b.elem == DataType::kUndefined;
  if (a.kind != b.kind || (a.is_tensor() && !elem_fits)) {
    ctx.Fail(std::string(what) + " is " + a.ToString() + " on one path and " + b.ToString() +
             " on the other");
  }
  ValueType out = a;
  if (out.elem == DataType::kUndefined) out.elem = b.elem;
  if (a.element != nullptr && b.element != nullptr) {
    out.element = std::make_shared<const ValueType>(Common(ctx, *a.element, *b.element, what));
  }
  if (!a.is_tensor()) return out;
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) {
    out.shape = Shape();
    return out;
  }
  for (std::size_t i = 0; i < out.shape.rank(); ++i) {
    if (!(a.shape[i] == b.shape[i])) out.shape[i] = Dim();
  }
  return out;
}

bool SameType(const ValueType& a, const ValueType& b) {
  if (!a.SameAs(b)) return false;
  if (a.element != nullptr && b.element != nullptr) return SameType(*a.element, *b.element);
  if (!a.is_tensor()) return true;
  if (a.shape.ranked() != b.shape.ranked() || a.shape.rank() != b.shape.rank()) return false;
  for (std::size_t i = 0; i < a.shape.rank(); ++i) {
    const bool both_unknown = a.shape[i].is_unknown() && b.shape[i].is_unknown();
    if (!both_unknown && !(a.shape[i] == b.shape[i])) return false;
  }
  return true;
}

std::shared_ptr<Graph> Body(const InferenceContext& ctx, std::string_view name) {
  std::shared_ptr<Graph> body = ctx.attributes().Subgraph(name);
  if (!body) ctx.Fail("attribute '" + std::string(name) + "' is missing");
  return body;
}

void CheckCount(const InferenceContext& ctx, std::string_view what, std::size_t got,
                std::size_t expected) {
  if (got == expected) return;
  ctx.Fail("the body has " + std::to_string(got) + " " + std::string(what) + ", expected " +
           std::to_string(expected));
}

void Give(InferenceContext& ctx, std::size_t output, const ValueType& type) {
  if (type.known()) ctx.SetType(output, type);
}

void InferIf(InferenceContext& ctx) {
  Ints condition;
  ctx.PeekInts(0, &condition);
  const bool known = condition.size() == 1 && condition[0].is_value();
  std::vector<ValueInfo> branches[2];
  for (int i = 0; i < 2; ++i) {
    const std::shared_ptr<Graph> body = Body(ctx, i == 0 ? "then_branch" : "else_branch");
    CheckCount(ctx, "inputs", body->inputs().size(), 0);
    CheckCount(ctx, "outputs", body->outputs().size(), ctx.num_outputs());
    branches[i] = ctx.InferBodyOutputs(*body, {});
  }
  for (std::size_t i = 0; i < ctx.num_outputs(); ++i) {
    const ValueInfo& taken = branches[0][i];
    const ValueInfo& other = branches[1][i];
    if (known) {
      const ValueInfo& sure = condition[0].value() != 0 ? taken : other;
      Give(ctx, i, sure.type);
      if (sure.has_value) ctx.SetInts(i, sure.value);
      continue;
    }
    Give(ctx, i, Common(ctx, taken.type, other.type, "output " + std::to_string(i)));
  }
}

// An optional state whose body always makes a value: absent at most in the first iteration.
bool MayBeAbsentAtFirst(const ValueType& assumed, const ValueType& made) {
  return assumed.kind == Kind::kOptional && made.known() && made.kind != Kind::kOptional;
}

// Runs the body until what is assumed of its first `states` inputs holds for what it makes of them.
// Inputs from `first` on are states; outputs from `first_out` on are theirs.
std::vector<ValueInfo> Settle(InferenceContext& ctx, Graph& body, std::vector<ValueInfo>& inputs,
                              std::size_t first, std::size_t states, std::size_t first_out) {
  // Each round turns a number or rank into an unknown: two rounds per state would do at most.
  for (std::size_t round = 0;; ++round) {
    std::vector<ValueInfo> outputs = ctx.InferBodyOutputs(body, inputs);
    bool stable = true;
    for (std::size_t i = 0; i < states; ++i) {
      ValueType& assumed = inputs[first + i].type;
      const ValueType& made = outputs[first_out + i].type;
      if (MayBeAbsentAtFirst(assumed, made)) continue;
      ValueType common = Common(ctx, assumed, made, "state " + std::to_string(i));
      if (!made.known() || SameType(common, assumed)) continue;
      if (round > 2 && common.is_tensor()) common.shape = Shape();
      assumed = std::move(common);
      stable = false;
    }
    if (stable || round > 8) return outputs;
  }
}

ValueType WithDim(const ValueType& type, std::int64_t axis, const Dim& dim,
                  const InferenceContext& ctx) {
  ValueType out = type;
  if (!type.is_tensor() || !type.shape.ranked()) return out;
  const auto at = static_cast<std::size_t>(ctx.Axis(axis, type.shape.rank() + 1, "scan axis"));
  out.shape = Shape::Scalar();
  for (std::size_t i = 0; i <= type.shape.rank(); ++i) {
    if (i == at) out.shape.push_back(dim);
    if (i < type.shape.rank()) out.shape.push_back(type.shape[i]);
  }
  return out;
}

void InferLoop(InferenceContext& ctx) {
  const std::shared_ptr<Graph> body = Body(ctx, "body");
  const std::size_t states = ctx.num_inputs() > 2 ? ctx.num_inputs() - 2 : 0;
  CheckCount(ctx, "inputs", body->inputs().size(), states + 2);
  CheckCount(ctx, "outputs", body->outputs().size(), ctx.num_outputs() + 1);
  std::vector<ValueInfo> inputs(states + 2);
  inputs[0].type = ValueType::Tensor(DataType::kInt64, Shape::Scalar());
  inputs[1].type = ValueType::Tensor(DataType::kBool, Shape::Scalar());
  for (std::size_t i = 0; i < states; ++i) inputs[i + 2].type = ctx.input_type(i + 2);
  const std::vector<ValueInfo> outputs = Settle(ctx, *body, inputs, 2, states, 1);
  for (std::size_t i = 0; i < ctx.num_outputs(); ++i) {
    if (i < states) {
      const bool absent_at_first = MayBeAbsentAtFirst(inputs[i + 2].type, outputs[i + 1].type);
      Give(ctx, i, absent_at_first ? outputs[i + 1].type : inputs[i + 2].type);
    } else {
      // The condition may end the loop before the trip count does.
      Give(ctx, i, WithDim(outputs[i + 1].type, 0, Dim(), ctx));
    }
  }
}

ValueType WithoutDim(const ValueType& type, std::int64_t axis, const InferenceContext& ctx,
                     Dim* removed) {
  ValueType out = type;
  if (!type.is_tensor() || !type.shape.ranked()) return out;
  const auto at = static_cast<std::size_t>(ctx.Axis(axis, type.shape.rank(), "scan axis"));
  out.shape = Shape::Scalar();
  for (std::size_t i = 0; i < type.shape.rank(); ++i) {
    if (i != at) out.shape.push_back(type.shape[i]);
  }
  *removed = Same(ctx, *removed, type.shape[at], "the lengths of the scanned inputs");
  return out;
}

std::int64_t AxisAt(std::span<const std::int64_t> axes, std::size_t i) {
  return i < axes.size() ? axes[i] : 0;
}

// Version 8 has an input for lengths in front, and a batch dim in front of every shape.
// One entry for each of `count` scan inputs or outputs, or none at all.
std::span<const std::int64_t> PerScan(const InferenceContext& ctx, std::string_view name,
                                      std::size_t count, bool is_direction) {
  const std::span<const std::int64_t> entries = ctx.attributes().Ints(name);
  if (!entries.empty() && entries.size() != count) {
    ctx.Fail("attribute '" + std::string(name) + "' has " + std::to_string(entries.size()) +
             " numbers, expected " + std::to_string(count));
  }
  for (const std::int64_t entry : entries) {
    if (!is_direction || entry == 0 || entry == 1) continue;
    ctx.Fail("attribute '" + std::string(name) + "' holds " + std::to_string(entry) +
             ", expected 0 or 1");
  }
  return entries;
}

void InferScan(InferenceContext& ctx) {
  const std::shared_ptr<Graph> body = Body(ctx, "body");
  const std::size_t front = ctx.since_version() < 9 ? 1 : 0;
  const std::int64_t scans = ctx.attributes().Int("num_scan_inputs", 0);
  if (scans < 1 || static_cast<std::size_t>(scans) + front > ctx.num_inputs()) {
    ctx.Fail("num_scan_inputs is " + std::to_string(scans) + " of " +
             std::to_string(ctx.num_inputs()) + " inputs");
  }
  const std::size_t states = ctx.num_inputs() - front - static_cast<std::size_t>(scans);
  CheckCount(ctx, "inputs", body->inputs().size(), ctx.num_inputs() - front);
  CheckCount(ctx, "outputs", body->outputs().size(), ctx.num_outputs());
  if (ctx.num_outputs() < states) ctx.Fail("has fewer outputs than states");
  const auto scan_inputs = static_cast<std::size_t>(scans);
  const std::size_t scan_outputs = ctx.num_outputs() - states;
  const auto in_axes = PerScan(ctx, "scan_input_axes", scan_inputs, false);
  const auto out_axes = PerScan(ctx, "scan_output_axes", scan_outputs, false);
  PerScan(ctx, front != 0 ? "directions" : "scan_input_directions", scan_inputs, true);
  PerScan(ctx, "scan_output_directions", scan_outputs, true);
  std::vector<ValueInfo> inputs(ctx.num_inputs() - front);
  Dim batch;
  Dim length;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ValueType type = ctx.input_type(i + front);
    if (front != 0) type = WithoutDim(type, 0, ctx, &batch);
    if (i >= states) type = WithoutDim(type, AxisAt(in_axes, i - states), ctx, &length);
    inputs[i].type = std::move(type);
  }
  const std::vector<ValueInfo> outputs = Settle(ctx, *body, inputs, 0, states, 0);
  for (std::size_t i = 0; i < ctx.num_outputs(); ++i) {
    ValueType type = i < states
                         ? inputs[i].type
                         : WithDim(outputs[i].type, AxisAt(out_axes, i - states), length, ctx);
    if (front != 0) type = WithDim(type, 0, batch, ctx);
    Give(ctx, i, type);
  }
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("If", InferIf);
  registry.Register("Loop", InferLoop);
  registry.Register("Scan", InferScan);
}

}  // namespace switchyard::ir::ops::control_flow
