// com.microsoft: quantised elementwise operators, concatenation, pools and softmax over 8-bit
// tensors, and the QuantizeLinear and DequantizeLinear of that domain.

#include <array>
#include <atomic>

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/kernels/common/window.h"
#include "providers/cpu/math/vec_program.h"
#include "providers/cpu/math/vec_quantize.h"
#include "providers/cpu/math/vec_softmax.h"

namespace switchyard::cpu::kernels::qlinear {
namespace {

using math::BinaryOp;
using math::ElemType;
using math::ProgramStep;
using math::UnaryOp;

using ByteTypes = TypeList<std::uint8_t, std::int8_t>;
constexpr TypeSet kBytes = DataType::kUint8 | DataType::kInt8;

// Scale and zero point of one tensor.
struct Quantization {
  float scale = 1, zero = 0;
  bool operator==(const Quantization&) const = default;
};

Quantization ReadQuantization(const OpKernelContext& context, std::size_t scale_at) {
  Quantization q;
  q.scale = static_cast<float>(ReadScalar(context, scale_at));
  if (context.has_input(scale_at + 1))
    q.zero = static_cast<float>(ReadScalar(context, scale_at + 1));
  if (!(q.scale > 0)) context.Fail("a scale of " + std::to_string(q.scale));
  return q;
}

template <typename T>
T Requantize(float value, const Quantization& to) {
  const float v = std::nearbyint(value / to.scale) + to.zero;
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
  return static_cast<T>(std::min(std::max(v, kLow), kHigh));
}

// What each of the 256 codes becomes.
template <typename T, typename F>
std::array<T, 256> MakeTable(const Quantization& from, const Quantization& to, F&& f) {
  std::array<T, 256> table;
  for (int i = 0; i < 256; ++i) {
    const auto code = static_cast<T>(static_cast<std::uint8_t>(i));
    table[static_cast<std::size_t>(i)] =
        Requantize<T>(f((static_cast<float>(code) - from.zero) * from.scale), to);
  }
  return table;
}

template <typename T>
void Look(const std::array<T, 256>& table, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = table[static_cast<std::uint8_t>(x[i])];
}

// QLinearAdd and QLinearMul: a program over the broadcast operands.
class Binary final : public OpKernel {
 public:
  explicit Binary(OpKernelInfo& info)
      : op_(info.node().OpType() == "QLinearAdd" ? BinaryOp::kAdd : BinaryOp::kMul),
        level_(IsaOf(info)) {}

  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const auto a = context.input_dims(0), b = context.input_dims(3);
    const Dims out = BroadcastDimsOf(context, a, b);
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {a, b}, &state.plan);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const Quantization a = ReadQuantization(context, 1), b = ReadQuantization(context, 4),
                       c = ReadQuantization(context, 6);
    Tensor& y = context.Output(0, state.out.span());
    if (y.size() == 0) return;
    const auto type = static_cast<ElemType>(y.type());
    const bool is_signed = y.type() == DataType::kInt8;
    const auto unary = [](UnaryOp op, int x, float p0 = 0, float p1 = 0) {
      ProgramStep step;
      step.kind = ProgramStep::Kind::kUnary;
      step.op = static_cast<int>(op);
      step.a = x;
      step.p0 = p0;
      step.p1 = p1;
      return step;
    };
    const auto binary = [](BinaryOp op, int x, int z) {
      ProgramStep step;
      step.kind = ProgramStep::Kind::kBinary;
      step.op = static_cast<int>(op);
      step.a = x;
      step.b = z;
      return step;
    };
    ProgramStep divisor;
    divisor.kind = ProgramStep::Kind::kConstant;
    divisor.p0 = c.scale;
    const ProgramStep steps[] = {
        unary(UnaryOp::kAffine, 0, 1, -a.zero),  // 2
        unary(UnaryOp::kAffine, 2, a.scale, 0),  // 3
        unary(UnaryOp::kAffine, 1, 1, -b.zero),  // 4
        unary(UnaryOp::kAffine, 4, b.scale, 0),  // 5
        binary(op_, 3, 5),                       // 6
        divisor,                                 // 7
        binary(BinaryOp::kDiv, 6, 7),            // 8
        unary(UnaryOp::kRound, 8),               // 9
        unary(UnaryOp::kAffine, 9, 1, c.zero),   // 10
        unary(UnaryOp::kClip, 10, is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f)};
    const ElemType types[] = {type, type};
    const math::ProgramOutput outputs[] = {{11, type}};
    math::Program program;
    if (!math::CompileProgram(types, steps, outputs, level_, &program))
      context.Fail("no program for these types", ErrorCode::kNotImplemented);
    const void* inputs[] = {context.Input(0).raw(), context.Input(3).raw()};
    void* results[] = {y.raw_mutable()};
    ParallelItems(context, y.size(), 3, [&](std::int64_t begin, std::int64_t end) {
      math::RunProgram(program, state.plan, inputs, results, begin, end);
    });
  }

