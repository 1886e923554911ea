// Convolution over one to three spatial dimensions. Float goes to the direct kernels of math/,
// 16-bit floats are widened, double is unfolded into a matrix product.

#include "providers/cpu/math/conv.h"
#include "providers/cpu/math/winograd.h"
#include "providers/cpu/provider.h"
#include "providers/cpu/kernels/common/conv_geometry.h"
#include "providers/cpu/math/gemm.h"
#include "providers/cpu/math/vec_cast.h"
#include "switchyard/ep/bound_variant.h"

namespace switchyard::cpu::kernels::conv {
namespace {

using math::ConvShape;
using math::ElemType;

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

template <typename T>
class FloatConv final : public OpKernel, public IBoundVariant {
  static constexpr bool kConverts = kIsHalf<T>;
  struct State {
    PodDims out;
    math::ConvPlan plan;
    math::WinogradPlan winograd;
    bool by_winograd;
    std::size_t x_at, w_at, b_at, y_at, z_at;
  };

 public:
  explicit FloatConv(OpKernelInfo& info)
      : geometry_(info),
        level_(IsaOf(info)),
        ops_(math::ConvFor(level_)),
        winograd_(math::WinogradFor(level_)) {
    if constexpr (kConverts) {
      const auto type = static_cast<ElemType>(DataTypeOf<T>);
      widen_ = math::GetCast(type, ElemType::kFloat, level_);
      narrow_ = math::GetCast(ElemType::kFloat, type, level_);
    }
    if (const Constant* w = info.stored(1); w != nullptr && w->size() != 0) {
      const ConvShape shape = geometry_.FromWeight(info, w->dims());
      if (MayUseWinograd(info, shape))
        winograd_packed_ = info.RequestPacked(1, FormOf(winograd_, "conv.w.f32.winograd4.", shape));
      if (!always_winograd_) packed_ = info.RequestPacked(1, FormOf(ops_, "conv.w.f32.", shape));
    }
    if (info.node().OpType() == "FusedConv") ReadActivation(info);
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  std::string Variant() const override {
    return packed_ >= 0 || winograd_packed_ >= 0 ? "weights packed at load"
                                                 : "weights packed per run";
  }

  std::string BoundVariant(const void* state) const override {
    const auto& bound = *static_cast<const State*>(state);
    const std::string weights = ", " + Variant() + (kConverts ? ", computes in float" : "");
    if (bound.by_winograd) return "Winograd: fewer products pay for this shape" + weights;
    switch (bound.plan.path) {
      case math::ConvPath::kNothing:
        return "empty output";
      case math::ConvPath::kPointwise:
        return "matrix product: the kernel is 1x1" + weights;
      case math::ConvPath::kUnfold:
        return "unfolded tiles and a matrix product" + weights;
      case math::ConvPath::kRows:
        return "padded input rows, read through an offset table" + weights;
      case math::ConvPath::kDepthwise:
        return "depthwise: one input channel per group" + weights;
    }
    return {};
  }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    Dims out;
    ConvShape shape = geometry_.Full(context, context.input_dims(0), context.input_dims(1), &out);
    shape.weight_packed = packed_ >= 0;
    StoreDims(context, out, &state.out);
    state.by_winograd = winograd_packed_ >= 0 && (always_winograd_ || winograd_.pays(shape));
    if (state.by_winograd) {
      state.winograd = winograd_.plan(shape);
    } else {
      state.plan = ops_.plan(shape);
    }
    if (context.has_input(2) && Product(context.input_dims(2)) != shape.out_channels) {
      context.Fail("the bias has dims " + DimsToString(context.input_dims(2)));
    }
    const std::size_t slice =
        state.by_winograd ? state.winograd.scratch_bytes : state.plan.scratch_bytes;
    std::size_t bytes = RoundUp(slice) * static_cast<std::size_t>(context.team_size());
    const auto reserve = [&](std::size_t* at, std::int64_t elements) {
      *at = bytes;
      if (kConverts) bytes += RoundUp(static_cast<std::size_t>(elements) * sizeof(float));
    };
    reserve(&state.x_at, Product(context.input_dims(0)));
    reserve(&state.w_at,
            packed_ >= 0 || winograd_packed_ >= 0 ? 0 : Product(context.input_dims(1)));
    reserve(&state.b_at, shape.out_channels);
    reserve(&state.y_at, Product(out));
    state.z_at = 0;
    if (context.has_input(3)) reserve(&state.z_at, Product(out));
    context.SetScratch(bytes);
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    Tensor& y = context.Output(0, state.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    math::Epilogue epilogue;
    if (const Tensor* bias = context.OptionalInput(2))
      epilogue.bias_row = Widened(context, *bias, scratch + state.b_at);
    epilogue.activation = activation_;
    epilogue.a = a_;
    epilogue.b = b_;
    if (const Tensor* sum = context.OptionalInput(3)) {
      if (sum->size() != y.size())
        context.Fail("the residual has dims " + DimsToString(sum->dims()));
      const std::int64_t pixels = y.size() / (y.dim(0) * y.dim(1));
      epilogue.residual = Widened(context, *sum, scratch + state.z_at);
      epilogue.residual_ld = pixels;
      epilogue.residual_batch_stride = y.dim(1) * pixels;
    }
    math::ConvArgs args;
    args.input = Widened(context, context.Input(0), scratch + state.x_at);
    const int form = state.by_winograd ? winograd_packed_ : packed_;
    args.weight = form >= 0 ? reinterpret_cast<const float*>(context.Packed(form))
                            : Widened(context, context.Input(1), scratch + state.w_at);
    args.output = kConverts ? reinterpret_cast<float*>(scratch + state.y_at)
                            : static_cast<float*>(y.raw_mutable());
    args.epilogue = &epilogue;
    if (state.by_winograd) {
      RunChunks(context, state.winograd, winograd_.run_chunk, args, scratch);
    } else {
      RunChunks(context, state.plan, ops_.run_chunk, args, scratch);
    }
    if constexpr (kConverts) {
      ParallelItems(context, y.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(narrow_, args.output, y.raw_mutable(), begin, end);
      });
    }
  }

