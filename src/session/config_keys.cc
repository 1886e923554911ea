#include "session/config_keys.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard {
namespace {

constexpr std::string_view kOwnKeys[] = {
    "switchyard.accuracy",          // exact | default | fast
    "switchyard.cpu.isa",           // baseline | avx2 | avx512
    "switchyard.strict_providers",  // 1: an unavailable provider is an error
    "switchyard.max_copies",        // more copies per run: creation fails and lists them
    "switchyard.stop_after_patches",
    "switchyard.load_time_limit_ms",  // a load that takes longer fails; 0: no limit
    "switchyard.expose_values",       // 1: every value of the main graph is an output
    "switchyard.node_times",          // 1: InferenceSession::node_times counts
    "switchyard.verify_each_pass",
};

constexpr std::string_view kTheirKeys[] = {
    "session.disable_prepacking",
    "session.use_env_allocators",
    "session.load_model_format",
    "session.save_model_format",
    "session.set_denormal_as_zero",
    "session.disable_quant_qdq",
    "session.disable_qdq_constant_folding",
    "session.disable_double_qdq_remover",
    "session.enable_quant_qdq_cleanup",
    "optimization.enable_gelu_approximation",
    "optimization.enable_cast_chain_elimination",
    "session.disable_aot_function_inlining",
    "optimization.memory_optimizer_config",
    "optimization.enable_memory_probe_recompute_config",
    "optimization.disable_specified_optimizers",
    "optimization.constant_folding_max_output_size_in_bytes",
    "session.graph_optimizations_loop_level",
    "session.use_device_allocator_for_initializers",
    "session.inter_op.allow_spinning",
    "session.intra_op.allow_spinning",
    "session.intra_op.spin_duration_us",
    "session.inter_op.spin_duration_us",
    "session.intra_op.spin_backoff_max",
    "session.inter_op.spin_backoff_max",
    "session.use_ort_model_bytes_directly",
    "session.use_ort_model_bytes_for_initializers",
    "session.use_memory_mapped_ort_model",
    "session.qdqisint8allowed",
    "session.x64quantprecision",
    "optimization.minimal_build_optimizations",
    "session.enable_saved_runtime_optimizations",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.strict_shape_type_inference",
    "session.allow_released_opsets_only",
    "session.node_partition_config_file",
    "session.intra_op_thread_affinities",
    "session.debug_layout_transformation",
    "session.disable_cpu_ep_fallback",
    "session.optimized_model_external_initializers_file_name",
    "session.optimized_model_external_initializers_min_size_in_bytes",
    "session.model_external_initializers_file_folder_path",
    "session.save_external_prepacked_constant_initializers",
    "session.collect_node_memory_stats_to_file",
    "session.resource_cuda_partitioning_settings",
    "session.layer_assignment_settings",
    "session.name_based_layer_assignment",
    "session.max_shape_override",
    "session.compile_only",
    "session.qdq_matmulnbits_accuracy_level",
    "session.qdq_matmulnbits_block_size",
    "session.enable_dq_matmulnbits_fusion",
    "session.disable_model_compile",
    "session.fail_on_suboptimal_compiled_model",
    "session.record_ep_graph_assignment_info",
};

constexpr std::string_view kSwitches[] = {
    "switchyard.strict_providers",
    "switchyard.verify_each_pass",
    "switchyard.expose_values",
    "switchyard.node_times",
    "session.disable_prepacking",
    "session.use_env_allocators",
    "session.set_denormal_as_zero",
    "session.disable_quant_qdq",
    "session.disable_qdq_constant_folding",
    "session.disable_double_qdq_remover",
    "session.enable_quant_qdq_cleanup",
    "optimization.enable_gelu_approximation",
    "optimization.enable_cast_chain_elimination",
    "session.disable_aot_function_inlining",
    "session.use_device_allocator_for_initializers",
    "session.inter_op.allow_spinning",
    "session.intra_op.allow_spinning",
    "session.use_ort_model_bytes_directly",
    "session.use_ort_model_bytes_for_initializers",
    "session.use_memory_mapped_ort_model",
    "session.qdqisint8allowed",
    "session.x64quantprecision",
    "session.force_spinning_stop",
    "session.strict_shape_type_inference",
    "session.allow_released_opsets_only",
    "session.debug_layout_transformation",
    "session.disable_cpu_ep_fallback",
    "session.save_external_prepacked_constant_initializers",
    "session.compile_only",
    "session.enable_dq_matmulnbits_fusion",
    "session.disable_model_compile",
    "session.fail_on_suboptimal_compiled_model",
    "session.record_ep_graph_assignment_info",
};

}  // namespace

bool IsSwitch(std::string_view key) {
  return std::find(std::begin(kSwitches), std::end(kSwitches), key) != std::end(kSwitches);
}

bool IsKnownConfigKey(std::string_view key) {
  for (std::string_view prefix : {"ep.", "mlas.", "switchyard.provider."}) {
    if (key.substr(0, prefix.size()) == prefix) return true;
  }
  return std::find(std::begin(kOwnKeys), std::end(kOwnKeys), key) != std::end(kOwnKeys) ||
         std::find(std::begin(kTheirKeys), std::end(kTheirKeys), key) != std::end(kTheirKeys);
}

bool ConfigFlag(std::string_view key, std::string_view value) {
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  if (lower == "1" || lower == "true" || lower == "on" || lower == "yes") return true;
  if (lower.empty() || lower == "0" || lower == "false" || lower == "off" || lower == "no")
    return false;
  Throw(ErrorCode::kInvalidArgument, "configuration entry '{}': expected 0 or 1, got '{}'", key,
        value);
}

}  // namespace switchyard
