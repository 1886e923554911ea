// Boxes and regions: NonMaxSuppression, RoiAlign, MaxRoiPool.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::detection {
namespace {

struct Box {
  float y0, x0, y1, x1;
};

class NonMaxSuppression final : public OpKernel {
 public:
  explicit NonMaxSuppression(OpKernelInfo& info)
      : centers_(info.attributes().Int("center_point_box", 0) != 0) {}

  void Prepare(PrepareContext& context) const override {
    const auto boxes = context.input_dims(0), scores = context.input_dims(1);
    if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
        boxes[1] != scores[2]) {
      context.Fail("boxes of dims " + DimsToString(boxes) + " and scores of dims " +
                   DimsToString(scores));
    }
    // Candidates of one class, and every selected triple.
    const std::int64_t chosen = scores[0] * scores[1] * scores[2];
    context.SetScratch(static_cast<std::size_t>(scores[2]) * (sizeof(std::int64_t) + sizeof(Box)) +
                       static_cast<std::size_t>(chosen) * 3 * sizeof(std::int64_t) + 64);
  }

  void Compute(OpKernelContext& context) const override {
    const float* boxes = context.Input(0).data<float>();
    const float* scores = context.Input(1).data<float>();
    const std::int64_t batches = context.Input(1).dim(0), classes = context.Input(1).dim(1),
                       count = context.Input(1).dim(2);
    const std::int64_t most = context.has_input(2) ? ReadIntegerScalar(context, 2) : 0;
    const float overlap = context.has_input(3) ? static_cast<float>(ReadScalar(context, 3)) : 0.0f;
    if (!(overlap >= 0 && overlap <= 1)) context.Fail("iou_threshold is not in [0, 1]");
    const bool with_threshold = context.has_input(4);
    const float threshold = with_threshold ? static_cast<float>(ReadScalar(context, 4)) : 0.0f;
    auto* order = static_cast<std::int64_t*>(context.scratch());
    auto* chosen = order + count;
    auto* kept = reinterpret_cast<Box*>(chosen + batches * classes * count * 3);
    std::int64_t total = 0;
    for (std::int64_t bc = 0; most > 0 && bc < batches * classes; ++bc) {
      const float* score = scores + bc * count;
      const float* box = boxes + bc / classes * count * 4;
      std::int64_t candidates = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        if (with_threshold ? score[i] > threshold : score[i] == score[i]) order[candidates++] = i;
      }
      std::sort(order, order + candidates, [score](std::int64_t a, std::int64_t b) {
        return score[a] != score[b] ? score[a] > score[b] : a < b;
      });
      std::int64_t selected = 0;
      for (std::int64_t k = 0; k < candidates && selected < most; ++k) {
        const Box candidate = Corners(box + order[k] * 4);
        bool keep = true;
        for (std::int64_t j = 0; keep && j < selected; ++j)
          keep = !Overlaps(candidate, kept[j], overlap);
        if (!keep) continue;
        kept[selected++] = candidate;
        chosen[total * 3] = bc / classes;
        chosen[total * 3 + 1] = bc % classes;
        chosen[total * 3 + 2] = order[k];
        ++total;
      }
    }
    const std::int64_t dims[2] = {total, 3};
    Tensor& y = context.Output(0, dims);
    if (total != 0) std::memcpy(y.raw_mutable(), chosen, y.bytes());
  }

 private:
  Box Corners(const float* b) const {
    if (centers_) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
  }

  static bool Overlaps(const Box& a, const Box& b, float threshold) {
    const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
    const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
    if (height <= 0 || width <= 0) return false;
    const float common = height * width;
    const float area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
    if (area_a <= 0 || area_b <= 0) return false;
    return common / (area_a + area_b - common) > threshold;
  }
  bool centers_;
};

std::int64_t BatchIndex(const OpKernelContext& context, std::int64_t index, std::int64_t batches) {
  if (index < 0 || index >= batches) {
    context.Fail("batch index " + std::to_string(index) + " of a batch of " +
                 std::to_string(batches));
  }
  return index;
}

