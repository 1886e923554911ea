// Runs a model with float inputs of fixed shape on the two providers of this folder, on the CPU
// alone, and compares: custom_provider MODEL

#include <cmath>
#include <iostream>
#include <map>

#include "custom_execution_provider.h"
#include "my_custom_ep.h"
#include "switchyard/session/inference_session.h"

namespace {

using switchyard::InferenceSession;
using switchyard::OrtValue;
using switchyard::Tensor;

OrtValue Ramp(const switchyard::ValueType& type) {
  Tensor tensor(type.elem, type.shape.concrete(), switchyard::MakeHostAllocator());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data_mutable<float>()[i] = static_cast<float>(i * 37 % 256) / 255.0f;
  }
  return tensor;
}

std::vector<OrtValue> Run(InferenceSession& session) {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
  for (const switchyard::SessionArg& input : session.inputs()) {
    names.push_back(input.name);
    values.push_back(Ramp(input.type));
  }
  return session.Run({}, names, values, {});
}

float LargestGap(const Tensor& a, const Tensor& b) {
  float gap = a.size() == b.size() ? 0.0f : INFINITY;
  for (std::int64_t i = 0; std::isfinite(gap) && i < a.size(); ++i) {
    gap = std::max(gap, std::fabs(a.data<float>()[i] - b.data<float>()[i]));
  }
  return gap;
}

int Main(const std::string& model) {
  const auto environment = std::make_shared<switchyard::Environment>();
  InferenceSession alone(environment, model);
  const std::vector<OrtValue> expected = Run(alone);

  switchyard::SessionOptions opts;
  opts.AppendExecutionProvider(std::make_shared<MyCustomEP>());
  opts.AppendExecutionProvider(std::make_shared<example::CustomExecutionProvider>(
      "CustomExecutionProvider", switchyard::OrtDevice(example::kCustomDevice, 0, 0)));
  InferenceSession session(environment, model, opts);
  const std::vector<OrtValue> results = Run(session);

  std::cout << session.Explain(false).substr(0, session.Explain(false).find("copies")) << "copies "
            << session.counters().copies << "\n";
  float gap = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    gap = std::max(gap, LargestGap(results[i].tensor(), expected[i].tensor()));
  }
  std::cout << "largest difference to the CPU alone: " << gap << "\n";
  return gap <= 1e-3f && session.counters().copies > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: custom_provider MODEL\n";
    return 2;
  }
  try {
    return Main(words[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
