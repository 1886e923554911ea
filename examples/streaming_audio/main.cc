// Finds speech in a WAV file with Silero VAD, as it would in a stream: 32 ms at a time, the model's
// state bound to two buffers that change places. streaming_audio silero_vad.onnx speech.wav

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "switchyard/session/io_binding.h"
#include "wav.h"

namespace {

using switchyard::DataType;
using switchyard::Tensor;

constexpr float kStart = 0.5f, kStop = 0.35f;  // the model's authors' thresholds

class Detector {
 public:
  Detector(const std::string& model, int rate)
      : session_(std::make_shared<switchyard::Environment>(), model, OneThread()),
        binding_(session_),
        rate_(rate),
        window_(rate == 16000 ? 512 : 256),
        context_(rate == 16000 ? 64 : 32),
        input_(static_cast<std::size_t>(window_ + context_), 0.0f) {
    if (rate != 16000 && rate != 8000)
      throw std::runtime_error("the model takes 16000 or 8000 samples a second");
    binding_.BindInput("input",
                       Tensor(DataType::kFloat, std::array<std::int64_t, 2>{1, window_ + context_},
                              input_.data()));
    binding_.BindInput("sr", Tensor(DataType::kInt64, {}, &rate_));
    binding_.BindOutput("output",
                        Tensor(DataType::kFloat, std::array<std::int64_t, 2>{1, 1}, &probability_));
  }

  int window() const { return window_; }

  // The probability of speech in the next window; a short one is filled up with silence.
  float Next(std::span<const float> samples) {
    std::copy(input_.end() - context_, input_.end(), input_.begin());
    const auto rest = std::copy(samples.begin(), samples.end(), input_.begin() + context_);
    std::fill(rest, input_.end(), 0.0f);
    binding_.BindInput("state", State(turn_));
    binding_.BindOutput("stateN", State(1 - turn_));
    turn_ = 1 - turn_;
    session_.Run({}, binding_);
    return probability_;
  }

 private:
  static switchyard::SessionOptions OneThread() {
    switchyard::SessionOptions options;
    options.intra_op_num_threads = 1;
    return options;
  }
  Tensor State(int which) {
    return Tensor(DataType::kFloat, std::array<std::int64_t, 3>{2, 1, 128},
                  states_[static_cast<std::size_t>(which)].data());
  }

  switchyard::InferenceSession session_;
  switchyard::IOBinding binding_;
  std::int64_t rate_;
  int window_, context_;
  std::vector<float> input_;
  std::array<std::array<float, 256>, 2> states_{};
  int turn_ = 0;
  float probability_ = 0;
};

void PrintSpeech(const std::string& model, const audio::Wave& wave) {
  Detector detector(model, wave.rate);
  const double second = 1.0 / wave.rate;
  const auto window = static_cast<std::size_t>(detector.window());
  bool speaking = false;
  float loudest = 0;
  for (std::size_t at = 0; at < wave.samples.size(); at += window) {
    const std::span<const float> all(wave.samples);
    const float p = detector.Next(all.subspan(at, std::min(window, all.size() - at)));
    loudest = std::max(loudest, p);
    if (!speaking && p >= kStart)
      std::cout << "speech from " << static_cast<double>(at) * second << " s";
    if (speaking && p < kStop) std::cout << " to " << static_cast<double>(at) * second << " s\n";
    speaking = speaking ? p >= kStop : p >= kStart;
  }
  if (speaking) std::cout << " to the end\n";
  std::cout << static_cast<double>(wave.samples.size()) * second << " s heard, highest probability "
            << loudest << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: streaming_audio silero_vad.onnx speech.wav\n";
    return 2;
  }
  try {
    PrintSpeech(argv[1], audio::ReadWav(argv[2]));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
