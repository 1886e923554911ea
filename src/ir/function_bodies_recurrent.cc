#include "ir/function_bodies.h"

namespace switchyard::bodies {

using Value = BodyBuilder::Value;

namespace {

// A dim of an argument if it is a number.
std::optional<std::int64_t> KnownDim(const BodyBuilder& b, std::size_t input, std::size_t axis) {
  const auto rank = b.Rank(input);
  if (!rank || static_cast<std::int64_t>(axis) >= *rank) return std::nullopt;
  const Dim& dim = b.node().inputs()[input]->type().shape[axis];
  if (!dim.is_value()) return std::nullopt;
  return dim.value();
}

Value AsFloat(BodyBuilder& b, Value value, DataType have) {
  return have == DataType::kFloat ? value : b.Cast(value, DataType::kFloat);
}

}  // namespace

bool CausalConvWithState(BodyBuilder& b) {
  auto channels = KnownDim(b, 0, 1);
  if (!channels) channels = KnownDim(b, 1, 0);
  if (!channels) return false;
  const Value before = b.Op("Sub", {b.Dims(b.Input(1), 2, 3), b.Ints({1})});
  const Value sequence =
      b.Has(3)
          ? b.Concat(2, {b.Input(3), b.Input(0)})
          : b.Op("Pad", {b.Input(0), b.Concat(0, {before, b.Ints({0})}), nullptr, b.Ints({2})});
  Value y = b.Op("Conv", {sequence, b.Input(1), b.Input(2)}, {{"group", *channels}});
  if (b.attributes().String("activation", "none") != "none") {
    y = b.Op("Mul", {y, b.Op("Sigmoid", {y})});
  }
  b.SetOutput(0, y);
  if (b.Wants(1)) {
    const Value length = b.Dims(sequence, 2, 3);
    b.SetOutput(1, b.Op("Slice", {sequence, b.Op("Sub", {length, before}), length, b.Ints({2})}));
  }
  return true;
}

// A Scan over time in float. Query heads of a group share a key-value head: [B, Hkv, G, d].
bool LinearAttention(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  const std::int64_t kv_heads = b.attributes().Int("kv_num_heads", 0);
  const std::int64_t q_heads = b.attributes().Int("q_num_heads", 0);
  if (type == DataType::kUndefined || kv_heads < 1 || q_heads < 1) return false;
  const std::string rule = b.attributes().String("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if ((gated && !b.Has(4)) || (delta && !b.Has(5))) return false;

  const auto time_first = [&](std::size_t input, Value shape) {
    return b.Transpose(b.Reshape(AsFloat(b, b.Input(input), type), shape), {1, 0, 2, 3});
  };
  const Value heads = b.Ints({0, 0, kv_heads, -1});
  const Value query = b.Transpose(
      b.Reshape(AsFloat(b, b.Input(0), type), b.Ints({0, 0, kv_heads, q_heads / kv_heads, -1})),
      {1, 0, 2, 3, 4});
  const auto width = [&](std::size_t input, std::int64_t count) {
    return b.Op("Div", {b.Dims(b.Input(input), 2, 3), b.Ints({count})});
  };
  const Value key_width = width(0, q_heads);
  Value state = nullptr;
  if (b.Has(3)) {
    state = AsFloat(b, b.Input(3), b.Elem(3));
  } else {
    state = b.Op("ConstantOfShape", {b.Concat(0, {b.Dims(b.Input(0), 0, 1), b.Ints({kv_heads}),
                                                  key_width, width(2, kv_heads)})});
  }
  std::vector<Value> scanned{state, query, time_first(1, heads), time_first(2, heads)};
  if (gated) scanned.push_back(time_first(4, heads));
  if (delta) scanned.push_back(time_first(5, b.Ints({0, 0, -1, 1})));

  BodyBuilder step(b, "step");
  Value memory = step.BodyInput("state");
  const Value q = step.BodyInput("query");
  const Value k = step.Unsqueeze(step.BodyInput("key"), -1);
  Value v = step.BodyInput("value");
  if (gated) {
    const Value decay = step.Unsqueeze(step.Op("Exp", {step.BodyInput("decay")}), -1);
    memory = step.Op("Mul", {memory, decay});
  }
  if (delta) {
    const Value rate = step.BodyInput("rate");
    const Value recalled = step.Op("MatMul", {step.Transpose(memory, {0, 1, 3, 2}), k});
    v = step.Op("Mul", {rate, step.Op("Sub", {v, step.Squeeze(recalled, -1)})});
  }
  memory = step.Op("Add", {memory, step.Op("MatMul", {k, step.Unsqueeze(v, -2)})});
  step.BodyOutput(memory);
  step.BodyOutput(step.Op("MatMul", {q, memory}));
  const auto done = b.Many("Scan", scanned, 2,
                           {{"num_scan_inputs", static_cast<std::int64_t>(scanned.size() - 1)},
                            {"body", step.FinishBody()}});

  Value y = b.Transpose(done[1], {1, 0, 2, 3, 4});
  const float scale = b.attributes().Float("scale", 0);
  const Value factor =
      scale != 0 ? b.Scalar(scale, DataType::kFloat)
                 : b.Op("Reciprocal", {b.Op("Sqrt", {b.Cast(key_width, DataType::kFloat)})});
  y = b.Reshape(b.Op("Mul", {y, factor}), b.Ints({0, 0, -1}));
  b.SetOutput(0, type == DataType::kFloat ? y : b.Cast(y, type));
  if (b.Wants(1)) {
    const DataType state_type = b.Has(3) ? b.Elem(3) : type;
    b.SetOutput(1, state_type == DataType::kFloat ? done[0] : b.Cast(done[0], state_type));
  }
  return true;
}

}  // namespace switchyard::bodies
