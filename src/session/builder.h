#pragma once
// Session creation, station by station: from a model to a plan. What is left afterwards is
// BuiltModel.

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/executor.h"
#include "switchyard/session/inference_session.h"
#include "switchyard/session/session_report.h"

namespace switchyard {

struct BuiltModel {
  Logger logger;
  std::shared_ptr<ThreadTeam> team;
  ExecutionProviders providers;  // outlive plan, states and values
  OpSchemaRegistry schemas;
  InferenceRegistry inference;
  std::unique_ptr<MemorySpaces> spaces;
  std::unique_ptr<ConstantStore> constants;
  std::unique_ptr<Plan> plan;
  SessionReport report;
  bool strict_signature = true;  // what contradicts the declared inputs and outputs is an error
  bool flush_denormals = true;   // in Run: denormal numbers count as zero
  std::unordered_map<const Graph*, std::string> graph_paths;  // as in the report
  std::unordered_map<const Node*, std::size_t> node_rows;     // of the report
  ModelMetadata metadata;
  std::vector<SessionArg> inputs, outputs, overridable;
  std::vector<int>
      input_index;  // per main graph input: >= 0 in inputs, < 0: -1 - index in overridable
};

// Exactly one of path and bytes is given.
std::unique_ptr<BuiltModel> BuildModel(const Environment& environment,
                                       const SessionOptions& options, const std::string* path,
                                       std::span<const std::byte> bytes);

}  // namespace switchyard
