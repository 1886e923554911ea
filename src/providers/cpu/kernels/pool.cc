// Windows over one to three spatial dimensions: MaxPool, AveragePool, LpPool.

#include "providers/cpu/kernels/common/window.h"
#include "providers/cpu/math/vec_elementwise.h"
#include "providers/cpu/math/vec_pool.h"

namespace switchyard::cpu::kernels::pool {
namespace {

enum class Kind { kMax, kAverage, kLp };

// Missing leading spatial axes have size 1.
struct State {
  PodDims out;
  WindowAxis axis[3];
  std::int64_t planes = 0;
};

class Pool final : public OpKernel {
 public:
  Pool(OpKernelInfo& info, Kind kind)
      : attributes_(info),
        kind_(kind),
        include_pad_(info.attributes().Int("count_include_pad", 0) != 0),
        column_major_(info.attributes().Int("storage_order", 0) != 0) {
    if (attributes_.kernel.empty() && kind == Kind::kLp && info.node().SinceVersion() == 1) {
      info.Fail("kernel_shape is not given");
    }
    if (kind == Kind::kLp) {
      power_ = info.node().SinceVersion() == 1
                   ? static_cast<double>(info.attributes().Float("p", 2.0f))
                   : static_cast<double>(info.attributes().Int("p", 2));
    }
    const auto op = kind == Kind::kMax ? math::BinaryOp::kMax : math::BinaryOp::kAdd;
    isa_ = IsaOf(info);
    combine_ = math::GetBinary(op, math::ElemType::kFloat, isa_);
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<State>();
    const auto x = context.input_dims(0);
    const std::size_t spatial = attributes_.kernel.size();
    if (x.size() != spatial + 2 || spatial < 1) {
      context.Fail("kernel_shape of " + std::to_string(spatial) + " axes for an input of dims " +
                   DimsToString(x));
    }
    if (spatial > 3) context.Fail("more than three spatial axes");
    Dims out{x[0], x[1]};
    for (WindowAxis& axis : state.axis) axis = WindowAxis();
    for (std::size_t i = 0; i < spatial; ++i) {
      WindowAxis& axis = state.axis[3 - spatial + i];
      axis = MakeWindowAxis(context, attributes_, i, spatial, x[i + 2], attributes_.kernel[i]);
      out.push_back(axis.out);
    }
    state.planes = x[0] * x[1];
    StoreDims(context, out, &state.out);
    if (RowsWay(context.input_elem(0), state)) {
      context.SetScratch(RowBytes(state) * static_cast<std::size_t>(context.team_size()));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const State& state = context.State<State>();
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, state.out.span());
    std::int64_t* indices = nullptr;
    if (context.has_output(1))
      indices = context.Output(1, state.out.span()).data_mutable<std::int64_t>();
    if (y.size() == 0) return;
    if (indices == nullptr && RowsWay(x.type(), state)) {
      return RunRows(context, state, x.data<float>(), y.data_mutable<float>());
    }
    DispatchType(
        x.type(), TypeList<float, double, Float16, BFloat16, std::int8_t, std::uint8_t>{},
        [&](auto tag) {
          using T = typename decltype(tag)::type;
          const std::int64_t in = state.axis[0].in * state.axis[1].in * state.axis[2].in;
          const std::int64_t out = state.axis[0].out * state.axis[1].out * state.axis[2].out;
          const double ns = static_cast<double>(out * state.axis[0].kernel * state.axis[1].kernel *
                                                state.axis[2].kernel);
          ParallelItems(context, state.planes, ns, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p) {
              Plane(state, x.data<T>() + p * in, y.data_mutable<T>() + p * out,
                    indices != nullptr ? indices + p * out : nullptr, p * in);
            }
          });
        });
  }

  std::string Variant() const override { return "rows for float, windows otherwise"; }

 private:
  bool RowsWay(DataType type, const State& state) const {
    return type == DataType::kFloat && kind_ != Kind::kLp && state.axis[0].kernel == 1 &&
           state.axis[0].in == 1;
  }
  static std::size_t RowBytes(const State& state) {
    return (static_cast<std::size_t>(state.axis[2].in) * sizeof(float) + 63) / 64 * 64;
  }

