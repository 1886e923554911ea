#pragma once
// Pixels in memory: resampling, straightening, turning, drawing. Reading and writing files:
// image_io.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "geometry.h"

namespace ocr {

struct Image {
  static constexpr int kChannels =
      3;  // blue, green, red: the order that the PP-OCR models were trained on

  Image() = default;
  Image(int w, int h) : width(w), height(h), pixels(std::size_t(w) * h * kChannels) {}

  std::uint8_t* at(int x, int y) { return pixels.data() + offset(x, y); }
  const std::uint8_t* at(int x, int y) const { return pixels.data() + offset(x, y); }
  double aspect() const { return double(width) / height; }

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  // row by row

 private:
  std::size_t offset(int x, int y) const { return (std::size_t(y) * width + x) * kChannels; }
};

// Bilinear, pixel centres aligned, without smoothing when it shrinks.
Image Resize(const Image& image, int width, int height);

// Black rows above and below.
Image PadRows(const Image& image, int rows);

// The quadrilateral as an upright rectangle (cubic, edge pixels repeated); taller than 1.5 times
// its width, it is turned a quarter counter-clockwise.
Image CropQuad(const Image& image, const Quad& quad);

Image TurnHalf(const Image& image);

// Closed outline, two pixels wide, orange.
void DrawQuad(Image& image, const Quad& quad);

}  // namespace ocr
