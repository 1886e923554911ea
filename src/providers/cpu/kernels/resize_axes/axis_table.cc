#include "providers/cpu/kernels/resize_axes/axis_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace switchyard::cpu::resize_axes {
namespace {

constexpr std::pair<std::string_view, Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::kHalfPixel},
    {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
    {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
    {"align_corners", Coordinates::kAlignCorners},
    {"asymmetric", Coordinates::kAsymmetric},
    {"tf_half_pixel_for_nn", Coordinates::kTfHalfPixelForNn},
    {"tf_crop_and_resize", Coordinates::kTfCropAndResize}};
constexpr std::pair<std::string_view, Nearest> kNearest[] = {
    {"round_prefer_floor", Nearest::kRoundPreferFloor},
    {"round_prefer_ceil", Nearest::kRoundPreferCeil},
    {"floor", Nearest::kFloor},
    {"ceil", Nearest::kCeil}};

template <typename Table, typename T>
bool Parse(const Table& table, std::string_view name, T* value) {
  const auto* it = std::find_if(std::begin(table), std::end(table),
                                [&](const auto& entry) { return entry.first == name; });
  if (it == std::end(table)) return false;
  *value = it->second;
  return true;
}

// v / scale without rounding the scale first where it is a ratio of sizes.
double Unscaled(const Axis& axis, double v) {
  return axis.from_scale ? v / axis.scale
                         : v * static_cast<double>(axis.in) / static_cast<double>(axis.out);
}

double Original(const Rules& rules, const Axis& axis, std::int64_t o) {
  const auto x = static_cast<double>(o);
  const auto last = static_cast<double>(axis.in - 1);
  switch (rules.coordinates) {
    case Coordinates::kHalfPixel:
      return Unscaled(axis, x + 0.5) - 0.5;
    case Coordinates::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(axis.out) / axis.length;
      const double center = static_cast<double>(axis.in) / 2;
      return center * (1 - adjustment) + Unscaled(axis, x + 0.5) - 0.5;
    }
    case Coordinates::kPytorchHalfPixel:
      return axis.length > 1 ? Unscaled(axis, x + 0.5) - 0.5 : 0.0;
    case Coordinates::kAlignCorners:
      return axis.length == 1 ? 0.0 : x * last / (axis.length - 1);
    case Coordinates::kAsymmetric:
      return Unscaled(axis, x);
    case Coordinates::kTfHalfPixelForNn:
      return Unscaled(axis, x + 0.5);
    case Coordinates::kTfCropAndResize: {
      const double extent = axis.roi_end - axis.roi_start;
      return axis.length > 1 ? axis.roi_start * last + x * extent * last / (axis.length - 1)
                             : 0.5 * (axis.roi_start + axis.roi_end) * last;
    }
  }
  return 0;
}

std::int64_t NearestIndex(const Rules& rules, const Axis& axis, double x) {
  switch (rules.nearest) {
    case Nearest::kRoundPreferFloor:
      return static_cast<std::int64_t>(std::ceil(x - 0.5));
    case Nearest::kRoundPreferCeil:
      return static_cast<std::int64_t>(std::floor(x + 0.5));
    case Nearest::kFloor:
      return static_cast<std::int64_t>(std::floor(x));
    case Nearest::kCeil:
      return static_cast<std::int64_t>(std::ceil(x));
    case Nearest::kCeilIfSmaller:
      return static_cast<std::int64_t>(axis.scale < 1 ? std::ceil(x) : std::floor(x));
  }
  return 0;
}

// The filter is stretched when an antialiased axis shrinks.
double FilterScale(const Rules& rules, const Axis& axis) {
  return rules.antialias ? std::min(axis.scale, 1.0) : 1.0;
}

std::int64_t FirstTap(const Rules& rules, const Axis& axis) {
  const double support = rules.mode == Mode::kCubic ? 2.0 : 1.0;
  return static_cast<std::int64_t>(std::floor(-support / FilterScale(rules, axis))) + 1;
}

double Filter(const Rules& rules, double distance) {
  const double x = std::abs(distance);
  if (rules.mode == Mode::kLinear) return std::max(0.0, 1 - x);
  const double a = rules.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

void FillTaps(const Rules& rules, const Axis& axis, double x, std::int64_t taps,
              std::int32_t* index, float* weight) {
  // An exact position counts as the right end of the interval before it, as in the reference.
  const double left = std::ceil(x) - 1;
  const double ratio = x - left;
  const std::int64_t first = FirstTap(rules, axis);
  const double filter_scale = FilterScale(rules, axis);
  const auto inside = [&](std::int64_t i) { return i >= 0 && i < axis.in; };
  double sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int64_t at = static_cast<std::int64_t>(left) + first + t;
      double w = Filter(rules, filter_scale * (static_cast<double>(first + t) - ratio));
      if (rules.exclude_outside && !inside(at)) w = 0;
      if (pass == 0) {
        sum += w;
        continue;
      }
      if ((rules.antialias || rules.exclude_outside) && sum != 0) w /= sum;
      index[t] = static_cast<std::int32_t>(std::clamp<std::int64_t>(at, 0, axis.in - 1));
      weight[t] = static_cast<float>(w);
    }
  }
}

}  // namespace

bool ParseCoordinates(std::string_view name, Coordinates* value) {
  return Parse(kCoordinates, name, value);
}
bool ParseNearest(std::string_view name, Nearest* value) { return Parse(kNearest, name, value); }

bool IsIdentity(const Rules& rules, const Axis& axis) {
  if (axis.in != axis.out || std::abs(axis.scale - 1) > 1e-9) return false;
  return rules.coordinates == Coordinates::kTfCropAndResize
             ? axis.roi_start == 0 && axis.roi_end == 1
             : rules.coordinates != Coordinates::kTfHalfPixelForNn;
}

std::int64_t TapCount(const Rules& rules, const Axis& axis) {
  return rules.mode == Mode::kNearest ? 1 : 2 - 2 * FirstTap(rules, axis);
}

void FillTable(const Rules& rules, const Axis& axis, std::int32_t* index, float* weight) {
  const std::int64_t taps = TapCount(rules, axis);
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const double x = Original(rules, axis, o);
    const bool outside = rules.coordinates == Coordinates::kTfCropAndResize &&
                         !(x >= 0 && x <= static_cast<double>(axis.in - 1));
    if (outside) {
      std::fill_n(index + o * taps, taps, -1);
      if (weight != nullptr) std::fill_n(weight + o * taps, taps, 0.0f);
    } else if (rules.mode == Mode::kNearest) {
      index[o] = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(NearestIndex(rules, axis, x), 0, axis.in - 1));
    } else {
      FillTaps(rules, axis, x, taps, index + o * taps, weight + o * taps);
    }
  }
}

}  // namespace switchyard::cpu::resize_axes