  // Combines the rows of a window first, then slides along the combined row.
  void RunRows(OpKernelContext& context, const State& state, const float* x, float* y) const {
    const WindowAxis& h = state.axis[1];
    const WindowAxis& w = state.axis[2];
    const std::int64_t rows = state.planes * h.out;
    const double ns_per_row =
        0.15 * static_cast<double>(h.kernel * w.in) + 1.0 * static_cast<double>(w.out * w.kernel);
    const auto per_chunk = static_cast<std::int64_t>(std::max(1.0, 20000.0 / ns_per_row));
    const std::int64_t chunks = (rows + per_chunk - 1) / per_chunk;
    const auto body = [&](std::int64_t chunk, int worker) {
      auto* line = reinterpret_cast<float*>(static_cast<std::byte*>(context.scratch()) +
                                            RowBytes(state) * static_cast<std::size_t>(worker));
      const std::int64_t end = std::min(rows, (chunk + 1) * per_chunk);
      for (std::int64_t r = chunk * per_chunk; r < end; ++r) {
        OneRow(h, w, x + r / h.out * h.in * w.in, r % h.out, line, y + r * w.out);
      }
    };
    context.team().ParallelFor(chunks, body);
  }

  void OneRow(const WindowAxis& h, const WindowAxis& w, const float* plane, std::int64_t oh,
              float* line, float* out) const {
    const std::int64_t start = h.Start(oh);
    std::int64_t first, last;
    h.Inside(start, &first, &last);
    const float* combined = plane + (start + first * h.dilation) * w.in;
    if (last == first) {
      std::fill_n(line, w.in, kind_ == Kind::kMax ? -std::numeric_limits<float>::infinity() : 0.0f);
      combined = line;
    }
    for (std::int64_t k = first + 1; k < last; ++k) {
      const float* row = plane + (start + k * h.dilation) * w.in;
      math::RunBinary(combine_, combined, row, line, w.in, math::Span::kVectorVector);
      combined = line;
    }
    const std::int64_t rows = include_pad_ ? Counted(h, start) : last - first;
    // Windows that lie inside the row go by vectors; those at its ends one by one.
    const std::int64_t inside_first = std::min(w.out, (w.pad_begin + w.stride - 1) / w.stride);
    const std::int64_t reach = w.in - ((w.kernel - 1) * w.dilation + 1) + w.pad_begin;
    const std::int64_t inside_end =
        reach < 0 ? inside_first : std::clamp(reach / w.stride + 1, inside_first, w.out);
    const std::int64_t count = inside_end - inside_first;
    const float* from = combined + w.Start(inside_first);
    if (count > 0 && kind_ == Kind::kMax) {
      math::MaxWindows(from, out + inside_first, count, w.stride, w.kernel, w.dilation, isa_);
    } else if (count > 0) {
      math::SumWindows(from, out + inside_first, count, w.stride, w.kernel, w.dilation, isa_);
      const auto divisor = static_cast<float>(rows * w.kernel);
      for (std::int64_t ow = inside_first; ow < inside_end; ++ow) {
        out[ow] = rows > 0 ? out[ow] / divisor : 0.0f;
      }
    }
    EdgeWindows(w, combined, rows, 0, inside_first, out);
    EdgeWindows(w, combined, rows, inside_end, w.out, out);
  }

  void EdgeWindows(const WindowAxis& w, const float* combined, std::int64_t rows,
                   std::int64_t begin, std::int64_t end, float* out) const {
    for (std::int64_t ow = begin; ow < end; ++ow) {
      const std::int64_t left = w.Start(ow);
      std::int64_t from, to;
      w.Inside(left, &from, &to);
      if (kind_ == Kind::kMax) {
        float best = -std::numeric_limits<float>::infinity();
        for (std::int64_t k = from; k < to; ++k) {
          const float v = combined[left + k * w.dilation];
          best = v > best || v != v ? v : best;
        }
        out[ow] = best;
      } else {
        float sum = 0;
        for (std::int64_t k = from; k < to; ++k) sum += combined[left + k * w.dilation];
        const std::int64_t count = rows * (include_pad_ ? Counted(w, left) : to - from);
        out[ow] = count > 0 ? sum / static_cast<float>(count) : 0.0f;
      }
    }
  }

  // Kernel positions inside the input and its padding.
  static std::int64_t Counted(const WindowAxis& axis, std::int64_t start) {
    const std::int64_t room = axis.in + axis.pad_end - start;
    return room <= 0 ? 0 : std::min(axis.kernel, (room + axis.dilation - 1) / axis.dilation);
  }

