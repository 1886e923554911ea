// A Cast to the type that is there already, and a Cast of a Cast that lost nothing.
#include "passes/rewrite.h"

namespace switchyard::passes::basic::cast_chain {
namespace {

// Bits of the significand and whether negative numbers are there; 0: not a number type we judge.
struct Range {
  int digits = 0;
  bool is_signed = false;
  bool is_float = false;
  int exponent = 0;  // floats: bits of it
};

Range RangeOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return {1, false, false, 0};
    case DataType::kUint8:
      return {8, false, false, 0};
    case DataType::kUint16:
      return {16, false, false, 0};
    case DataType::kUint32:
      return {32, false, false, 0};
    case DataType::kUint64:
      return {64, false, false, 0};
    case DataType::kInt8:
      return {7, true, false, 0};
    case DataType::kInt16:
      return {15, true, false, 0};
    case DataType::kInt32:
      return {31, true, false, 0};
    case DataType::kInt64:
      return {63, true, false, 0};
    case DataType::kFloat16:
      return {11, true, true, 5};
    case DataType::kBFloat16:
      return {8, true, true, 8};
    case DataType::kFloat:
      return {24, true, true, 8};
    case DataType::kDouble:
      return {53, true, true, 11};
    default:
      return {};
  }
}

// Whether every value of `from` is a value of `to`.
bool IsLossless(DataType from, DataType to) {
  const Range a = RangeOf(from), b = RangeOf(to);
  if (a.digits == 0 || b.digits == 0 || (a.is_signed && !b.is_signed)) return false;
  if (a.is_float && !b.is_float) return false;
  // Integers up to 32 bits are in the range of every float that has the digits, but for float16.
  if (!a.is_float && b.is_float && b.exponent == 5 && a.digits > 8) return false;
  return a.digits <= b.digits && (!a.is_float || a.exponent <= b.exponent);
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || InputOf(node, 0) == nullptr) return std::nullopt;
  const NodeArg* input = node.inputs()[0];
  const NodeArg* output = node.outputs()[0];
  if (!input->type().is_tensor() || !output->type().is_tensor()) return std::nullopt;
  const DataType to = output->type().elem;
  if (to == DataType::kUndefined) return std::nullopt;
  if (input->type().elem == to) return ReplaceBy(graph, node, input);
  const Node* first = ProducerOf(graph, input, "Cast");
  if (first == nullptr || InputOf(*first, 0) == nullptr) return std::nullopt;
  const NodeArg* source = first->inputs()[0];
  const DataType from = source->type().elem;
  if (!source->type().is_tensor() || !IsLossless(from, input->type().elem)) return std::nullopt;
  if (from == to) return ReplaceBy(graph, node, source);
  if (RangeOf(to).digits == 0) return std::nullopt;
  Patch patch(graph);
  patch.SetInput(node, 0, Mutable(source));
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"cast_chain", {"Cast"}, Propose}));
}

}  // namespace switchyard::passes::basic::cast_chain
