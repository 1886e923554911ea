// Sizes that the caller fixes for named or denoted dims of the graph's inputs.
#include <algorithm>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::free_dimension_override {
namespace {

std::optional<std::int64_t> Find(const std::vector<std::pair<std::string, std::int64_t>>& overrides,
                                 const std::string& name) {
  const auto at = std::find_if(overrides.begin(), overrides.end(),
                               [&](const auto& item) { return item.first == name; });
  return at != overrides.end() ? std::make_optional(at->second) : std::nullopt;
}

std::string Denotation(const ModelContext& model, const NodeArg& input, std::size_t axis) {
  for (const auto& item : model.dim_denotations) {
    if (item.value == input.Name() && item.axis == axis) return item.denotation;
  }
  return {};
}

std::optional<Patch> Propose(const Graph& graph, const Node&, PassContext& context) {
  const auto& by_name = context.free_dimension_overrides_by_name;
  const auto& by_denotation = context.free_dimension_overrides_by_denotation;
  if (graph.parent() != nullptr || (by_name.empty() && by_denotation.empty())) return std::nullopt;
  Patch patch(graph);
  for (NodeArg* input : graph.inputs()) {
    if (!input->type().is_tensor() || !input->type().shape.ranked()) continue;
    Shape shape = input->type().shape;
    bool any = false;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (!shape[i].is_symbolic()) continue;
      std::optional<std::int64_t> size = Find(by_name, shape[i].ToString());
      if (!size && !by_denotation.empty()) {
        const std::string denotation = Denotation(graph.context(), *input, i);
        if (!denotation.empty()) size = Find(by_denotation, denotation);
      }
      if (!size || *size < 0) continue;
      shape[i] = Dim(*size);
      any = true;
    }
    if (any) patch.RefineInput(input, std::move(shape));
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"free_dimension_override", {}, Propose}));
}

}  // namespace switchyard::passes::basic::free_dimension_override
