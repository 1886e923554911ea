#include "detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace ocr {
namespace {

constexpr int kMaxSide = 2000;
constexpr int kMinSide = 30;
constexpr int kMinHeight = 30;
constexpr int kMaxAspect = 8;
constexpr int kShortSide = 736;
constexpr float kMaskThreshold = 0.3F;
constexpr double kBoxThreshold = 0.5;
constexpr double kUnclipRatio = 1.6;
constexpr double kMinBoxSide = 3;
constexpr std::size_t kMaxCandidates = 1000;

// The network halves its input five times.
int ToGrid(int side, double ratio) {
  constexpr int kGrid = 32;
  const double scaled = std::floor(side * ratio);
  return std::max(1, static_cast<int>(std::nearbyint(scaled / kGrid))) * kGrid;
}

int FlatPadding(const Image& image) {
  if (image.height > kMinHeight && image.aspect() <= kMaxAspect) return 0;
  return std::abs(std::max(image.width / kMaxAspect, kMinHeight) * 2 - image.height) / 2;
}

Quad ScaleToPixels(const Quad& box, double scale_x, double scale_y, int width, int height) {
  Quad scaled;
  for (std::size_t i = 0; i < box.size(); ++i) {
    scaled[i] = {std::clamp(std::nearbyint(box[i].x * scale_x), 0.0, width - 1.0),
                 std::clamp(std::nearbyint(box[i].y * scale_y), 0.0, height - 1.0)};
  }
  return OrderCorners(scaled);
}

}  // namespace

Quad Page::ToOriginal(const Quad& box) const {
  Quad result;
  for (std::size_t i = 0; i < box.size(); ++i) {
    result[i] = {box[i].x * scale_x, (box[i].y - padding) * scale_y};
  }
  return result;
}

Page MakePage(const Image& original) {
  const int longer = std::max(original.width, original.height);
  const int shorter = std::min(original.width, original.height);
  Page page;
  if (longer > kMaxSide || shorter < kMinSide) {
    const double ratio = longer > kMaxSide ? double(kMaxSide) / longer : double(kMinSide) / shorter;
    page.image = Resize(original, ToGrid(original.width, ratio), ToGrid(original.height, ratio));
  } else {
    page.image = original;
  }
  page.scale_x = double(original.width) / page.image.width;
  page.scale_y = double(original.height) / page.image.height;
  page.padding = FlatPadding(page.image);
  page.image = PadRows(page.image, page.padding);
  return page;
}

void Normalise(const Image& image, float* target, int stride) {
  static const std::array<float, 256> kScaled = [] {
    std::array<float, 256> scaled;
    for (int v = 0; v < 256; ++v) scaled[v] = (float(v) / 255.0F - 0.5F) / 0.5F;
    return scaled;
  }();
  const std::size_t plane = std::size_t(stride) * image.height;
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* pixel = image.at(0, y);
    float* row = target + std::size_t(y) * stride;
    for (int x = 0; x < image.width; ++x, pixel += Image::kChannels) {
      for (int c = 0; c < Image::kChannels; ++c) row[c * plane + x] = kScaled[pixel[c]];
    }
  }
}

std::vector<Quad> BoxesFromMap(const ProbabilityMap& map, int width, int height) {
  Mask mask{map.width, map.height, std::vector<std::uint8_t>(map.values.size())};
  std::transform(map.values.begin(), map.values.end(), mask.set.begin(),
                 [](float probability) { return probability > kMaskThreshold ? 1 : 0; });
  std::vector<std::vector<Point>> outlines = FindOutlines(Dilate(mask));
  outlines.resize(std::min(outlines.size(), kMaxCandidates));
  std::vector<Quad> boxes;
  for (const std::vector<Point>& outline : outlines) {
    const Rectangle tight = SmallestRectangle(outline);
    if (tight.shorter_side < kMinBoxSide) continue;
    if (MeanInside(map, tight.corners) < kBoxThreshold) continue;
    const Rectangle grown = Unclip(tight.corners, kUnclipRatio);
    if (grown.shorter_side < kMinBoxSide + 2) continue;
    const Quad box = ScaleToPixels(grown.corners, double(width) / map.width,
                                   double(height) / map.height, width, height);
    const double shorter = std::min(Distance(box[0], box[1]), Distance(box[0], box[3]));
    if (shorter >= kMinBoxSide + 1) boxes.push_back(box);
  }
  SortForReading(boxes);
  return boxes;
}

std::vector<Quad> DetectLines(Model& model, const Image& page, Stages& stages) {
  const FloatTensor input = stages("detect: prepare", [&] {
    const double ratio = std::max(1.0, double(kShortSide) / std::min(page.width, page.height));
    const Image resized = Resize(page, ToGrid(page.width, ratio), ToGrid(page.height, ratio));
    FloatTensor tensor{{1, Image::kChannels, resized.height, resized.width}, {}};
    tensor.values.resize(resized.pixels.size());
    Normalise(resized, tensor.values.data(), resized.width);
    return tensor;
  });
  const FloatTensor output = stages("detect: model", [&] { return model.Run(input); });
  if (output.shape != std::vector<std::int64_t>{1, 1, input.shape[2], input.shape[3]}) {
    throw std::runtime_error("the detection model's output is not one map of its input's size");
  }
  return stages("detect: boxes", [&] {
    const ProbabilityMap map{static_cast<int>(output.shape[3]), static_cast<int>(output.shape[2]),
                             output.values};
    return BoxesFromMap(map, page.width, page.height);
  });
}

}  // namespace ocr
