// Operators whose output is the input's memory under other dims, and those that only tell sizes.

#include "providers/opencl/kernel.h"

namespace switchyard::opencl::kernels::views {
namespace {

// The planner mostly gives the output the input's memory; then nothing is left to be done.
class View : public ClKernel {
 public:
  explicit View(OpKernelInfo& info) : ClKernel(info) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    CopyOnDevice(context, x, context.Output(0, Target(context, x)));
  }

 protected:
  virtual Dims Target(OpKernelContext& context, const Tensor& x) const = 0;
};

class Reshape final : public View {
 public:
  explicit Reshape(OpKernelInfo& info)
      : View(info),
        keep_zero_(info.attributes().Int("allowzero", 0) != 0),
        from_attribute_(info.node().SinceVersion() < 5) {
    const auto shape = info.attributes().Ints("shape");
    attribute_.assign(shape.begin(), shape.end());
  }

 private:
  Dims Target(OpKernelContext& context, const Tensor& x) const override {
    Dims dims = from_attribute_ ? attribute_ : ReadIntegers(context, 1);
    std::int64_t known = 1;
    std::ptrdiff_t open = -1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0 && !keep_zero_) {
        if (i >= x.rank()) context.Fail("cannot reshape " + x.Describe());
        dims[i] = x.dim(i);
      }
      if (dims[i] < -1 || (dims[i] == -1 && open >= 0))
        context.Fail("cannot reshape " + x.Describe());
      if (dims[i] == -1) {
        open = static_cast<std::ptrdiff_t>(i);
      } else if (__builtin_mul_overflow(known, dims[i], &known)) {
        context.Fail("cannot reshape " + x.Describe());
      }
    }
    if (open >= 0) {
      if (known == 0 ? x.size() != 0 : x.size() % known != 0)
        context.Fail("cannot reshape " + x.Describe());
      dims[static_cast<std::size_t>(open)] = known == 0 ? 0 : x.size() / known;
    }
    if (Product(dims) != x.size()) context.Fail("cannot reshape " + x.Describe());
    return dims;
  }
  bool keep_zero_, from_attribute_;
  Dims attribute_;
};

class Flatten final : public View {
 public:
  explicit Flatten(OpKernelInfo& info) : View(info), axis_(info.attributes().Int("axis", 1)) {}

 private:
  Dims Target(OpKernelContext& context, const Tensor& x) const override {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (axis_ < -rank || axis_ > rank)
      context.Fail(fmt::format("axis {} is out of range for {}", axis_, x.Describe()));
    const auto axis = static_cast<std::size_t>(axis_ < 0 ? axis_ + rank : axis_);
    return {Product(x.dims().first(axis)), Product(x.dims().subspan(axis))};
  }
  std::int64_t axis_;
};

// Axes stand in an attribute before opset 13, in an input from then on.
class Axes {
 public:
  explicit Axes(const OpKernelInfo& info) : from_attribute_(info.node().SinceVersion() < 13) {
    const auto axes = info.attributes().Ints("axes");
    attribute_.assign(axes.begin(), axes.end());
  }
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

class Squeeze final : public View {
 public:
  explicit Squeeze(OpKernelInfo& info) : View(info), axes_(info) {}

 private:
  Dims Target(OpKernelContext& context, const Tensor& x) const override {
    Dims axes, dims;
    const bool given = axes_.Get(context, &axes);
    InlineVector<bool, 8> drop(x.rank(), false);
    for (std::int64_t axis : axes) {
      const std::size_t at = NormalizeAxis(context, axis, x.rank());
      if (x.dim(at) != 1) context.Fail(fmt::format("axis {} of {} is not 1", axis, x.Describe()));
      drop[at] = true;
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (given ? !drop[i] : x.dim(i) != 1) dims.push_back(x.dim(i));
    }
    return dims;
  }
  Axes axes_;
};

class Unsqueeze final : public View {
 public:
  explicit Unsqueeze(OpKernelInfo& info) : View(info), axes_(info) {}

 private:
  Dims Target(OpKernelContext& context, const Tensor& x) const override {
    Dims axes;
    axes_.Get(context, &axes);
    Dims dims(x.rank() + axes.size(), -1);
    for (std::int64_t axis : axes) {
      std::int64_t& at = dims[NormalizeAxis(context, axis, dims.size())];
      if (at == 1) context.Fail(fmt::format("axis {} is given twice", axis));
      at = 1;
    }
    std::size_t next = 0;
    for (std::int64_t& d : dims) {
      if (d == -1) d = x.dim(next++);
    }
    return dims;
  }
  Axes axes_;
};

class Identity final : public View {
 public:
  explicit Identity(OpKernelInfo& info) : View(info) {}

 private:
  Dims Target(OpKernelContext&, const Tensor& x) const override { return Dims(x.dims()); }
};

// Reads the dims only; its answer is in host memory, where shape arithmetic goes on.
class ShapeOf final : public ClKernel {
 public:
  explicit ShapeOf(OpKernelInfo& info)
      : ClKernel(info),
        start_(info.attributes().Int("start", 0)),
        end_(info.attributes().Int("end", INT64_MAX)) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto rank = static_cast<std::int64_t>(x.rank());
    const auto clamp = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t first = clamp(start_), last = std::max(clamp(end_), first);
    const std::int64_t dims[] = {last - first};
    Tensor& out = context.Output(0, dims);
    for (std::int64_t i = first; i < last; ++i)
      out.data_mutable<std::int64_t>()[i - first] = x.dim(static_cast<std::size_t>(i));
  }

 private:
  std::int64_t start_, end_;
};

class SizeOf final : public ClKernel {
 public:
  explicit SizeOf(OpKernelInfo& info) : ClKernel(info) {}
  void Compute(OpKernelContext& context) const override {
    *context.Output(0, {}).data_mutable<std::int64_t>() = context.Input(0).size();
  }
};

std::string OnlyTensors(const Node& node) {
  const ValueType& type = node.inputs()[0]->type();
  return type.is_tensor() ? std::string() : "only tensors are on the device";
}

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  const auto view = [](const char* op) {
    return KernelCreateInfo::For(op).Input(0, Families::moved()).MustAlias(0, 0);
  };
  families.Add(view("Reshape").HostInput(1).Make<Reshape>());
  families.Add(view("Flatten").Make<Flatten>());
  families.Add(view("Squeeze").HostInput(1).Make<Squeeze>());
  families.Add(view("Unsqueeze").HostInput(1).Make<Unsqueeze>());
  families.Add(view("Identity").Accepts(OnlyTensors).Make<Identity>());
  families.Add(
      KernelCreateInfo::For("Shape").Input(0, Families::moved()).HostOutput(0).Make<ShapeOf>());
  families.Add(
      KernelCreateInfo::For("Size").Input(0, Families::moved()).HostOutput(0).Make<SizeOf>());
}

}  // namespace switchyard::opencl::kernels::views
