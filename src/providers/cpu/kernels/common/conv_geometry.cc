#include "providers/cpu/kernels/common/conv_geometry.h"

namespace switchyard::cpu {
namespace {

// One output row of one tap: the innermost spatial axis.
void UnfoldRow(const math::ConvShape& s, const double* row, bool inside, std::int64_t tap,
               double* out) {
  for (std::int64_t o = 0; o < s.out[2]; ++o) {
    const std::int64_t i = o * s.stride[2] - s.pad[2] + tap * s.dilation[2];
    out[o] = inside && i >= 0 && i < s.in[2] ? row[i] : 0.0;
  }
}

}  // namespace

void UnfoldImage(OpKernelContext& context, const math::ConvShape& s, const double* image,
                 double* columns) {
  const std::int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  const std::int64_t pixels = s.out[0] * s.out[1] * s.out[2];
  const std::int64_t in = s.in[0] * s.in[1] * s.in[2];
  const std::int64_t rows = s.in_channels / s.groups * taps;
  ParallelItems(context, rows, 1.0 * static_cast<double>(pixels),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t r = begin; r < end; ++r) {
                    const double* plane = image + r / taps * in;
                    const std::int64_t t = r % taps;
                    const std::int64_t td = t / (s.kernel[1] * s.kernel[2]),
                                       th = t / s.kernel[2] % s.kernel[1];
                    double* out = columns + r * pixels;
                    for (std::int64_t od = 0; od < s.out[0]; ++od) {
                      const std::int64_t d = od * s.stride[0] - s.pad[0] + td * s.dilation[0];
                      for (std::int64_t oh = 0; oh < s.out[1]; ++oh, out += s.out[2]) {
                        const std::int64_t h = oh * s.stride[1] - s.pad[1] + th * s.dilation[1];
                        const bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
                        UnfoldRow(s, inside ? plane + (d * s.in[1] + h) * s.in[2] : plane, inside,
                                  t % s.kernel[2], out);
                      }
                    }
                  }
                });
}

}  // namespace switchyard::cpu