class RoiAlign final : public OpKernel {
 public:
  explicit RoiAlign(OpKernelInfo& info)
      : height_(info.attributes().Int("output_height", 1)),
        width_(info.attributes().Int("output_width", 1)),
        ratio_(info.attributes().Int("sampling_ratio", 0)),
        scale_(info.attributes().Float("spatial_scale", 1.0f)) {
    const std::string mode = info.attributes().String("mode", "avg");
    if (mode != "avg" && mode != "max") info.Fail("mode is '" + mode + "'");
    max_ = mode == "max";
    // Before opset 16 there was no half-pixel shift.
    const char* absent = info.node().SinceVersion() < 16 ? "output_half_pixel" : "half_pixel";
    half_pixel_ =
        info.attributes().String("coordinate_transformation_mode", absent) == "half_pixel";
    if (height_ < 1 || width_ < 1 || ratio_ < 0)
      info.Fail("output_height, output_width or sampling_ratio");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& rois = context.Input(1);
    if (x.rank() != 4 || rois.rank() != 2 || rois.dim(1) != 4)
      context.Fail("X is " + x.Describe() + ", rois are " + rois.Describe());
    const Dims batch = ReadIntegers(context, 2);
    if (static_cast<std::int64_t>(batch.size()) != rois.dim(0))
      context.Fail("batch_indices and rois differ in number");
    for (std::int64_t b : batch) BatchIndex(context, b, x.dim(0));
    const Dims dims{rois.dim(0), x.dim(1), height_, width_};
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double ns =
          20.0 * static_cast<double>(height_ * width_ * std::max<std::int64_t>(1, ratio_ * ratio_));
      ParallelItems(context, dims[0] * dims[1], ns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t r = i / dims[1], c = i % dims[1];
          const T* plane = x.data<T>() +
                           (batch[static_cast<std::size_t>(r)] * dims[1] + c) * x.dim(2) * x.dim(3);
          Region(rois.data<T>() + r * 4, plane, x.dim(2), x.dim(3),
                 y.data_mutable<T>() + i * height_ * width_);
        }
      });
    });
  }

 private:
  template <typename T>
  void Region(const T* roi, const T* plane, std::int64_t h, std::int64_t w, T* out) const {
    using C = ComputeOf<T>;
    const C offset = half_pixel_ ? C(0.5) : C(0), scale = static_cast<C>(scale_);
    const C x0 = Widen(roi[0]) * scale - offset, y0 = Widen(roi[1]) * scale - offset;
    C roi_w = Widen(roi[2]) * scale - offset - x0, roi_h = Widen(roi[3]) * scale - offset - y0;
    if (!half_pixel_) {
      roi_w = std::max(roi_w, C(1));
      roi_h = std::max(roi_h, C(1));
    }
    const C bin_h = roi_h / static_cast<C>(height_), bin_w = roi_w / static_cast<C>(width_);
    // A sampling grid beyond this is a bad box, not a finer answer.
    constexpr C kMostSamples = 4096;
    const auto samples = [&](C extent, std::int64_t cells) {
      if (ratio_ > 0) return ratio_;
      const C n = std::ceil(extent / static_cast<C>(cells));
      return static_cast<std::int64_t>(n > 0 ? std::min(n, kMostSamples) : C(0));
    };
    const std::int64_t grid_h = samples(roi_h, height_), grid_w = samples(roi_w, width_);
    for (std::int64_t ph = 0; ph < height_; ++ph) {
      for (std::int64_t pw = 0; pw < width_; ++pw) {
        C sum = 0, best = 0;
        bool any = false;
        for (std::int64_t iy = 0; iy < grid_h; ++iy) {
          const C yy = y0 + static_cast<C>(ph) * bin_h +
                       (static_cast<C>(iy) + C(0.5)) * bin_h / static_cast<C>(grid_h);
          for (std::int64_t ix = 0; ix < grid_w; ++ix) {
            const C xx = x0 + static_cast<C>(pw) * bin_w +
                         (static_cast<C>(ix) + C(0.5)) * bin_w / static_cast<C>(grid_w);
            const C v = Sample(plane, h, w, yy, xx, max_);
            sum += v;
            best = any ? std::max(best, v) : v;
            any = true;
          }
        }
        const C count = static_cast<C>(std::max<std::int64_t>(1, grid_h * grid_w));
        out[ph * width_ + pw] = Narrow<T>(static_cast<C>(max_ ? best : sum / count));
      }
    }
  }

  // Bilinear; for the maximum the largest of the four weighted corners, as the operator's tests
  // have it.
  template <typename T, typename C>
  static C Sample(const T* plane, std::int64_t h, std::int64_t w, C y, C x, bool largest) {
    if (!(y >= -1 && y <= static_cast<C>(h) && x >= -1 && x <= static_cast<C>(w))) return 0;
    y = std::max(y, C(0));
    x = std::max(x, C(0));
    auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(x);
    std::int64_t y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= h - 1) {
      y0 = y1 = h - 1;
      y = static_cast<C>(y0);
    }
    if (x0 >= w - 1) {
      x0 = x1 = w - 1;
      x = static_cast<C>(x0);
    }
    const C ly = y - static_cast<C>(y0), lx = x - static_cast<C>(x0), hy = 1 - ly, hx = 1 - lx;
    const C a = hy * hx * Widen(plane[y0 * w + x0]), b = hy * lx * Widen(plane[y0 * w + x1]);
    const C c = ly * hx * Widen(plane[y1 * w + x0]), d = ly * lx * Widen(plane[y1 * w + x1]);
    return largest ? std::max(std::max(a, b), std::max(c, d)) : a + b + c + d;
  }

  std::int64_t height_, width_, ratio_;
  float scale_;
  bool max_, half_pixel_;
};

