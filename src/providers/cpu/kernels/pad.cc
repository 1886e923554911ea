// Pad in all modes, and CenterCropPad. Every output index of an axis comes from one input index or
// from nowhere; negative pads crop.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_move.h"

namespace switchyard::cpu::kernels::pad {
namespace {

enum class Mode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };

struct Axis {
  std::int64_t in = 1, out = 1, begin = 0;
};

std::int64_t Modulo(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r < 0 ? r + b : r;
}

// The input index, or -1 for the constant.
std::int64_t SourceOf(Mode mode, const Axis& axis, std::int64_t o) {
  const std::int64_t i = o - axis.begin;
  if (i >= 0 && i < axis.in) return i;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return i < 0 ? 0 : axis.in - 1;
    case Mode::kWrap:
      return Modulo(i, axis.in);
    case Mode::kReflect: {
      if (axis.in == 1) return 0;
      const std::int64_t period = 2 * (axis.in - 1), m = Modulo(i, period);
      return m < axis.in ? m : period - m;
    }
  }
  return -1;
}

// False where the vector library has no plan: many dims, or reflection in a single entry.
bool PadWithPlan(OpKernelContext& context, Mode mode, const ElementCopy& element,
                 std::span<const Axis> axes, const void* x, const void* fill, void* y) {
  Dims in, before, after;
  for (const Axis& axis : axes) {
    in.push_back(axis.in);
    before.push_back(axis.begin);
    after.push_back(axis.out - axis.in - axis.begin);
    if (mode == Mode::kReflect && axis.in == 1 && axis.out != 1) return false;
  }
  constexpr math::PadMode kModes[] = {math::PadMode::kConstant, math::PadMode::kReflect,
                                      math::PadMode::kEdge, math::PadMode::kWrap};
  math::PadPlan plan;
  if (!math::MakePadPlan(kModes[static_cast<int>(mode)], in, before, after,
                         static_cast<int>(element.bytes), &plan))
    return false;
  const double ns =
      3 + 0.06 * static_cast<double>(axes.back().out) * static_cast<double>(element.bytes);
  ParallelItems(context, plan.rows, ns, [&](std::int64_t begin, std::int64_t end) {
    math::RunPad(plan, x, fill, y, begin, end);
  });
  return true;
}

// `fill` is one element.
void PadTensor(OpKernelContext& context, Mode mode, const ElementCopy& element,
               std::span<const Axis> axes, const void* x, const void* fill, void* y) {
  const std::size_t rank = axes.size();
  if (rank == 0) return element.Run(y, x, 1);
  const Axis& inner = axes[rank - 1];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < rank; ++i) rows *= axes[i].out;
  if (rows == 0 || inner.out == 0) return;
  for (const Axis& axis : axes) {
    if (axis.in == 0 && mode != Mode::kConstant)
      context.Fail("cannot pad an empty dimension from its contents");
  }
  if (!element.is_string && PadWithPlan(context, mode, element, axes, x, fill, y)) return;
  // The part of a row that is a plain copy.
  const std::int64_t first = std::clamp<std::int64_t>(inner.begin, 0, inner.out);
  const std::int64_t last = std::clamp<std::int64_t>(inner.begin + inner.in, first, inner.out);
  const double ns = 5 + 0.05 * static_cast<double>(inner.out) * static_cast<double>(element.bytes);
  ParallelItems(context, rows, ns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t rest = r, source = 0, pitch = inner.in;
      bool outside = false;
      for (std::size_t i = rank - 1; i-- > 0;) {
        const std::int64_t at = SourceOf(mode, axes[i], rest % axes[i].out);
        rest /= axes[i].out;
        outside = outside || at < 0;
        source += at * pitch;
        pitch *= axes[i].in;
      }
      const std::int64_t row = r * inner.out;
      const auto one = [&](std::int64_t o) {
        const std::int64_t at = outside ? -1 : SourceOf(mode, inner, o);
        element.At(y, row + o, at < 0 ? fill : x, at < 0 ? 0 : source + at, 1);
      };
      if (outside) {
        for (std::int64_t o = 0; o < inner.out; ++o) one(o);
        continue;
      }
      for (std::int64_t o = 0; o < first; ++o) one(o);
      if (last > first) element.At(y, row + first, x, source + first - inner.begin, last - first);
      for (std::int64_t o = last; o < inner.out; ++o) one(o);
    }
  });
}

