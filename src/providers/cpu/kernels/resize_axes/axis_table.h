#pragma once
// Which input positions an output position of one axis reads when resizing, and with which weights.
// Coordinates follow the formulas of ONNX's Resize, in double precision.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace switchyard::cpu::resize_axes {

enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
enum class Mode : std::uint8_t { kNearest, kLinear, kCubic };
enum class Nearest : std::uint8_t {
  kRoundPreferFloor,
  kRoundPreferCeil,
  kFloor,
  kCeil,
  kCeilIfSmaller
};

// False: an unknown name.
bool ParseCoordinates(std::string_view name, Coordinates* value);
bool ParseNearest(std::string_view name, Nearest* value);

struct Rules {
  Mode mode = Mode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  float cubic_a = -0.75f;
  bool antialias = false;
  bool exclude_outside = false;
};

struct Axis {
  std::int64_t in = 1, out = 1;
  // The wanted length: out, or the fractional in * scale where a scale is given.
  double length = 1;
  double scale = 1;
  bool from_scale = false;
  double roi_start = 0, roi_end = 1;
};

// Nothing to do along this axis.
bool IsIdentity(const Rules& rules, const Axis& axis);

// Taps per output position.
std::int64_t TapCount(const Rules& rules, const Axis& axis);

// index[o * taps + t], clamped to [0, in); index[o * taps] is -1 where the extrapolation value
// stands. weight likewise (not for nearest, where taps is 1).
void FillTable(const Rules& rules, const Axis& axis, std::int32_t* index, float* weight);

}  // namespace switchyard::cpu::resize_axes
