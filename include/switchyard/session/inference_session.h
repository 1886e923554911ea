#pragma once
// A model, loaded, split over its providers and planned. Run is thread-safe.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ep/run_options.h"
#include "switchyard/session/environment.h"
#include "switchyard/session/session_options.h"
#include "switchyard/session/session_report.h"
#include "switchyard/tensor/ort_value.h"

namespace switchyard {

class IOBinding;

struct ModelMetadata {
  std::string producer_name, graph_name, domain, description, graph_description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom_metadata_map;
};

struct SessionArg {
  std::string name;
  ValueType type;
};

// Where bytes and copies went: counters since creation, over all Runs.
struct SessionCounters {
  std::uint64_t runs = 0;
  std::uint64_t plannings = 0;  // memory plans made
  std::uint64_t bindings = 0;   // shape bindings made
  std::uint64_t copies = 0;     // between memory spaces
  std::uint64_t copied_bytes = 0;
  std::uint64_t arena_bytes = 0;     // planned, largest
  std::uint64_t constant_bytes = 0;  // each constant once
};

// All runs of one node, by the configuration entry "switchyard.node_times" = "1".
struct NodeTime {
  std::string graph, name, op, provider;  // graph as in SessionReport::NodeRow
  std::uint64_t runs = 0;
  double milliseconds = 0;  // together
};

class SWITCHYARD_API InferenceSession {
 public:
  // From a file. Throws: NoSuchFile, InvalidProtobuf, InvalidGraph, NotImplemented, Fail ...
  InferenceSession(std::shared_ptr<Environment> environment, const std::string& path,
                   const SessionOptions& options = {});
  // From bytes, which are not kept. External data is refused unless the config entry
  // "session.model_external_initializers_file_folder_path" names its folder.
  InferenceSession(std::shared_ptr<Environment> environment, std::span<const std::byte> model,
                   const SessionOptions& options = {});
  ~InferenceSession();
  InferenceSession(const InferenceSession&) = delete;
  InferenceSession& operator=(const InferenceSession&) = delete;

  std::span<const SessionArg> inputs() const;  // without overridable initializers
  std::span<const SessionArg> outputs() const;
  std::span<const SessionArg> overridable_initializers() const;
  const ModelMetadata& metadata() const;
  std::vector<std::string> providers() const;  // names in priority order
  std::vector<ProviderOptions> provider_options() const;

  // Feeds by name; fetches by name, empty: all outputs in order. Tensors may lie in any memory a
  // provider of this session reaches. A failed Run leaves the session usable.
  std::vector<OrtValue> Run(const RunOptions& options, std::span<const std::string> input_names,
                            std::span<const OrtValue> inputs,
                            std::span<const std::string> output_names);
  // Inputs and outputs as bound; outputs bound to a device are allocated there.
  void Run(const RunOptions& options, IOBinding& binding);

  // Text: what runs where and why. JSON has a "schema_version".
  std::string Explain(bool json) const;
  std::string Explain(ReportFormat format) const;
  // As of creation, without memory.
  const SessionReport& report() const;
  // Where values and scratch lay in the last finished Run. Empty before it.
  MemoryReport memory_report() const;
  SessionCounters counters() const;
  // In the order of the plan; empty unless "switchyard.node_times" is set.
  std::vector<NodeTime> node_times() const;
  // Writes the Chrome trace and answers its file name; "" when profiling was not on.
  std::string EndProfiling();
  std::int64_t profiling_start_time_ns() const;
  // Memory of a provider's device, for IOBinding: by memory info name or device.
  AllocatorPtr allocator(const OrtDevice& device) const;
  // Copies between any memory that this session's providers reach.
  OrtValue CopyTo(const OrtValue& value, const OrtDevice& device) const;
  // The same into a tensor that is there, of equal type and size (InvalidArgument).
  void CopyInto(const Tensor& source, Tensor& target) const;

 private:
  friend class IOBinding;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
