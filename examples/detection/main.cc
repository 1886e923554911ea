// Finds objects in a picture with FastestDet and draws boxes around them:
//   detection FastestDet.onnx picture.png boxes.png [least score]

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "../ocr/image.h"
#include "../ocr/image_io.h"
#include "switchyard/session/inference_session.h"

namespace {

using switchyard::DataType;
using switchyard::Tensor;

constexpr float kSameObject = 0.35f;  // overlap from which the lower score gives way

struct Box {
  float left, top, right, bottom;  // pixels of the picture
  float score;
  int kind;  // index of a COCO category
};

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const float both = width * height;
  const float either =
      (a.right - a.left) * (a.bottom - a.top) + (b.right - b.left) * (b.bottom - b.top) - both;
  return both / either;
}

// One box a cell: objectness, centre, size, then a score for each category.
std::vector<Box> Decode(const Tensor& map, float least, const ocr::Image& picture) {
  const float* values = map.data<float>();
  const std::int64_t kinds = map.dim(1) - 5, rows = map.dim(2), columns = map.dim(3);
  const std::int64_t cells = rows * columns;
  std::vector<Box> boxes;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const auto channel = [&](std::int64_t c) { return values[c * cells + cell]; };
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < kinds; ++k) best = channel(5 + k) > channel(5 + best) ? k : best;
    const float score = channel(0) * channel(5 + best);
    if (score < least) continue;
    const float x =
        (static_cast<float>(cell % columns) + std::tanh(channel(1))) / static_cast<float>(columns);
    const float y =
        (static_cast<float>(cell / columns) + std::tanh(channel(2))) / static_cast<float>(rows);
    const float w = Sigmoid(channel(3)) / 2, h = Sigmoid(channel(4)) / 2;
    const auto width = static_cast<float>(picture.width),
               height = static_cast<float>(picture.height);
    boxes.push_back({(x - w) * width, (y - h) * height, (x + w) * width, (y + h) * height, score,
                     static_cast<int>(best)});
  }
  return boxes;
}

std::vector<Box> WithoutDuplicates(std::vector<Box> boxes) {
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
      return Overlap(box, other) > kSameObject;
    });
    if (!known) kept.push_back(box);
  }
  return kept;
}

std::vector<Box> Detect(switchyard::InferenceSession& session, const ocr::Image& picture,
                        float least) {
  const switchyard::SessionArg& input = session.inputs()[0];
  const auto height = static_cast<int>(input.type.shape[2].value_or(352));
  const auto width = static_cast<int>(input.type.shape[3].value_or(352));
  const ocr::Image small = ocr::Resize(picture, width, height);
  const std::array<std::int64_t, 4> dims = {1, 3, height, width};
  std::vector<float> planes(static_cast<std::size_t>(3 * height * width));
  const std::size_t plane = planes.size() / 3;
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      planes[c * plane + i] = static_cast<float>(small.pixels[3 * i + c]) / 255;
  }
  const std::vector<std::string> names = {input.name};
  const std::vector<switchyard::OrtValue> feeds = {Tensor(DataType::kFloat, dims, planes.data())};
  const auto outputs = session.Run({}, names, feeds, {});
  return WithoutDuplicates(Decode(outputs[0].tensor(), least, picture));
}

void Draw(ocr::Image& picture, const Box& box) {
  const auto x = [&](float value) { return std::clamp<double>(value, 2, picture.width - 3); };
  const auto y = [&](float value) { return std::clamp<double>(value, 2, picture.height - 3); };
  ocr::DrawQuad(picture, {{{x(box.left), y(box.top)},
                           {x(box.right), y(box.top)},
                           {x(box.right), y(box.bottom)},
                           {x(box.left), y(box.bottom)}}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: detection FastestDet.onnx picture.png boxes.png [least score, 0.65]\n";
    return 2;
  }
  try {
    ocr::Image picture = ocr::ReadImage(argv[2]);
    switchyard::InferenceSession session(std::make_shared<switchyard::Environment>(),
                                         std::string(argv[1]));
    const std::vector<Box> boxes = Detect(session, picture, argc > 4 ? std::stof(argv[4]) : 0.65f);
    for (const Box& box : boxes) {
      std::cout << "category " << box.kind << "  score " << box.score << "  from " << box.left
                << "," << box.top << " to " << box.right << "," << box.bottom << "\n";
      Draw(picture, box);
    }
    ocr::WritePng(argv[3], picture);
    std::cout << boxes.size() << " objects, drawn into " << argv[3] << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
