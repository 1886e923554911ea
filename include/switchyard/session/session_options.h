#pragma once
// How a session is made. Plain values; copied by the session.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switchyard/ep/execution_provider.h"
#include "switchyard/ir/schema.h"
#include "switchyard/tensor/constant.h"

namespace switchyard {

// The values equal those of the C ABI.
enum class GraphOptimizationLevel : int {
  kDisableAll = 0,
  kBasic = 1,
  kExtended = 2,
  kLayout = 3,
  kAll = 99
};
enum class ExecutionMode : int { kSequential = 0, kParallel = 1 };
enum class ExecutionOrder : int { kDefault = 0, kPriorityBased = 1, kMemoryEfficient = 2 };

// Operators of the user's own: schemas, inference and kernels (for the CPU provider unless the
// registry belongs to another one). Rank before built-in ones.
struct CustomOpDomain {
  std::string domain;
  std::vector<OpSchemaDefinition> schemas;
  std::vector<std::pair<std::string, InferenceFn>> inference;  // by operator
  std::shared_ptr<KernelRegistry> kernels;
};

class SWITCHYARD_API SessionOptions {
 public:
  int intra_op_num_threads = 0;  // 0: one per physical core this process may use
  int inter_op_num_threads = 0;  // accepted; Switchyard runs a session's steps in one order
  GraphOptimizationLevel optimization_level = GraphOptimizationLevel::kAll;
  ExecutionMode execution_mode = ExecutionMode::kSequential;
  ExecutionOrder execution_order = ExecutionOrder::kDefault;
  bool enable_cpu_mem_arena = true;
  bool enable_mem_pattern = true;
  bool enable_mem_reuse = true;
  bool use_deterministic_compute = false;
  bool use_per_session_threads = true;
  std::string optimized_model_filepath;  // "": not written
  bool enable_profiling = false;
  std::string profile_file_prefix = "switchyard_profile";
  std::string log_id;
  int log_severity = -1;  // -1: the environment's
  int log_verbosity = 0;
  std::vector<std::pair<std::string, std::int64_t>> free_dimension_overrides;  // by name
  std::vector<std::pair<std::string, std::int64_t>> free_dimension_overrides_by_denotation;
  // "session.*" keys of ONNX Runtime and "switchyard.*" keys; an unknown key warns.
  std::map<std::string, std::string> config;
  std::vector<std::string> disabled_passes;
  std::map<std::string, OrtValue> initializers;  // replace constants of the model by name
  // Contents of external data files by their location: read instead of the file system.
  std::map<std::string, std::shared_ptr<const ByteSource>> external_files;

  // Priority order. By instance, or by name with options. The CPU comes last if it is not named.
  void AppendExecutionProvider(std::shared_ptr<IExecutionProvider> provider);
  void AppendExecutionProvider(std::string name, ProviderOptions options = {});
  void AddCustomOpDomain(std::shared_ptr<const CustomOpDomain> domain);
  void AddConfigEntry(std::string key, std::string value);
  std::string ConfigEntry(std::string_view key, std::string_view absent = "") const;

  struct ProviderRequest {
    std::shared_ptr<IExecutionProvider> instance;
    std::string name;
    ProviderOptions options;
  };
  const std::vector<ProviderRequest>& providers() const { return providers_; }
  void ClearProviders() { providers_.clear(); }
  const std::vector<std::shared_ptr<const CustomOpDomain>>& custom_domains() const {
    return domains_;
  }

 private:
  std::vector<ProviderRequest> providers_;
  std::vector<std::shared_ptr<const CustomOpDomain>> domains_;
};

}  // namespace switchyard
