// Loads a model, feeds ones, prints what came out: quick_start model.onnx

#include <algorithm>
#include <cstring>
#include <exception>
#include <iostream>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace {

// Ones of the input's type; dims that the model leaves open are 1.
switchyard::OrtValue Ones(const switchyard::SessionArg& input,
                          const switchyard::AllocatorPtr& memory) {
  std::vector<std::int64_t> dims;
  for (const switchyard::Dim& dim : input.type.shape) dims.push_back(dim.value_or(1));
  switchyard::Tensor tensor(input.type.elem, dims, memory);
  if (tensor.type() == switchyard::DataType::kFloat) {
    std::fill_n(tensor.data_mutable<float>(), tensor.size(), 1.0f);
  } else if (tensor.type() == switchyard::DataType::kInt64) {
    std::fill_n(tensor.data_mutable<std::int64_t>(), tensor.size(), 1);
  } else if (tensor.type() != switchyard::DataType::kString) {
    std::memset(tensor.raw_mutable(), 0, tensor.bytes());
  }
  return tensor;
}

void Show(const std::string& model) {
  auto environment = std::make_shared<switchyard::Environment>();
  switchyard::SessionOptions options;
  options.AppendExecutionProvider("CPUExecutionProvider");
  switchyard::InferenceSession session(environment, model, options);

  std::vector<std::string> names;
  std::vector<switchyard::OrtValue> feeds;
  for (const switchyard::SessionArg& input : session.inputs()) {
    std::cout << "input   " << input.name << "  " << input.type.ToString() << "  "
              << input.type.shape.ToString() << "\n";
    names.push_back(input.name);
    feeds.push_back(Ones(input, environment->host_allocator()));
  }
  const std::vector<switchyard::OrtValue> outputs = session.Run({}, names, feeds, {});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::cout << "output  " << session.outputs()[i].name << "  ";
    std::cout << (outputs[i].is_tensor() ? outputs[i].tensor().Describe()
                                         : outputs[i].type().ToString())
              << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: quick_start model.onnx\n";
    return 2;
  }
  try {
    Show(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
