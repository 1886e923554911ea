// Random numbers: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial,
// Dropout. A counter-based generator: element i of a draw depends on seed, draw and i alone.

#include <atomic>
#include <bit>
#include <chrono>
#include <random>

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::random {
namespace {

// SplitMix64's finaliser over a counter.
std::uint64_t Mix(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t z = key + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
// In [0, 1).
double Unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A given seed makes a session repeatable: draw n of a node is the same in every session.
class Source {
 public:
  explicit Source(const OpKernelInfo& info, bool integer_seed = false) {
    if (info.attributes().Has("seed")) {
      seed_ = integer_seed ? static_cast<std::uint64_t>(info.attributes().Int("seed", 0))
                           : static_cast<std::uint64_t>(
                                 std::bit_cast<std::uint32_t>(info.attributes().Float("seed", 0)));
    } else {
      static std::atomic<std::uint64_t> made{0};
      const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
      seed_ = Mix(static_cast<std::uint64_t>(now), made.fetch_add(1));
    }
  }
  // The seed itself for the first draw.
  std::uint32_t NextSeed() const {
    const std::uint64_t draw = draws_.fetch_add(1, std::memory_order_relaxed);
    return static_cast<std::uint32_t>(draw == 0 ? seed_ : Mix(seed_, draw));
  }
  std::uint64_t NextKey() const {
    return Mix(seed_, draws_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  std::uint64_t seed_;
  mutable std::atomic<std::uint64_t> draws_{0};
};

class Fill final : public OpKernel {
 public:
  explicit Fill(OpKernelInfo& info) : source_(info) {
    const std::string& op = info.node().OpType();
    normal_ = op.find("Normal") != std::string::npos;
    like_ = op.find("Like") != std::string::npos;
    a_ = normal_ ? info.attributes().Float("mean", 0.0f) : info.attributes().Float("low", 0.0f);
    b_ = normal_ ? info.attributes().Float("scale", 1.0f) : info.attributes().Float("high", 1.0f);
    const auto shape = info.attributes().Ints("shape");
    shape_.assign(shape.begin(), shape.end());
    for (std::int64_t d : shape_) {
      if (d < 0) info.Fail("shape is " + DimsToString(shape_));
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& y =
        context.Output(0, like_ ? context.Input(0).dims() : std::span<const std::int64_t>(shape_));
    const std::uint64_t key = source_.NextKey();
    DispatchType(y.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = y.data_mutable<T>();
      ParallelItems(context, y.size(), normal_ ? 20 : 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          to[i] = Narrow<T>(static_cast<ComputeOf<T>>(One(key, static_cast<std::uint64_t>(i))));
      });
    });
  }

 private:
  double One(std::uint64_t key, std::uint64_t i) const {
    if (!normal_)
      return static_cast<double>(a_) +
             Unit(Mix(key, i)) * (static_cast<double>(b_) - static_cast<double>(a_));
    const double u = 1 - Unit(Mix(key, 2 * i)), v = Unit(Mix(key, 2 * i + 1));
    return static_cast<double>(a_) +
           static_cast<double>(b_) * std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
  Source source_;
  bool normal_ = false, like_ = false;
  float a_ = 0, b_ = 1;
  Dims shape_;
};

class Bernoulli final : public OpKernel {
 public:
  explicit Bernoulli(OpKernelInfo& info) : source_(info) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const std::uint64_t key = source_.NextKey();
    DispatchType(x.type(), FloatTypes{}, [&](auto from_tag) {
      using F = typename decltype(from_tag)::type;
      DispatchType(y.type(), NumericAndBoolTypes{}, [&](auto to_tag) {
        using T = typename decltype(to_tag)::type;
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const bool hit = Unit(Mix(key, static_cast<std::uint64_t>(i))) <
                           static_cast<double>(Widen(x.data<F>()[i]));
          y.data_mutable<T>()[i] = static_cast<T>(ComputeOf<T>(hit ? 1 : 0));
        }
      });
    });
  }

 private:
  Source source_;
};

class Multinomial final : public OpKernel {
 public:
  explicit Multinomial(OpKernelInfo& info)
      : source_(info), samples_(info.attributes().Int("sample_size", 1)) {
    if (samples_ < 1) info.Fail("sample_size is " + std::to_string(samples_));
  }
  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    if (dims.size() != 2 || dims[1] < 1) context.Fail("the input has dims " + DimsToString(dims));
    context.SetScratch(static_cast<std::size_t>(dims[1]) * sizeof(double));
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims dims{x.dim(0), samples_};
    Tensor& y = context.Output(0, dims);
    const std::int64_t classes = x.dim(1);
    auto* sums = static_cast<double*>(context.scratch());
    const std::uint64_t key = source_.NextKey();
    for (std::int64_t r = 0; r < x.dim(0); ++r) {
      Cumulate(x, r, classes, sums);
      for (std::int64_t s = 0; s < samples_; ++s) {
        const double u =
            Unit(Mix(key, static_cast<std::uint64_t>(r * samples_ + s))) * sums[classes - 1];
        const std::int64_t hit =
            std::min<std::int64_t>(std::upper_bound(sums, sums + classes, u) - sums, classes - 1);
        if (y.type() == DataType::kInt32) {
          y.data_mutable<std::int32_t>()[r * samples_ + s] = static_cast<std::int32_t>(hit);
        } else {
          y.data_mutable<std::int64_t>()[r * samples_ + s] = hit;
        }
      }
    }
  }

 private:
  // The inputs are logarithms of unnormalised probabilities.
  static void Cumulate(const Tensor& x, std::int64_t row, std::int64_t classes, double* sums) {
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* logits = x.data<T>() + row * classes;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < classes; ++c)
        largest = std::max(largest, static_cast<double>(Widen(logits[c])));
      for (std::int64_t c = 0; c < classes; ++c) {
        sum += std::exp(static_cast<double>(Widen(logits[c])) - largest);
        sums[c] = sum;
      }
    });
  }
  Source source_;
  std::int64_t samples_;
};

