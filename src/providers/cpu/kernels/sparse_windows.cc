// The less common window operators: MaxUnpool, Col2Im, DeformConv.

#include "providers/cpu/kernels/common/window.h"

namespace switchyard::cpu::kernels::sparse_windows {
namespace {

class MaxUnpool final : public OpKernel {
 public:
  explicit MaxUnpool(OpKernelInfo& info) : window_(info) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    if (x.rank() < 3 || x.rank() - 2 != window_.kernel.size() || indices.size() != x.size()) {
      context.Fail("X is " + x.Describe() + ", I is " + indices.Describe());
    }
    Dims dims(x.dims().first(2));
    const std::size_t spatial = x.rank() - 2;
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t stride = i < window_.strides.size() ? window_.strides[i] : 1;
      const std::int64_t pads =
          window_.pads.size() == 2 * spatial ? window_.pads[i] + window_.pads[i + spatial] : 0;
      for (const std::int64_t v : {stride, pads, window_.kernel[i]}) {
        if (v < 0 || v > kMaxWindow)
          context.Fail("kernel_shape, strides or pads of " + std::to_string(v));
      }
      dims.push_back((x.dim(i + 2) - 1) * stride + window_.kernel[i] - pads);
    }
    // Indices count in the inferred output even where a larger shape is asked for.
    const Dims inferred = dims;
    if (context.has_input(2)) {
      dims = ReadIntegers(context, 2);
      bool fits = dims.size() == inferred.size();
      for (std::size_t i = 0; fits && i < dims.size(); ++i)
        fits = dims[i] >= (i < 2 ? inferred[i] : 0);
      if (!fits) context.Fail("output_shape is " + DimsToString(dims));
    }
    ElementCount(dims);
    Tensor& y = context.Output(0, dims);
    std::memset(y.raw_mutable(), 0, y.bytes());
    const std::int64_t* at = indices.data<std::int64_t>();
    const bool larger = !(dims == inferred);
    const ElementCopy copy(x.type());
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t to = at[i];
      if (larger) to = Moved(context, to, inferred, dims);
      if (to < 0 || to >= y.size())
        context.Fail("index " + std::to_string(at[i]) + " is outside of the output " +
                     DimsToString(dims));
      copy.At(y.raw_mutable(), to, x.raw(), i, 1);
    }
  }

 private:
  // The position `index` of the inferred output in the one of `dims`.
  static std::int64_t Moved(const OpKernelContext& context, std::int64_t index,
                            const Dims& inferred, const Dims& dims) {
    if (index < 0 || index >= Product(inferred))
      context.Fail("index " + std::to_string(index) + " is outside of the output");
    std::int64_t to = 0, pitch = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
      const std::int64_t position = index % inferred[i];
      index /= inferred[i];
      if (position >= dims[i]) return -1;
      to += position * pitch;
      pitch *= dims[i];
    }
    return to;
  }
  WindowAttributes window_;
};

constexpr std::size_t kMaxSpatial = 6;

class Col2Im final : public OpKernel {
 public:
  explicit Col2Im(OpKernelInfo& info) : window_(info) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims image = ReadIntegers(context, 1), block = ReadIntegers(context, 2);
    const std::size_t spatial = image.size();
    if (x.rank() != 3 || spatial == 0 || spatial > kMaxSpatial || block.size() != spatial) {
      context.Fail("input " + x.Describe() + ", image_shape " + DimsToString(image) +
                   ", block_shape " + DimsToString(block));
    }
    WindowAxis axis[kMaxSpatial];
    std::int64_t positions = 1;
    for (std::size_t i = 0; i < spatial; ++i) {
      axis[i] = MakeWindowAxis(context, window_, i, spatial, image[i], block[i]);
      positions *= axis[i].out;
    }
    const std::int64_t taps = ElementCount(block), pixels = ElementCount(image);
    if (taps == 0 || x.dim(1) % taps != 0 || x.dim(2) != positions) {
      context.Fail("input " + x.Describe() + " for " + std::to_string(taps) + " taps at " +
                   std::to_string(positions) + " positions");
    }
    const std::int64_t channels = x.dim(1) / taps;
    Dims dims{x.dim(0), channels};
    for (std::int64_t d : image) dims.push_back(d);
    Tensor& y = context.Output(0, dims);
    DispatchType(x.type(), NumericTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(context, x.dim(0) * channels, 4.0 * static_cast<double>(taps * positions),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t c = begin; c < end; ++c) {
                        Fold(axis, spatial, x.data<T>() + c * taps * positions, taps, positions,
                             y.data_mutable<T>() + c * pixels, pixels);
                      }
                    });
    });
  }

 private:
  template <typename T>
  static void Fold(const WindowAxis* axis, std::size_t spatial, const T* columns, std::int64_t taps,
                   std::int64_t positions, T* image, std::int64_t pixels) {
    std::fill_n(image, pixels, T());
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t p = 0; p < positions; ++p) {
        std::int64_t tap = t, position = p, at = 0, pitch = 1;
        bool inside = true;
        for (std::size_t i = spatial; i-- > 0;) {
          const std::int64_t v =
              axis[i].Start(position % axis[i].out) + tap % axis[i].kernel * axis[i].dilation;
          position /= axis[i].out;
          tap /= axis[i].kernel;
          inside = inside && v >= 0 && v < axis[i].in;
          at += v * pitch;
          pitch *= axis[i].in;
        }
        if (inside)
          image[at] = Narrow<T>(
              static_cast<ComputeOf<T>>(Widen(image[at]) + Widen(columns[t * positions + p])));
      }
    }
  }
  WindowAttributes window_;
};

