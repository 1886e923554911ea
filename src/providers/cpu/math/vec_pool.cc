#include "providers/cpu/math/vec_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_pool.cc"
#define SY_VEC_NO_AVX512
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct MaxStep {
  static HWY_INLINE V Run(V best, V v) {
    return hn::IfThenElse(hn::Or(hn::Gt(v, best), hn::IsNaN(v)), v, best);
  }
  static HWY_INLINE float Run(float best, float v) { return v > best || v != v ? v : best; }
};
struct SumStep {
  static HWY_INLINE V Run(V sum, V v) { return hn::Add(sum, v); }
  static HWY_INLINE float Run(float sum, float v) { return sum + v; }
};

// Every second or every element from `p` on.
template <int kStride>
HWY_INLINE V Load(const float* p) {
  const D d;
  if constexpr (kStride == 1) {
    return hn::LoadU(d, p);
  } else {
    V even, odd;
    hn::LoadInterleaved2(d, p, even, odd);
    return even;
  }
}

// A vector of stride 2 reads one element past the last that it uses, so the last outputs are
// scalar.
template <typename Step, int kStride>
int64_t Vectors(const float* row, float* out, int64_t n, int64_t kernel, int64_t dilation) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes < n || (kStride == 1 && i + lanes <= n); i += lanes) {
    V value = Load<kStride>(row + i * kStride);
    for (int64_t k = 1; k < kernel; ++k) {
      value = Step::Run(value, Load<kStride>(row + i * kStride + k * dilation));
    }
    hn::StoreU(value, d, out + i);
  }
  return i;
}

template <typename Step>
void Windows(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
             int64_t dilation) {
  int64_t i = 0;
  if (stride == 1) i = Vectors<Step, 1>(row, out, n, kernel, dilation);
  if (stride == 2) i = Vectors<Step, 2>(row, out, n, kernel, dilation);
  for (; i < n; ++i) {
    float value = row[i * stride];
    for (int64_t k = 1; k < kernel; ++k) {
      value = Step::Run(value, row[i * stride + k * dilation]);
    }
    out[i] = value;
  }
}

}  // namespace

void MaxWindowsTarget(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                      int64_t dilation) {
  Windows<MaxStep>(row, out, n, stride, kernel, dilation);
}
void SumWindowsTarget(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                      int64_t dilation) {
  Windows<SumStep>(row, out, n, stride, kernel, dilation);
}

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {

void MaxWindows(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                int64_t dilation, IsaLevel level) {
  SY_VEC_DISPATCH(level, MaxWindowsTarget(row, out, n, stride, kernel, dilation));
}
void SumWindows(const float* row, float* out, int64_t n, int64_t stride, int64_t kernel,
                int64_t dilation, IsaLevel level) {
  SY_VEC_DISPATCH(level, SumWindowsTarget(row, out, n, stride, kernel, dilation));
}

}  // namespace switchyard::cpu::math
#endif
