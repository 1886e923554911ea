// Runs a model many times on the same buffers: names are looked up once, results land in the
// caller's memory, nothing is allocated between Runs. io_binding FastestDet.onnx [runs]

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "switchyard/session/io_binding.h"

namespace {

using switchyard::Tensor;

std::vector<std::int64_t> FixedDims(const switchyard::SessionArg& arg) {
  std::vector<std::int64_t> dims;
  for (const switchyard::Dim& dim : arg.type.shape) dims.push_back(dim.value_or(1));
  return dims;
}

void Measure(const std::string& model, int runs) {
  auto environment = std::make_shared<switchyard::Environment>();
  switchyard::InferenceSession session(environment, model);
  const switchyard::SessionArg& input = session.inputs()[0];
  const switchyard::SessionArg& output = session.outputs()[0];

  // Buffers of the program's own: the tensors are windows onto them.
  const std::vector<std::int64_t> in_dims = FixedDims(input), out_dims = FixedDims(output);
  std::int64_t in_size = 1, out_size = 1;
  for (std::int64_t dim : in_dims) in_size *= dim;
  for (std::int64_t dim : out_dims) out_size *= dim;
  std::vector<float> pixels(static_cast<std::size_t>(in_size), 0.5f);
  std::vector<float> scores(static_cast<std::size_t>(out_size));

  switchyard::IOBinding binding(session);
  binding.BindInput(input.name, Tensor(switchyard::DataType::kFloat, in_dims, pixels.data()));
  binding.BindOutput(output.name, Tensor(switchyard::DataType::kFloat, out_dims, scores.data()));

  const switchyard::RunOptions options;
  session.Run(options, binding);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    pixels[0] = static_cast<float>(i) / static_cast<float>(runs);  // the next picture
    session.Run(options, binding);
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  const switchyard::SessionCounters counters = session.counters();
  std::cout << runs << " runs, " << time.count() / runs << " ms each, first score " << scores[0]
            << "\nmemory plans made: " << counters.plannings
            << ", copies between memories: " << counters.copies << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: io_binding model.onnx [runs]   (one float input, one float output)\n";
    return 2;
  }
  try {
    Measure(argv[1], argc > 2 ? std::stoi(argv[2]) : 20);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
