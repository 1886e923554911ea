// Pieces of transformers: RotaryEmbedding, SwiGLU.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::transformer {
namespace {

class SwiGlu final : public OpKernel {
 public:
  explicit SwiGlu(OpKernelInfo& info) : alpha_(info.attributes().Float("alpha", 1.0f)) {
    const auto type = static_cast<math::ElemType>(info.input_type(0).elem);
    silu_ = math::GetUnary(math::UnaryOp::kSilu, type, IsaOf(info));
    multiply_ = math::GetBinary(math::BinaryOp::kMul, type, IsaOf(info));
    if (silu_.fn == nullptr || multiply_.fn == nullptr) {
      info.Fail("no vector kernel", ErrorCode::kNotImplemented);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    if (!std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end())) {
      context.Fail("A is " + a.Describe() + ", B is " + b.Describe());
    }
    Tensor& y = context.Output(0, a.dims());
    const std::int64_t bytes = silu_.in_bytes;
    const auto* gate = static_cast<const std::byte*>(a.raw());
    const auto* linear = static_cast<const std::byte*>(b.raw());
    auto* out = static_cast<std::byte*>(y.raw_mutable());
    ParallelItems(context, a.size(), 1.5, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += kBlock) {
        const std::int64_t n = std::min(kBlock, end - begin), at = begin * bytes;
        alignas(64) std::byte block[kBlock * 8];
        math::RunUnary(silu_, gate + at, block, n, alpha_);
        math::RunBinary(multiply_, block, linear + at, out + at, n, math::Span::kVectorVector);
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;
  float alpha_;
  math::UnaryKernel silu_;
  math::BinaryKernel multiply_;
};

// Rotates pairs of each head by the angles of its position.
class RotaryEmbedding final : public OpKernel {
 public:
  explicit RotaryEmbedding(OpKernelInfo& info)
      : heads_(info.attributes().Int("num_heads", 0)),
        rotary_(info.attributes().Int("rotary_embedding_dim", 0)),
        interleaved_(info.attributes().Int("interleaved", 0) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Layout l = LayoutOf(context, x);
    const Tensor& cosines = context.Input(1);
    const Tensor& sines = context.Input(2);
    const Tensor* positions = context.OptionalInput(3);
    const std::int64_t half = l.rotary / 2;
    const std::int64_t wanted = l.batch * l.length * half;
    const bool fits =
        cosines.rank() >= 2 && cosines.dim(cosines.rank() - 1) == half &&
        sines.size() == cosines.size() &&
        (positions != nullptr ? positions->size() == l.batch * l.length : cosines.size() == wanted);
    if (!fits) {
      context.Fail("X " + x.Describe() + ", cos_cache " + cosines.Describe() + ", sin_cache " +
                   sines.Describe());
    }
    CheckPositions(context, positions, half > 0 ? cosines.size() / half : 0);
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double ns = 1.5 * static_cast<double>(l.size);
      ParallelItems(context, l.batch * l.length * l.heads, ns,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t token = i / l.heads, head = i % l.heads;
                        const std::int64_t row = PositionOf(positions, token);
                        const std::int64_t at = l.At(token, head);
                        Rotate(l, x.data<T>() + at, cosines.data<T>() + row * half,
                               sines.data<T>() + row * half, y.data_mutable<T>() + at);
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

  Layout LayoutOf(const OpKernelContext& context, const Tensor& x) const {
    Layout l{};
    if (x.rank() == 4) {
      l = {x.dim(0), x.dim(2), x.dim(1), x.dim(3), 0, true};
    } else if (x.rank() == 3 && heads_ > 0 && x.dim(2) % heads_ == 0) {
      l = {x.dim(0), x.dim(1), heads_, x.dim(2) / heads_, 0, false};
    } else {
      context.Fail("X is " + x.Describe() + ", num_heads " + std::to_string(heads_));
    }
    l.rotary = rotary_ > 0 ? rotary_ : l.size;
    if (l.rotary > l.size || l.rotary % 2 != 0) {
      context.Fail("rotary_embedding_dim " + std::to_string(l.rotary) + " of heads of " +
                   std::to_string(l.size));
    }
    return l;
  }

  static std::int64_t PositionOf(const Tensor* positions, std::int64_t token) {
    return positions != nullptr ? positions->data<std::int64_t>()[token] : token;
  }

  static void CheckPositions(const OpKernelContext& context, const Tensor* positions,
                             std::int64_t rows) {
    if (positions == nullptr) return;
    for (const std::int64_t p : positions->values<std::int64_t>()) {
      if (p < 0 || p >= rows) {
        context.Fail("position " + std::to_string(p) + " of a cache of " + std::to_string(rows));
      }
    }
  }

  template <typename T>
  void Rotate(const Layout& l, const T* x, const T* cosines, const T* sines, T* y) const {
    using C = ComputeOf<T>;
    const std::int64_t half = l.rotary / 2;
    for (std::int64_t k = 0; k < half; ++k) {
      const std::int64_t i = interleaved_ ? 2 * k : k, j = interleaved_ ? 2 * k + 1 : k + half;
      const C a = Widen(x[i]), b = Widen(x[j]), c = Widen(cosines[k]), s = Widen(sines[k]);
      y[i] = Narrow<T>(static_cast<C>(c * a - s * b));
      y[j] = Narrow<T>(static_cast<C>(s * a + c * b));
    }
    if (x != y) std::copy(x + l.rotary, x + l.size, y + l.rotary);
  }

  std::int64_t heads_, rotary_;
  bool interleaved_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("SwiGLU").Input(0, types::kFloats).MayAlias(1, 0).Make<SwiGlu>());
  registry.Register(
      KernelCreateInfo::For("RotaryEmbedding").Input(0, types::kFloats).Make<RotaryEmbedding>());
}

}  // namespace switchyard::cpu::kernels::transformer
