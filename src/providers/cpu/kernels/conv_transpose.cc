// Transposed convolution: a matrix product gives every tap of every input pixel, then the taps are
// added up where they land.

#include "providers/cpu/kernels/common/window.h"
#include "providers/cpu/math/gemm.h"
#include "providers/cpu/math/vec_cast.h"

namespace switchyard::cpu::kernels::conv_transpose {
namespace {

using math::ElemType;

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

struct Axis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

template <typename T>
class ConvTranspose final : public OpKernel {
  using C = ComputeOf<T>;
  static constexpr bool kConverts = kIsHalf<T>;
  struct State {
    PodDims out;
    Axis axis[3];
    std::int64_t batch, in_channels, out_channels;  // per group
    math::GemmPlan plan;
    std::size_t taps_at, x_at, w_at;
  };

 public:
  explicit ConvTranspose(OpKernelInfo& info)
      : window_(info),
        groups_(info.attributes().Int("group", 1)),
        output_padding_(info.attributes().Ints("output_padding")),
        output_shape_(info.attributes().Ints("output_shape")),
        ops_(Ops(IsaOf(info))) {
    if (groups_ < 1) info.Fail("group is " + std::to_string(groups_));
    if constexpr (kConverts) {
      widen_ = math::GetCast(static_cast<ElemType>(DataTypeOf<T>), ElemType::kFloat, IsaOf(info));
    }
    if (const Tensor* w = info.constant(1);
        w != nullptr && w->size() != 0 && w->rank() >= 3 && w->dim(0) % groups_ == 0) {
      packed_ = info.RequestPacked(1, FormOf(*w, static_cast<int>(IsaOf(info))));
    }
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    state = State();
    const auto x = context.input_dims(0), w = context.input_dims(1);
    if (x.size() != w.size() || x.size() < 3 || x.size() > 5) {
      context.Fail("input of dims " + DimsToString(x) + " and weight of dims " + DimsToString(w));
    }
    if (x[1] != w[0] || x[1] % groups_ != 0) {
      context.Fail("input has " + std::to_string(x[1]) + " channels, the weight " +
                   std::to_string(w[0]) + ", group " + std::to_string(groups_));
    }
    state.batch = x[0];
    state.in_channels = x[1] / groups_;
    state.out_channels = w[1];
    Dims out{x[0], w[1] * groups_};
    const std::size_t spatial = x.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i) {
      state.axis[3 - spatial + i] = MakeAxis(context, i, spatial, x[i + 2], w[i + 2]);
      out.push_back(state.axis[3 - spatial + i].out);
    }
    if (context.has_input(2) && Product(context.input_dims(2)) != out[1]) {
      context.Fail("the bias has dims " + DimsToString(context.input_dims(2)));
    }
    StoreDims(context, out, &state.out);
    const std::int64_t m = state.out_channels * Taps(state), n = InPixels(state);
    const auto form = packed_ >= 0 ? math::MatrixForm::kPacked : math::MatrixForm::kTransposed;
    state.plan = ops_.plan({m, n, state.in_channels, 1, form, math::MatrixForm::kRowMajor});
    std::size_t bytes =
        RoundUp(state.plan.scratch_bytes) * static_cast<std::size_t>(context.team_size());
    const auto reserve = [&](std::size_t* at, std::int64_t elements) {
      *at = bytes;
      bytes += RoundUp(static_cast<std::size_t>(elements) * sizeof(C));
    };
    reserve(&state.taps_at, m * n);
    reserve(&state.x_at, kConverts ? Product(x) : 0);
    reserve(&state.w_at, kConverts && packed_ < 0 ? Product(w) : 0);
    context.SetScratch(bytes);
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    Tensor& y = context.Output(0, state.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    const C* x = Widened(context.Input(0), scratch + state.x_at);
    const C* w = packed_ >= 0 ? reinterpret_cast<const C*>(context.Packed(packed_))
                              : Widened(context.Input(1), scratch + state.w_at);
    const Tensor* bias = context.OptionalInput(2);
    auto* taps = reinterpret_cast<C*>(scratch + state.taps_at);
    const std::int64_t m = state.out_channels * Taps(state), n = InPixels(state);
    const std::int64_t out_pixels = state.axis[0].out * state.axis[1].out * state.axis[2].out;
    const bool no_input = n == 0 || state.in_channels == 0;
    for (std::int64_t i = 0; i < state.batch * groups_; ++i) {
      const std::int64_t g = i % groups_;
      math::GemmArgsT<C> args;
      args.a =
          w + g * (packed_ >= 0
                       ? static_cast<std::int64_t>(ops_.packed_a_elements(m, state.in_channels))
                       : state.in_channels * m);
      args.lda = m;
      args.b = x + i * state.in_channels * n;
      args.ldb = n;
      args.c = taps;
      args.ldc = n;
      if (!no_input) {
        context.team().ParallelFor(state.plan.chunks, [&](std::int64_t chunk, int worker) {
          ops_.run_chunk(
              state.plan, args, chunk,
              scratch + RoundUp(state.plan.scratch_bytes) * static_cast<std::size_t>(worker));
        });
      }
      const double ns = 1.0 * static_cast<double>(Taps(state) * n + out_pixels);
      ParallelItems(context, state.out_channels, ns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          const std::int64_t channel = g * state.out_channels + c;
          const C start = bias != nullptr ? Widen(bias->data<T>()[channel]) : C(0);
          T* out = y.data_mutable<T>() + (i * state.out_channels + c) * out_pixels;
          Fold(state, no_input ? nullptr : taps + c * Taps(state) * n, start, out);
        }
      });
    }
  }

