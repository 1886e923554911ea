#include "image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace ocr {
namespace {

struct Tap {
  int low;
  int high;
  float weight;  // of high
};

std::vector<Tap> Taps(int source, int target) {
  std::vector<Tap> taps(target);
  const double step = double(source) / target;
  for (int i = 0; i < target; ++i) {
    const double position = (i + 0.5) * step - 0.5;
    const int low = static_cast<int>(std::floor(position));
    taps[i] = {std::clamp(low, 0, source - 1), std::clamp(low + 1, 0, source - 1),
               static_cast<float>(position - low)};
  }
  return taps;
}

using Homography = std::array<double, 9>;

// Gauss-Jordan with row pivots on the 8 equations of 4 point pairs; h[8] is 1.
Homography SolveHomography(const Quad& source, const Quad& target) {
  std::array<std::array<double, 9>, 8> rows{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [x, y] = source[i];
    const auto [u, v] = target[i];
    rows[2 * i] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    rows[2 * i + 1] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
  }
  for (std::size_t column = 0; column < 8; ++column) {
    const auto pivot =
        std::max_element(rows.begin() + column, rows.end(), [column](const auto& a, const auto& b) {
          return std::abs(a[column]) < std::abs(b[column]);
        });
    if (std::abs((*pivot)[column]) < 1e-12) {
      throw std::runtime_error("a text box has three corners on one line");
    }
    std::swap(rows[column], *pivot);
    for (std::size_t row = 0; row < 8; ++row) {
      if (row == column) continue;
      const double factor = rows[row][column] / rows[column][column];
      for (std::size_t k = column; k < 9; ++k) rows[row][k] -= factor * rows[column][k];
    }
  }
  Homography h;
  for (std::size_t i = 0; i < 8; ++i) h[i] = rows[i][8] / rows[i][i];
  h[8] = 1;
  return h;
}

// Cubic convolution with a = -0.75: weights of the pixels at -1, 0, 1, 2.
std::array<double, 4> CubicWeights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

void SampleCubic(const Image& image, double x, double y, std::uint8_t* result) {
  const int x0 = static_cast<int>(std::floor(x));
  const int y0 = static_cast<int>(std::floor(y));
  const std::array<double, 4> wx = CubicWeights(x - x0);
  const std::array<double, 4> wy = CubicWeights(y - y0);
  std::array<double, Image::kChannels> sum{};
  for (int dy = 0; dy < 4; ++dy) {
    const int row = std::clamp(y0 + dy - 1, 0, image.height - 1);
    for (int dx = 0; dx < 4; ++dx) {
      const std::uint8_t* pixel = image.at(std::clamp(x0 + dx - 1, 0, image.width - 1), row);
      for (int c = 0; c < Image::kChannels; ++c) sum[c] += pixel[c] * wx[dx] * wy[dy];
    }
  }
  for (int c = 0; c < Image::kChannels; ++c) {
    result[c] = static_cast<std::uint8_t>(std::clamp(std::lrint(sum[c]), 0L, 255L));
  }
}

Image TurnQuarterLeft(const Image& image) {
  Image turned(image.height, image.width);
  for (int y = 0; y < turned.height; ++y) {
    for (int x = 0; x < turned.width; ++x) {
      std::copy_n(image.at(image.width - 1 - y, x), Image::kChannels, turned.at(x, y));
    }
  }
  return turned;
}

void DrawDot(Image& image, int x, int y) {
  constexpr std::array<std::uint8_t, 3> kOrange = {0, 64, 255};
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      if (x + dx < 0 || y + dy < 0 || x + dx >= image.width || y + dy >= image.height) continue;
      std::copy(kOrange.begin(), kOrange.end(), image.at(x + dx, y + dy));
    }
  }
}

}  // namespace

Image Resize(const Image& image, int width, int height) {
  if (width == image.width && height == image.height) return image;
  const std::vector<Tap> columns = Taps(image.width, width);
  const std::vector<Tap> rows = Taps(image.height, height);
  Image result(width, height);
  for (int y = 0; y < height; ++y) {
    const Tap& row = rows[y];
    for (int x = 0; x < width; ++x) {
      const Tap& column = columns[x];
      const std::uint8_t* a = image.at(column.low, row.low);
      const std::uint8_t* b = image.at(column.high, row.low);
      const std::uint8_t* c = image.at(column.low, row.high);
      const std::uint8_t* d = image.at(column.high, row.high);
      std::uint8_t* target = result.at(x, y);
      for (int k = 0; k < Image::kChannels; ++k) {
        const float upper = float(a[k]) + float(b[k] - a[k]) * column.weight;
        const float lower = float(c[k]) + float(d[k] - c[k]) * column.weight;
        target[k] = static_cast<std::uint8_t>(std::lrint(upper + (lower - upper) * row.weight));
      }
    }
  }
  return result;
}

Image PadRows(const Image& image, int rows) {
  if (rows == 0) return image;
  Image padded(image.width, image.height + 2 * rows);
  std::copy(image.pixels.begin(), image.pixels.end(), padded.at(0, rows));
  return padded;
}

Image CropQuad(const Image& image, const Quad& quad) {
  const int width = std::max(
      1, static_cast<int>(std::max(Distance(quad[0], quad[1]), Distance(quad[2], quad[3]))));
  const int height = std::max(
      1, static_cast<int>(std::max(Distance(quad[1], quad[2]), Distance(quad[3], quad[0]))));
  const double w = width;
  const double h = height;
  const Homography m = SolveHomography({{{0, 0}, {w, 0}, {w, h}, {0, h}}}, quad);
  Image crop(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double scale = m[6] * x + m[7] * y + m[8];
      const double source_x = (m[0] * x + m[1] * y + m[2]) / scale;
      const double source_y = (m[3] * x + m[4] * y + m[5]) / scale;
      SampleCubic(image, source_x, source_y, crop.at(x, y));
    }
  }
  return double(height) / width >= 1.5 ? TurnQuarterLeft(crop) : crop;
}

Image TurnHalf(const Image& image) {
  Image turned(image.width, image.height);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      std::copy_n(image.at(image.width - 1 - x, image.height - 1 - y), Image::kChannels,
                  turned.at(x, y));
    }
  }
  return turned;
}

void DrawQuad(Image& image, const Quad& quad) {
  for (std::size_t i = 0; i < quad.size(); ++i) {
    const Point a = quad[i];
    const Point b = quad[(i + 1) % quad.size()];
    const int steps =
        static_cast<int>(std::ceil(std::max({std::abs(b.x - a.x), std::abs(b.y - a.y), 1.0})));
    for (int step = 0; step <= steps; ++step) {
      const double t = double(step) / steps;
      DrawDot(image, static_cast<int>(std::lround(a.x + (b.x - a.x) * t)),
              static_cast<int>(std::lround(a.y + (b.y - a.y) * t)));
    }
  }
}

}  // namespace ocr
