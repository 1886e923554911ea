#include "model.h"

#include <map>
#include <nlohmann/json.hpp>

#include "switchyard/session/environment.h"
#include "switchyard/session/inference_session.h"
#include "switchyard/session/session_options.h"

namespace ocr {
namespace {

switchyard::SessionOptions MakeOptions(const std::vector<std::string>& providers, int threads) {
  switchyard::SessionOptions options;
  options.intra_op_num_threads = threads;
  for (const std::string& provider : providers) options.AppendExecutionProvider(provider);
  return options;
}

std::shared_ptr<switchyard::Environment> SharedEnvironment() {
  static const auto environment = std::make_shared<switchyard::Environment>();
  return environment;
}

}  // namespace

struct Model::Session {
  Session(const std::string& path, const switchyard::SessionOptions& options)
      : inference(SharedEnvironment(), path, options),
        input_names{inference.inputs()[0].name},
        output_names{inference.outputs()[0].name} {}

  switchyard::InferenceSession inference;
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
};

Model::Model(const std::string& path, const std::vector<std::string>& providers, int threads)
    : session_(std::make_unique<Session>(path, MakeOptions(providers, threads))) {}

Model::~Model() = default;

FloatTensor Model::Run(const FloatTensor& input) {
  // The session only reads its inputs, so the tensor may be a window onto the caller's values.
  const std::vector<switchyard::OrtValue> inputs = {switchyard::Tensor(
      switchyard::DataType::kFloat, input.shape, const_cast<float*>(input.values.data()))};
  const std::vector<switchyard::OrtValue> outputs =
      session_->inference.Run({}, session_->input_names, inputs, session_->output_names);
  const switchyard::Tensor& tensor = outputs.front().tensor();
  const std::span<const float> values = tensor.values<float>();
  return {{tensor.dims().begin(), tensor.dims().end()}, {values.begin(), values.end()}};
}

std::string Model::Placement() const {
  const nlohmann::json report = nlohmann::json::parse(session_->inference.Explain(true));
  std::map<std::string, int> nodes_of;
  for (const nlohmann::json& node : report.at("nodes")) {
    ++nodes_of[node.at("provider").get<std::string>()];
  }
  std::string line;
  for (const auto& [provider, nodes] : nodes_of) {
    if (!line.empty()) line += ", ";
    line += provider + " " + std::to_string(nodes) + " nodes";
  }
  return line;
}

}  // namespace ocr
