// Conversions of element type: Cast, CastLike, BitCast; numbers from and to text included.

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_cast.h"

namespace switchyard::cpu::kernels::cast {
namespace {

using math::ElemType;

math::RoundMode RoundModeOf(const OpKernelInfo& info) {
  const std::string name = info.attributes().String("round_mode", "up");
  if (name == "up") return math::RoundMode::kUp;
  if (name == "down") return math::RoundMode::kDown;
  if (name == "nearest") return math::RoundMode::kNearest;
  info.Fail("round_mode is '" + name + "'");
}

class Cast final : public OpKernel {
 public:
  explicit Cast(OpKernelInfo& info)
      : from_(info.input_type(0).elem), to_(info.output_type(0).elem) {
    if (from_ == to_) return;
    kernel_ = math::GetCast(static_cast<ElemType>(from_), static_cast<ElemType>(to_), IsaOf(info),
                            info.attributes().Int("saturate", 1) != 0, RoundModeOf(info));
    if (kernel_.mid_bytes == 0) {
      info.Fail("no conversion from " + std::string(DataTypeName(from_)) + " to " +
                    std::string(DataTypeName(to_)),
                ErrorCode::kNotImplemented);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (from_ == to_) return CopyTensor(context, x, y);
    // Whole groups of 8 elements: packed types start at byte borders.
    const std::int64_t groups = (x.size() + 7) / 8;
    ParallelItems(context, groups, 4, [&](std::int64_t begin, std::int64_t end) {
      math::RunCast(kernel_, x.raw(), y.raw_mutable(), begin * 8, std::min(end * 8, x.size()));
    });
  }

 private:
  DataType from_, to_;
  math::CastKernel kernel_;
};

// The shortest text that reads back as the same number, like the array library of the ONNX tests.
std::string FloatText(double value, bool is_single) {
  if (value != value) return "NaN";
  if (value == std::numeric_limits<double>::infinity()) return "INF";
  if (value == -std::numeric_limits<double>::infinity()) return "-INF";
  char buffer[40];
  const auto result =
      is_single ? std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value))
                : std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

class ToText final : public OpKernel {
 public:
  explicit ToText(OpKernelInfo& info) : cast_(nullptr) {
    const DataType from = info.input_type(0).elem;
    if (from == DataType::kString || BitsOf(from) >= 16 || from == DataType::kBool ||
        types::kIntegers.Contains(from)) {
      return;
    }
    widen_ = math::GetCast(static_cast<ElemType>(from), ElemType::kFloat, IsaOf(info));
    cast_ = &widen_;
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    std::string* to = y.data_mutable<std::string>();
    if (x.type() == DataType::kString) return CopyTensor(context, x, y);
    if (cast_ != nullptr) {
      std::vector<float> values(static_cast<std::size_t>(x.size()));
      math::RunCast(*cast_, x.raw(), values.data(), 0, x.size());
      for (std::size_t i = 0; i < values.size(); ++i) to[i] = FloatText(values[i], true);
      return;
    }
    DispatchType(x.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      for (std::int64_t i = 0; i < x.size(); ++i) {
        if constexpr (kIsFloating<T>) {
          to[i] = FloatText(static_cast<double>(Widen(from[i])), !std::is_same_v<T, double>);
        } else {
          to[i] = std::to_string(+from[i]);
        }
      }
    });
  }

 private:
  math::CastKernel widen_;
  const math::CastKernel* cast_;
};

class FromText final : public OpKernel {
 public:
  explicit FromText(OpKernelInfo& info) : to_(info.output_type(0).elem) {
    if (!types::kNumeric.Contains(to_) && to_ != DataType::kBool) {
      narrow_ = math::GetCast(ElemType::kFloat, static_cast<ElemType>(to_), IsaOf(info),
                              info.attributes().Int("saturate", 1) != 0, RoundModeOf(info));
      if (narrow_.mid_bytes == 0) info.Fail("no conversion from text", ErrorCode::kNotImplemented);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::string* from = x.data<std::string>();
    Tensor& y = context.Output(0, x.dims());
    if (narrow_.mid_bytes != 0) {
      std::vector<float> values(static_cast<std::size_t>(x.size()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(Number(context, from[i]));
      math::RunCast(narrow_, values.data(), y.raw_mutable(), 0, x.size());
      return;
    }
    DispatchType(to_, NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = y.data_mutable<T>();
      for (std::int64_t i = 0; i < x.size(); ++i) to[i] = One<T>(context, from[i]);
    });
  }

 private:
  template <typename T>
  static T One(const OpKernelContext& context, const std::string& text) {
    if constexpr (std::is_same_v<T, bool>) {
      return Number(context, text) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      std::int64_t exact = 0;
      const char* first = text.data();
      const char* last = first + text.size();
      if (first != last && *first == '+') ++first;
      if (const auto r = std::from_chars(first, last, exact);
          r.ec == std::errc() && r.ptr == last) {
        return static_cast<T>(exact);
      }
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        std::uint64_t large = 0;
        if (const auto r = std::from_chars(first, last, large);
            r.ec == std::errc() && r.ptr == last)
          return large;
      }
      const double value = Number(context, text);
      constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
      constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
      if (!(value > low)) return value == value ? std::numeric_limits<T>::min() : T(0);
      return value >= high ? std::numeric_limits<T>::max() : static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, float>) {
      if (char* end = nullptr; !text.empty()) {
        const float value = std::strtof(text.c_str(), &end);
        if (end == text.c_str() + text.size()) return value;
      }
      return static_cast<float>(Number(context, text));
    } else {
      return static_cast<T>(static_cast<ComputeOf<T>>(Number(context, text)));
    }
  }

  // Also "INF", "+INF", "-INF" and "NaN" in any case.
  static double Number(const OpKernelContext& context, const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    while (*end != '\0' && std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
    if (text.empty() || end != text.c_str() + text.size()) {
      context.Fail("'" + text + "' is not a number");
    }
    return value;
  }

  DataType to_;
  math::CastKernel narrow_;
};

class BitCast final : public OpKernel {
 public:
  explicit BitCast(OpKernelInfo& info) {
    if (BitsOf(info.input_type(0).elem) != BitsOf(info.output_type(0).elem)) {
      info.Fail("elements of different width");
    }
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (y.raw() != x.raw()) std::memcpy(y.raw_mutable(), x.raw(), x.bytes());
  }
};

constexpr TypeSet kNumbers = types::kNumeric | types::kBool | types::kFloat8 | types::kPacked |
                             TypeSet(DataType::kFloat8E8M0);

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name : {"Cast", "CastLike"}) {
    registry.Register(
        KernelCreateInfo::For(name).Input(0, kNumbers).Output(0, kNumbers).Make<Cast>());
    registry.Register(KernelCreateInfo::For(name)
                          .Input(0, kNumbers | types::kString)
                          .Output(0, types::kString)
                          .Make<ToText>());
    registry.Register(
        KernelCreateInfo::For(name).Input(0, types::kString).Output(0, kNumbers).Make<FromText>());
  }
  const TypeSet bits = types::kFixedBytes | types::kPacked;
  registry.Register(
      KernelCreateInfo::For("BitCast").Input(0, bits).Output(0, bits).Make<BitCast>());
}

}  // namespace switchyard::cpu::kernels::cast
