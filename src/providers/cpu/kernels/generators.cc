// Tensors made from shapes and attributes: Constant, ConstantOfShape, Shape, Size, Range, EyeLike.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::generators {
namespace {

class Constant final : public OpKernel {
 public:
  explicit Constant(OpKernelInfo& info) {
    const Attributes& attributes = info.attributes();
    for (const char* name : {"value", "sparse_value"}) {
      if (ConstantPtr constant = attributes.Tensor(name)) {
        value_ = constant->tensor();
        constant_ = std::move(constant);
        return;
      }
    }
    if (attributes.Has("value_int")) {
      Set<std::int64_t>({}, {{attributes.Int("value_int", 0)}});
    } else if (attributes.Has("value_float")) {
      Set<float>({}, {{attributes.Float("value_float", 0)}});
    } else if (attributes.Has("value_string")) {
      Set<std::string>({}, {{attributes.String("value_string", "")}});
    } else if (attributes.Has("value_ints")) {
      SetList(attributes.Ints("value_ints"));
    } else if (attributes.Has("value_floats")) {
      SetList(attributes.Floats("value_floats"));
    } else if (attributes.Has("value_strings")) {
      SetList(attributes.Strings("value_strings"));
    } else {
      info.Fail("no value attribute is given");
    }
  }

  void Compute(OpKernelContext& context) const override {
    CopyTensor(context, value_, context.Output(0, value_.dims()));
  }

 private:
  template <typename T>
  void Set(std::span<const std::int64_t> dims, const std::vector<T>& values) {
    value_ = OrtValue::FromData<T>(dims, std::span<const T>(values)).tensor();
  }
  template <typename T>
  void SetList(std::span<const T> values) {
    const std::int64_t count = static_cast<std::int64_t>(values.size());
    value_ = OrtValue::FromData<T>({&count, 1}, values).tensor();
  }
  ConstantPtr constant_;
  Tensor value_;
};

class ConstantOfShape final : public OpKernel {
 public:
  explicit ConstantOfShape(OpKernelInfo& info) {
    if (ConstantPtr constant = info.attributes().Tensor("value")) {
      const Tensor& value = constant->tensor();
      if (value.size() != 1) info.Fail("value has " + value.Describe() + ", not one element");
      type_ = value.type();
      if (type_ == DataType::kString) info.Fail("value is a string", ErrorCode::kNotImplemented);
      std::memcpy(bits_, value.raw(), value.bytes());
    }
    if (IsPacked(type_)) {
      std::uint8_t code = 0;
      UnpackCodes(type_, bits_, 1, &code);
      const std::uint8_t codes[4] = {code, code, code, code};
      PackCodes(type_, codes, 8 / BitsOf(type_), bits_);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Dims dims = ReadIntegers(context, 0);
    for (std::int64_t d : dims) {
      if (d < 0) context.Fail("the shape " + DimsToString(dims) + " has a negative size");
    }
    ElementCount(dims);  // refuses what does not fit the address space
    Tensor& y = context.Output(0, dims);
    const std::size_t unit = std::max(1, BitsOf(type_) / 8);
    const std::int64_t count = static_cast<std::int64_t>(y.bytes() / unit);
    ParallelItems(context, count, 0.1, [&](std::int64_t begin, std::int64_t end) {
      Fill(static_cast<std::byte*>(y.raw_mutable()) + begin * static_cast<std::int64_t>(unit),
           end - begin, unit);
    });
  }

 private:
  template <typename T>
  void FillAs(void* to, std::int64_t count) const {
    T value;
    std::memcpy(&value, bits_, sizeof(T));
    std::fill_n(static_cast<T*>(to), count, value);
  }
  struct Wide {
    std::uint64_t low, high;
  };
  void Fill(void* to, std::int64_t count, std::size_t unit) const {
    switch (unit) {
      case 1:
        return FillAs<std::uint8_t>(to, count);
      case 2:
        return FillAs<std::uint16_t>(to, count);
      case 4:
        return FillAs<std::uint32_t>(to, count);
      case 8:
        return FillAs<std::uint64_t>(to, count);
      default:
        return FillAs<Wide>(to, count);
    }
  }
  DataType type_ = DataType::kFloat;
  alignas(16) std::byte bits_[16] = {};
};

class ShapeOf final : public OpKernel {
 public:
  explicit ShapeOf(OpKernelInfo& info)
      : start_(info.attributes().Int("start", 0)),
        end_(info.attributes().Int("end", std::numeric_limits<std::int64_t>::max())) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto rank = static_cast<std::int64_t>(x.rank());
    const std::int64_t start =
        std::clamp<std::int64_t>(start_ < 0 ? start_ + rank : start_, 0, rank);
    const std::int64_t end = std::clamp<std::int64_t>(end_ < 0 ? end_ + rank : end_, 0, rank);
    const std::int64_t count = std::max<std::int64_t>(0, end - start);
    std::int64_t* y = context.Output(0, {&count, 1}).data_mutable<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) y[i] = x.dim(static_cast<std::size_t>(start + i));
  }

