// Operators of two inputs with broadcasting, and those of any number that are chains of them.

#include "providers/opencl/elementwise.h"

namespace switchyard::opencl::kernels::binary {
namespace {

enum class On { kFloats, kIntegers, kSigned, kUnsigned, kNumbers, kBool };

struct Binary {
  const char* op;
  On on;
  const char* expression;
  bool compares = false;
  int since = 1;
};

// Division that no pair of numbers can trap on.
constexpr const char* kDivide = "(b == 0 ? 0 : (b == (Cb)-1 && (Ca)-1 < 0 ? 0 - a : a / b))";
constexpr const char* kModulo =
    "(b == 0 || (b == (Cb)-1 && (Ca)-1 < 0) ? 0 : (a % b != 0 && ((a < 0) != (b < 0)) ? a % b + b "
    ": a % b))";
// The result has the sign of b, a zero too.
constexpr const char* kFloatModulo =
    "(fmod(a, b) != 0 ? ((fmod(a, b) < 0) != (b < 0) ? fmod(a, b) + b : fmod(a, b)) "
    ": copysign(fmod(a, b), b))";
constexpr const char* kRemainder = "(b == 0 || (b == (Cb)-1 && (Ca)-1 < 0) ? 0 : a % b)";

constexpr Binary kOps[] = {
    {"Add", On::kNumbers, "(a + b)", false, 7},
    {"Sub", On::kNumbers, "(a - b)", false, 7},
    {"Mul", On::kNumbers, "(a * b)", false, 7},
    {"Div", On::kFloats, "(a / b)", false, 7},
    {"Div", On::kIntegers, kDivide, false, 7},
    {"PRelu", On::kNumbers, "(a < 0 ? a * b : a)", false, 7},
    {"Equal", On::kNumbers, "(a == b)", true, 7},
    {"Equal", On::kBool, "((a != 0) == (b != 0))", true, 7},
    {"Less", On::kNumbers, "(a < b)", true, 7},
    {"Greater", On::kNumbers, "(a > b)", true, 7},
    {"LessOrEqual", On::kNumbers, "(a <= b)", true, 12},
    {"GreaterOrEqual", On::kNumbers, "(a >= b)", true, 12},
    {"And", On::kBool, "(a && b)", true, 7},
    {"Or", On::kBool, "(a || b)", true, 7},
    {"Xor", On::kBool, "(!a != !b)", true, 7},
    {"BitwiseAnd", On::kIntegers, "(a & b)", false, 18},
    {"BitwiseOr", On::kIntegers, "(a | b)", false, 18},
    {"BitwiseXor", On::kIntegers, "(a ^ b)", false, 18},
};

TypeSet TypesOf(On on, const Families& families) {
  switch (on) {
    case On::kFloats:
      return families.floats();
    case On::kIntegers:
      return types::kIntegers;
    case On::kSigned:
      return types::kSigned;
    case On::kUnsigned:
      return types::kUnsigned;
    case On::kBool:
      return types::kBool;
    case On::kNumbers:
      return families.floats() | types::kIntegers;
  }
  return {};
}

class BinaryKernel final : public ClKernel {
 public:
  BinaryKernel(OpKernelInfo& info, const char* text) : ClKernel(info) {
    kernel_ = Elementwise(
        {text, {info.input_type(0).elem, info.input_type(1).elem}, info.output_type(0).elem},
        Builder());
    kernel_.Warm(info);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor* inputs[] = {&context.Input(0), &context.Input(1)};
    kernel_.Run(context, inputs, context.Output(0));
  }

 private:
  Elementwise kernel_;
};

template <typename Text>
KernelCreateInfo Make(const char* op, int since, const Text& text) {
  return KernelCreateInfo::For(op)
      .Since(since)
      .Accepts([](const Node& node) { return WhyNotRank(node); })
      .Create([text](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
        return std::make_unique<BinaryKernel>(info, text(info));
      });
}

// The exponent has a type of its own.
const char* PowText(const OpKernelInfo&) { return "pow(a, (Ca)b)"; }

const char* ModText(const OpKernelInfo& info) {
  const bool is_float = types::kFloats.Contains(info.input_type(0).elem);
  const bool truncates = info.attributes().Int("fmod", 0) != 0;
  if (is_float) return truncates ? "fmod(a, b)" : kFloatModulo;
  return truncates ? kRemainder : kModulo;
}

// Sum, Max, Min, Mean: of any number of inputs, pair by pair into the output.
class VariadicKernel final : public ClKernel {
 public:
  VariadicKernel(OpKernelInfo& info, const char* text, bool mean)
      : ClKernel(info), mean_(mean), inputs_(info.num_inputs()) {
    const DataType type = info.input_type(0).elem;
    pair_ = Elementwise({text, {type, type}, type}, Builder());
    single_ = Elementwise({mean ? "(a * (Ca)p)" : "a", {type}, type}, Builder());
    if (inputs_ == 1) single_.Warm(info);
    if (inputs_ == 2) pair_.Warm(info);
    if (mean) single_.Warm(info);
  }
  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.Output(0);
    if (inputs_ == 1) return single_.Run(context, Of(context.Input(0)), out, 1);
    const Tensor* first = &context.Input(0);
    for (std::size_t i = 1; i < inputs_; ++i) {
      const Tensor* inputs[] = {first, &context.Input(i)};
      pair_.Run(context, inputs, out);
      first = &out;
    }
    if (mean_) single_.Run(context, Of(out), out, 1.0f / static_cast<float>(inputs_));
  }

 private:
  static std::array<const Tensor*, 1> Of(const Tensor& tensor) { return {&tensor}; }
  bool mean_;
  std::size_t inputs_;
  Elementwise pair_, single_;
};

void AddVariadic(Families& families, const char* op, TypeSet types, const char* text, bool mean) {
  families.Add(KernelCreateInfo::For(op)
                   .Since(8)
                   .Input(0, types)
                   .Accepts([](const Node& node) { return WhyNotRank(node); })
                   .Create([text, mean](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                     return std::make_unique<VariadicKernel>(info, text, mean);
                   }));
}

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  for (const Binary& binary : kOps) {
    KernelCreateInfo info = Make(binary.op, binary.since,
                                 [text = binary.expression](const OpKernelInfo&) { return text; });
    info.Input(0, TypesOf(binary.on, families));
    if (!binary.compares || binary.on == On::kBool) info.MayAlias(0, 0);
    families.Add(std::move(info));
  }
  const TypeSet numbers = families.floats() | types::kIntegers;
  families.Add(Make("Pow", 7, PowText).Input(0, families.floats()).Input(1, numbers));
  families.Add(Make("Mod", 10, ModText).Input(0, numbers));
  const char* greater = "(a > b || a != a ? a : b)";
  const char* less = "(a < b || a != a ? a : b)";
  AddVariadic(families, "Max", numbers, greater, false);
  AddVariadic(families, "Min", numbers, less, false);
  AddVariadic(families, "Sum", families.floats(), "(a + b)", false);
  AddVariadic(families, "Mean", families.floats(), "(a + b)", true);
}

}  // namespace switchyard::opencl::kernels::binary
