// Zeros around the input of a Conv become its pads. Not for pooling: zeros there take part.
#include <algorithm>
#include <cstring>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::pad_conv {
namespace {

bool PadsZeros(const Node& pad) {
  if (pad.attributes().String("mode", "constant") != "constant") return false;
  if (pad.SinceVersion() < 11) return pad.attributes().Float("value", 0.0f) == 0.0f;
  if (InputOf(pad, 2) == nullptr) return true;
  return OneReal(InputOf(pad, 2)) == 0.0;
}

// Pads of all axes, begins then ends; empty: not known.
std::vector<std::int64_t> FullPads(const Node& pad, std::size_t rank) {
  const auto pads = IntsOf(pad, "pads", 1);
  if (!pads) return {};
  if (InputOf(pad, 3) == nullptr) {
    return pads->size() == 2 * rank ? *pads : std::vector<std::int64_t>();
  }
  const auto axes = KnownInts(InputOf(pad, 3));
  if (!axes || pads->size() != 2 * axes->size()) return {};
  std::vector<std::int64_t> full(2 * rank);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    std::int64_t axis = (*axes)[i];
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return {};
    full[static_cast<std::size_t>(axis)] = (*pads)[i];
    full[static_cast<std::size_t>(axis) + rank] = (*pads)[i + axes->size()];
  }
  return full;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty()) return std::nullopt;
  const Node* pad = ProducerOf(graph, InputOf(node, 0), "Pad");
  const std::string auto_pad = node.attributes().String("auto_pad", "NOTSET");
  if (pad == nullptr || pad->SinceVersion() < 2 || (auto_pad != "NOTSET" && auto_pad != "VALID")) {
    return std::nullopt;
  }
  const NodeArg* padded = node.inputs()[0];
  if (!padded->type().is_tensor() || !padded->type().shape.ranked()) return std::nullopt;
  const std::size_t rank = padded->type().shape.rank();
  if (rank < 3 || !PadsZeros(*pad)) return std::nullopt;
  const std::vector<std::int64_t> full = FullPads(*pad, rank);
  if (full.empty() || *std::min_element(full.begin(), full.end()) < 0) return std::nullopt;
  if (full[0] != 0 || full[1] != 0 || full[rank] != 0 || full[rank + 1] != 0) return std::nullopt;
  std::vector<std::int64_t> pads(2 * (rank - 2));
  const auto own = node.attributes().Ints("pads");
  if (auto_pad == "NOTSET" && !own.empty()) {
    if (own.size() != pads.size()) return std::nullopt;
    pads.assign(own.begin(), own.end());
  }
  for (std::size_t i = 0; i < rank - 2; ++i) {
    pads[i] += full[i + 2];
    pads[i + rank - 2] += full[i + 2 + rank];
  }
  Patch patch(graph);
  patch.SetInput(node, 0, Mutable(pad->inputs()[0]));
  patch.SetAttribute(node, {"pads", pads});
  if (auto_pad != "NOTSET") patch.EraseAttribute(node, "auto_pad");
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  // Rounding, not exact: zeros that are not there don't make NaN of infinite weights.
  registry.Register(MakePass({"pad_conv", {"Conv"}, Propose, Exactness::kRounding}));
}

}  // namespace switchyard::passes::basic::pad_conv