 private:
  void ReadActivation(OpKernelInfo& info) {
    const std::string name = info.attributes().String("activation", "");
    const auto given = info.attributes().Floats("activation_params");
    const auto parameter = [&](std::size_t i, float absent) {
      return i < given.size() ? given[i] : absent;
    };
    if (name == "Relu") {
      activation_ = math::Activation::kRelu;
    } else if (name == "Sigmoid") {
      activation_ = math::Activation::kSigmoid;
    } else if (name == "HardSwish") {
      activation_ = math::Activation::kHardSwish;
    } else if (name == "Tanh") {
      activation_ = math::Activation::kTanh;
    } else if (name == "LeakyRelu") {
      activation_ = math::Activation::kLeakyRelu;
      a_ = parameter(0, 0.01f);
    } else if (name == "Clip") {
      activation_ = math::Activation::kClip;
      a_ = parameter(0, std::numeric_limits<float>::lowest());
      b_ = parameter(1, std::numeric_limits<float>::max());
    } else if (name == "HardSigmoid") {
      activation_ = math::Activation::kHardSigmoid;
      a_ = parameter(0, 0.2f);
      b_ = parameter(1, 0.5f);
    } else if (!name.empty()) {
      info.Fail("activation '" + name + "' is unknown", ErrorCode::kNotImplemented);
    }
  }

  // The weights as `ops` (direct or Winograd) keeps them, under the name `id`.
  template <typename Ops>
  PackedForm FormOf(const Ops& ops, std::string id, const ConvShape& shape) const {
    PackedForm form;
    form.id = std::move(id) + std::to_string(static_cast<int>(level_)) + ".g" +
              std::to_string(shape.groups);
    form.bytes = ops.packed_weight_elements(shape) * sizeof(float);
    form.parts = kConverts ? 1 : ops.weight_panels(shape);  // widened as a whole, once
    form.pack = [ops = &ops, shape, widen = widen_](const Tensor& dense, std::int64_t begin,
                                                    std::int64_t end, std::byte* to) {
      const auto* source = static_cast<const float*>(dense.raw());
      std::vector<float> wide;
      if constexpr (kConverts) {
        wide.resize(static_cast<std::size_t>(dense.size()));
        math::RunCast(widen, dense.raw(), wide.data(), 0, dense.size());
        source = wide.data();
        end = ops->weight_panels(shape);
      }
      ops->pack_weight(shape, source, begin, end, reinterpret_cast<float*>(to));
    };
    return form;
  }

  const float* Widened(OpKernelContext& context, const Tensor& tensor, std::byte* at) const {
    if constexpr (kConverts) {
      ParallelItems(context, tensor.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        math::RunCast(widen_, tensor.raw(), at, begin, end);
      });
      return reinterpret_cast<const float*>(at);
    } else {
      return tensor.data<float>();
    }
  }

  template <typename Plan, typename Run>
  void RunChunks(OpKernelContext& context, const Plan& plan, Run run_chunk,
                 const math::ConvArgs& args, std::byte* scratch) const {
    constexpr double kFlopsWorthAThread = 3e5;
    const std::size_t slice = RoundUp(plan.scratch_bytes);
    if (plan.flops_per_chunk * static_cast<double>(plan.chunks) < kFlopsWorthAThread) {
      for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
        run_chunk(plan, args, chunk, scratch);
      }
      return;
    }
    context.team().ParallelFor(plan.chunks, [&](std::int64_t chunk, int worker) {
      run_chunk(plan, args, chunk, scratch + slice * static_cast<std::size_t>(worker));
    });
  }

