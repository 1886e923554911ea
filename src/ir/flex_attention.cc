#include "ir/body_builder.h"
#include "ir/functions.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

using Value = BodyBuilder::Value;

// Stands for a modifier graph until that takes its place.
constexpr std::string_view kPlaceholderDomain = "sy.modifier";

Value Modified(BodyBuilder& b, const char* attribute, Value value) {
  if (!b.attributes().Has(attribute)) return value;
  Graph& graph = b.graph();
  Value const inputs[] = {value};
  Value const outputs[] = {graph.AddValue(graph.UniqueName(attribute))};
  graph.AddNode(attribute, std::string(kPlaceholderDomain), attribute, inputs, outputs, {}, 1);
  return outputs[0];
}

bool Fill(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  if (type == DataType::kUndefined) return false;
  const DataType natural = type == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  const auto work = static_cast<DataType>(
      b.attributes().Int("softmax_precision", static_cast<std::int64_t>(natural)));
  const auto as = [&](Value value, DataType have, DataType want) {
    return have == want ? value : b.Cast(value, want);
  };
  const Value q = as(b.Input(0), type, work);
  const Value k = as(b.Input(1), type, work);
  const Value v = b.Input(2);
  // [B, Hq, S, D] as [B, Hkv, Hq / Hkv, S, D]: keys and values broadcast over the groups.
  const Value heads = b.Dims(b.Input(1), 1, 2);
  const auto grouped = [&](Value x) {
    return b.Reshape(x, b.Concat(0, {b.Dims(x, 0, 1), heads, b.Ints({-1}), b.Dims(x, 2, 4)}));
  };
  const auto ungrouped = [&](Value x, Value width) {
    return b.Reshape(x, b.Concat(0, {b.Dims(b.Input(0), 0, 3), width}));
  };
  const Value keys = b.Transpose(b.Unsqueeze(k, 2), {0, 1, 2, 4, 3});
  Value scale;
  if (b.attributes().Has("scale")) {
    scale = b.Scalar(b.attributes().Float("scale", 1), work);
  } else {
    scale = b.Op("Reciprocal", {b.Op("Sqrt", {b.Cast(b.Dims(q, 3, 4), work)})});
  }
  Value scores = ungrouped(b.Op("MatMul", {grouped(q), keys}), b.Dims(k, 2, 3));
  scores = Modified(b, "score_mod", b.Op("Mul", {scores, scale}));
  Value weights = b.Op("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  weights = as(Modified(b, "prob_mod", weights), work, type);
  b.SetOutput(0, ungrouped(b.Op("MatMul", {grouped(weights), b.Unsqueeze(v, 2)}), b.Dims(v, 3, 4)));
  return true;
}

}  // namespace

std::optional<std::vector<NodeIndex>> InlineFlexAttention(Graph& graph, NodeIndex index,
                                                          const OpSchemaRegistry& schemas,
                                                          const InferenceRegistry* inference) {
  const Node& node = *graph.node(index);
  const Attributes attributes = node.attributes();
  const std::string where = node.Describe();
  BodyBuilder builder(graph, node, schemas);
  if (!Fill(builder)) return std::nullopt;
  const FunctionBody body = builder.Finish();
  std::vector<NodeIndex> result;
  for (const NodeIndex made : InlineFunctionNode(graph, index, body, nullptr)) {
    const Node& copy = *graph.node(made);
    if (copy.Domain() != kPlaceholderDomain) {
      if (inference != nullptr) InferNode(graph, *graph.node(made), *inference);
      result.push_back(made);
      continue;
    }
    FunctionBody modifier;
    modifier.body = attributes.Subgraph(copy.OpType());
    if (modifier.body == nullptr || modifier.body->inputs().size() != 1 ||
        modifier.body->outputs().size() != 1) {
      throw Error(ErrorCode::kInvalidGraph,
                  where + ": " + copy.OpType() + " does not have one input and one output");
    }
    const auto inner = InlineFunctionNode(graph, made, modifier, inference);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

}  // namespace switchyard