 private:
  // The taps of all output channels are the rows of the left-hand matrix of each group.
  PackedForm FormOf(const Tensor& weight, int level) const {
    const std::int64_t k = weight.dim(0) / groups_, m = Product(weight.dims().subspan(1));
    const std::int64_t panels = ops_.a_panels(m);
    const auto elements = static_cast<std::int64_t>(ops_.packed_a_elements(m, k));
    PackedForm form;
    form.id = std::string("convt.w.") + (sizeof(C) == 8 ? "f64." : "f32.") + std::to_string(level) +
              ".g" + std::to_string(groups_);
    form.bytes = static_cast<std::size_t>(groups_ * elements) * sizeof(C);
    form.parts = groups_ * panels;
    form.pack = [ops = &ops_, widen = widen_, k, m, panels, elements](
                    const Tensor& dense, std::int64_t begin, std::int64_t end, std::byte* to) {
      const C* source = static_cast<const C*>(dense.raw());
      std::vector<C> wide;
      if constexpr (kConverts) {
        wide.resize(static_cast<std::size_t>(dense.size()));
        math::RunCast(widen, dense.raw(), wide.data(), 0, dense.size());
        source = wide.data();
      }
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t g = p / panels;
        ops->pack_a(source + g * k * m, m, math::MatrixForm::kTransposed, m, k, p % panels,
                    p % panels + 1, reinterpret_cast<C*>(to) + g * elements);
      }
    };
    return form;
  }

  static const math::GemmOpsT<C>& Ops(math::IsaLevel level) {
    if constexpr (std::is_same_v<C, double>) {
      return math::GemmF64For(level);
    } else {
      return math::GemmFor(level);
    }
  }
  static std::int64_t Taps(const State& s) {
    return s.axis[0].kernel * s.axis[1].kernel * s.axis[2].kernel;
  }
  static std::int64_t InPixels(const State& s) {
    return s.axis[0].in * s.axis[1].in * s.axis[2].in;
  }

  Axis MakeAxis(const PrepareContext& context, std::size_t i, std::size_t spatial, std::int64_t in,
                std::int64_t kernel) const {
    Axis a;
    a.in = in;
    a.kernel = kernel;
    if (i < window_.strides.size()) a.stride = window_.strides[i];
    if (i < window_.dilations.size()) a.dilation = window_.dilations[i];
    const std::int64_t extra = i < output_padding_.size() ? output_padding_[i] : 0;
    for (const std::int64_t v : {kernel, a.stride, a.dilation, extra + 1}) {
      if (v < 1 || v > kMaxWindow)
        context.Fail("kernel_shape, strides, dilations or output_padding of " + std::to_string(v));
    }
    const std::int64_t full = (in - 1) * a.stride + extra + (kernel - 1) * a.dilation + 1;
    const bool same =
        window_.auto_pad == AutoPad::kSameUpper || window_.auto_pad == AutoPad::kSameLower;
    if (!output_shape_.empty() || same) {
      if (!output_shape_.empty() && output_shape_.size() < spatial)
        context.Fail("output_shape is " + DimsToString(output_shape_));
      // Some exporters give batch and channels too.
      a.out =
          output_shape_.empty() ? in * a.stride : output_shape_[output_shape_.size() - spatial + i];
      const std::int64_t total = std::max<std::int64_t>(0, full - a.out);
      a.pad = window_.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    } else {
      std::int64_t end = 0;
      if (window_.auto_pad == AutoPad::kNotSet && window_.pads.size() == 2 * spatial) {
        a.pad = window_.pads[i];
        end = window_.pads[i + spatial];
        for (const std::int64_t v : {a.pad, end}) {
          if (v > kMaxWindow || v < -kMaxWindow) context.Fail("a pad of " + std::to_string(v));
        }
      }
      a.out = full - a.pad - end;
    }
    if (a.out < 0)
      context.Fail("the output would have " + std::to_string(a.out) + " entries on a spatial axis");
    return a;
  }

  const C* Widened(const Tensor& tensor, std::byte* at) const {
    if constexpr (kConverts) {
      math::RunCast(widen_, tensor.raw(), at, 0, tensor.size());
      return reinterpret_cast<const C*>(at);
    } else {
      return static_cast<const C*>(tensor.raw());
    }
  }

  // Adds the taps of one output channel.
  static void Fold(const State& s, const C* taps, C start, T* out) {
    const Axis* a = s.axis;
    for (std::int64_t d = 0; d < a[0].out; ++d) {
      for (std::int64_t h = 0; h < a[1].out; ++h) {
        T* row = out + (d * a[1].out + h) * a[2].out;
        if constexpr (kConverts) {
          for (std::int64_t at = 0; at < a[2].out; at += kLine) {
            C line[kLine];
            const std::int64_t count = std::min(kLine, a[2].out - at);
            std::fill_n(line, count, start);
            if (taps != nullptr) FoldRow(a, taps, d, h, at, count, line);
            for (std::int64_t i = 0; i < count; ++i) row[at + i] = Narrow<T>(line[i]);
          }
        } else {
          std::fill_n(row, a[2].out, start);
          if (taps != nullptr) FoldRow(a, taps, d, h, 0, a[2].out, row);
        }
      }
    }
  }
  static constexpr std::int64_t kLine = 512;

  // Input position that tap k of this axis comes from, or -1.
  static std::int64_t Source(const Axis& a, std::int64_t o, std::int64_t k) {
    const std::int64_t v = o + a.pad - k * a.dilation;
    if (v < 0 || v % a.stride != 0) return -1;
    return v / a.stride < a.in ? v / a.stride : -1;
  }

  // Columns [first, first + count) of output row (d, h).
  static void FoldRow(const Axis* a, const C* taps, std::int64_t d, std::int64_t h,
                      std::int64_t first, std::int64_t count, C* row) {
    const std::int64_t plane = a[0].in * a[1].in * a[2].in;
    for (std::int64_t kd = 0; kd < a[0].kernel; ++kd) {
      const std::int64_t id = Source(a[0], d, kd);
      if (id < 0) continue;
      for (std::int64_t kh = 0; kh < a[1].kernel; ++kh) {
        const std::int64_t ih = Source(a[1], h, kh);
        if (ih < 0) continue;
        for (std::int64_t kw = 0; kw < a[2].kernel; ++kw) {
          const std::int64_t tap = (kd * a[1].kernel + kh) * a[2].kernel + kw;
          const C* from = taps + tap * plane + (id * a[1].in + ih) * a[2].in;
          // Output column of input column i: i * stride + shift.
          const std::int64_t shift = kw * a[2].dilation - a[2].pad - first, stride = a[2].stride;
          const std::int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
          const std::int64_t end =
              count <= shift ? 0 : std::min(a[2].in, (count - shift + stride - 1) / stride);
          for (std::int64_t i = begin; i < end; ++i) row[i * stride + shift] += from[i];
        }
      }
    }
  }

  WindowAttributes window_;
  std::int64_t groups_;
  Dims output_padding_, output_shape_;
  const math::GemmOpsT<C>& ops_;
  math::CastKernel widen_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("ConvTranspose")
                        .Input(0, DataType::kFloat)
                        .Make<ConvTranspose<float>>());
  registry.Register(KernelCreateInfo::For("ConvTranspose")
                        .Input(0, DataType::kDouble)
                        .Make<ConvTranspose<double>>());
  registry.Register(KernelCreateInfo::For("ConvTranspose")
                        .Input(0, DataType::kFloat16)
                        .Make<ConvTranspose<Float16>>());
  registry.Register(KernelCreateInfo::For("ConvTranspose")
                        .Input(0, DataType::kBFloat16)
                        .Make<ConvTranspose<BFloat16>>());
}

}  // namespace switchyard::cpu::kernels::conv_transpose
