// Results of shape arithmetic that inference knows: numbers become constants, and a Reshape to a
// shape known but for one dim, or for dims of its own input, takes a constant shape.
#include <algorithm>

#include "ir/constant_node.h"
#include "passes/rewrite.h"

namespace switchyard::passes::basic::shape_folding {
namespace {

ConstantPtr MakeInts(DataType type, std::span<const std::int64_t> dims,
                     const std::vector<std::int64_t>& values) {
  Tensor tensor(type, dims, MakeHostAllocator());
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (type) {
      case DataType::kInt64:
        tensor.data_mutable<std::int64_t>()[i] = values[i];
        break;
      case DataType::kInt32:
        if (values[i] != static_cast<std::int32_t>(values[i])) return nullptr;
        tensor.data_mutable<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]);
        break;
      case DataType::kBool:
        tensor.data_mutable<bool>()[i] = values[i] != 0;
        break;
      default:
        return nullptr;
    }
  }
  return std::make_shared<const Constant>(std::move(tensor));
}

std::optional<Patch> ProposeKnown(const Graph& graph, const Node& node, PassContext&) {
  const bool any = std::any_of(
      node.outputs().begin(), node.outputs().end(),
      [](const NodeArg* output) { return output != nullptr && output->info().has_value; });
  if (!any || node.has_body() || !IsDeterministic(node)) return std::nullopt;
  Patch patch(graph);
  for (NodeArg* output : node.outputs()) {
    if (!IsRead(graph, output) || !output->info().has_value) continue;
    const ValueType& type = output->type();
    if (!type.is_tensor() || !type.shape.is_concrete()) continue;
    const auto values = KnownInts(output);
    const Dims dims = type.shape.concrete();
    if (!values || ElementCount(dims) != static_cast<std::int64_t>(values->size())) continue;
    ConstantPtr constant = MakeInts(type.elem, dims, *values);
    if (constant == nullptr) continue;
    patch.ReplaceUses(output, patch.AddConstant(std::move(constant), output->Name()));
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

// The shape with -1 and 0 for what is not a number; nullopt if that can't say it.
std::optional<std::vector<std::int64_t>> ShapeText(const NodeArg& input, const NodeArg& shape) {
  std::vector<std::int64_t> text;
  bool inferred = false, copied = false;
  const Shape& source = input.type().shape;
  for (std::size_t i = 0; i < shape.info().value.size(); ++i) {
    const Dim& dim = shape.info().value[i];
    if (dim.is_value()) {
      // A written 0 copies the input's dim, and a size of 0 beside a -1 can't be divided by.
      if (dim.value() == 0) return std::nullopt;
      if (dim.value() < 0 && std::exchange(inferred, true)) return std::nullopt;
      text.push_back(dim.value());
    } else if (source.ranked() && i < source.rank() && source[i] == dim) {
      copied = true;
      text.push_back(0);
    } else if (!std::exchange(inferred, true)) {
      text.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  // Where the copied size is 0, a -1 could not be inferred.
  if (inferred && copied) return std::nullopt;
  return text;
}

std::optional<Patch> ProposeReshape(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || node.SinceVersion() < 5 || node.inputs().size() != 2) {
    return std::nullopt;
  }
  const NodeArg* input = node.inputs()[0];
  const NodeArg* shape = node.inputs()[1];
  if (shape->is_constant() || !shape->info().has_value ||
      node.attributes().Int("allowzero", 0) != 0) {
    return std::nullopt;
  }
  // Dims that are unknown altogether may be anything, a -1 or a 0 of the caller's included.
  for (const Dim& dim : shape->info().value) {
    if (dim.is_unknown()) return std::nullopt;
  }
  const auto text = ShapeText(*input, *shape);
  if (!text) return std::nullopt;
  const std::int64_t rank = static_cast<std::int64_t>(text->size());
  Patch patch(graph);
  patch.SetInput(
      node, 1,
      patch.AddConstant(MakeConstant(std::span(&rank, 1), std::span(*text)), shape->Name()));
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"shape_folding", {}, ProposeKnown}));
  registry.Register(MakePass({"reshape_folding", {"Reshape"}, ProposeReshape}));
}

}  // namespace switchyard::passes::basic::shape_folding
