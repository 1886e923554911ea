// One input, one output of the same shape: activations and elementary functions.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::unary {
namespace {

using math::ElemType;
using math::UnaryOp;

// An attribute that becomes a parameter of the vector kernel.
struct Parameter {
  const char* name = nullptr;
  float absent = 0;
};

struct Row {
  const char* op_type;
  UnaryOp op;
  TypeSet types;
  Parameter p0 = {}, p1 = {};
  double ns_per_element = 0.3;
  int first = 1, last = 0;
};

class Unary : public OpKernel {
 public:
  Unary(OpKernelInfo& info, const Row& row) : cost_(row.ns_per_element) {
    if (row.p0.name != nullptr) p0_ = info.attributes().Float(row.p0.name, row.p0.absent);
    if (row.p1.name != nullptr) p1_ = info.attributes().Float(row.p1.name, row.p1.absent);
    const DataType type = info.input_type(0).elem;
    kernel_ = math::GetUnary(row.op, static_cast<ElemType>(type), IsaOf(info));
    if (kernel_.fn == nullptr) {
      info.Fail("no vector kernel for " + std::string(DataTypeName(type)),
                ErrorCode::kNotImplemented);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const auto* from = static_cast<const std::byte*>(x.raw());
    auto* to = static_cast<std::byte*>(y.raw_mutable());
    ParallelItems(context, x.size(), cost_, [&](std::int64_t begin, std::int64_t end) {
      math::RunUnary(kernel_, from + begin * kernel_.in_bytes, to + begin * kernel_.out_bytes,
                     end - begin, p0_, p1_);
    });
  }

 protected:
  float p0_ = 0, p1_ = 0;

 private:
  math::UnaryKernel kernel_;
  double cost_;
};

// IsInf takes its directions from integer attributes.
class IsInf final : public Unary {
 public:
  IsInf(OpKernelInfo& info, const Row& row) : Unary(info, row) {
    p0_ = static_cast<float>(info.attributes().Int("detect_negative", 1));
    p1_ = static_cast<float>(info.attributes().Int("detect_positive", 1));
  }
};

// IsNaN and IsInf of 8-bit floats: a table over the 256 codes.
class Float8Class final : public OpKernel {
 public:
  explicit Float8Class(OpKernelInfo& info) {
    const DataType type = info.input_type(0).elem;
    const bool is_nan = info.node().OpType() == "IsNaN";
    const bool negative = info.attributes().Int("detect_negative", 1) != 0;
    const bool positive = info.attributes().Int("detect_positive", 1) != 0;
    for (int code = 0; code < 256; ++code) {
      const int magnitude = code & 0x7f;
      bool hit = false;
      switch (type) {
        case DataType::kFloat8E4M3FN:
          hit = is_nan && magnitude == 0x7f;
          break;
        case DataType::kFloat8E5M2:
          hit =
              is_nan ? magnitude > 0x7c : magnitude == 0x7c && (code >= 0x80 ? negative : positive);
          break;
        case DataType::kFloat8E8M0:
          hit = is_nan && code == 0xff;
          break;
        default:  // the unsigned-zero kinds have one NaN and no infinity
          hit = is_nan && code == 0x80;
      }
      table_[code] = hit;
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const auto* from = static_cast<const std::uint8_t*>(x.raw());
    auto* to = static_cast<bool*>(y.raw_mutable());
    for (std::int64_t i = 0; i < x.size(); ++i) to[i] = table_[from[i]];
  }

 private:
  bool table_[256];
};

// Erf and Shrink are defined for integers too; nobody computes much with them.
class IntegerErfOrShrink final : public OpKernel {
 public:
  explicit IntegerErfOrShrink(OpKernelInfo& info)
      : is_erf_(info.node().OpType() == "Erf"),
        lambda_(info.attributes().Float("lambd", 0.5f)),
        bias_(info.attributes().Float("bias", 0.0f)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), IntegerTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      T* to = y.data_mutable<T>();
      for (std::int64_t i = 0; i < x.size(); ++i)
        to[i] = static_cast<T>(One(static_cast<double>(from[i])));
    });
  }

 private:
  double One(double v) const {
    if (is_erf_) return std::erf(v);
    if (v < -lambda_) return v + bias_;
    return v > lambda_ ? v - bias_ : 0.0;
  }
  bool is_erf_;
  double lambda_, bias_;
};

constexpr TypeSet kFloatsAndSigned = types::kFloats | types::kSigned;

