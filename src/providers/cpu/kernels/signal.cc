// DFT, STFT, MelWeightMatrix. Transforms are computed in double whatever the tensors' type.

#include <cmath>

#include "providers/cpu/kernels/common/fourier.h"
#include "providers/cpu/kernels/common/product.h"

namespace switchyard::cpu::kernels::signal {
namespace {

using Complex = Fourier::Complex;

// Table, and input, output and work of each worker. Lengths may be known at Compute only, so these
// live on the heap of the call.
class Transform {
 public:
  Transform(const OpKernelContext& context, std::int64_t n, bool inverse)
      : n_(n),
        slice_(2 * n + Fourier::WorkSize(n)),
        table_(static_cast<std::size_t>(Fourier::TableSize(n))),
        rooms_(static_cast<std::size_t>(slice_ * context.team().size())),
        fourier_(n, inverse, table_.data()) {}

  Complex* in(int worker) { return rooms_.data() + slice_ * worker; }
  const Complex* Run(int worker) {
    Complex* x = in(worker);
    fourier_.Run(x, x + n_, x + 2 * n_);
    return x + n_;
  }
  // What one transform costs, roughly.
  double nanoseconds() const {
    return 4.0 * static_cast<double>(n_) * std::log2(static_cast<double>(n_) + 1);
  }

 private:
  std::int64_t n_, slice_;
  std::vector<Complex> table_, rooms_;
  Fourier fourier_;
};

template <typename Body>
void ForEach(OpKernelContext& context, std::int64_t count, double ns, Body&& body) {
  constexpr double kNsWorthThreads = 20000;
  if (ns * static_cast<double>(count) < kNsWorthThreads) {
    for (std::int64_t i = 0; i < count; ++i) body(i, 0);
  } else {
    context.team().ParallelFor(count, body);
  }
}

template <typename T>
T Store(double v) {
  return Narrow<T>(static_cast<ComputeOf<T>>(v));
}

class Dft final : public OpKernel {
 public:
  explicit Dft(OpKernelInfo& info)
      : version_(info.node().SinceVersion()),
        axis_(info.attributes().Int("axis", 1)),
        inverse_(info.attributes().Int("inverse", 0) != 0),
        onesided_(info.attributes().Int("onesided", 0) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    std::int64_t given = version_ < 20 ? axis_ : -2;
    if (context.has_input(2)) given = ReadIntegerScalar(context, 2);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, given, x.rank()));
    const std::int64_t parts = x.rank() > 0 ? x.dim(x.rank() - 1) : 0;
    if (axis + 1 >= x.rank() || (parts != 1 && parts != 2))
      context.Fail("the input is " + x.Describe() + ", axis " + std::to_string(given));
    // Backwards from half a spectrum to real values.
    const bool to_real = inverse_ && onesided_;
    std::int64_t n = to_real ? 2 * (x.dim(axis) - 1) : x.dim(axis);
    if (context.has_input(1)) n = ReadIntegerScalar(context, 1);
    if (n < 1) context.Fail("dft_length is " + std::to_string(n));
    Dims dims(x.dims());
    const std::int64_t bins = onesided_ && !to_real ? n / 2 + 1 : n;
    dims[axis] = bins;
    dims.back() = to_real ? 1 : 2;
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    const std::int64_t inner = Product(x.dims().subspan(axis + 1)) / parts;
    const std::int64_t outer = Product(x.dims().first(axis));
    Transform transform(context, n, inverse_);
    const double scale = inverse_ ? 1 / static_cast<double>(n) : 1.0;
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ForEach(context, outer * inner, transform.nanoseconds(), [&](std::int64_t line, int worker) {
        const std::int64_t o = line / inner, i = line % inner;
        const T* from = x.data<T>() + (o * x.dim(axis) * inner + i) * parts;
        Load(from, x.dim(axis), inner * parts, parts, n, to_real, transform.in(worker));
        const Complex* result = transform.Run(worker);
        const std::int64_t width = dims.back();
        T* to = y.data_mutable<T>() + (o * bins * inner + i) * width;
        for (std::int64_t k = 0; k < bins; ++k, to += inner * width) {
          to[0] = Store<T>(result[k].real() * scale);
          if (width == 2) to[1] = Store<T>(result[k].imag() * scale);
        }
      });
    });
  }

 private:
  template <typename T>
  static void Load(const T* from, std::int64_t count, std::int64_t stride, std::int64_t parts,
                   std::int64_t n, bool mirrored, Complex* to) {
    const std::int64_t used = std::min(count, mirrored ? n / 2 + 1 : n);
    for (std::int64_t k = 0; k < used; ++k, from += stride) {
      to[k] = {static_cast<double>(Widen(from[0])),
               parts == 2 ? static_cast<double>(Widen(from[1])) : 0.0};
    }
    std::fill(to + used, to + n, Complex());
    if (!mirrored) return;
    for (std::int64_t k = 1; k < used && n - k >= used; ++k) to[n - k] = std::conj(to[k]);
  }

  int version_;
  std::int64_t axis_;
  bool inverse_, onesided_;
};

