// Identity, Dropout outside training, and reductions and variadic sums over one thing.
#include "passes/rewrite.h"

namespace switchyard::passes::basic::identity_removal {
namespace {

bool IsInferenceDropout(const Node& node) {
  if (node.SinceVersion() < 7) return node.attributes().Int("is_test", 0) != 0;
  if (node.SinceVersion() < 12 || InputOf(node, 2) == nullptr) return true;
  const auto training = KnownInts(InputOf(node, 2));
  return training && training->size() == 1 && (*training)[0] == 0;
}

// No axes and the switch that then skips the reduction. Only where nothing is done per element.
bool IsSkippedReduction(const Node& node) {
  if (node.attributes().Int("noop_with_empty_axes", 0) == 0 || node.attributes().Has("axes")) {
    return false;
  }
  if (InputOf(node, 1) == nullptr) return true;
  const auto axes = KnownInts(InputOf(node, 1));
  return axes && axes->empty();
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || InputOf(node, 0) == nullptr) return std::nullopt;
  const std::string& op = node.OpType();
  bool same = false;
  if (op == "Identity") {
    same = true;
  } else if (op == "Dropout") {
    same = IsInferenceDropout(node);
  } else if (op.starts_with("Reduce")) {
    same = IsSkippedReduction(node);
  } else {
    same = node.inputs().size() == 1;
  }
  if (!same) return std::nullopt;
  return ReplaceBy(graph, node, node.inputs()[0]);
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"identity_removal",
                              {"Identity", "Dropout", "Sum", "Mean", "Max", "Min", "ReduceSum",
                               "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"},
                              Propose}));
}

}  // namespace switchyard::passes::basic::identity_removal