// Taps are read at fractional offsets, optionally weighted by a mask.
class DeformConv final : public OpKernel {
 public:
  explicit DeformConv(OpKernelInfo& info)
      : window_(info),
        groups_(info.attributes().Int("group", 1)),
        offset_groups_(info.attributes().Int("offset_group", 1)) {
    if (groups_ < 1 || offset_groups_ < 1) info.Fail("group or offset_group");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    const Tensor& offset = context.Input(2);
    const Tensor* bias = context.OptionalInput(3);
    const Tensor* mask = context.OptionalInput(4);
    if (x.rank() != 4 || w.rank() != 4)
      context.Fail("X is " + x.Describe() + ", only two spatial dimensions are done",
                   ErrorCode::kNotImplemented);
    Job job;
    for (std::size_t i = 0; i < 2; ++i)
      job.axis[i] = MakeWindowAxis(context, window_, i, 2, x.dim(i + 2), w.dim(i + 2));
    job.channels = x.dim(1);
    job.taps = w.dim(2) * w.dim(3);
    job.positions = job.axis[0].out * job.axis[1].out;
    const std::int64_t wanted = x.dim(0) * offset_groups_ * job.taps * job.positions;
    if (job.channels != w.dim(1) * groups_ || w.dim(0) % groups_ != 0 ||
        job.channels % offset_groups_ != 0 || offset.size() != 2 * wanted ||
        (mask != nullptr && mask->size() != wanted) ||
        (bias != nullptr && bias->size() != w.dim(0))) {
      context.Fail("X " + x.Describe() + ", W " + w.Describe() + ", offset " + offset.Describe());
    }
    const Dims dims{x.dim(0), w.dim(0), job.axis[0].out, job.axis[1].out};
    Tensor& y = context.Output(0, dims);
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(
          context, x.dim(0) * job.positions, 30.0 * static_cast<double>(job.channels * job.taps),
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
              Position(job, x.data<T>(), w, offset.data<T>(),
                       bias != nullptr ? bias->data<T>() : nullptr,
                       mask != nullptr ? mask->data<T>() : nullptr, i, y.data_mutable<T>());
            }
          });
    });
  }

 private:
  struct Job {
    WindowAxis axis[2];
    std::int64_t channels, taps, positions;
  };

  template <typename T>
  void Position(const Job& job, const T* x, const Tensor& weight, const T* offset, const T* bias,
                const T* mask, std::int64_t index, T* y) const {
    const std::int64_t n = index / job.positions, p = index % job.positions;
    const std::int64_t out_channels = weight.dim(0), per_group = weight.dim(1),
                       out_per_group = out_channels / groups_;
    const T* w = weight.data<T>();
    for (std::int64_t o = 0; o < out_channels; ++o) {
      double sum = bias != nullptr ? static_cast<double>(Widen(bias[o])) : 0.0;
      for (std::int64_t c = 0; c < per_group; ++c) {
        const std::int64_t channel = o / out_per_group * per_group + c;
        for (std::int64_t t = 0; t < job.taps; ++t) {
          sum += static_cast<double>(Widen(w[(o * per_group + c) * job.taps + t])) *
                 Sample(job, x, offset, mask, n, channel, t, p);
        }
      }
      y[(n * out_channels + o) * job.positions + p] = Narrow<T>(static_cast<ComputeOf<T>>(sum));
    }
  }

  template <typename T>
  double Sample(const Job& job, const T* x, const T* offset, const T* mask, std::int64_t n,
                std::int64_t channel, std::int64_t t, std::int64_t p) const {
    const WindowAxis& h = job.axis[0];
    const WindowAxis& w = job.axis[1];
    const std::int64_t group = channel / (job.channels / offset_groups_);
    const std::int64_t tap = (n * offset_groups_ + group) * job.taps + t;
    const double yy = static_cast<double>(h.Start(p / w.out) + t / w.kernel * h.dilation) +
                      static_cast<double>(Widen(offset[2 * tap * job.positions + p]));
    const double xx = static_cast<double>(w.Start(p % w.out) + t % w.kernel * w.dilation) +
                      static_cast<double>(Widen(offset[(2 * tap + 1) * job.positions + p]));
    if (!(yy > -1 && yy < static_cast<double>(h.in) && xx > -1 && xx < static_cast<double>(w.in)))
      return 0;
    const T* plane = x + (n * job.channels + channel) * h.in * w.in;
    const double y0 = std::floor(yy), x0 = std::floor(xx);
    const auto at = [&](double i, double j) {
      if (i < 0 || i >= static_cast<double>(h.in) || j < 0 || j >= static_cast<double>(w.in))
        return 0.0;
      return static_cast<double>(
          Widen(plane[static_cast<std::int64_t>(i) * w.in + static_cast<std::int64_t>(j)]));
    };
    const double ly = yy - y0, lx = xx - x0;
    const double v = (1 - ly) * ((1 - lx) * at(y0, x0) + lx * at(y0, x0 + 1)) +
                     ly * ((1 - lx) * at(y0 + 1, x0) + lx * at(y0 + 1, x0 + 1));
    return mask != nullptr ? v * static_cast<double>(Widen(mask[tap * job.positions + p])) : v;
  }

  WindowAttributes window_;
  std::int64_t groups_, offset_groups_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("MaxUnpool").Input(0, types::kFloats).HostInput(2).Make<MaxUnpool>());
  registry.Register(KernelCreateInfo::For("Col2Im")
                        .Input(0, types::kNumeric)
                        .HostInput(1)
                        .HostInput(2)
                        .Make<Col2Im>());
  registry.Register(
      KernelCreateInfo::For("DeformConv").Input(0, types::kFloats).Make<DeformConv>());
}

}  // namespace switchyard::cpu::kernels::sparse_windows