  // Where the output's size is known it decides here which weights are kept; else both are.
  bool MayUseWinograd(const OpKernelInfo& info, const ConvShape& weight) {
    const auto* provider = dynamic_cast<const CpuExecutionProvider*>(&info.provider());
    if (provider == nullptr || provider->exact()) return false;
    if (!winograd_.applies(weight)) return false;
    const Shape& out = info.output_type(0).shape;
    const Shape& in = info.input_type(0).shape;
    if (!out.is_concrete() || !in.is_concrete() || out.rank() != 4 || in.rank() != 4) return true;
    ConvShape s = weight;
    s.batch = in[0].value();
    for (std::size_t i = 0; i < 2; ++i) {
      s.in[i + 1] = in[i + 2].value();
      s.out[i + 1] = out[i + 2].value();
    }
    always_winograd_ = winograd_.pays(s);
    return always_winograd_;
  }

  ConvGeometry geometry_;
  math::IsaLevel level_;
  const math::ConvOps& ops_;
  const math::WinogradOps& winograd_;
  math::CastKernel widen_, narrow_;
  int packed_ = -1, winograd_packed_ = -1;
  bool always_winograd_ = false;
  math::Activation activation_ = math::Activation::kNone;
  float a_ = 0, b_ = 0;
};

// Double precision is rare: each group of each image is unfolded and multiplied.
class DoubleConv final : public OpKernel {
  struct State {
    PodDims out;
    ConvShape shape;
    math::GemmPlan plan;
    std::size_t columns_at;
  };

 public:
  explicit DoubleConv(OpKernelInfo& info) : geometry_(info), ops_(math::GemmF64For(IsaOf(info))) {}
  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    Dims out;
    const ConvShape s = geometry_.Full(context, context.input_dims(0), context.input_dims(1), &out);
    StoreDims(context, out, &state.out);
    state.shape = s;
    const std::int64_t k = s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2];
    const std::int64_t pixels = s.out[0] * s.out[1] * s.out[2];
    state.plan = ops_.plan({s.out_channels / s.groups, pixels, k});
    state.columns_at =
        RoundUp(state.plan.scratch_bytes) * static_cast<std::size_t>(context.team_size());
    context.SetScratch(state.columns_at + static_cast<std::size_t>(k * pixels) * sizeof(double));
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    const ConvShape& s = state.shape;
    Tensor& y = context.Output(0, state.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    auto* columns = reinterpret_cast<double*>(scratch + state.columns_at);
    const Tensor* bias = context.OptionalInput(2);
    const std::int64_t in = s.in[0] * s.in[1] * s.in[2], pixels = s.out[0] * s.out[1] * s.out[2];
    const std::int64_t m = s.out_channels / s.groups, channels = s.in_channels / s.groups;
    const std::int64_t k = state.plan.shape.k;
    for (std::int64_t i = 0; i < s.batch * s.groups; ++i) {
      const std::int64_t g = i % s.groups;
      UnfoldImage(context, s, context.Input(0).data<double>() + i * channels * in, columns);
      math::EpilogueT<double> epilogue;
      if (bias != nullptr) epilogue.bias_row = bias->data<double>() + g * m;
      math::GemmArgsT<double> args;
      args.a = context.Input(1).data<double>() + g * m * k;
      args.lda = k;
      args.b = columns;
      args.ldb = pixels;
      args.c = y.data_mutable<double>() + i * m * pixels;
      args.ldc = pixels;
      args.epilogue = &epilogue;
      context.team().ParallelFor(state.plan.chunks, [&](std::int64_t chunk, int worker) {
        ops_.run_chunk(
            state.plan, args, chunk,
            scratch + RoundUp(state.plan.scratch_bytes) * static_cast<std::size_t>(worker));
      });
    }
  }

 private:
  ConvGeometry geometry_;
  const math::GemmOpsF64& ops_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("Conv").Input(0, DataType::kFloat).Make<FloatConv<float>>());
  registry.Register(
      KernelCreateInfo::For("Conv").Input(0, DataType::kFloat16).Make<FloatConv<Float16>>());
  registry.Register(
      KernelCreateInfo::For("Conv").Input(0, DataType::kBFloat16).Make<FloatConv<BFloat16>>());
  registry.Register(KernelCreateInfo::For("Conv").Input(0, DataType::kDouble).Make<DoubleConv>());
  registry.Register(KernelCreateInfo::For("FusedConv", "com.microsoft")
                        .Input(0, DataType::kFloat)
                        .Make<FloatConv<float>>());
  registry.Register(KernelCreateInfo::For("FusedConv", "com.microsoft")
                        .Input(0, DataType::kFloat16)
                        .Make<FloatConv<Float16>>());
}

}  // namespace switchyard::cpu::kernels::conv
