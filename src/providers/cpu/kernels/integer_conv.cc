// ConvInteger and QLinearConv: the weights, packed at load where they are constant, times the
// columns of the unfolded image, one block of output pixels at a time. Exact; sums are requantised
// while they are in registers.

#include "providers/cpu/kernels/common/conv_geometry.h"
#include "providers/cpu/kernels/common/integer_depthwise.h"
#include "providers/cpu/kernels/common/integer_product.h"

namespace switchyard::cpu::kernels::integer_conv {
namespace {

using math::ConvShape;
using math::MatrixForm;

// Rows [0, K) of the columns of output pixels [begin, end): a row per channel and tap, `zero` where
// the window lies outside. `image` holds the channels of one group.
class Unfolding {
 public:
  Unfolding(const ConvShape& s, const std::uint8_t* image, std::uint8_t zero)
      : s_(s), image_(image), zero_(zero) {}

  void Run(std::int64_t begin, std::int64_t end, std::uint8_t* to) const {
    const std::int64_t channels = s_.in_channels / s_.groups;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint8_t* plane = image_ + c * s_.in[0] * s_.in[1] * s_.in[2];
      for (std::int64_t z = 0; z < s_.kernel[0]; ++z) {
        for (std::int64_t y = 0; y < s_.kernel[1]; ++y) {
          for (std::int64_t x = 0; x < s_.kernel[2]; ++x, to += end - begin)
            Tap(plane, z * s_.dilation[0], y * s_.dilation[1], x * s_.dilation[2], begin, end, to);
        }
      }
    }
  }

 private:
  // The run of output row entries of `pixel` that ends with the row or at `end`, one after another.
  void Tap(const std::uint8_t* plane, std::int64_t dz, std::int64_t dy, std::int64_t dx,
           std::int64_t begin, std::int64_t end, std::uint8_t* to) const {
    std::int64_t ox = begin % s_.out[2], oy = begin / s_.out[2] % s_.out[1];
    std::int64_t oz = begin / s_.out[2] / s_.out[1];
    for (std::int64_t pixel = begin; pixel < end;) {
      const std::int64_t run = std::min(s_.out[2] - ox, end - pixel);
      const std::int64_t iz = oz * s_.stride[0] - s_.pad[0] + dz;
      const std::int64_t iy = oy * s_.stride[1] - s_.pad[1] + dy;
      if (iz < 0 || iz >= s_.in[0] || iy < 0 || iy >= s_.in[1]) {
        std::memset(to, zero_, static_cast<std::size_t>(run));
      } else {
        Row(plane + (iz * s_.in[1] + iy) * s_.in[2], ox * s_.stride[2] - s_.pad[2] + dx, run, to);
      }
      to += run;
      pixel += run;
      ox = 0;
      if (++oy == s_.out[1]) {
        oy = 0;
        ++oz;
      }
    }
  }

  // Entries ix, ix + stride, ... of an input row.
  void Row(const std::uint8_t* row, std::int64_t ix, std::int64_t count, std::uint8_t* to) const {
    const std::int64_t step = s_.stride[2];
    const std::int64_t before = std::min(count, ix < 0 ? (-ix + step - 1) / step : 0);
    const std::int64_t room = s_.in[2] - ix;
    const std::int64_t inside =
        std::max(before, std::min(count, room <= 0 ? 0 : (room + step - 1) / step));
    for (std::int64_t i = 0; i < before; ++i) to[i] = zero_;
    if (step == 1) {
      Copy(row + ix + before, inside - before, to + before);
    } else if (step == 2) {
      for (std::int64_t i = before; i < inside; ++i) to[i] = row[ix + i * 2];
    } else {
      for (std::int64_t i = before; i < inside; ++i) to[i] = row[ix + i * step];
    }
    for (std::int64_t i = inside; i < count; ++i) to[i] = zero_;
  }

