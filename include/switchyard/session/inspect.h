#pragma once
// What tools show without making a session: a model's contents, the passes there are.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "switchyard/ir/rewrite/pass.h"
#include "switchyard/session/environment.h"
#include "switchyard/session/inference_session.h"

namespace switchyard {

struct ModelSummary {
  ModelMetadata metadata;
  std::int64_t ir_version = 0;
  std::map<std::string, int> opsets;  // by domain, "" is ai.onnx
  std::vector<SessionArg> inputs, outputs, overridable;
  std::map<std::string, std::int64_t>
      operators;  // "Conv", "com.microsoft.Gelu": nodes, bodies included
  std::int64_t nodes = 0;
  std::int64_t constants = 0;
  std::uint64_t constant_bytes = 0;
  std::vector<std::string> warnings;
  std::shared_ptr<const void> symbols;  // what symbolic dims of the types refer to
};

// The model as it is in the file: nothing is folded, placed or read that need not be.
// Throws as InferenceSession does for a model that can't be loaded.
SWITCHYARD_API ModelSummary SummarizeModel(const std::string& path);

struct PassDescription {
  std::string name;
  PassStage stage = PassStage::kBasic;
  Exactness exactness = Exactness::kExact;
  std::string provider;  // "": on the whole graph
};

// In the order they run: those of the core, then those of each provider that is usable here.
SWITCHYARD_API std::vector<PassDescription> ListPasses(const Environment& environment);

}  // namespace switchyard
