#include "read_lines.h"

#include <gtest/gtest.h>

namespace ocr {
namespace {

const std::vector<std::string> kAlphabet = {"", "a", "b"};

TEST(OcrDecode, RepeatsAreOneCharacterUnlessABlankParts) {
  const std::vector<float> steps = {
      0.1F, 0.8F, 0.1F,  // a
      0.2F, 0.6F, 0.2F,  // a again
      0.9F, 0.1F, 0.0F,  // blank
      0.1F, 0.5F, 0.4F,  // a
      0.1F, 0.2F, 0.7F,  // b
  };
  const Text text = DecodeCtc(steps, kAlphabet);
  EXPECT_EQ(text.characters, "aab");
  EXPECT_NEAR(text.score, (0.8 + 0.5 + 0.7) / 3, 1e-6);
}

TEST(OcrDecode, OnlyBlanksIsEmptyWithScoreZero) {
  const std::vector<float> steps = {0.9F, 0.1F, 0.0F, 1.0F, 0.0F, 0.0F};
  const Text text = DecodeCtc(steps, kAlphabet);
  EXPECT_EQ(text.characters, "");
  EXPECT_EQ(text.score, 0);
}

}  // namespace
}  // namespace ocr
