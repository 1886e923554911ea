// Operators of one input, element by element.

#include "providers/opencl/elementwise.h"

namespace switchyard::opencl::kernels::unary {
namespace {

struct Unary {
  const char* op;
  const char* expression;
  const char* p = nullptr;  // attribute behind p, and its default
  float p_default = 0;
  const char* q = nullptr;
  float q_default = 0;
};

// Of floats. Comparisons are turned so that a NaN passes through.
constexpr Unary kFloatOps[] = {
    {"Acos", "acos(a)"},
    {"Acosh", "acosh(a)"},
    {"Asin", "asin(a)"},
    {"Asinh", "asinh(a)"},
    {"Atan", "atan(a)"},
    {"Atanh", "atanh(a)"},
    {"Ceil", "ceil(a)"},
    {"Celu", "(a < 0 ? (Ca)p * expm1(a / (Ca)p) : a)", "alpha", 1.0f},
    {"Cos", "cos(a)"},
    {"Cosh", "cosh(a)"},
    {"Elu", "(a < 0 ? (Ca)p * expm1(a) : a)", "alpha", 1.0f},
    {"Erf", "erf(a)"},
    {"Exp", "exp(a)"},
    {"Floor", "floor(a)"},
    {"HardSigmoid", "(a != a ? a : fmax((Ca)0, fmin((Ca)1, (Ca)p * a + (Ca)q)))", "alpha", 0.2f,
     "beta", 0.5f},
    {"HardSwish", "(a * fmax((Ca)0, fmin((Ca)1, a * (Ca)(1.0f / 6.0f) + (Ca)0.5f)))"},
    {"LeakyRelu", "(a < 0 ? (Ca)p * a : a)", "alpha", 0.01f},
    {"Log", "log(a)"},
    {"Mish", "(a * tanh(fmax(a, (Ca)0) + log1p(exp(-fabs(a)))))"},
    {"Reciprocal", "((Ca)1 / a)"},
    {"Round", "rint(a)"},
    {"Selu", "((Ca)q * (a <= 0 ? (Ca)p * expm1(a) : a))", "alpha", 1.67326319217681884765625f,
     "gamma", 1.05070102214813232421875f},
    {"Sigmoid", "((Ca)1 / ((Ca)1 + exp(-a)))"},
    {"Sin", "sin(a)"},
    {"Sinh", "sinh(a)"},
    {"Softplus", "(fmax(a, (Ca)0) + log1p(exp(-fabs(a))))"},
    {"Softsign", "(a / ((Ca)1 + fabs(a)))"},
    {"Sqrt", "sqrt(a)"},
    {"Tan", "tan(a)"},
    {"Tanh", "tanh(a)"},
    {"ThresholdedRelu", "(a > (Ca)p ? a : (Ca)0)", "alpha", 1.0f},
};

// Of any number.
constexpr Unary kNumberOps[] = {
    {"Abs", "(a < 0 ? -a : a)"},
    {"Neg", "(-a)"},
    {"Relu", "(a < 0 ? (Ca)0 : a)"},
    {"Sign", "(a > 0 ? 1 : (a < 0 ? -1 : (a == 0 ? 0 : a)))"},
};

class UnaryKernel final : public ClKernel {
 public:
  UnaryKernel(OpKernelInfo& info, const Unary& unary, const char* text) : ClKernel(info) {
    if (unary.p != nullptr) p_ = info.attributes().Float(unary.p, unary.p_default);
    if (unary.q != nullptr) q_ = info.attributes().Float(unary.q, unary.q_default);
    kernel_ = Elementwise({text, {info.input_type(0).elem}, info.output_type(0).elem}, Builder());
    kernel_.Warm(info);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor* inputs[] = {&context.Input(0)};
    kernel_.Run(context, inputs, context.Output(0, inputs[0]->dims()), p_, q_);
  }

 private:
  float p_ = 0, q_ = 0;
  Elementwise kernel_;
};

KernelCreateInfo Entry(const Unary& unary, const char* text, TypeSet types) {
  return KernelCreateInfo::For(unary.op).Input(0, types).MayAlias(0, 0).Create(
      [unary, text](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
        return std::make_unique<UnaryKernel>(info, unary, text);
      });
}

const char* GeluText(const Node& node) {
  return node.attributes().String("approximate", "none") == "tanh"
             ? "((Ca)0.5f * a * ((Ca)1 + tanh((Ca)0.7978845608028654f * (a + (Ca)0.044715f * a * a "
               "* a))))"
             : "((Ca)0.5f * a * ((Ca)1 + erf(a * (Ca)0.70710678118654752f)))";
}

void RegisterGelu(Families& families, const char* domain) {
  families.Add(
      KernelCreateInfo::For("Gelu", domain)
          .Input(0, families.floats())
          .MayAlias(0, 0)
          .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
            return std::make_unique<UnaryKernel>(info, Unary{"Gelu", ""}, GeluText(info.node()));
          }));
}

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  for (const Unary& unary : kFloatOps)
    families.Add(Entry(unary, unary.expression, families.floats()));
  for (const Unary& unary : kNumberOps) {
    const bool is_abs = std::string_view(unary.op) == "Abs";
    families.Add(Entry(unary, is_abs ? "fabs(a)" : unary.expression, families.floats()));
    families.Add(Entry(unary, unary.expression, types::kSigned));
  }
  families.Add(Entry({"Not", ""}, "(!a)", types::kBool));
  KernelCreateInfo is_nan = Entry({"IsNaN", ""}, "(a != a)", families.floats());
  is_nan.may_alias.clear();
  families.Add(std::move(is_nan));
  families.Add(Entry({"BitwiseNot", ""}, "(~a)", types::kIntegers));
  RegisterGelu(families, "");
  RegisterGelu(families, "com.microsoft");
}

}  // namespace switchyard::opencl::kernels::unary
