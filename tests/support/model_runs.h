#pragma once
// Runs of real models for tests: sessions over lists of providers, inputs from a fixed seed, and
// comparison with what another list gave.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace switchyard::test {

// One provider of a list, as "cpu", "vault", "vault?device_id=1&ops=Conv,Relu",
// "compiler?ops=Add", or by the alias of a module that is built: "openvino?claim_all=1".
std::shared_ptr<IExecutionProvider> MakeProvider(std::string_view text);
SessionOptions OptionsWith(const std::vector<std::string>& providers);
std::unique_ptr<InferenceSession> Load(const std::string& path, const SessionOptions& options);
// From the text form of ir/text.h.
std::unique_ptr<InferenceSession> LoadText(std::string_view text, const SessionOptions& options);

struct Feeds {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
  void Add(std::string name, OrtValue value);
};

OrtValue Floats(std::vector<std::int64_t> dims, unsigned seed, float low = -1, float high = 1);
OrtValue Ints(std::vector<std::int64_t> dims, unsigned seed, std::int64_t below);
OrtValue Filled(std::vector<std::int64_t> dims, std::int64_t value);

// "fastestdet", "bert_mlm", "silero_vad", "ppocr_rec": the model's file and inputs for it.
std::string ModelPath(std::string_view model);
Feeds ModelFeeds(std::string_view model);

std::vector<OrtValue> RunAll(InferenceSession& session, const Feeds& feeds);
// "" if equal: |a - b| <= absolute + relative * |b| for floats, else bit by bit.
std::string Difference(const std::vector<OrtValue>& a, const std::vector<OrtValue>& b,
                       double absolute, double relative);

}  // namespace switchyard::test
