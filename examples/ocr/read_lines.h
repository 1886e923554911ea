#pragma once
// From cropped lines to text: the angle classifier, the recognition model and CTC decoding.

#include <span>
#include <string>
#include <vector>

#include "image.h"
#include "model.h"
#include "stages.h"

namespace ocr {

struct Text {
  std::string characters;  // UTF-8
  double score = 0;
};

// Texts of a lower score are not shown.
inline constexpr double kMinTextScore = 0.5;

// The recogniser's classes: the CTC blank, the file's lines, the space.
std::vector<std::string> ReadAlphabet(const std::string& path);

// Turns the lines that the model takes to be upside down.
void TurnUpright(Model& model, std::vector<Image>& lines, Stages& stages);

// One text per line, in the order of the lines.
std::vector<Text> ReadLines(Model& model, const std::vector<Image>& lines,
                            const std::vector<std::string>& alphabet, Stages& stages);

// Greedy: the best class of each step, repeats merged, blanks (class 0) dropped; the score is the
// mean probability of what is kept. `steps` holds one row of alphabet.size() probabilities per
// step.
Text DecodeCtc(std::span<const float> steps, const std::vector<std::string>& alphabet);

}  // namespace ocr
