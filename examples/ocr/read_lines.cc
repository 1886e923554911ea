#include "read_lines.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "detect.h"

namespace ocr {
namespace {

constexpr std::size_t kBatch = 6;
constexpr int kLineHeight = 48;
constexpr int kAngleWidth = 192;
constexpr int kLineWidth = 320;
constexpr float kAngleThreshold = 0.9F;

using Indices = std::vector<std::size_t>;

// Lines of like aspect share a batch, so that little of it is padding.
std::vector<Indices> MakeBatches(const std::vector<Image>& lines) {
  Indices order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&lines](std::size_t a, std::size_t b) {
    return lines[a].aspect() < lines[b].aspect();
  });
  std::vector<Indices> batches;
  for (std::size_t start = 0; start < order.size(); start += kBatch) {
    const std::size_t end = std::min(order.size(), start + kBatch);
    batches.emplace_back(order.begin() + start, order.begin() + end);
  }
  return batches;
}

// Lines resized to kLineHeight, at most `width` wide, padded with mid grey on the right.
FloatTensor MakeInput(const std::vector<Image>& lines, const Indices& chosen, int width) {
  const std::size_t line_size = std::size_t(Image::kChannels) * kLineHeight * width;
  FloatTensor input{{std::int64_t(chosen.size()), Image::kChannels, kLineHeight, width},
                    std::vector<float>(chosen.size() * line_size)};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Image& line = lines[chosen[i]];
    const int line_width =
        std::min(width, static_cast<int>(std::ceil(kLineHeight * line.aspect())));
    Normalise(Resize(line, line_width, kLineHeight), input.values.data() + i * line_size, width);
  }
  return input;
}

void CheckOutput(const FloatTensor& output, std::size_t rank, std::size_t batch,
                 std::size_t classes, const char* model) {
  if (output.shape.size() == rank && output.shape.front() == std::int64_t(batch) &&
      output.shape.back() == std::int64_t(classes)) {
    return;
  }
  std::string shape;
  for (const std::int64_t dim : output.shape) shape += " " + std::to_string(dim);
  throw std::runtime_error(std::string("the ") + model + " model's output has the shape [" + shape +
                           " ]; expected rank " + std::to_string(rank) + ", " +
                           std::to_string(batch) + " lines, " + std::to_string(classes) +
                           " classes");
}

}  // namespace

std::vector<std::string> ReadAlphabet(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open the recogniser's characters '" + path + "'");
  std::vector<std::string> alphabet = {""};
  for (std::string line; std::getline(file, line);) alphabet.push_back(line);
  alphabet.emplace_back(" ");
  return alphabet;
}

void TurnUpright(Model& model, std::vector<Image>& lines, Stages& stages) {
  for (const Indices& chosen : MakeBatches(lines)) {
    const FloatTensor input =
        stages("angle: prepare", [&] { return MakeInput(lines, chosen, kAngleWidth); });
    const FloatTensor output = stages("angle: model", [&] { return model.Run(input); });
    CheckOutput(output, 2, chosen.size(), 2, "angle");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const float upside_down = output.values[2 * i + 1];
      if (upside_down > kAngleThreshold) lines[chosen[i]] = TurnHalf(lines[chosen[i]]);
    }
  }
}

Text DecodeCtc(std::span<const float> steps, const std::vector<std::string>& alphabet) {
  const std::size_t classes = alphabet.size();
  Text text;
  std::size_t kept = 0;
  std::size_t previous = 0;
  for (; steps.size() >= classes; steps = steps.subspan(classes)) {
    const auto best = std::max_element(steps.begin(), steps.begin() + classes);
    const std::size_t character = static_cast<std::size_t>(best - steps.begin());
    if (character != 0 && character != previous) {
      text.characters += alphabet[character];
      text.score += *best;
      ++kept;
    }
    previous = character;
  }
  if (kept > 0) text.score /= static_cast<double>(kept);
  return text;
}

std::vector<Text> ReadLines(Model& model, const std::vector<Image>& lines,
                            const std::vector<std::string>& alphabet, Stages& stages) {
  std::vector<Text> texts(lines.size());
  for (const Indices& chosen : MakeBatches(lines)) {
    const FloatTensor input = stages("read: prepare", [&] {
      const double widest =
          std::max(lines[chosen.back()].aspect(), double(kLineWidth) / kLineHeight);
      return MakeInput(lines, chosen, static_cast<int>(kLineHeight * widest));
    });
    const FloatTensor output = stages("read: model", [&] { return model.Run(input); });
    CheckOutput(output, 3, chosen.size(), alphabet.size(), "recognition");
    stages("read: decode", [&] {
      const std::size_t line_size = std::size_t(output.shape[1]) * alphabet.size();
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const std::span<const float> values(output.values);
        texts[chosen[i]] = DecodeCtc(values.subspan(i * line_size, line_size), alphabet);
      }
    });
  }
  return texts;
}

}  // namespace ocr
