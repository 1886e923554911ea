// com.microsoft RotaryEmbedding.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/kernels/common/rotary.h"

namespace switchyard::cpu::kernels::contrib_rotary {
namespace {

class Rotary final : public OpKernel {
 public:
  explicit Rotary(OpKernelInfo& info)
      : interleaved_(info.attributes().Int("interleaved", 0) != 0),
        heads_(info.attributes().Int("num_heads", 0)),
        rotary_(info.attributes().Int("rotary_embedding_dim", 0)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& places = context.Input(1);
    const Tensor& cosines = context.Input(2);
    const Tensor& sines = context.Input(3);
    Layout l = LayoutOf(context, x, cosines);
    if (places.size() != 1 && places.size() != l.batch * l.length)
      context.Fail("position_ids " + places.Describe() + " for " + x.Describe());
    if (cosines.rank() != 2 || cosines.dim(1) * 2 != l.rotary || sines.size() != cosines.size()) {
      context.Fail("cos_cache " + cosines.Describe() + ", sin_cache " + sines.Describe() + " for " +
                   std::to_string(l.rotary) + " rotated elements");
    }
    const auto* ids = places.data<std::int64_t>();
    const auto place = [&](std::int64_t token) {
      return places.size() == 1 ? ids[0] + token % l.length : ids[token];
    };
    for (std::int64_t t = 0; t < l.batch * l.length; ++t) {
      if (place(t) < 0 || place(t) >= cosines.dim(0)) {
        context.Fail("position " + std::to_string(place(t)) + " of a cache of " +
                     std::to_string(cosines.dim(0)));
      }
    }
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), TypeList<float, Float16, BFloat16>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double ns = 1.5 * static_cast<double>(l.size);
      const std::int64_t half = l.rotary / 2;
      ParallelItems(context, l.batch * l.length * l.heads, ns,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t token = i / l.heads;
                        const std::int64_t at = l.At(token, i % l.heads);
                        const std::int64_t row = place(token) * half;
                        Turn(l, x.data<T>() + at, cosines.data<T>() + row, sines.data<T>() + row,
                             y.data_mutable<T>() + at);
                      }
                    });
    });
  }

 private:
  struct Layout {
    std::int64_t batch, length, heads, size, rotary;
    bool heads_first;
    std::int64_t At(std::int64_t token, std::int64_t head) const {
      const std::int64_t b = token / length, s = token % length;
      return heads_first ? ((b * heads + head) * length + s) * size : (token * heads + head) * size;
    }
  };

  Layout LayoutOf(const OpKernelContext& context, const Tensor& x, const Tensor& cosines) const {
    Layout l{};
    if (x.rank() == 4) {
      l = {x.dim(0), x.dim(2), x.dim(1), x.dim(3), 0, true};
    } else if (x.rank() == 3) {
      // Without num_heads the whole head is as wide as the caches say.
      std::int64_t heads = heads_;
      if (heads == 0 && cosines.rank() == 2 && cosines.dim(1) > 0)
        heads = x.dim(2) / (2 * cosines.dim(1));
      if (heads < 1 || x.dim(2) % heads != 0)
        context.Fail("input " + x.Describe() + ", num_heads " + std::to_string(heads_));
      l = {x.dim(0), x.dim(1), heads, x.dim(2) / heads, 0, false};
    } else {
      context.Fail("input " + x.Describe());
    }
    l.rotary = rotary_ > 0 ? rotary_ : l.size;
    if (l.rotary > l.size || l.rotary % 2 != 0) {
      context.Fail("rotary_embedding_dim " + std::to_string(l.rotary) + " of heads of " +
                   std::to_string(l.size));
    }
    return l;
  }

  template <typename T>
  void Turn(const Layout& l, const T* x, const T* cosines, const T* sines, T* y) const {
    if constexpr (kIsHalf<T>) {
      for (std::int64_t k = 0; k < l.rotary / 2; ++k) {
        const std::int64_t i = interleaved_ ? 2 * k : k;
        const std::int64_t j = interleaved_ ? 2 * k + 1 : k + l.rotary / 2;
        const float a = Widen(x[i]), b = Widen(x[j]), c = Widen(cosines[k]), s = Widen(sines[k]);
        y[i] = Narrow<T>(c * a - s * b);
        y[j] = Narrow<T>(s * a + c * b);
      }
      if (x != y) std::copy(x + l.rotary, x + l.size, y + l.rotary);
    } else {
      RotateHead(x, cosines, sines, l.size, l.rotary, interleaved_, y);
    }
  }

  bool interleaved_;
  std::int64_t heads_, rotary_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("RotaryEmbedding", "com.microsoft")
                        .Input(0, DataType::kFloat | DataType::kFloat16 | DataType::kBFloat16)
                        .Make<Rotary>());
}

}  // namespace switchyard::cpu::kernels::contrib_rotary