// Inference passes the input on. Training (opset 12 on) drops and scales.
class Dropout final : public OpKernel {
 public:
  explicit Dropout(OpKernelInfo& info)
      : source_(info, true), version_(info.node().SinceVersion()) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const bool training = version_ >= 12 && context.has_input(2) && ReadScalar(context, 2) != 0;
    const double ratio = context.has_input(1) && version_ >= 12 ? ReadScalar(context, 1) : 0.5;
    if (training && !(ratio >= 0 && ratio < 1)) context.Fail("ratio is " + std::to_string(ratio));
    Tensor* mask = context.has_output(1) ? &context.Output(1, x.dims()) : nullptr;
    if (!training || ratio == 0) {
      if (mask != nullptr) FillMask(*mask);
      if (context.has_output(0)) CopyTensor(context, x, context.Output(0, x.dims()));
      return;
    }
    Tensor* y = context.has_output(0) ? &context.Output(0, x.dims()) : nullptr;
    // With a seed the mask is that of the operator's definition, which draws from this generator.
    std::mt19937 engine(source_.NextSeed());
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto scale = static_cast<ComputeOf<T>>(1 / (1 - ratio));
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::uint32_t high = engine() >> 5, low = engine() >> 6;
        const bool keep = (high * 67108864.0 + low) * 0x1p-53 >= ratio;
        if (y != nullptr) {
          y->data_mutable<T>()[i] = Narrow<T>(
              static_cast<ComputeOf<T>>(keep ? Widen(x.data<T>()[i]) * scale : ComputeOf<T>(0)));
        }
        if (mask != nullptr) mask->data_mutable<bool>()[i] = keep;
      }
    });
  }

 private:
  static void FillMask(Tensor& mask) {
    DispatchType(mask.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::fill_n(mask.data_mutable<T>(), mask.size(), static_cast<T>(ComputeOf<T>(1)));
    });
  }
  Source source_;
  int version_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name :
       {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"}) {
    registry.Register(KernelCreateInfo::For(name).Output(0, types::kFloats).Make<Fill>());
  }
  registry.Register(KernelCreateInfo::For("Bernoulli").Input(0, types::kFloats).Make<Bernoulli>());
  registry.Register(
      KernelCreateInfo::For("Multinomial").Input(0, types::kFloats).Make<Multinomial>());
  registry.Register(KernelCreateInfo::For("Dropout")
                        .Input(0, types::kFloats)
                        .HostInput(1)
                        .HostInput(2)
                        .MayAlias(0, 0)
                        .Make<Dropout>());
}

}  // namespace switchyard::cpu::kernels::random
