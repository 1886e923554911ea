// Deterministic nodes that read constants only, evaluated once. Large DequantizeLinear, Expand,
// ConstantOfShape and whatever else makes much out of little stays as it is.
#include <algorithm>

#include "ir/constant_node.h"
#include "passes/rewrite.h"

namespace switchyard::passes::basic::constant_folding {
namespace {

constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kGrowth = 4;

std::size_t BytesOf(const Constant& constant) {
  return constant.type() == DataType::kString
             ? static_cast<std::size_t>(constant.size()) * sizeof(std::string)
             : constant.bytes();
}

// Bytes of all outputs; nullopt where a shape isn't known.
std::optional<std::size_t> OutputBytes(const Node& node) {
  std::size_t total = 0;
  for (const NodeArg* output : node.outputs()) {
    if (output == nullptr) continue;
    const ValueType& type = output->type();
    if (!type.is_tensor() || type.elem == DataType::kUndefined || !type.shape.is_concrete()) {
      return std::nullopt;
    }
    total += switchyard::BytesOf(type.elem, ElementCount(type.shape.concrete()));
  }
  return total;
}

bool IsWorthIt(const Node& node, const PassContext& context) {
  std::size_t in = 0;
  for (const NodeArg* input : node.inputs()) {
    if (input != nullptr) in += BytesOf(*input->constant());
  }
  if (in > context.max_fold_bytes) return false;
  std::optional<std::size_t> out;
  try {
    out = OutputBytes(node);
  } catch (const Error&) {
    return false;  // more elements than can be counted
  }
  if (!out) return in <= kSmallBytes;
  if (*out > context.max_fold_bytes) return false;
  if (*out <= kSmallBytes) return true;
  return *out <= in * kGrowth && !IsOp(node, "DequantizeLinear");
}

std::optional<std::vector<Tensor>> Evaluate(const Graph& graph, const Node& node,
                                            PassContext& context) {
  std::vector<const Tensor*> inputs;
  for (const NodeArg* input : node.inputs()) inputs.push_back(ConstantTensor(input));
  try {
    return context.evaluate(node, graph, inputs);
  } catch (const Error&) {
    return std::nullopt;  // the Run will tell
  }
}

std::optional<Patch> FoldConstantNode(const Graph& graph, const Node& node) {
  if (!IsRead(graph, node.outputs()[0])) return std::nullopt;
  Patch patch(graph);
  patch.ReplaceUses(node.outputs()[0], patch.AddConstant(ConstantOfAttributes(node.attributes()),
                                                         node.outputs()[0]->Name()));
  return patch;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext& context) {
  if (node.outputs().empty() || node.has_body()) return std::nullopt;
  if (IsOp(node, "Constant")) return FoldConstantNode(graph, node);
  if (!context.evaluate || node.inputs().empty()) return std::nullopt;
  for (const NodeArg* input : node.inputs()) {
    if (input != nullptr && !input->is_constant()) return std::nullopt;
  }
  if (!IsDeterministic(node) || !IsWorthIt(node, context)) return std::nullopt;
  std::optional<std::vector<Tensor>> results = Evaluate(graph, node, context);
  if (!results || results->size() != node.outputs().size()) return std::nullopt;
  Patch patch(graph);
  for (std::size_t i = 0; i < results->size(); ++i) {
    NodeArg* output = node.outputs()[i];
    if (!IsRead(graph, output)) continue;
    auto constant = std::make_shared<const Constant>(std::move((*results)[i]));
    if (BytesOf(*constant) > context.max_fold_bytes) return std::nullopt;
    patch.ReplaceUses(output, patch.AddConstant(std::move(constant), output->Name()));
  }
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"constant_folding", {}, Propose}));
}

}  // namespace switchyard::passes::basic::constant_folding