 private:
  BinaryOp op_;
  math::IsaLevel level_;
};

// QLinearSigmoid and QLinearLeakyRelu: a table.
class Unary final : public OpKernel {
 public:
  explicit Unary(OpKernelInfo& info)
      : sigmoid_(info.node().OpType() == "QLinearSigmoid"),
        alpha_(info.attributes().Float("alpha", 0.01f)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Quantization from = ReadQuantization(context, 1), to = ReadQuantization(context, 3);
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto table = MakeTable<T>(from, to, [this](float v) {
        if (sigmoid_) return 1.0f / (1.0f + std::exp(-v));
        return v < 0 ? alpha_ * v : v;
      });
      ParallelItems(context, y.size(), 0.6, [&](std::int64_t begin, std::int64_t end) {
        Look(table, x.data<T>() + begin, y.data_mutable<T>() + begin, end - begin);
      });
    });
  }

 private:
  bool sigmoid_;
  float alpha_;
};

// Inputs: Y's scale and zero point, then triples.
class Concat final : public OpKernel {
 public:
  explicit Concat(OpKernelInfo& info) : axis_(info.attributes().Int("axis", 0)) {
    if (info.num_inputs() < 5 || (info.num_inputs() - 2) % 3 != 0)
      info.Fail(std::to_string(info.num_inputs()) + " inputs");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& first = context.Input(2);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, first.rank()));
    Dims dims(first.dims());
    dims[axis] = 0;
    for (std::size_t i = 2; i < context.num_inputs(); i += 3) {
      const Tensor& x = context.Input(i);
      bool fits = x.rank() == first.rank() && x.type() == first.type();
      for (std::size_t d = 0; fits && d < x.rank(); ++d)
        fits = d == axis || x.dim(d) == first.dim(d);
      if (!fits) context.Fail("cannot join " + first.Describe() + " and " + x.Describe());
      dims[axis] += x.dim(axis);
    }
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    const Quantization to = ReadQuantization(context, 0);
    const std::int64_t inner = Product(y.dims().subspan(axis + 1));
    const std::int64_t outer = Product(y.dims().first(axis));
    const std::int64_t pitch = dims[axis] * inner;
    DispatchType(y.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::int64_t at = 0;
      for (std::size_t i = 2; i < context.num_inputs(); i += 3) {
        const Tensor& x = context.Input(i);
        const Quantization from = ReadQuantization(context, i + 1);
        const std::int64_t run = x.dim(axis) * inner;
        const auto table = MakeTable<T>(from, to, [](float v) { return v; });
        T* base = y.data_mutable<T>() + at;
        ParallelItems(context, outer, 0.6 * static_cast<double>(run),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t o = begin; o < end; ++o) {
                          const T* source = x.data<T>() + o * run;
                          if (from == to) {
                            std::copy_n(source, run, base + o * pitch);
                          } else {
                            Look(table, source, base + o * pitch, run);
                          }
                        }
                      });
        at += run;
      }
    });
  }

 private:
  std::int64_t axis_;
};