 private:
  std::int64_t start_, end_;
};

class SizeOf final : public OpKernel {
 public:
  explicit SizeOf(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    *context.Output(0, {}).data_mutable<std::int64_t>() = context.Input(0).size();
  }
};

class Range final : public OpKernel {
 public:
  // stash_type: halves count in float32 unless it names another type.
  explicit Range(OpKernelInfo& info) : in_double_(info.attributes().Int("stash_type", 1) == 11) {}
  void Compute(OpKernelContext& context) const override {
    DispatchType(
        context.Input(0).type(),
        TypeList<float, double, Float16, BFloat16, std::int16_t, std::int32_t, std::int64_t>{},
        [&](auto tag) { Run<typename decltype(tag)::type>(context); });
  }

 private:
  template <typename T>
  void Run(OpKernelContext& context) const {
    for (std::size_t i = 0; i < 3; ++i) {
      if (context.Input(i).size() != 1) context.Fail("start, limit and delta must be scalars");
    }
    using C = ComputeOf<T>;
    const C start = Widen(*context.Input(0).data<T>());
    const C limit = Widen(*context.Input(1).data<T>());
    const C delta = Widen(*context.Input(2).data<T>());
    if (delta == C(0)) context.Fail("delta is 0");
    const std::int64_t count = Count(start, limit, delta);
    if (count < 0) context.Fail("the range is too long");
    T* y = context.Output(0, {&count, 1}).template data_mutable<T>();
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      for (std::int64_t i = 0; i < count; ++i) {
        y[i] = static_cast<T>(static_cast<U>(start) + static_cast<U>(i) * static_cast<U>(delta));
      }
    } else if (in_double_) {
      for (std::int64_t i = 0; i < count; ++i) {
        y[i] = Narrow<T>(static_cast<C>(static_cast<double>(start) +
                                        static_cast<double>(i) * static_cast<double>(delta)));
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i] = Narrow<T>(start + static_cast<C>(i) * delta);
    }
  }

  template <typename C>
  static std::int64_t Count(C start, C limit, C delta) {
    if constexpr (std::is_integral_v<C>) {
      if (delta > 0 ? start >= limit : start <= limit) return 0;
      const auto span = delta > 0
                            ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                            : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
      const auto step = delta > 0 ? static_cast<std::uint64_t>(delta)
                                  : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
      const std::uint64_t n = (span - 1) / step + 1;
      return n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                 ? -1
                 : static_cast<std::int64_t>(n);
    } else {
      const double n = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                 static_cast<double>(delta));
      if (!(n < 9e18)) return -1;
      return n > 0 ? static_cast<std::int64_t>(n) : 0;
    }
  }
  bool in_double_;
};

class EyeLike final : public OpKernel {
 public:
  explicit EyeLike(OpKernelInfo& info)
      : diagonal_(std::clamp<std::int64_t>(info.attributes().Int("k", 0), -(std::int64_t{1} << 40),
                                           std::int64_t{1} << 40)) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 2) context.Fail("the input must be a matrix, is " + x.Describe());
    Tensor& y = context.Output(0, x.dims());
    std::memset(y.raw_mutable(), 0, y.bytes());
    DispatchType(y.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = y.data_mutable<T>();
      for (std::int64_t row = 0; row < x.dim(0); ++row) {
        const std::int64_t column = row + diagonal_;
        if (column >= 0 && column < x.dim(1))
          to[row * x.dim(1) + column] = static_cast<T>(ComputeOf<T>(1));
      }
    });
  }

 private:
  std::int64_t diagonal_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("Constant").Make<Constant>());
  registry.Register(KernelCreateInfo::For("ConstantOfShape").HostInput(0).Make<ConstantOfShape>());
  registry.Register(KernelCreateInfo::For("Shape").HostOutput(0).Make<ShapeOf>());
  registry.Register(KernelCreateInfo::For("Size").HostOutput(0).Make<SizeOf>());
  registry.Register(
      KernelCreateInfo::For("Range").HostInput(0).HostInput(1).HostInput(2).Make<Range>());
  registry.Register(
      KernelCreateInfo::For("EyeLike").Output(0, types::kNumeric | types::kBool).Make<EyeLike>());
}

}  // namespace switchyard::cpu::kernels::generators