  template <typename T>
  void Plane(const State& state, const T* x, T* y, std::int64_t* indices, std::int64_t base) const {
    const WindowAxis* a = state.axis;
    for (std::int64_t od = 0; od < a[0].out; ++od) {
      for (std::int64_t oh = 0; oh < a[1].out; ++oh) {
        for (std::int64_t ow = 0; ow < a[2].out; ++ow) {
          const std::int64_t start[3] = {a[0].Start(od), a[1].Start(oh), a[2].Start(ow)};
          std::int64_t at = 0;
          *y++ = kind_ == Kind::kMax ? MaxOf(a, x, start, &at) : SumOf(a, x, start);
          if (indices != nullptr) *indices++ = base + at;
        }
      }
    }
  }

  template <typename T>
  T MaxOf(const WindowAxis* a, const T* x, const std::int64_t* start, std::int64_t* at) const {
    std::int64_t first[3], last[3];
    for (int i = 0; i < 3; ++i) a[i].Inside(start[i], &first[i], &last[i]);
    using C = ComputeOf<T>;
    bool any = false;
    C best = std::numeric_limits<C>::lowest();
    for (std::int64_t i = first[0]; i < last[0]; ++i) {
      const std::int64_t d = start[0] + i * a[0].dilation;
      for (std::int64_t j = first[1]; j < last[1]; ++j) {
        const std::int64_t h = start[1] + j * a[1].dilation;
        for (std::int64_t k = first[2]; k < last[2]; ++k) {
          const std::int64_t w = start[2] + k * a[2].dilation;
          const C v = Widen(x[(d * a[1].in + h) * a[2].in + w]);
          if (any && !(v > best) && v == v) continue;
          any = true;
          best = v;
          *at = column_major_ ? d + (h + w * a[1].in) * a[0].in : (d * a[1].in + h) * a[2].in + w;
        }
      }
    }
    return Narrow<T>(best);
  }

  template <typename T>
  T SumOf(const WindowAxis* a, const T* x, const std::int64_t* start) const {
    std::int64_t first[3], last[3];
    std::int64_t count = 1;
    for (int i = 0; i < 3; ++i) {
      a[i].Inside(start[i], &first[i], &last[i]);
      count *= include_pad_ ? Counted(a[i], start[i]) : last[i] - first[i];
    }
    double sum = 0;
    for (std::int64_t i = first[0]; i < last[0]; ++i) {
      for (std::int64_t j = first[1]; j < last[1]; ++j) {
        const std::int64_t row =
            ((start[0] + i * a[0].dilation) * a[1].in + start[1] + j * a[1].dilation) * a[2].in;
        for (std::int64_t k = first[2]; k < last[2]; ++k) {
          sum += Term(static_cast<double>(Widen(x[row + start[2] + k * a[2].dilation])));
        }
      }
    }
    using C = ComputeOf<T>;
    if (kind_ == Kind::kLp) return Narrow<T>(static_cast<C>(Root(sum)));
    return Narrow<T>(static_cast<C>(count > 0 ? sum / static_cast<double>(count) : 0.0));
  }
  double Term(double v) const {
    if (kind_ != Kind::kLp) return v;
    if (power_ == 2) return v * v;
    return power_ == 1 ? std::abs(v) : std::pow(std::abs(v), power_);
  }
  double Root(double v) const {
    if (power_ == 2) return std::sqrt(v);
    return power_ == 1 ? v : std::pow(v, 1 / power_);
  }

  WindowAttributes attributes_;
  math::IsaLevel isa_ = math::IsaLevel::kBaseline;
  Kind kind_;
  bool include_pad_, column_major_;
  double power_ = 2;
  math::BinaryKernel combine_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  struct Row {
    const char* op_type;
    Kind kind;
    TypeSet types;
  };
  static constexpr Row kRows[] = {
      {"MaxPool", Kind::kMax, types::kFloats | DataType::kInt8 | DataType::kUint8},
      {"AveragePool", Kind::kAverage, types::kFloats},
      {"LpPool", Kind::kLp, types::kFloats}};
  for (const Row& row : kRows) {
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Input(0, row.types)
                          .Create([&row](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<Pool>(info, row.kind);
                          }));
  }
}

}  // namespace switchyard::cpu::kernels::pool
