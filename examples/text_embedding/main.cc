// Sentences as vectors, and how alike they are: the mean over the tokens of a BERT-like model's
// first output [batch, tokens, width]. text_embedding model.onnx vocab.txt "sentence" "sentence"
// ...

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "switchyard/session/inference_session.h"
#include "word_pieces.h"

namespace {

using switchyard::DataType;
using switchyard::Tensor;

// One padded batch: ids and mask are [sentences, longest].
struct Batch {
  std::vector<std::int64_t> ids, mask, types;
  std::array<std::int64_t, 2> dims{};
};

Batch MakeBatch(const std::vector<std::vector<std::int64_t>>& sentences) {
  Batch batch;
  std::size_t longest = 0;
  for (const auto& ids : sentences) longest = std::max(longest, ids.size());
  for (const auto& ids : sentences) {
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.mask.insert(batch.mask.end(), ids.size(), 1);
    batch.ids.resize(batch.mask.size() + longest - ids.size(), 0);
    batch.mask.resize(batch.ids.size(), 0);
  }
  batch.types.assign(batch.ids.size(), 0);
  batch.dims = {static_cast<std::int64_t>(sentences.size()), static_cast<std::int64_t>(longest)};
  return batch;
}

// Unit vectors, one a sentence: means over the tokens that the mask keeps.
std::vector<std::vector<float>> Pool(const Tensor& hidden, const Batch& batch) {
  if (hidden.rank() != 3 || hidden.dim(0) != batch.dims[0] || hidden.dim(1) != batch.dims[1])
    throw std::runtime_error("the model's first output is " + hidden.Describe() +
                             ", expected [batch, tokens, width]");
  const auto tokens = static_cast<std::size_t>(batch.dims[1]);
  const auto width = static_cast<std::size_t>(hidden.dim(2));
  std::vector<std::vector<float>> all;
  for (std::size_t s = 0; s < static_cast<std::size_t>(batch.dims[0]); ++s) {
    std::vector<float> sum(width, 0.0f);
    for (std::size_t t = 0; t < tokens; ++t) {
      if (batch.mask[s * tokens + t] == 0) continue;
      const float* row = hidden.data<float>() + (s * tokens + t) * width;
      for (std::size_t i = 0; i < width; ++i) sum[i] += row[i];
    }
    float square = 0;
    for (float x : sum) square += x * x;
    for (float& x : sum) x /= std::max(std::sqrt(square), 1e-12f);
    all.push_back(std::move(sum));
  }
  return all;
}

std::vector<std::vector<float>> Embed(switchyard::InferenceSession& session, Batch& batch) {
  std::vector<std::string> names;
  std::vector<switchyard::OrtValue> feeds;
  for (const switchyard::SessionArg& input : session.inputs()) {
    std::vector<std::int64_t>* values = input.name == "attention_mask"   ? &batch.mask
                                        : input.name == "token_type_ids" ? &batch.types
                                        : input.name == "input_ids"      ? &batch.ids
                                                                         : nullptr;
    if (values == nullptr) throw std::runtime_error("the model has an unknown input " + input.name);
    names.push_back(input.name);
    feeds.emplace_back(Tensor(DataType::kInt64, batch.dims, values->data()));
  }
  return Pool(session.Run({}, names, feeds, {})[0].tensor(), batch);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: text_embedding model.onnx vocab.txt \"sentence\" ...\n";
    return 2;
  }
  try {
    const embedding::WordPieces pieces(argv[2]);
    std::vector<std::vector<std::int64_t>> sentences;
    for (int i = 3; i < argc; ++i) sentences.push_back(pieces.Encode(argv[i]));
    Batch batch = MakeBatch(sentences);
    switchyard::InferenceSession session(std::make_shared<switchyard::Environment>(),
                                         std::string(argv[1]));
    const auto vectors = Embed(session, batch);
    std::cout << std::fixed << std::setprecision(4);
    for (const auto& a : vectors) {
      for (const auto& b : vectors) {
        float likeness = 0;
        for (std::size_t i = 0; i < a.size(); ++i) likeness += a[i] * b[i];
        std::cout << likeness << " ";
      }
      std::cout << "\n";
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