const Row kRows[] = {
    {"Abs", UnaryOp::kAbs, types::kNumeric},
    {"Neg", UnaryOp::kNeg, kFloatsAndSigned},
    {"Sign", UnaryOp::kSign, types::kNumeric},
    {"Not", UnaryOp::kBitNot, types::kBool},
    {"BitwiseNot", UnaryOp::kBitNot, types::kIntegers},
    {"Floor", UnaryOp::kFloor, types::kFloats},
    {"Ceil", UnaryOp::kCeil, types::kFloats},
    {"Round", UnaryOp::kRound, types::kFloats},
    {"Sqrt", UnaryOp::kSqrt, types::kFloats, {}, {}, 0.6},
    {"Reciprocal", UnaryOp::kReciprocal, types::kFloats, {}, {}, 0.5},
    {"Exp", UnaryOp::kExp, types::kFloats, {}, {}, 0.8},
    {"Log", UnaryOp::kLog, types::kFloats, {}, {}, 1},
    {"Sin", UnaryOp::kSin, types::kFloats, {}, {}, 1.5},
    {"Cos", UnaryOp::kCos, types::kFloats, {}, {}, 1.5},
    {"Tan", UnaryOp::kTan, types::kFloats, {}, {}, 2},
    {"Asin", UnaryOp::kAsin, types::kFloats, {}, {}, 2},
    {"Acos", UnaryOp::kAcos, types::kFloats, {}, {}, 2},
    {"Atan", UnaryOp::kAtan, types::kFloats, {}, {}, 2},
    {"Sinh", UnaryOp::kSinh, types::kFloats, {}, {}, 2},
    {"Cosh", UnaryOp::kCosh, types::kFloats, {}, {}, 2},
    {"Tanh", UnaryOp::kTanh, types::kFloats, {}, {}, 1},
    {"Asinh", UnaryOp::kAsinh, types::kFloats, {}, {}, 2},
    {"Acosh", UnaryOp::kAcosh, types::kFloats, {}, {}, 2},
    {"Atanh", UnaryOp::kAtanh, types::kFloats, {}, {}, 2},
    {"Erf", UnaryOp::kErf, types::kFloats, {}, {}, 1},
    {"Sigmoid", UnaryOp::kSigmoid, types::kFloats, {}, {}, 1},
    {"Relu", UnaryOp::kRelu, kFloatsAndSigned},
    {"LeakyRelu", UnaryOp::kLeakyRelu, types::kFloats, {"alpha", 0.01f}},
    {"ThresholdedRelu", UnaryOp::kThresholdedRelu, types::kFloats, {"alpha", 1.0f}},
    {"Elu", UnaryOp::kElu, types::kFloats, {"alpha", 1.0f}, {}, 1},
    {"Selu", UnaryOp::kSelu, types::kFloats, {"alpha", 1.6732f}, {"gamma", 1.0507f}, 1, 1, 5},
    {"Selu",
     UnaryOp::kSelu,
     types::kFloats,
     {"alpha", 1.67326319217681884765625f},
     {"gamma", 1.05070102214813232421875f},
     1,
     6},
    {"Celu", UnaryOp::kCelu, types::kFloats, {"alpha", 1.0f}, {}, 1},
    {"Softplus", UnaryOp::kSoftplus, types::kFloats, {}, {}, 1.5},
    {"Softsign", UnaryOp::kSoftsign, types::kFloats, {}, {}, 0.5},
    {"HardSigmoid", UnaryOp::kHardSigmoid, types::kFloats, {"alpha", 0.2f}, {"beta", 0.5f}},
    {"HardSwish", UnaryOp::kHardSwish, types::kFloats},
    {"Mish", UnaryOp::kMish, types::kFloats, {}, {}, 2},
    {"Shrink", UnaryOp::kShrink, types::kFloats, {"lambd", 0.5f}, {"bias", 0.0f}},
    {"Swish", UnaryOp::kSilu, types::kFloats, {"alpha", 1.0f}, {}, 1},
};

const Row kGeluErf = {"Gelu", UnaryOp::kGeluErf, types::kFloats, {}, {}, 1.2};
const Row kGeluTanh = {"Gelu", UnaryOp::kGeluTanh, types::kFloats, {}, {}, 1.2};
const Row kIsNan = {"IsNaN", UnaryOp::kIsNan, types::kFloats};
const Row kIsInf = {"IsInf", UnaryOp::kIsInf, types::kFloats};

}  // namespace

void Register(KernelRegistry& registry) {
  for (const Row& row : kRows) {
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Since(row.first, row.last)
                          .Input(0, row.types)
                          .MayAlias(0, 0)
                          .Create([&row](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Unary>(info, row);
                          }));
  }
  for (const char* op_type : {"Erf", "Shrink"}) {
    registry.Register(KernelCreateInfo::For(op_type)
                          .Input(0, types::kIntegers)
                          .MayAlias(0, 0)
                          .Make<IntegerErfOrShrink>());
  }
  registry.Register(KernelCreateInfo::For("Gelu")
                        .Input(0, types::kFloats)
                        .MayAlias(0, 0)
                        .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                          const std::string form = info.attributes().String("approximate", "none");
                          if (form != "none" && form != "tanh")
                            info.Fail("approximate is '" + form + "'");
                          return std::make_unique<Unary>(info,
                                                         form == "tanh" ? kGeluTanh : kGeluErf);
                        }));
  registry.Register(KernelCreateInfo::For("IsNaN")
                        .Input(0, types::kFloats)
                        .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                          return std::make_unique<Unary>(info, kIsNan);
                        }));
  registry.Register(KernelCreateInfo::For("IsInf")
                        .Input(0, types::kFloats)
                        .Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                          return std::make_unique<IsInf>(info, kIsInf);
                        }));
  const TypeSet float8 = types::kFloat8 | TypeSet(DataType::kFloat8E8M0);
  registry.Register(KernelCreateInfo::For("IsNaN").Input(0, float8).Make<Float8Class>());
  registry.Register(KernelCreateInfo::For("IsInf").Input(0, float8).Make<Float8Class>());
}

}  // namespace switchyard::cpu::kernels::unary