// Averages over windows, or over everything.
class AveragePool final : public OpKernel {
 public:
  AveragePool(OpKernelInfo& info, bool global)
      : global_(global),
        channels_last_(info.attributes().Int("channels_last", 0) != 0),
        count_padding_(info.attributes().Int("count_include_pad", 0) != 0),
        window_(info) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 3 || x.rank() > 5) context.Fail("the input is " + x.Describe());
    const std::size_t spatial = x.rank() - 2, first = channels_last_ ? 1 : 2;
    const std::int64_t channels = x.dim(channels_last_ ? x.rank() - 1 : 1);
    WindowAxis axes[3];
    Dims dims(x.dims());
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t in = x.dim(first + i);
      WindowAxis& axis = axes[3 - spatial + i];
      if (global_) {
        axis.in = axis.kernel = in;
      } else {
        if (window_.kernel.size() != spatial)
          context.Fail("kernel_shape " + DimsToString(window_.kernel) + " for " + x.Describe());
        axis = MakeWindowAxis(context, window_, i, spatial, in, window_.kernel[i]);
      }
      dims[first + i] = axis.out;
    }
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    const Quantization from = ReadQuantization(context, 1), to = ReadQuantization(context, 3);
    const std::int64_t in = axes[0].in * axes[1].in * axes[2].in;
    const std::int64_t out = axes[0].out * axes[1].out * axes[2].out;
    const std::int64_t step = channels_last_ ? channels : 1;
    const double ns = static_cast<double>(axes[0].kernel * axes[1].kernel * axes[2].kernel) *
                      static_cast<double>(out);
    DispatchType(x.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(context, x.dim(0) * channels, ns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
          const std::int64_t n = p / channels, c = p % channels;
          const std::int64_t x_at = channels_last_ ? n * in * channels + c : p * in;
          const std::int64_t y_at = channels_last_ ? n * out * channels + c : p * out;
          Plane(axes, x.data<T>() + x_at, y.data_mutable<T>() + y_at, step, from, to);
        }
      });
    });
  }

 private:
  template <typename T>
  void Plane(const WindowAxis (&axes)[3], const T* x, T* y, std::int64_t step,
             const Quantization& from, const Quantization& to) const {
    std::int64_t o[3];
    for (o[0] = 0; o[0] < axes[0].out; ++o[0]) {
      for (o[1] = 0; o[1] < axes[1].out; ++o[1]) {
        for (o[2] = 0; o[2] < axes[2].out; ++o[2], y += step) {
          std::int64_t start[3], low[3], high[3], inside = 1, padded = 1;
          for (int d = 0; d < 3; ++d) {
            start[d] = axes[d].Start(o[d]);
            axes[d].Inside(start[d], &low[d], &high[d]);
            inside *= high[d] - low[d];
            // A window that ceil_mode adds does not count what lies beyond the padding.
            const std::int64_t limit = axes[d].in + axes[d].pad_end - start[d];
            padded *= std::min(axes[d].kernel, (limit + axes[d].dilation - 1) / axes[d].dilation);
          }
          std::int64_t sum = 0;
          for (std::int64_t i = low[0]; i < high[0]; ++i) {
            const std::int64_t z = start[0] + i * axes[0].dilation;
            for (std::int64_t j = low[1]; j < high[1]; ++j) {
              const std::int64_t row =
                  (z * axes[1].in + start[1] + j * axes[1].dilation) * axes[2].in + start[2];
              for (std::int64_t k = low[2]; k < high[2]; ++k)
                sum += x[(row + k * axes[2].dilation) * step];
            }
          }
          const float value =
              (static_cast<float>(sum) - static_cast<float>(inside) * from.zero) * from.scale;
          *y = Requantize<T>(value / static_cast<float>(count_padding_ ? padded : inside), to);
        }
      }
    }
  }

  bool global_, channels_last_, count_padding_;
  WindowAttributes window_;
};