class Stft final : public OpKernel {
 public:
  explicit Stft(OpKernelInfo& info) : onesided_(info.attributes().Int("onesided", 1) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::int64_t step = ReadIntegerScalar(context, 1);
    const Tensor* window = context.OptionalInput(2);
    std::int64_t n = window != nullptr ? window->size() : 0;
    if (context.has_input(3)) n = ReadIntegerScalar(context, 3);
    const std::int64_t parts = x.rank() == 3 ? x.dim(2) : 1;
    if (x.rank() < 2 || x.rank() > 3 || (parts != 1 && parts != 2))
      context.Fail("the signal is " + x.Describe());
    if (step < 1 || n < 1 || (window != nullptr && window->size() != n) || n > x.dim(1)) {
      context.Fail("frame_step " + std::to_string(step) + ", frame_length " + std::to_string(n) +
                   (window != nullptr ? ", window " + window->Describe() : std::string()) +
                   " for the signal " + x.Describe());
    }
    const std::int64_t frames = (x.dim(1) - n) / step + 1;
    const std::int64_t bins = onesided_ ? n / 2 + 1 : n;
    const std::int64_t dims[] = {x.dim(0), frames, bins, 2};
    Tensor& y = context.Output(0, dims);
    Transform transform(context, n, false);
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* weights = window != nullptr ? window->data<T>() : nullptr;
      ForEach(
          context, x.dim(0) * frames, transform.nanoseconds(), [&](std::int64_t frame, int worker) {
            const T* from =
                x.data<T>() + (frame / frames * x.dim(1) + frame % frames * step) * parts;
            Complex* in = transform.in(worker);
            for (std::int64_t k = 0; k < n; ++k, from += parts) {
              const double w = weights != nullptr ? static_cast<double>(Widen(weights[k])) : 1.0;
              in[k] = {w * static_cast<double>(Widen(from[0])),
                       parts == 2 ? w * static_cast<double>(Widen(from[1])) : 0.0};
            }
            const Complex* result = transform.Run(worker);
            T* to = y.data_mutable<T>() + frame * bins * 2;
            for (std::int64_t k = 0; k < bins; ++k) {
              to[2 * k] = Store<T>(result[k].real());
              to[2 * k + 1] = Store<T>(result[k].imag());
            }
          });
    });
  }

 private:
  bool onesided_;
};

// Triangles on the mel scale, as the operator's reference places them.
class MelWeights final : public OpKernel {
 public:
  explicit MelWeights(OpKernelInfo&) {}

  void Compute(OpKernelContext& context) const override {
    const std::int64_t count = ReadIntegerScalar(context, 0);
    const std::int64_t length = ReadIntegerScalar(context, 1);
    const std::int64_t rate = ReadIntegerScalar(context, 2);
    const double low = ReadScalar(context, 3), high = ReadScalar(context, 4);
    const std::int64_t bins = length / 2 + 1;
    if (count < 1 || length < 1 || rate < 1 || low < 0 || high < low) {
      context.Fail("num_mel_bins " + std::to_string(count) + ", dft_length " +
                   std::to_string(length) + ", sample_rate " + std::to_string(rate));
    }
    const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double step = (to_mel(high) - to_mel(low)) / static_cast<double>(count + 2);
    const auto edge = [&](std::int64_t i) {
      const double mel = static_cast<double>(i) * step + to_mel(low);
      const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
      return static_cast<std::int64_t>(
          std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
    };
    if (edge(count + 1) > bins) context.Fail("the upper edge is beyond the spectrum");
    const std::int64_t dims[] = {bins, count};
    Tensor& y = context.Output(0, dims);
    DispatchType(y.type(), NumericTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = y.data_mutable<T>();
      std::fill_n(out, y.size(), T{});
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t a = edge(i), b = edge(i + 1), c = edge(i + 2);
        const auto set = [&](std::int64_t bin, double v) {
          if (bin < bins) out[bin * count + i] = Narrow<T>(static_cast<ComputeOf<T>>(v));
        };
        if (a == b) set(b, 1);
        for (std::int64_t j = a; a != b && j <= b; ++j)
          set(j, static_cast<double>(j - a) / static_cast<double>(b - a));
        for (std::int64_t j = b; j < c; ++j)
          set(j, static_cast<double>(c - j) / static_cast<double>(c - b));
      }
    });
  }
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("DFT").Input(0, types::kFloats).Make<Dft>());
  registry.Register(KernelCreateInfo::For("STFT").Input(0, types::kFloats).Make<Stft>());
  registry.Register(
      KernelCreateInfo::For("MelWeightMatrix").Output(0, types::kNumeric).Make<MelWeights>());
}

}  // namespace switchyard::cpu::kernels::signal
