// Where, Clip and Cast: element by element, but each with inputs of its own.

#include "providers/opencl/elementwise.h"

namespace switchyard::opencl::kernels::select {
namespace {

class Where final : public ClKernel {
 public:
  explicit Where(OpKernelInfo& info) : ClKernel(info) {
    Expression expression{"(a ? b : c)",
                          {DataType::kBool, info.input_type(1).elem, info.input_type(2).elem},
                          info.output_type(0).elem};
    expression.moves = true;
    kernel_ = Elementwise(std::move(expression), Builder());
    kernel_.Warm(info);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor* inputs[] = {&context.Input(0), &context.Input(1), &context.Input(2)};
    kernel_.Run(context, inputs, context.Output(0));
  }

 private:
  Elementwise kernel_;
};

// Limits from attributes (before opset 11) or from inputs, which may be made on the device.
class Clip final : public ClKernel {
 public:
  explicit Clip(OpKernelInfo& info) : ClKernel(info) {
    const DataType type = info.input_type(0).elem;
    const auto limited = [&](const char* text, std::size_t inputs) {
      return Elementwise({text, std::vector<DataType>(inputs, type), type}, Builder());
    };
    if (info.node().SinceVersion() < 11) {
      low_ = info.attributes().Float("min", -3.402823466e+38f);
      high_ = info.attributes().Float("max", 3.402823466e+38f);
      kernel_ = limited("(a < (Ca)p ? (Ca)p : (a > (Ca)q ? (Ca)q : a))", 1);
    } else {
      has_low_ = info.has_input(1);
      has_high_ = info.has_input(2);
      if (has_low_ && has_high_) {
        kernel_ = limited("(a < b ? (b < c ? b : c) : (a > c ? c : a))", 3);
      } else if (has_low_) {
        kernel_ = limited("(a < b ? b : a)", 2);
      } else {
        kernel_ = has_high_ ? limited("(a > b ? b : a)", 2) : limited("a", 1);
      }
    }
    if (!info.input_type(0).shape.is_concrete()) return;
    const Dims dims = info.input_type(0).shape.concrete();
    const DimSpan all[] = {dims, {}, {}};
    kernel_.Warm(dims, std::span<const DimSpan>(all, 1u + has_low_ + has_high_));
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor* inputs[3] = {&context.Input(0)};
    std::size_t count = 1;
    if (has_low_) inputs[count++] = &context.Input(1);
    if (has_high_) inputs[count++] = &context.Input(2);
    kernel_.Run(context, std::span<const Tensor* const>(inputs, count), context.Output(0), low_,
                high_);
  }

 private:
  float low_ = 0, high_ = 0;
  bool has_low_ = false, has_high_ = false;
  Elementwise kernel_;
};

std::string CastText(DataType from, DataType to) {
  const bool from_float = types::kFloats.Contains(from);
  if (to == DataType::kBool) return "(a != 0)";
  // Numbers outside of a narrow integer's range keep their low bits, as everywhere else.
  if (from_float && types::kIntegers.Contains(to) && to != DataType::kUint64) return "((long)a)";
  return from == DataType::kBool ? "(a != 0 ? 1 : 0)" : "a";
}

class Cast final : public ClKernel {
 public:
  explicit Cast(OpKernelInfo& info) : ClKernel(info) {
    const DataType from = info.input_type(0).elem, to = info.output_type(0).elem;
    kernel_ = Elementwise({CastText(from, to), {from}, to}, Builder());
    kernel_.Warm(info);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor* inputs[] = {&context.Input(0)};
    kernel_.Run(context, inputs, context.Output(0, inputs[0]->dims()));
  }

 private:
  Elementwise kernel_;
};

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  families.Add(KernelCreateInfo::For("Where")
                   .Since(9)
                   .Input(0, types::kBool)
                   .Input(1, Families::moved())
                   .Accepts([](const Node& node) { return WhyNotRank(node); })
                   .Make<Where>());
  const TypeSet numbers = families.floats() | types::kIntegers;
  families.Add(
      KernelCreateInfo::For("Clip").Since(6).Input(0, numbers).MayAlias(0, 0).Make<Clip>());
  const TypeSet castable = numbers | types::kBool;
  families.Add(
      KernelCreateInfo::For("Cast").Since(6).Input(0, castable).Output(0, castable).Make<Cast>());
}

}  // namespace switchyard::opencl::kernels::select
