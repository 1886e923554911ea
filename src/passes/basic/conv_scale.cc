// Conv or ConvTranspose followed by a constant per output channel: BatchNormalization, Mul, Div,
// Add, Sub move into weights and bias.
#include <cmath>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::conv_scale {
namespace {

// y = conv * scale + shift, per output channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> OfBatchNorm(const Node& node, std::size_t channels) {
  if (node.attributes().Int("training_mode", 0) != 0 || node.attributes().Int("spatial", 1) == 0 ||
      (node.SinceVersion() < 7 && node.attributes().Int("is_test", 0) == 0)) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] != nullptr) return std::nullopt;
  }
  const auto scale = Reals(InputOf(node, 1)), bias = Reals(InputOf(node, 2));
  const auto mean = Reals(InputOf(node, 3)), variance = Reals(InputOf(node, 4));
  if (!scale || !bias || !mean || !variance || scale->size() != channels ||
      bias->size() != channels || mean->size() != channels || variance->size() != channels) {
    return std::nullopt;
  }
  const double epsilon = static_cast<double>(node.attributes().Float("epsilon", 1e-5f));
  Affine affine;
  for (std::size_t c = 0; c < channels; ++c) {
    affine.scale.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon));
    affine.shift.push_back((*bias)[c] - (*mean)[c] * affine.scale.back());
    if (!std::isfinite(affine.scale.back())) return std::nullopt;
  }
  return affine;
}

// One value, or one per channel: all other dims are 1.
std::optional<std::vector<double>> PerChannel(const NodeArg* value, std::size_t rank,
                                              std::size_t channels) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  const std::int64_t size = value->constant()->size();
  if (size != 1 && size != static_cast<std::int64_t>(channels)) return std::nullopt;
  const auto elements = Reals(value);
  if (!elements) return std::nullopt;
  const auto dims = value->constant()->dims();
  if (dims.size() > rank) return std::nullopt;
  if (elements->size() == 1) return std::vector<double>(channels, (*elements)[0]);
  if (dims.size() + 1 < rank || elements->size() != channels) return std::nullopt;
  if (dims[dims.size() + 1 - rank] != static_cast<std::int64_t>(channels)) return std::nullopt;
  return elements;
}

std::optional<Affine> OfArithmetic(const Node& node, const NodeArg* conv, std::size_t rank,
                                   std::size_t channels) {
  const std::size_t side = node.inputs()[0] == conv ? 1 : 0;
  const auto values = PerChannel(InputOf(node, side), rank, channels);
  if (!values || node.inputs()[0] == node.inputs()[1]) return std::nullopt;
  Affine affine{std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)};
  const std::string& op = node.OpType();
  if (op == "Mul") {
    affine.scale = *values;
  } else if (op == "Add") {
    affine.shift = *values;
  } else if (op == "Sub" && side == 1) {
    for (std::size_t c = 0; c < channels; ++c) affine.shift[c] = -(*values)[c];
  } else if (op == "Div" && side == 1) {
    for (std::size_t c = 0; c < channels; ++c) affine.scale[c] = 1.0 / (*values)[c];
  } else {
    return std::nullopt;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (!std::isfinite(affine.scale[c]) || !std::isfinite(affine.shift[c])) return std::nullopt;
  }
  return affine;
}

// Weights times the scale of their output channel. Conv: [M, C/group, ...]; ConvTranspose:
// [C, M/group, ...], where the group of an input channel tells which output channels it feeds.
std::vector<double> ScaleWeights(std::vector<double> weights, std::span<const std::int64_t> dims,
                                 bool transposed, std::size_t groups, const Affine& affine) {
  const auto rows = static_cast<std::size_t>(dims[0]), columns = static_cast<std::size_t>(dims[1]);
  const std::size_t inner = weights.size() / (rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t channel = transposed ? r / (rows / groups) * columns + c : r;
      for (std::size_t i = 0; i < inner; ++i) {
        weights[(r * columns + c) * inner + i] *= affine.scale[channel];
      }
    }
  }
  return weights;
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext& context) {
  if (!node.Domain().empty()) return std::nullopt;
  const bool batch_norm = IsOp(node, "BatchNormalization");
  for (std::size_t side = 0; side < (batch_norm ? 1u : 2u); ++side) {
    const NodeArg* result = InputOf(node, side);
    const Node* conv = ProducerOf(graph, result, "Conv");
    const bool transposed = conv == nullptr;
    if (transposed) conv = ProducerOf(graph, result, "ConvTranspose");
    if (conv == nullptr || !HasOneReader(graph, result)) continue;
    const NodeArg* filter = InputOf(*conv, 1);
    if (!filter->is_constant() || filter->constant()->bytes() > context.max_fold_bytes) continue;
    const auto weights = Reals(filter);
    const auto bias = Reals(InputOf(*conv, 2));
    if (!weights || weights->empty() || (InputOf(*conv, 2) != nullptr && !bias)) continue;
    const DataType type = conv->inputs()[1]->type().elem;
    if (type != DataType::kFloat && type != DataType::kDouble) continue;
    const auto dims = conv->inputs()[1]->constant()->dims();
    const auto groups = conv->attributes().Int("group", 1);
    if (dims.size() < 3 || groups < 1 || dims[0] % groups != 0) continue;
    const auto channels = static_cast<std::size_t>(transposed ? dims[1] * groups : dims[0]);
    if (bias && bias->size() != channels) continue;
    const auto affine = batch_norm ? OfBatchNorm(node, channels)
                                   : OfArithmetic(node, result, dims.size(), channels);
    if (!affine) continue;
    std::vector<double> shift = affine->shift;
    for (std::size_t c = 0; bias && c < channels; ++c) shift[c] += (*bias)[c] * affine->scale[c];
    Patch patch(graph);
    const auto scaled =
        ScaleWeights(*weights, dims, transposed, static_cast<std::size_t>(groups), *affine);
    const auto count = static_cast<std::int64_t>(channels);
    const std::vector<Patch::Ref> inputs{
        Patch::Ref(conv->inputs()[0]),
        patch.AddConstant(MakeReals(type, dims, scaled), conv->inputs()[1]->Name()),
        patch.AddConstant(MakeReals(type, std::span(&count, 1), shift), conv->Name() + "_bias")};
    patch.ReplaceUses(node.outputs()[0],
                      patch.AddNode(conv->OpType(), "", inputs, conv->attributes(), 1, conv->Name(),
                                    conv->SinceVersion())[0]);
    return patch;
  }
  return std::nullopt;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"conv_scale",
                              {"BatchNormalization", "Mul", "Div", "Add", "Sub"},
                              Propose,
                              Exactness::kRounding}));
}

}  // namespace switchyard::passes::basic::conv_scale
