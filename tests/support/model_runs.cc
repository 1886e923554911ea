#include "support/model_runs.h"

#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "base/format.h"
#include "onnx/export.h"
#include "support/compiler_provider/compiler_provider.h"
#include "support/model_bytes.h"
#include "support/vault_provider/vault_provider.h"

namespace switchyard::test {
namespace {

std::shared_ptr<Environment> SharedEnvironment() {
  static const auto environment = std::make_shared<Environment>();
  return environment;
}

std::string DifferenceOf(const Tensor& a, const Tensor& b, double absolute, double relative) {
  if (a.type() != b.type() ||
      !std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end())) {
    return a.Describe() + " and " + b.Describe();
  }
  if (a.type() != DataType::kFloat) {
    return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0 ? "" : "bits differ";
  }
  const auto x = a.values<float>(), y = b.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(&x[i], &y[i], sizeof(float)) == 0) continue;
    const double gap = std::fabs(static_cast<double>(x[i]) - y[i]);
    if (!(gap <= absolute + relative * std::fabs(y[i]))) {
      return fmt::format("element {} of {}: {} and {}", i, a.Describe(), x[i], y[i]);
    }
  }
  return "";
}

}  // namespace

std::shared_ptr<IExecutionProvider> MakeProvider(std::string_view text) {
  const std::size_t mark = text.find('?');
  const std::string_view kind = text.substr(0, mark);
  ProviderOptions options;
  while (mark != text.npos && !text.empty()) {
    text.remove_prefix(std::min(text.find_first_of("?&") + 1, text.size()));
    const std::string_view pair = text.substr(0, text.find('&'));
    const std::size_t equal = pair.find('=');
    options[std::string(pair.substr(0, equal))] = pair.substr(equal + 1);
    if (text.find('&') == text.npos) break;
  }
  if (kind == "vault") return std::make_shared<VaultProvider>(options);
  if (kind == "compiler") return std::make_shared<CompilerProvider>(options);
  if (kind == "cpu") return MakeFallbackProvider();
  const std::optional<ProviderFactory> factory = SharedEnvironment()->providers().Find(kind);
  if (!factory) Throw(ErrorCode::kInvalidArgument, "no provider '{}' for tests", kind);
  return factory->create(options, {1, {}, Logger(), MakeModelWriter()});
}

SessionOptions OptionsWith(const std::vector<std::string>& providers) {
  SessionOptions options;
  options.intra_op_num_threads = 1;
  for (const std::string& provider : providers) {
    options.AppendExecutionProvider(MakeProvider(provider));
  }
  return options;
}

std::unique_ptr<InferenceSession> Load(const std::string& path, const SessionOptions& options) {
  return std::make_unique<InferenceSession>(SharedEnvironment(), path, options);
}

std::unique_ptr<InferenceSession> LoadText(std::string_view text, const SessionOptions& options) {
  const std::string bytes = ModelBytes(text);
  return std::make_unique<InferenceSession>(
      SharedEnvironment(), std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

void Feeds::Add(std::string name, OrtValue value) {
  names.push_back(std::move(name));
  values.push_back(std::move(value));
}

OrtValue Floats(std::vector<std::int64_t> dims, unsigned seed, float low, float high) {
  Tensor tensor(DataType::kFloat, dims, MakeHostAllocator());
  std::mt19937 engine(seed);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const float unit = static_cast<float>(engine() >> 8) / static_cast<float>(1 << 24);
    tensor.data_mutable<float>()[i] = low + (high - low) * unit;
  }
  return tensor;
}

OrtValue Ints(std::vector<std::int64_t> dims, unsigned seed, std::int64_t below) {
  Tensor tensor(DataType::kInt64, dims, MakeHostAllocator());
  std::mt19937 engine(seed);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data_mutable<std::int64_t>()[i] = static_cast<std::int64_t>(engine()) % below;
  }
  return tensor;
}

OrtValue Filled(std::vector<std::int64_t> dims, std::int64_t value) {
  Tensor tensor(DataType::kInt64, dims, MakeHostAllocator());
  std::fill_n(tensor.data_mutable<std::int64_t>(), tensor.size(), value);
  return tensor;
}

std::string ModelPath(std::string_view model) {
  const std::string folder = std::string(SWITCHYARD_SOURCE_DIR) + "/models/";
  if (model == "fastestdet") return folder + "fastestdet/FastestDet.onnx";
  if (model == "bert_mlm") return folder + "bert_mlm/dummy_transformer_mlm.onnx";
  if (model == "silero_vad") return folder + "silero_vad/silero_vad.onnx";
  if (model == "ppocr_rec") return folder + "ppocr/ch_PP-OCRv4_rec_infer.onnx";
  Throw(ErrorCode::kInvalidArgument, "no model '{}'", model);
}

Feeds ModelFeeds(std::string_view model) {
  Feeds feeds;
  if (model == "fastestdet") {
    feeds.Add("input.1", Floats({1, 3, 352, 352}, 1, 0, 1));
  } else if (model == "bert_mlm") {
    feeds.Add("input_ids", Ints({1, 12}, 2, 30522));
    feeds.Add("attention_mask", Filled({1, 12}, 1));
    feeds.Add("token_type_ids", Filled({1, 12}, 0));
  } else if (model == "silero_vad") {
    feeds.Add("input", Floats({1, 512}, 3, -0.3f, 0.3f));
    feeds.Add("state", Floats({2, 1, 128}, 4, -0.1f, 0.1f));
    feeds.Add("sr", Filled({}, 16000));
  } else {
    feeds.Add("x", Floats({1, 3, 48, 160}, 5));
  }
  return feeds;
}

std::vector<OrtValue> RunAll(InferenceSession& session, const Feeds& feeds) {
  return session.Run({}, feeds.names, feeds.values, {});
}

std::string Difference(const std::vector<OrtValue>& a, const std::vector<OrtValue>& b,
                       double absolute, double relative) {
  if (a.size() != b.size()) return "other numbers of outputs";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string text = DifferenceOf(a[i].tensor(), b[i].tensor(), absolute, relative);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return "";
}

}  // namespace switchyard::test
