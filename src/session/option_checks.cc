#include "session/option_checks.h"

#include <algorithm>

#include "base/format.h"
#include "session/config_keys.h"

namespace switchyard {
namespace {

struct TheirOptimizer {
  std::string_view name;
  std::string_view passes;  // of ours, by commas; "": none does that
};

constexpr TheirOptimizer kTheirOptimizers[] = {
    {"FreeDimensionOverrideTransformer", "free_dimension_override"},
    {"EliminateIdentity", "identity_removal"},
    {"EliminateSlice", "no_op_shape"},
    {"UnsqueezeElimination", ""},
    {"EliminateDropout", "identity_removal"},
    {"ExpandElimination", "no_op_shape"},
    {"CastElimination", "cast_chain"},
    {"CastChainElimination", "cast_chain"},
    {"PreShapeNodeElimination", ""},
    {"NoopElimination", "no_op_arithmetic"},
    {"DivMulFusion", ""},
    {"FuseReluClip", ""},
    {"GemmSumFusion", ""},
    {"GemmTransposeFusion", "gemm_transpose"},
    {"NotWhereFusion", ""},
    {"ConvAddFusion", "conv_scale"},
    {"ConvMulFusion", "conv_scale"},
    {"ConvBNFusion", "conv_scale"},
    {"PadFusion", "pad_conv"},
    {"MatmulBNFusion", ""},
    {"ClipQuantRewrite", ""},
    {"LabelEncoderFusion", ""},
    {"DoubleQDQPairsRemover", ""},
    {"ConstantSharing", ""},
    {"CommonSubexpressionElimination", "common_subexpressions"},
    {"ConstantFolding", "constant_folding"},
    {"MatMulAddFusion", ""},
    {"ReshapeFusion", "shape_folding"},
    {"SliceConcatToSpaceToDepthFusion", ""},
    {"GeluFusionL1", "gelu"},
    {"LayerNormFusionL1", "layer_norm"},
    {"QDQPropagationTransformer", ""},
    {"WeightBiasQuantization", ""},
    {"EnsureUniqueDQForNodeUnit", ""},
    {"WhereDummyDq", ""},
    {"DQMatMulNBitsFusion", ""},
    {"TransposeOptimizer", "transpose_chain"},
    {"QDQS8ToU8Transformer", ""},
    {"QDQSelectorActionTransformer", ""},
    {"GemmActivationFusion", ""},
    {"MatMulIntegerToFloatFusion", ""},
    {"DynamicQuantizeMatMulFusion", ""},
    {"ConvActivationFusion", "conv_epilogue"},
    {"ConvAddActivationFusion", "conv_epilogue"},
    {"GeluFusionL2", "gelu"},
    {"LayerNormFusionL2", "layer_norm"},
    {"SimplifiedLayerNormFusion", "rms_norm"},
    {"AttentionFusion", "attention"},
    {"EmbedLayerNormFusion", ""},
    {"GatherSliceToSplitFusion", ""},
    {"GatherToSliceFusion", ""},
    {"MatmulTransposeFusion", ""},
    {"BiasGeluFusion", ""},
    {"GroupQueryAttentionFusion", ""},
    {"SkipLayerNormFusion", "skip_layer_norm"},
    {"BiasSkipLayerNormFusion", "skip_layer_norm"},
    {"FastGeluFusion", "gelu"},
    {"QuickGeluFusion", ""},
    {"GeluApproximation", ""},
    {"BiasSoftmaxFusion", ""},
    {"BiasDropoutFusion", ""},
    {"MatMulScaleFusion", ""},
    {"MatMulActivationFusion", ""},
    {"Avx2WeightS8ToU8Transformer", ""},
    {"MatMulNBitsFusion", ""},
    {"QDQFinalCleanupTransformer", ""},
    {"NchwcTransformer", ""},
    {"NhwcTransformer", ""},
    {"InsertCastTransformer", ""},
};

std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";,"), text.size());
    std::string_view name = text.substr(0, end);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

void CheckSizes(const std::vector<std::pair<std::string, std::int64_t>>& overrides,
                std::string_view what) {
  for (const auto& [name, size] : overrides) {
    if (size >= 1) continue;
    Throw(ErrorCode::kInvalidArgument,
          "free dimension override: {} '{}' is to be {}, expected a size of 1 or more", what, name,
          size);
  }
}

}  // namespace

void CheckOptions(const SessionOptions& options) {
  if (options.intra_op_num_threads < 0) {
    Throw(ErrorCode::kInvalidArgument, "intra_op_num_threads must be 0 or more, got {}",
          options.intra_op_num_threads);
  }
  CheckSizes(options.free_dimension_overrides, "the dim named");
  CheckSizes(options.free_dimension_overrides_by_denotation, "dims denoted");
  for (const auto& [key, value] : options.config) {
    if (IsSwitch(key)) static_cast<void>(ConfigFlag(key, value));
  }
}

std::vector<std::string> DisabledPasses(const SessionOptions& options,
                                        std::span<const std::string> known) {
  std::vector<std::string> wanted = options.disabled_passes;
  for (std::string& name :
       SplitNames(options.ConfigEntry("optimization.disable_specified_optimizers"))) {
    wanted.push_back(std::move(name));
  }
  std::vector<std::string> disabled;
  for (std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      disabled.push_back(std::move(name));
      continue;
    }
    // "TransposeOptimizer_<provider>"
    const std::string_view stem = std::string_view(name).substr(0, name.find('_'));
    const auto theirs = std::find_if(std::begin(kTheirOptimizers), std::end(kTheirOptimizers),
                                     [&](const TheirOptimizer& row) { return row.name == stem; });
    if (theirs == std::end(kTheirOptimizers)) {
      Throw(ErrorCode::kInvalidArgument,
            "disabled passes: there is no pass '{}'; the passes of this session are {}", name,
            fmt::join(known, ", "));
    }
    for (std::string& pass : SplitNames(theirs->passes)) disabled.push_back(std::move(pass));
  }
  return disabled;
}

}  // namespace switchyard
