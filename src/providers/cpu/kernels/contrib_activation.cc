// com.microsoft: Gelu, FastGelu, BiasGelu, QuickGelu, BiasSplitGelu, BiasAdd.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::contrib_activation {
namespace {

using math::ElemType;
using math::UnaryOp;

// A function of X, or of X plus a row that repeats over the last dim.
class Activation final : public OpKernel {
 public:
  Activation(OpKernelInfo& info, UnaryOp op)
      : alpha_(info.attributes().Float("alpha", 1.702f)),
        function_(math::GetUnary(op, static_cast<ElemType>(info.input_type(0).elem), IsaOf(info))),
        add_(math::GetBinary(math::BinaryOp::kAdd, static_cast<ElemType>(info.input_type(0).elem),
                             IsaOf(info))),
        bytes_(BytesOf(info.input_type(0).elem, 1)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor* bias = context.OptionalInput(1);
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const auto at = [this](const void* base, std::int64_t i) {
      return static_cast<const std::byte*>(base) + static_cast<std::size_t>(i) * bytes_;
    };
    auto* out = static_cast<std::byte*>(y.raw_mutable());
    if (bias == nullptr) {
      ParallelItems(context, y.size(), 0.6, [&](std::int64_t begin, std::int64_t end) {
        math::RunUnary(function_, at(x.raw(), begin),
                       out + static_cast<std::size_t>(begin) * bytes_, end - begin, alpha_);
      });
      return;
    }
    const std::int64_t width = x.rank() > 0 ? x.dim(x.rank() - 1) : 1;
    if (bias->size() != width) context.Fail("bias " + bias->Describe() + " for " + x.Describe());
    const double ns = 0.8 * static_cast<double>(width);
    ParallelItems(context, y.size() / width, ns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        std::byte* row = out + static_cast<std::size_t>(r * width) * bytes_;
        math::RunBinary(add_, at(x.raw(), r * width), bias->raw(), row, width,
                        math::Span::kVectorVector);
        math::RunUnary(function_, row, row, width, alpha_);
      }
    });
  }

 private:
  float alpha_;
  math::UnaryKernel function_;
  math::BinaryKernel add_;
  std::size_t bytes_;
};

// left * gelu(right) of the halves of X + bias.
class BiasSplitGelu final : public OpKernel {
 public:
  explicit BiasSplitGelu(OpKernelInfo& info) {
    const auto type = static_cast<ElemType>(info.input_type(0).elem);
    gelu_ = math::GetUnary(UnaryOp::kGeluErf, type, IsaOf(info));
    add_ = math::GetBinary(math::BinaryOp::kAdd, type, IsaOf(info));
    multiply_ = math::GetBinary(math::BinaryOp::kMul, type, IsaOf(info));
    bytes_ = BytesOf(info.input_type(0).elem, 1);
  }

  void Prepare(PrepareContext& context) const override {
    context.SetScratch(static_cast<std::size_t>(Product(context.input_dims(0))) * bytes_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& bias = context.Input(1);
    const std::int64_t width = x.rank() > 0 ? x.dim(x.rank() - 1) : 1;
    if (width % 2 != 0 || bias.size() != width)
      context.Fail("bias " + bias.Describe() + " for " + x.Describe());
    Dims dims(x.dims());
    dims.back() = width / 2;
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    const std::size_t row_bytes = static_cast<std::size_t>(width) * bytes_;
    auto* sums = static_cast<std::byte*>(context.scratch());
    auto* out = static_cast<std::byte*>(y.raw_mutable());
    ParallelItems(context, x.size() / width, static_cast<double>(width),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      const auto at = static_cast<std::size_t>(r) * row_bytes;
                      std::byte* row = sums + at;
                      math::RunBinary(add_, static_cast<const std::byte*>(x.raw()) + at, bias.raw(),
                                      row, width, math::Span::kVectorVector);
                      std::byte* right = row + row_bytes / 2;
                      math::RunUnary(gelu_, right, right, width / 2);
                      math::RunBinary(multiply_, row, right, out + at / 2, width / 2,
                                      math::Span::kVectorVector);
                    }
                  });
  }

 private:
  math::UnaryKernel gelu_;
  math::BinaryKernel add_, multiply_;
  std::size_t bytes_;
};

// X + bias + skip.
class BiasAdd final : public OpKernel {
 public:
  explicit BiasAdd(OpKernelInfo& info)
      : add_(math::GetBinary(math::BinaryOp::kAdd, static_cast<ElemType>(info.input_type(0).elem),
                             IsaOf(info))),
        bytes_(BytesOf(info.input_type(0).elem, 1)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& bias = context.Input(1);
    const Tensor& skip = context.Input(2);
    const std::int64_t width = x.rank() > 0 ? x.dim(x.rank() - 1) : 1;
    if (bias.size() != width || skip.size() != x.size())
      context.Fail("bias " + bias.Describe() + ", skip " + skip.Describe() + " for " +
                   x.Describe());
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const std::size_t row_bytes = static_cast<std::size_t>(width) * bytes_;
    const auto row_of = [row_bytes](const void* base, std::int64_t r) {
      return static_cast<const std::byte*>(base) + static_cast<std::size_t>(r) * row_bytes;
    };
    ParallelItems(context, x.size() / width, 0.6 * static_cast<double>(width),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      std::byte* row = static_cast<std::byte*>(y.raw_mutable()) +
                                       static_cast<std::size_t>(r) * row_bytes;
                      math::RunBinary(add_, row_of(x.raw(), r), bias.raw(), row, width,
                                      math::Span::kVectorVector);
                      math::RunBinary(add_, row, row_of(skip.raw(), r), row, width,
                                      math::Span::kVectorVector);
                    }
                  });
  }

 private:
  math::BinaryKernel add_;
  std::size_t bytes_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  static constexpr std::pair<const char*, UnaryOp> kFunctions[] = {
      {"Gelu", UnaryOp::kGeluErf},
      {"BiasGelu", UnaryOp::kGeluErf},
      {"FastGelu", UnaryOp::kGeluTanh},
      {"QuickGelu", UnaryOp::kSilu},
  };
  for (const auto& [name, op] : kFunctions) {
    registry.Register(KernelCreateInfo::For(name, "com.microsoft")
                          .Input(0, types::kFloats)
                          .Create([op = op](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Activation>(info, op);
                          }));
  }
  registry.Register(KernelCreateInfo::For("BiasSplitGelu", "com.microsoft")
                        .Input(0, types::kFloats)
                        .Make<BiasSplitGelu>());
  registry.Register(
      KernelCreateInfo::For("BiasAdd", "com.microsoft").Input(0, types::kFloats).Make<BiasAdd>());
}

}  // namespace switchyard::cpu::kernels::contrib_activation
