#include "providers/cpu/kernels/common/integer_depthwise.h"

#include <algorithm>
#include <cstring>

namespace switchyard::cpu {

bool IntegerDepthwise::Applies(const math::ConvShape& s) {
  return s.groups > 1 && s.in_channels == s.groups && s.kernel[0] == 1 && s.stride[0] == 1 &&
         s.kernel[1] * s.kernel[2] <= kMaxTaps;
}

IntegerDepthwise::IntegerDepthwise(const math::ConvShape& shape) : s_(shape) {
  const std::int64_t step = s_.stride[2], extent = (s_.kernel[1] - 1) * s_.dilation[1] + 1;
  width_ = (s_.out[2] - 1) * step + (s_.kernel[2] - 1) * s_.dilation[2] + 1;
  pitch_ = (width_ + step - 1) / step + kSlack;
  // About 48 KiB of widened rows.
  const std::int64_t fit = (std::int64_t{24} << 10) / (pitch_ * step);
  band_ = std::clamp<std::int64_t>((fit - extent) / s_.stride[1] + 1, 1,
                                   std::max<std::int64_t>(1, s_.out[1]));
  band_in_ = (band_ - 1) * s_.stride[1] + extent;
  bands_ = (s_.out[1] + band_ - 1) / band_;
  items_ = s_.batch * s_.in_channels * s_.out[0] * bands_;
}

std::size_t IntegerDepthwise::scratch_bytes() const {
  const std::int64_t line = s_.stride[2] == 1 ? 0 : width_;
  return static_cast<std::size_t>(band_in_ * s_.stride[2] * pitch_ + line) * sizeof(std::int16_t);
}

// `row` is null outside of the plane.
void IntegerDepthwise::FillRow(const math::IgemmOps& ops, const math::IgemmArgs& args,
                               const std::uint8_t* row, std::int16_t* to,
                               std::int16_t* line) const {
  const std::int64_t step = s_.stride[2];
  std::fill_n(to, step * pitch_, std::int16_t{0});
  if (row == nullptr) return;
  const std::int64_t first = std::clamp<std::int64_t>(s_.pad[2], 0, width_);
  const std::int64_t last = std::clamp<std::int64_t>(s_.in[2] + s_.pad[2], first, width_);
  std::int16_t* widened = step == 1 ? to + first : line + first;
  ops.widen(row + first - s_.pad[2], args.b_signed, args.b_zero, last - first, widened);
  if (step == 1) return;
  for (std::int64_t phase = 0; phase < step; ++phase) {
    const std::int64_t begin = (first - phase + step - 1) / step;
    for (std::int64_t q = std::max<std::int64_t>(0, begin); q * step + phase < last; ++q)
      to[phase * pitch_ + q] = line[q * step + phase];
  }
}

void IntegerDepthwise::Run(const math::IgemmOps& ops, const math::IgemmArgs& args,
                           std::int64_t item, std::byte* scratch) const {
  const std::int64_t band = item % bands_, plane = item / bands_;  // batch, channel, depth
  const std::int64_t depth = plane % s_.out[0], image = plane / s_.out[0];
  const std::int64_t y0 = band * band_, y1 = std::min(s_.out[1], y0 + band_);
  auto* rows = reinterpret_cast<std::int16_t*>(scratch);
  const std::int64_t row_elements = s_.stride[2] * pitch_;
  std::int16_t* line = rows + band_in_ * row_elements;
  const std::int64_t iz = depth - s_.pad[0];
  const bool deep_inside = iz >= 0 && iz < s_.in[0];
  const auto* x = static_cast<const std::uint8_t*>(args.b) +
                  (image * s_.in[0] + (deep_inside ? iz : 0)) * s_.in[1] * s_.in[2];
  const std::int64_t count = (y1 - y0 - 1) * s_.stride[1] + (s_.kernel[1] - 1) * s_.dilation[1] + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t iy = y0 * s_.stride[1] - s_.pad[1] + i;
    const bool inside = deep_inside && iy >= 0 && iy < s_.in[1];
    FillRow(ops, args, inside ? x + iy * s_.in[2] : nullptr, rows + i * row_elements, line);
  }
  const std::int64_t taps = s_.kernel[1] * s_.kernel[2], multiplier = s_.out_channels / s_.groups;
  const std::int16_t* tap_rows[kMaxTaps];
  std::int16_t weights[kMaxTaps];
  math::IdepthwiseArgs row;
  row.rows = tap_rows;
  row.weights = weights;
  row.taps = taps;
  row.result = args.result;
  row.c_zero = args.c_zero;
  const std::int64_t size = args.result == math::IgemmResult::kSums ? 4 : 1;
  for (std::int64_t m = 0; m < multiplier; ++m) {
    const std::int64_t channel = image % s_.in_channels * multiplier + m;
    const std::int64_t out_plane = (image * multiplier + m) * s_.out[0] + depth;
    const std::int32_t zero = args.a_zero_rows != nullptr ? args.a_zero_rows[channel] : args.a_zero;
    const auto* w = static_cast<const std::uint8_t*>(args.a) + channel * taps;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int32_t v = args.a_signed ? static_cast<std::int8_t>(w[t]) : w[t];
      weights[t] = static_cast<std::int16_t>(v - zero);
    }
    row.start = args.bias_row != nullptr ? args.bias_row[channel] : 0;
    row.scale = args.scale_rows != nullptr ? args.scale_rows[channel] : args.scale;
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t dx = t % s_.kernel[2] * s_.dilation[2];
        const std::int64_t i = (y - y0) * s_.stride[1] + t / s_.kernel[2] * s_.dilation[1];
        tap_rows[t] = rows + i * row_elements + dx % s_.stride[2] * pitch_ + dx / s_.stride[2];
      }
      ops.depthwise_row(
          row, s_.out[2],
          static_cast<std::byte*>(args.c) + (out_plane * s_.out[1] + y) * s_.out[2] * size);
    }
  }
}

}  // namespace switchyard::cpu