class Pad final : public OpKernel {
 public:
  explicit Pad(OpKernelInfo& info)
      : from_attributes_(info.node().SinceVersion() < 11),
        pads_(info.attributes().Ints(info.node().SinceVersion() == 1 ? "paddings" : "pads")),
        value_(info.attributes().Float("value", 0.0f)) {
    const std::string mode = info.attributes().String("mode", "constant");
    if (mode == "constant") {
      mode_ = Mode::kConstant;
    } else if (mode == "reflect") {
      mode_ = Mode::kReflect;
    } else if (mode == "edge") {
      mode_ = Mode::kEdge;
    } else if (mode == "wrap") {
      mode_ = Mode::kWrap;
    } else {
      info.Fail("mode is '" + mode + "'");
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims pads = from_attributes_ ? pads_ : ReadIntegers(context, 1);
    Dims which;
    const bool some = !from_attributes_ && context.has_input(3);
    if (some) which = ReadIntegers(context, 3);
    const std::size_t count = some ? which.size() : x.rank();
    if (pads.size() != 2 * count) {
      context.Fail("got " + std::to_string(pads.size()) + " pads for " + std::to_string(count) +
                   " axes");
    }
    InlineVector<Axis, 8> axes;
    for (std::int64_t d : x.dims()) axes.push_back({d, d, 0});
    for (std::size_t k = 0; k < count; ++k) {
      Axis& axis =
          axes[some ? static_cast<std::size_t>(NormalizeAxis(context, which[k], x.rank())) : k];
      constexpr std::int64_t kLimit = std::int64_t{1} << 40;
      if (std::abs(pads[k]) > kLimit || std::abs(pads[count + k]) > kLimit)
        context.Fail("pads are " + DimsToString(pads));
      axis.begin = pads[k];
      axis.out = axis.in + pads[k] + pads[count + k];
      if (axis.out < 0)
        context.Fail("pads " + DimsToString(pads) + " crop more than " + x.Describe() + " has");
    }
    Dims dims;
    for (const Axis& axis : axes) dims.push_back(axis.out);
    ElementCount(dims);
    Tensor& y = context.Output(0, dims);
    if (x.type() == DataType::kString) return Strings(context, axes, x, y);
    alignas(16) std::byte fill[16] = {};
    Fill(context, x.type(), fill);
    const std::span<const Axis> all(axes.data(), axes.size());
    if (!IsPacked(x.type()))
      return PadTensor(context, mode_, ElementCopy(x.type()), all, x.raw(), fill, y.raw_mutable());
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(x.size() + y.size() + 1));
    UnpackCodes(x.type(), x.raw(), x.size(), codes.data());
    std::uint8_t code = 0;
    UnpackCodes(x.type(), fill, 1, &code);
    PadTensor(context, mode_, ElementCopy(DataType::kUint8), all, codes.data(), &code,
              codes.data() + x.size());
    PackCodes(x.type(), codes.data() + x.size(), y.size(), y.raw_mutable());
  }

 private:
  void Strings(OpKernelContext& context, const InlineVector<Axis, 8>& axes, const Tensor& x,
               Tensor& y) const {
    std::string fill;
    if (const Tensor* value = context.OptionalInput(2); value != nullptr && value->size() == 1)
      fill = *value->data<std::string>();
    PadTensor(context, mode_, ElementCopy(x.type()), {axes.data(), axes.size()}, x.raw(), &fill,
              y.raw_mutable());
  }

  void Fill(const OpKernelContext& context, DataType type, std::byte* fill) const {
    if (from_attributes_) {
      DispatchType(type, NumericTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T value = Narrow<T>(static_cast<ComputeOf<T>>(value_));
        std::memcpy(fill, &value, sizeof(T));
      });
      return;
    }
    const Tensor* value = context.OptionalInput(2);
    if (value == nullptr || mode_ != Mode::kConstant) return;
    if (value->size() != 1 || value->type() != type)
      context.Fail("constant_value is " + value->Describe());
    std::memcpy(fill, value->raw(), value->bytes());
  }

  bool from_attributes_;
  Dims pads_;
  float value_;
  Mode mode_;
};

class CenterCropPad final : public OpKernel {
 public:
  explicit CenterCropPad(OpKernelInfo& info) : axes_(info.attributes().Ints("axes")) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims shape = ReadIntegers(context, 1);
    const std::size_t count = axes_.empty() ? x.rank() : axes_.size();
    if (shape.size() != count)
      context.Fail("shape " + DimsToString(shape) + " for " + std::to_string(count) + " axes");
    InlineVector<Axis, 8> axes;
    for (std::int64_t d : x.dims()) axes.push_back({d, d, 0});
    for (std::size_t k = 0; k < count; ++k) {
      Axis& axis = axes[axes_.empty()
                            ? k
                            : static_cast<std::size_t>(NormalizeAxis(context, axes_[k], x.rank()))];
      if (shape[k] < 0) context.Fail("shape " + DimsToString(shape));
      axis.out = shape[k];
      axis.begin = axis.out >= axis.in ? (axis.out - axis.in) / 2 : -((axis.in - axis.out) / 2);
    }
    Dims dims;
    for (const Axis& axis : axes) dims.push_back(axis.out);
    ElementCount(dims);
    Tensor& y = context.Output(0, dims);
    alignas(16) static constexpr std::byte kZero[16] = {};
    const std::string empty;
    const void* fill = x.type() == DataType::kString ? static_cast<const void*>(&empty) : kZero;
    PadTensor(context, Mode::kConstant, ElementCopy(x.type()), {axes.data(), axes.size()}, x.raw(),
              fill, y.raw_mutable());
  }

 private:
  Dims axes_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  registry.Register(
      KernelCreateInfo::For("Pad").Since(1, 10).Input(0, types::kNumeric).Make<Pad>());
  registry.Register(KernelCreateInfo::For("Pad")
                        .Since(11)
                        .Input(0, movable | types::kPacked)
                        .HostInput(1)
                        .HostInput(2)
                        .HostInput(3)
                        .Make<Pad>());
  registry.Register(
      KernelCreateInfo::For("CenterCropPad").Input(0, movable).HostInput(1).Make<CenterCropPad>());
}

}  // namespace switchyard::cpu::kernels::pad
