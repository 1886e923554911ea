// What going through OpenVINOExecutionProvider adds to OpenVINO: both run the same model in turns,
// bound once to buffers, with the same threads, in f32. Prints medians over the rounds, by the
// clock and by the processor time of all threads (which other processes disturb less).
//
//   openvino_overhead MODEL.onnx [rounds 20] [runs per round 0: about 0.2 s] [threads 1]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <openvino/openvino.hpp>

#include "switchyard/session/inference_session.h"
#include "switchyard/session/io_binding.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  double wall = 0, processor = 0;  // microseconds per run
};

template <typename Run>
Times PerRun(int runs, const Run& run) {
  const auto start = Clock::now();
  const std::clock_t used = std::clock();
  for (int i = 0; i < runs; ++i) run();
  const double wall = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return {wall / runs, static_cast<double>(std::clock() - used) * 1e6 / CLOCKS_PER_SEC / runs};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Float inputs, open dims 1.
struct Ours {
  Ours(const std::string& path, int threads) {
    switchyard::SessionOptions options;
    options.intra_op_num_threads = threads;
    options.AppendExecutionProvider("OpenVINOExecutionProvider", {{"claim_all", "1"}});
    session = std::make_unique<switchyard::InferenceSession>(
        std::make_shared<switchyard::Environment>(), path, options);
    binding = std::make_unique<switchyard::IOBinding>(*session);
    for (const auto& input : session->inputs()) {
      std::vector<std::int64_t> dims;
      for (const switchyard::Dim& dim : input.type.shape) dims.push_back(dim.value_or(1));
      switchyard::Tensor tensor(input.type.elem, dims, switchyard::MakeHostAllocator());
      std::fill_n(tensor.data_mutable<float>(), tensor.size(), 0.5f);
      inputs.push_back(tensor);
      binding->BindInput(input.name, tensor);
    }
    std::vector<std::string> names;
    std::vector<switchyard::OrtValue> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      names.push_back(session->inputs()[i].name);
      values.emplace_back(inputs[i]);
    }
    const auto results = session->Run({}, names, values, {});
    for (std::size_t i = 0; i < results.size(); ++i)
      binding->BindOutput(session->outputs()[i].name, results[i]);
  }
  void Run() { session->Run(options, *binding); }
  switchyard::RunOptions options;
  std::unique_ptr<switchyard::InferenceSession> session;
  std::unique_ptr<switchyard::IOBinding> binding;
  std::vector<switchyard::Tensor> inputs;
};

ov::InferRequest Theirs(ov::Core& core, const std::string& path, int threads,
                        const std::vector<switchyard::Tensor>& inputs) {
  ov::CompiledModel model =
      core.compile_model(path, "CPU", ov::hint::inference_precision(ov::element::f32),
                         ov::inference_num_threads(threads), ov::num_streams(1),
                         ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  ov::InferRequest request = model.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ov::Shape shape(inputs[i].dims().begin(), inputs[i].dims().end());
    request.set_input_tensor(
        i, ov::Tensor(ov::element::f32, shape, const_cast<void*>(inputs[i].raw())));
  }
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.onnx [rounds] [runs] [threads]\n", argv[0]);
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  int runs = argc > 3 ? std::atoi(argv[3]) : 0;
  const int threads = argc > 4 ? std::atoi(argv[4]) : 1;
  Ours ours(argv[1], threads);
  ov::Core core;
  ov::InferRequest theirs = Theirs(core, argv[1], threads, ours.inputs);
  for (int i = 0; i < 3; ++i) {
    ours.Run();
    theirs.infer();
  }
  if (runs <= 0)
    runs = std::max(1, static_cast<int>(2e5 / PerRun(1, [&] { theirs.infer(); }).wall));
  std::vector<double> own, direct, gap, ratio, used_gap, used_ratio;
  for (int round = 0; round < rounds; ++round) {
    Times a, b;
    if (round % 2 == 0) a = PerRun(runs, [&] { ours.Run(); });
    b = PerRun(runs, [&] { theirs.infer(); });
    if (round % 2 != 0) a = PerRun(runs, [&] { ours.Run(); });
    own.push_back(a.wall);
    direct.push_back(b.wall);
    gap.push_back(a.wall - b.wall);
    ratio.push_back(a.wall / b.wall);
    used_gap.push_back(a.processor - b.processor);
    used_ratio.push_back(a.processor / b.processor);
  }
  std::printf(
      "%d rounds of %d runs, %d threads: Switchyard %.2f us, OpenVINO %.2f us; gap %.2f us, ratio "
      "%.4f; processor time: gap %.2f us, ratio %.4f; best %.2f and %.2f us\n",
      rounds, runs, threads, Median(own), Median(direct), Median(gap), Median(ratio),
      Median(used_gap), Median(used_ratio), *std::min_element(own.begin(), own.end()),
      *std::min_element(direct.begin(), direct.end()));
  return 0;
}