class Softmax final : public OpKernel {
 public:
  explicit Softmax(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", -1)),
        flattens_(info.attributes().Int("opset", 13) < 13),
        level_(IsaOf(info)) {}

  void Prepare(PrepareContext& context) const override {
    context.SetScratch(static_cast<std::size_t>(Product(context.input_dims(0))) * sizeof(float));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    const std::int64_t size = flattens_ ? Product(x.dims().subspan(axis)) : x.dim(axis);
    const std::int64_t inner = flattens_ ? 1 : Product(x.dims().subspan(axis + 1));
    const Quantization from = ReadQuantization(context, 1), to = ReadQuantization(context, 3);
    auto* values = static_cast<float*>(context.scratch());
    DispatchType(x.type(), ByteTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(context, y.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          values[i] = (static_cast<float>(x.data<T>()[i]) - from.zero) * from.scale;
      });
      ParallelItems(context, y.size() / size, 2.0 * static_cast<double>(size),
                    [&](std::int64_t begin, std::int64_t end) {
                      math::RunSoftmax(math::SoftmaxKind::kSoftmax, ElemType::kFloat, level_,
                                       values, values, size, inner, begin, end);
                    });
      ParallelItems(context, y.size(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          y.data_mutable<T>()[i] = Requantize<T>(values[i], to);
      });
    });
  }

 private:
  std::int64_t axis_;
  bool flattens_;
  math::IsaLevel level_;
};

// Per tensor, or per entry of the axis where the scale is a vector.
class Linear final : public OpKernel {
 public:
  explicit Linear(OpKernelInfo& info)
      : quantize_(info.node().OpType() == "QuantizeLinear"),
        axis_(info.attributes().Int("axis", 1)),
        level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor* zero = context.OptionalInput(2);
    Tensor& y = context.Output(0, x.dims());
    math::QuantArgs args;
    args.level = level_;
    if (scale.size() != 1) {
      const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
      if (scale.size() != x.dim(axis) || (zero != nullptr && zero->size() != scale.size()))
        context.Fail("scale " + scale.Describe() + " for " + x.Describe());
      args.layout.kind = math::QuantLayout::Kind::kAxis;
      args.layout.axis = x.dim(axis);
      args.layout.inner = Product(x.dims().subspan(axis + 1));
    } else if (zero != nullptr && zero->size() != 1) {
      context.Fail("zero point " + zero->Describe() + " for one scale");
    }
    args.real = static_cast<ElemType>((quantize_ ? x : y).type());
    args.quant = static_cast<ElemType>((quantize_ ? y : x).type());
    args.scale_type = static_cast<ElemType>(scale.type());
    args.scale = scale.raw();
    args.zero_point = zero != nullptr ? zero->raw() : nullptr;
    const auto run = quantize_ ? &math::RunQuantize : &math::RunDequantize;
    std::atomic<bool> known{true};
    ParallelItems(context, (x.size() + 7) / 8, 5, [&](std::int64_t begin, std::int64_t end) {
      if (!run(args, x.raw(), y.raw_mutable(), begin * 8, std::min(end * 8, x.size())))
        known = false;
    });
    if (!known)
      context.Fail("no kernel for " + x.Describe() + " to " + y.Describe(),
                   ErrorCode::kNotImplemented);
  }

 private:
  bool quantize_;
  std::int64_t axis_;
  math::IsaLevel level_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const auto on = [](const char* name) { return KernelCreateInfo::For(name, "com.microsoft"); };
  for (const char* name : {"QLinearAdd", "QLinearMul"})
    registry.Register(on(name).Input(0, kBytes).Make<Binary>());
  for (const char* name : {"QLinearSigmoid", "QLinearLeakyRelu"})
    registry.Register(on(name).Input(0, kBytes).Make<Unary>());
  registry.Register(on("QLinearConcat").Output(0, kBytes).Make<Concat>());
  for (const bool global : {false, true}) {
    registry.Register(on(global ? "QLinearGlobalAveragePool" : "QLinearAveragePool")
                          .Input(0, kBytes)
                          .Create([global](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<AveragePool>(info, global);
                          }));
  }
  registry.Register(on("QLinearSoftmax").Input(0, kBytes).Make<Softmax>());
  for (const char* name : {"QuantizeLinear", "DequantizeLinear"})
    registry.Register(on(name).Make<Linear>());
}

}  // namespace switchyard::cpu::kernels::qlinear
