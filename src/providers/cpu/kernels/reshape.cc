// Operators whose output is the input's memory under other dims: Reshape, Flatten, Squeeze,
// Unsqueeze, Identity.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::reshape {
namespace {

class Reshape final : public OpKernel {
 public:
  explicit Reshape(OpKernelInfo& info)
      : keep_zero_(info.attributes().Int("allowzero", 0) != 0),
        from_attribute_(info.node().SinceVersion() < 5) {
    const auto shape = info.attributes().Ints("shape");
    attribute_.assign(shape.begin(), shape.end());
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims wanted = from_attribute_ ? attribute_ : ReadIntegers(context, 1);
    Dims dims;
    std::int64_t known = 1;
    int free_axis = -1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::int64_t d = wanted[i];
      if (d == 0 && !keep_zero_) {
        if (i >= x.rank()) Mismatch(context, x, wanted);
        d = x.dim(i);
      }
      if (d < -1 || (d == -1 && free_axis >= 0)) Mismatch(context, x, wanted);
      if (d == -1) {
        free_axis = static_cast<int>(i);
      } else if (__builtin_mul_overflow(known, d, &known)) {
        Mismatch(context, x, wanted);
      }
      dims.push_back(d);
    }
    if (free_axis >= 0) {
      if (known == 0 ? x.size() != 0 : x.size() % known != 0) Mismatch(context, x, wanted);
      dims[static_cast<std::size_t>(free_axis)] = known == 0 ? 0 : x.size() / known;
    }
    if (Product(dims) != x.size()) Mismatch(context, x, wanted);
    CopyTensor(context, x, context.Output(0, dims));
  }

 private:
  [[noreturn]] static void Mismatch(const OpKernelContext& context, const Tensor& x,
                                    const Dims& wanted) {
    context.Fail("cannot reshape " + x.Describe() + " to " + DimsToString(wanted));
  }
  bool keep_zero_;
  bool from_attribute_;
  Dims attribute_;
};

class Flatten final : public OpKernel {
 public:
  explicit Flatten(OpKernelInfo& info) : axis_(info.attributes().Int("axis", 1)) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (axis_ < -rank || axis_ > rank)
      context.Fail("axis " + std::to_string(axis_) + " is out of range for " + x.Describe());
    const auto axis = static_cast<std::size_t>(axis_ < 0 ? axis_ + rank : axis_);
    const Dims dims{Product(x.dims().first(axis)), Product(x.dims().subspan(axis))};
    CopyTensor(context, x, context.Output(0, dims));
  }

 private:
  std::int64_t axis_;
};

// Both take their axes from an attribute before opset 13, from an input afterwards.
class Axes {
 public:
  explicit Axes(const OpKernelInfo& info) : from_attribute_(info.node().SinceVersion() < 13) {
    const auto axes = info.attributes().Ints("axes");
    attribute_.assign(axes.begin(), axes.end());
  }
  // False: none given.
  bool Get(const OpKernelContext& context, Dims* axes) const {
    if (from_attribute_) {
      *axes = attribute_;
      return !attribute_.empty();
    }
    if (!context.has_input(1)) return false;
    *axes = ReadIntegers(context, 1);
    return true;
  }

 private:
  bool from_attribute_;
  Dims attribute_;
};

class Squeeze final : public OpKernel {
 public:
  explicit Squeeze(OpKernelInfo& info) : axes_(info) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims axes, dims;
    const bool given = axes_.Get(context, &axes);
    InlineVector<bool, 8> drop(x.rank(), false);
    for (std::int64_t a : axes) {
      const auto at = static_cast<std::size_t>(NormalizeAxis(context, a, x.rank()));
      if (x.dim(at) != 1)
        context.Fail("axis " + std::to_string(a) + " of " + x.Describe() + " is not 1");
      drop[at] = true;
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (given ? !drop[i] : x.dim(i) != 1) dims.push_back(x.dim(i));
    }
    CopyTensor(context, x, context.Output(0, dims));
  }

 private:
  Axes axes_;
};

class Unsqueeze final : public OpKernel {
 public:
  explicit Unsqueeze(OpKernelInfo& info) : axes_(info) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims axes;
    axes_.Get(context, &axes);
    Dims dims(x.rank() + axes.size(), -1);
    for (std::int64_t a : axes) {
      auto& at = dims[static_cast<std::size_t>(NormalizeAxis(context, a, dims.size()))];
      if (at == 1) context.Fail("axis " + std::to_string(a) + " is given twice");
      at = 1;
    }
    std::size_t next = 0;
    for (std::int64_t& d : dims) {
      if (d == -1) d = x.dim(next++);
    }
    CopyTensor(context, x, context.Output(0, dims));
  }

 private:
  Axes axes_;
};

class Identity final : public OpKernel {
 public:
  explicit Identity(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const OrtValue& value = context.InputValue(0);
    if (value.is_tensor()) {
      const Tensor& x = value.tensor();
      CopyTensor(context, x, context.Output(0, x.dims()));
    } else {
      context.SetOutput(0, value);
    }
  }
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("Reshape").Since(1, 4).MustAlias(0, 0).Make<Reshape>());
  registry.Register(
      KernelCreateInfo::For("Reshape").Since(5).HostInput(1).MustAlias(0, 0).Make<Reshape>());
  registry.Register(KernelCreateInfo::For("Flatten").MustAlias(0, 0).Make<Flatten>());
  registry.Register(KernelCreateInfo::For("Squeeze").Since(1, 12).MustAlias(0, 0).Make<Squeeze>());
  registry.Register(
      KernelCreateInfo::For("Squeeze").Since(13).HostInput(1).MustAlias(0, 0).Make<Squeeze>());
  registry.Register(
      KernelCreateInfo::For("Unsqueeze").Since(1, 12).MustAlias(0, 0).Make<Unsqueeze>());
  registry.Register(
      KernelCreateInfo::For("Unsqueeze").Since(13).HostInput(1).MustAlias(0, 0).Make<Unsqueeze>());
  registry.Register(KernelCreateInfo::For("Identity").MustAlias(0, 0).Make<Identity>());
}

}  // namespace switchyard::cpu::kernels::reshape
