// LRN, LpNormalization, MeanVarianceNormalization.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::normalize {
namespace {

class LocalResponse final : public OpKernel {
 public:
  explicit LocalResponse(OpKernelInfo& info)
      : size_(info.attributes().Int("size", 0)),
        alpha_(info.attributes().Float("alpha", 1e-4f)),
        beta_(info.attributes().Float("beta", 0.75f)),
        bias_(info.attributes().Float("bias", 1.0f)) {
    if (size_ < 1) info.Fail("size is " + std::to_string(size_));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) context.Fail("the input is " + x.Describe());
    Tensor& y = context.Output(0, x.dims());
    const std::int64_t channels = x.dim(1), spatial = Product(x.dims().subspan(2));
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double ns = static_cast<double>(spatial) * (0.3 * static_cast<double>(size_) + 2);
      ParallelItems(context, x.dim(0) * channels, ns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          Row(x.data<T>() + r / channels * channels * spatial, y.data_mutable<T>() + r * spatial,
              r % channels, channels, spatial);
        }
      });
    });
  }

 private:
  static constexpr std::int64_t kBlock = 256;

  template <typename T>
  void Row(const T* image, T* out, std::int64_t c, std::int64_t channels,
           std::int64_t spatial) const {
    using C = ComputeOf<T>;
    const std::int64_t first = std::max<std::int64_t>(0, c - (size_ - 1) / 2);
    const std::int64_t last = std::min(channels - 1, c + size_ / 2);
    const C scale = static_cast<C>(alpha_) / static_cast<C>(size_);
    C sum[kBlock];
    for (std::int64_t at = 0; at < spatial; at += kBlock) {
      const std::int64_t n = std::min(kBlock, spatial - at);
      std::fill_n(sum, n, C(0));
      for (std::int64_t k = first; k <= last; ++k) {
        const T* from = image + k * spatial + at;
        for (std::int64_t i = 0; i < n; ++i) sum[i] += Widen(from[i]) * Widen(from[i]);
      }
      const T* x = image + c * spatial + at;
      for (std::int64_t i = 0; i < n; ++i) {
        const C base = static_cast<C>(bias_) + scale * sum[i];
        // 3/4 is the exponent of nearly every model.
        const C power = beta_ == 0.75f ? std::sqrt(base) * std::sqrt(std::sqrt(base))
                                       : static_cast<C>(std::pow(base, static_cast<C>(beta_)));
        out[at + i] = Narrow<T>(static_cast<C>(Widen(x[i]) / power));
      }
    }
  }

  std::int64_t size_;
  float alpha_, beta_, bias_;
};

class LpNormalization final : public OpKernel {
 public:
  explicit LpNormalization(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", -1)), p_(info.attributes().Int("p", 2)) {
    if (p_ != 1 && p_ != 2) info.Fail("p is " + std::to_string(p_) + ", neither 1 nor 2");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const std::int64_t size = x.dim(axis), inner = Product(x.dims().subspan(axis + 1));
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(context, x.size() / size, 2.5 * static_cast<double>(size),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t c = begin; c < end; ++c) {
                        const std::int64_t at = c / inner * size * inner + c % inner;
                        Column(x.data<T>() + at, y.data_mutable<T>() + at, size, inner);
                      }
                    });
    });
  }

 private:
  template <typename T>
  void Column(const T* x, T* y, std::int64_t size, std::int64_t stride) const {
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto v = static_cast<double>(Widen(x[i * stride]));
      sum += p_ == 1 ? std::abs(v) : v * v;
    }
    const double norm = p_ == 1 ? sum : std::sqrt(sum);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto v = static_cast<double>(Widen(x[i * stride]));
      y[i * stride] = Narrow<T>(static_cast<ComputeOf<T>>(norm != 0 ? v / norm : 0.0));
    }
  }
  std::int64_t axis_, p_;
};

class MeanVariance final : public OpKernel {
 public:
  explicit MeanVariance(OpKernelInfo& info) : axes_(info.attributes().Ints("axes")) {
    if (axes_.empty()) axes_ = {0, 2, 3};
    if (info.node().SinceVersion() < 9) {
      with_variance_ = info.attributes().Int("normalize_variance", 1) != 0;
      if (info.attributes().Int("across_channels", 0) != 0) axes_ = {1, 2, 3};
      if (info.attributes().Int("across_channels", 0) == 0) axes_ = {2, 3};
    }
  }

  void Prepare(PrepareContext& context) const override {
    context.SetScratch(static_cast<std::size_t>(Product(context.input_dims(0))) * 2 *
                       sizeof(double));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    Dims group_strides(x.rank(), 1);
    for (std::int64_t a : axes_)
      group_strides[static_cast<std::size_t>(NormalizeAxis(context, a, x.rank()))] = 0;
    std::int64_t groups = 1;
    for (std::size_t i = x.rank(); i-- > 0;) {
      if (group_strides[i] == 0) continue;
      group_strides[i] = groups;
      groups *= x.dim(i);
    }
    auto* mean = static_cast<double*>(context.scratch());
    double* deviation = mean + groups;
    std::fill_n(mean, 2 * groups, 0.0);
    const double count = static_cast<double>(x.size() / groups);
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      T* to = y.data_mutable<T>();
      const auto value = [&](std::int64_t i) { return static_cast<double>(Widen(from[i])); };
      Walk(x.dims(), group_strides,
           [&](std::int64_t i, std::int64_t g) { mean[g] += value(i) / count; });
      Walk(x.dims(), group_strides, [&](std::int64_t i, std::int64_t g) {
        deviation[g] += (value(i) - mean[g]) * (value(i) - mean[g]) / count;
      });
      Walk(x.dims(), group_strides, [&](std::int64_t i, std::int64_t g) {
        const double scale = with_variance_ ? std::sqrt(deviation[g]) + 1e-9 : 1.0;
        to[i] = Narrow<T>(static_cast<ComputeOf<T>>((value(i) - mean[g]) / scale));
      });
    });
  }

 private:
  template <typename F>
  static void Walk(std::span<const std::int64_t> dims, const Dims& strides, F f) {
    Dims at(dims.size(), 0);
    const std::int64_t total = Product(dims);
    std::int64_t group = 0;
    for (std::int64_t i = 0; i < total; ++i) {
      f(i, group);
      for (std::size_t k = dims.size(); k-- > 0;) {
        group += strides[k];
        if (++at[k] < dims[k]) break;
        group -= strides[k] * dims[k];
        at[k] = 0;
      }
    }
  }
  Dims axes_;
  bool with_variance_ = true;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("LRN").Input(0, types::kFloats).Make<LocalResponse>());
  registry.Register(
      KernelCreateInfo::For("LpNormalization").Input(0, types::kFloats).Make<LpNormalization>());
  registry.Register(KernelCreateInfo::For("MeanVarianceNormalization")
                        .Input(0, types::kFloats)
                        .Make<MeanVariance>());
}

}  // namespace switchyard::cpu::kernels::normalize
