// BatchNormalization in inference and training form, all versions.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_norm.h"

namespace switchyard::cpu::kernels::batch_norm {
namespace {

double At(const Tensor& tensor, std::int64_t i) {
  double value = 0;
  DispatchType(tensor.type(), FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = static_cast<double>(Widen(tensor.data<T>()[i]));
  });
  return value;
}

void Put(Tensor& tensor, std::int64_t i, double value) {
  DispatchType(tensor.type(), FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    tensor.data_mutable<T>()[i] = Narrow<T>(static_cast<ComputeOf<T>>(value));
  });
}

// The input as [batch, channels, spatial].
struct Extents {
  std::int64_t batch = 1, channels = 1, spatial = 1;
};

class BatchNorm final : public OpKernel {
 public:
  explicit BatchNorm(OpKernelInfo& info)
      : epsilon_(info.attributes().Float("epsilon", 1e-5f)),
        momentum_(info.attributes().Float("momentum", 0.9f)),
        per_channel_(info.node().SinceVersion() >= 9 || info.attributes().Int("spatial", 1) != 0),
        level_(IsaOf(info)) {
    const int version = info.node().SinceVersion();
    const bool extra = info.num_outputs() > 1;
    if (version >= 14) {
      training_ = info.attributes().Int("training_mode", 0) != 0;
    } else if (version >= 7) {
      training_ = extra;
    } else {
      training_ = extra && info.attributes().Int("is_test", 0) == 0;
    }
  }

  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    // Factor and offset of each channel, in double and in float.
    context.SetScratch(static_cast<std::size_t>(ExtentsOf(dims).channels) * 2 *
                       (sizeof(double) + sizeof(float)));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Extents e = ExtentsOf(x.dims());
    for (std::size_t i = 1; i < 5; ++i) {
      if (context.Input(i).size() != e.channels) {
        context.Fail("input " + std::to_string(i) + " is " + context.Input(i).Describe() + " for " +
                     std::to_string(e.channels) + " channels");
      }
    }
    Tensor& y = context.Output(0, x.dims());
    auto* factor = static_cast<double*>(context.scratch());
    double* offset = factor + e.channels;
    if (training_) {
      Statistics(context, x, e, factor, offset);
    } else {
      for (std::int64_t c = 0; c < e.channels; ++c) {
        factor[c] = At(context.Input(3), c);
        offset[c] = At(context.Input(4), c);
      }
    }
    for (std::int64_t c = 0; c < e.channels; ++c) {
      const double mean = factor[c];
      factor[c] = At(context.Input(1), c) / std::sqrt(offset[c] + static_cast<double>(epsilon_));
      offset[c] = At(context.Input(2), c) - mean * factor[c];
    }
    if (y.size() != 0) Apply(context, x, e, factor, offset, y);
  }

 private:
  Extents ExtentsOf(std::span<const std::int64_t> dims) const {
    Extents e;
    if (dims.empty()) return e;
    e.batch = dims[0];
    if (dims.size() == 1) return e;
    e.channels = per_channel_ ? dims[1] : Product(dims.subspan(1));
    e.spatial = per_channel_ ? Product(dims.subspan(2)) : 1;
    return e;
  }

  // Mean and population variance of each channel; writes the running statistics.
  void Statistics(OpKernelContext& context, const Tensor& x, const Extents& e, double* mean,
                  double* variance) const {
    const double count = static_cast<double>(e.batch * e.spatial);
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      ParallelItems(context, e.channels, 3.0 * count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          double sum = 0, squares = 0;
          ForChannel(from, e, c, [&](T v) { sum += static_cast<double>(Widen(v)); });
          mean[c] = sum / count;
          ForChannel(from, e, c, [&](T v) {
            const double d = static_cast<double>(Widen(v)) - mean[c];
            squares += d * d;
          });
          variance[c] = squares / count;
        }
      });
    });
    const double keep = static_cast<double>(momentum_);
    const Dims dims{e.channels};
    for (std::size_t out = 1; out < 5; ++out) {
      if (!context.has_output(out)) continue;
      Tensor& to = context.Output(out, dims);
      const double* batch = out % 2 == 1 ? mean : variance;
      for (std::int64_t c = 0; c < e.channels; ++c) {
        const double old_value = At(context.Input(out % 2 == 1 ? 3 : 4), c);
        Put(to, c, out < 3 ? old_value * keep + batch[c] * (1 - keep) : batch[c]);
      }
    }
  }

  template <typename T, typename F>
  static void ForChannel(const T* x, const Extents& e, std::int64_t c, F f) {
    for (std::int64_t n = 0; n < e.batch; ++n) {
      const T* plane = x + (n * e.channels + c) * e.spatial;
      for (std::int64_t i = 0; i < e.spatial; ++i) f(plane[i]);
    }
  }

  void Apply(OpKernelContext& context, const Tensor& x, const Extents& e, const double* factor,
             double* offset, Tensor& y) const {
    const std::int64_t rows = e.batch * e.channels;
    if (x.type() == DataType::kDouble) {
      ParallelItems(context, rows, 0.6 * static_cast<double>(e.spatial),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        const double a = factor[r % e.channels], b = offset[r % e.channels];
                        const double* from = x.data<double>() + r * e.spatial;
                        double* to = y.data_mutable<double>() + r * e.spatial;
                        for (std::int64_t i = 0; i < e.spatial; ++i) to[i] = from[i] * a + b;
                      }
                    });
      return;
    }
    auto* scale = reinterpret_cast<float*>(offset + e.channels);
    float* shift = scale + e.channels;
    for (std::int64_t c = 0; c < e.channels; ++c) {
      scale[c] = static_cast<float>(factor[c]);
      shift[c] = static_cast<float>(offset[c]);
    }
    ParallelItems(context, rows, 0.4 * static_cast<double>(e.spatial),
                  [&](std::int64_t begin, std::int64_t end) {
                    math::RunChannelAffine(static_cast<math::ElemType>(x.type()), level_, x.raw(),
                                           y.raw_mutable(), scale, shift, e.channels, e.spatial,
                                           begin, end);
                  });
  }

  float epsilon_, momentum_;
  bool per_channel_;
  bool training_ = false;
  math::IsaLevel level_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("BatchNormalization").Input(0, types::kFloats).Make<BatchNorm>());
}

}  // namespace switchyard::cpu::kernels::batch_norm