class MaxRoiPool final : public OpKernel {
 public:
  explicit MaxRoiPool(OpKernelInfo& info)
      : shape_(info.attributes().Ints("pooled_shape")),
        scale_(info.attributes().Float("spatial_scale", 1.0f)) {
    if (shape_.size() != 2 || shape_[0] < 1 || shape_[1] < 1)
      info.Fail("pooled_shape is " + DimsToString(shape_));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& rois = context.Input(1);
    if (x.rank() != 4 || rois.rank() != 2 || rois.dim(1) != 5)
      context.Fail("X is " + x.Describe() + ", rois are " + rois.Describe());
    const Dims dims{rois.dim(0), x.dim(1), shape_[0], shape_[1]};
    Tensor& y = context.Output(0, dims);
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t r = 0; r < dims[0]; ++r) {
        const T* roi = rois.data<T>() + r * 5;
        const std::int64_t n =
            BatchIndex(context, static_cast<std::int64_t>(Widen(roi[0])), x.dim(0));
        for (std::int64_t c = 0; c < dims[1]; ++c) {
          Region(roi, x.data<T>() + (n * dims[1] + c) * x.dim(2) * x.dim(3), x.dim(2), x.dim(3),
                 y.data_mutable<T>() + (r * dims[1] + c) * shape_[0] * shape_[1]);
        }
      }
    });
  }

 private:
  template <typename T>
  void Region(const T* roi, const T* plane, std::int64_t h, std::int64_t w, T* out) const {
    using C = ComputeOf<T>;
    const auto edge = [&](int i) {
      return std::round(static_cast<double>(Widen(roi[i])) * static_cast<double>(scale_));
    };
    const double x0 = edge(1), y0 = edge(2);
    const double roi_w = std::max(edge(3) - x0 + 1, 1.0), roi_h = std::max(edge(4) - y0 + 1, 1.0);
    const auto bound = [](double start, double size, std::int64_t i, std::int64_t cells, bool upper,
                          std::int64_t limit) {
      const double v = static_cast<double>(upper ? i + 1 : i) * size / static_cast<double>(cells);
      return static_cast<std::int64_t>(std::clamp((upper ? std::ceil(v) : std::floor(v)) + start,
                                                  0.0, static_cast<double>(limit)));
    };
    for (std::int64_t ph = 0; ph < shape_[0]; ++ph) {
      for (std::int64_t pw = 0; pw < shape_[1]; ++pw) {
        const std::int64_t h0 = bound(y0, roi_h, ph, shape_[0], false, h),
                           h1 = bound(y0, roi_h, ph, shape_[0], true, h);
        const std::int64_t w0 = bound(x0, roi_w, pw, shape_[1], false, w),
                           w1 = bound(x0, roi_w, pw, shape_[1], true, w);
        C best = h1 > h0 && w1 > w0 ? std::numeric_limits<C>::lowest() : C(0);
        for (std::int64_t i = h0; i < h1; ++i) {
          for (std::int64_t j = w0; j < w1; ++j) best = std::max(best, Widen(plane[i * w + j]));
        }
        out[ph * shape_[1] + pw] = Narrow<T>(best);
      }
    }
  }
  Dims shape_;
  float scale_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("NonMaxSuppression")
                        .HostInput(2)
                        .HostInput(3)
                        .HostInput(4)
                        .Make<NonMaxSuppression>());
  registry.Register(KernelCreateInfo::For("RoiAlign").Input(0, types::kFloats).Make<RoiAlign>());
  registry.Register(
      KernelCreateInfo::For("MaxRoiPool").Input(0, types::kFloats).Make<MaxRoiPool>());
}

}  // namespace switchyard::cpu::kernels::detection