  // Rows are short: calls of memcpy would cost more than the bytes.
  static void Copy(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
    if (count >= 16) {
      std::int64_t i = 0;
      for (; i + 16 <= count; i += 16) std::memcpy(to + i, from + i, 16);
      std::memcpy(to + count - 16, from + count - 16, 16);
    } else if (count >= 4) {
      std::int64_t i = 0;
      for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4);
      std::memcpy(to + count - 4, from + count - 4, 4);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    }
  }

  const ConvShape& s_;
  const std::uint8_t* image_;
  std::uint8_t zero_;
};

class Conv final : public OpKernel {
  struct State {
    PodDims out;
    ConvShape shape;
    std::int64_t m, k, pixels;       // of one group's product
    std::int64_t block, blocks;      // pixels at once
    std::int64_t row_parts;          // parts of the output channels, where there are few blocks
    bool pointwise;                  // the image is the matrix
    math::GemmPlan plan, last_plan;  // of a whole and of the last block
    bool by_planes;                  // depthwise
    IntegerDepthwise depthwise;
    std::size_t worker_bytes, product_at, columns_at, zero_at, scale_at;
  };

 public:
  explicit Conv(OpKernelInfo& info)
      : linear_(info.node().OpType() == "QLinearConv"),
        geometry_(info),
        level_(IsaOf(info)),
        ops_(IgemmOf(level_)) {
    const Constant* w = info.stored(w_at());
    if (w != nullptr && w->size() != 0) {
      const ConvShape shape = geometry_.FromWeight(info, w->dims());
      if (!IntegerDepthwise::Applies(shape)) packed_ = info.RequestPacked(w_at(), FormOf(shape));
    }
    w_signed_ = info.input_type(w_at()).elem == DataType::kInt8;
  }
  std::size_t state_bytes() const override { return sizeof(State); }
  std::string Variant() const override { return packed_ >= 0 ? "packed weights" : ""; }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    Dims out;
    s.shape = geometry_.Full(context, context.input_dims(0), context.input_dims(w_at()), &out);
    StoreDims(context, out, &s.out);
    const ConvShape& c = s.shape;
    s.m = c.out_channels / c.groups;
    s.k = Depth(c);
    s.pixels = c.out[0] * c.out[1] * c.out[2];
    s.pointwise = true;
    for (int d = 0; d < 3; ++d) {
      s.pointwise &= c.kernel[d] == 1 && c.stride[d] == 1 && c.pad[d] == 0 && c.in[d] == c.out[d];
    }
    s.by_planes = packed_ < 0 && IntegerDepthwise::Applies(c);
    ScratchLayout layout;
    if (s.by_planes) {
      s.depthwise = IntegerDepthwise(c);
      s.worker_bytes = ScratchLayout::Rounded(s.depthwise.scratch_bytes());
    } else {
      ChooseBlocks(context.team_size(), &s);
    }
    s.product_at =
        layout.ReserveBytes(s.worker_bytes * static_cast<std::size_t>(context.team_size()));
    s.zero_at = layout.Reserve<std::int32_t>(c.out_channels);
    s.scale_at = layout.Reserve<float>(c.out_channels);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    math::IgemmArgs args;
    args.a_signed = w_signed_;
    args.b_signed = context.Input(0).type() == DataType::kInt8;
    args.lda = s.k;
    args.ldc = s.pixels;
    SetZeros(context, s, scratch, &args);
    if (linear_) SetRequantization(context, s, y.type(), scratch, &args);
    const Operands operands{static_cast<const std::uint8_t*>(context.Input(0).raw()),
                            packed_ >= 0
                                ? context.Packed(packed_)
                                : static_cast<const std::byte*>(context.Input(w_at()).raw()),
                            static_cast<std::byte*>(y.raw_mutable())};
    const std::int64_t items =
        s.by_planes ? s.depthwise.items() : s.shape.batch * s.shape.groups * s.blocks * s.row_parts;
    args.a = operands.w;
    args.b = operands.x;
    args.c = operands.y;
    const auto run = [&](std::int64_t item, int worker) {
      std::byte* work = scratch + s.product_at + s.worker_bytes * static_cast<std::size_t>(worker);
      if (s.by_planes) {
        s.depthwise.Run(ops_, args, item, work);
      } else {
        RunItem(s, args, operands, item, work);
      }
    };
    constexpr double kMacsWorthAThread = 2e5;
    if (static_cast<double>(y.size()) * static_cast<double>(s.k) < kMacsWorthAThread) {
      for (std::int64_t i = 0; i < items; ++i) run(i, 0);
    } else {
      context.team().ParallelFor(items, run);
    }
  }

 private:
  struct Operands {
    const std::uint8_t* x;
    const std::byte* w;
    std::byte* y;
  };

  std::size_t w_at() const { return linear_ ? 3 : 1; }
  static std::int64_t Depth(const ConvShape& s) {
    return s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2];
  }
  static std::size_t GroupBytes(const math::IgemmOps& ops, const ConvShape& s) {
    return ScratchLayout::Rounded(ops.packed_a_bytes(s.out_channels / s.groups, Depth(s)));
  }

  PackedForm FormOf(const ConvShape& shape) const {
    PackedForm form;
    form.id = "iconv.w." + std::to_string(ops_.tile_cols) + "." +
              std::to_string(static_cast<int>(level_)) + ".g" + std::to_string(shape.groups);
    form.bytes = GroupBytes(ops_, shape) * static_cast<std::size_t>(shape.groups);
    form.parts = shape.groups;
    form.pack = [ops = &ops_, shape](const Tensor& dense, std::int64_t begin, std::int64_t end,
                                     std::byte* to) {
      const std::int64_t m = shape.out_channels / shape.groups, k = Depth(shape);
      for (std::int64_t g = begin; g < end; ++g) {
        ops->pack_a(static_cast<const std::byte*>(dense.raw()) + g * m * k,
                    dense.type() == DataType::kInt8, k, m, k, 0, m,
                    to + static_cast<std::size_t>(g) * GroupBytes(*ops, shape));
      }
    };
    return form;
  }

  // Columns of about 128 KiB; what is left to a large team is cut by output channels.
  void ChooseBlocks(int team, State* s) const {
    const std::int64_t columns = ops_.tile_cols;
    const std::int64_t fit = (std::int64_t{128} << 10) / std::max<std::int64_t>(1, s->k);
    s->block = std::clamp<std::int64_t>(fit / columns * columns, 2 * columns, 512);
    s->block = std::min(s->block, s->pixels);
    s->blocks = s->block == 0 ? 0 : (s->pixels + s->block - 1) / s->block;
    const auto plan = [&](std::int64_t n) {
      return ops_.plan({s->m, n, s->k, 1,
                        packed_ >= 0 ? MatrixForm::kPacked : MatrixForm::kRowMajor,
                        MatrixForm::kRowMajor});
    };
    s->plan = plan(s->block);
    s->last_plan = plan(s->pixels - (s->blocks - 1) * s->block);
    const std::int64_t items =
        std::max<std::int64_t>(1, s->shape.batch * s->shape.groups * s->blocks);
    const std::int64_t wanted = (std::int64_t{2} * team + items - 1) / items;
    s->row_parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, s->plan.m_chunks));
    if (team == 1) s->row_parts = 1;
    s->columns_at =
        ScratchLayout::Rounded(std::max(s->plan.scratch_bytes, s->last_plan.scratch_bytes));
    const std::int64_t columns_bytes = s->pointwise ? 0 : s->k * s->block;
    s->worker_bytes =
        s->columns_at + ScratchLayout::Rounded(static_cast<std::size_t>(columns_bytes));
  }

  void RunItem(const State& s, math::IgemmArgs args, const Operands& operands, std::int64_t item,
               std::byte* work) const {
    const ConvShape& c = s.shape;
    const std::int64_t part = item % s.row_parts, block = item / s.row_parts % s.blocks;
    const std::int64_t entry = item / s.row_parts / s.blocks, g = entry % c.groups;
    const std::int64_t begin = block * s.block, end = std::min(s.pixels, begin + s.block);
    const std::uint8_t* image =
        operands.x + entry * (c.in_channels / c.groups) * c.in[0] * c.in[1] * c.in[2];
    if (s.pointwise) {
      args.b = image + begin;
      args.ldb = s.pixels;
    } else {
      auto* columns = reinterpret_cast<std::uint8_t*>(work + s.columns_at);
      Unfolding(c, image, static_cast<std::uint8_t>(args.b_zero)).Run(begin, end, columns);
      args.b = columns;
      args.ldb = end - begin;
    }
    args.a = operands.w + (packed_ >= 0 ? static_cast<std::size_t>(g) * GroupBytes(ops_, c)
                                        : static_cast<std::size_t>(g * s.m * s.k));
    const std::int64_t size = args.result == math::IgemmResult::kSums ? 4 : 1;
    args.c = operands.y + (entry * s.m * s.pixels + begin) * size;
    if (args.a_zero_rows != nullptr) args.a_zero_rows += g * s.m;
    if (args.bias_row != nullptr) args.bias_row += g * s.m;
    if (args.scale_rows != nullptr) args.scale_rows += g * s.m;
    const math::GemmPlan& plan = end - begin == s.block ? s.plan : s.last_plan;
    const std::int64_t first = plan.m_chunks * part / s.row_parts;
    const std::int64_t last = plan.m_chunks * (part + 1) / s.row_parts;
    for (std::int64_t n = 0; n < plan.n_chunks; ++n) {
      for (std::int64_t m = first; m < last; ++m)
        ops_.run_chunk(plan, args, n * plan.m_chunks + m, work);
    }
  }

  void SetZeros(OpKernelContext& context, const State& s, std::byte* scratch,
                math::IgemmArgs* args) const {
    const QuantParameter x{context.OptionalInput(2)}, w{context.OptionalInput(w_at() + 2)};
    if (!x.is_one()) context.Fail("the zero point of x is " + x.tensor->Describe());
    args->b_zero = static_cast<std::int32_t>(x.At(0));
    args->a_zero = static_cast<std::int32_t>(w.At(0));
    if (w.is_one()) return;
    const std::int64_t channels = s.shape.out_channels;
    if (w.size() != channels) context.Fail("the zero point of w is " + w.tensor->Describe());
    auto* zeros = reinterpret_cast<std::int32_t*>(scratch + s.zero_at);
    w.Read(0, std::span(zeros, static_cast<std::size_t>(channels)));
    args->a_zero_rows = zeros;
  }

  void SetRequantization(OpKernelContext& context, const State& s, DataType type,
                         std::byte* scratch, math::IgemmArgs* args) const {
    const std::int64_t channels = s.shape.out_channels;
    const QuantParameter w{&context.Input(4)};
    const Tensor* bias = context.OptionalInput(8);
    if (!w.is_one() && w.size() != channels) context.Fail("w_scale is " + w.tensor->Describe());
    if (bias != nullptr && bias->size() != channels)
      context.Fail("the bias is " + bias->Describe());
    if (bias != nullptr) args->bias_row = bias->data<std::int32_t>();
    const auto x_scale = static_cast<float>(ReadScalar(context, 1)),
               y_scale = static_cast<float>(ReadScalar(context, 6));
    args->c_zero = static_cast<std::int32_t>(ReadScalar(context, 7));
    args->result = ByteResult(type);
    args->scale = x_scale * w.At(0) / y_scale;
    if (w.is_one()) return;
    auto* scales = reinterpret_cast<float*>(scratch + s.scale_at);
    for (std::int64_t i = 0; i < channels; ++i) scales[i] = x_scale * w.At(i) / y_scale;
    args->scale_rows = scales;
  }

  bool linear_;
  bool w_signed_ = false;
  ConvGeometry geometry_;
  math::IsaLevel level_;
  const math::IgemmOps& ops_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("ConvInteger").Input(0, kByteTypes).Input(1, kByteTypes).Make<Conv>());
  registry.Register(KernelCreateInfo::For("QLinearConv")
                        .Input(0, kByteTypes)
                        .Input(3, kByteTypes)
                        .Output(0, kByteTypes)
                        .Make<Conv>());
}

}  // namespace switchyard::cpu::kernels::integer_conv
