// Rearrangements of one tensor: Transpose, Slice, Expand, Tile, DepthToSpace, SpaceToDepth,
// ReverseSequence.

#include "providers/cpu/kernels/common/copy_nd.h"
#include "providers/cpu/math/vec_broadcast.h"

namespace switchyard::cpu::kernels::movement {
namespace {

// Copies the input seen through strides (and an offset) into a dense output.
void Rearrange(OpKernelContext& context, math::IsaLevel level, const Tensor& x, std::int64_t offset,
               std::span<const std::int64_t> dims, std::span<const std::int64_t> strides,
               Tensor& y) {
  if (y.size() == 0) return;
  const ElementCopy element(x.type());
  const auto* from =
      static_cast<const std::byte*>(x.raw()) + offset * static_cast<std::int64_t>(element.bytes);
  if (from == y.raw()) return;  // a view
  CopyNd(context, level, element, dims, strides, from, DenseStrides(dims), y.raw_mutable());
}

class Transpose final : public OpKernel {
 public:
  explicit Transpose(OpKernelInfo& info)
      : order_(info.attributes().Ints("perm")), level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::size_t rank = x.rank();
    Dims order = order_;
    if (order.empty()) {
      for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
    }
    InlineVector<bool, 8> seen(rank, false);
    bool valid = order.size() == rank;
    for (std::size_t i = 0; valid && i < rank; ++i) {
      valid = order[i] >= 0 && order[i] < static_cast<std::int64_t>(rank) &&
              !seen[static_cast<std::size_t>(order[i])];
      if (valid) seen[static_cast<std::size_t>(order[i])] = true;
    }
    if (!valid)
      context.Fail("perm " + DimsToString(order) + " does not order the dims of " + x.Describe());
    const Dims dense = DenseStrides(x.dims());
    Dims dims, strides;
    for (std::int64_t axis : order) {
      dims.push_back(x.dim(static_cast<std::size_t>(axis)));
      strides.push_back(dense[static_cast<std::size_t>(axis)]);
    }
    Tensor& y = context.Output(0, dims);
    if (!IsPacked(x.type())) return Rearrange(context, level_, x, 0, dims, strides, y);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(x.size()) * 2);
    std::uint8_t* moved = codes.data() + x.size();
    UnpackCodes(x.type(), x.raw(), x.size(), codes.data());
    CopyNd(context, level_, ElementCopy(DataType::kUint8), dims, strides, codes.data(),
           DenseStrides(dims), moved);
    PackCodes(x.type(), moved, x.size(), y.raw_mutable());
  }

 private:
  Dims order_;
  math::IsaLevel level_;
};

// Whether the elements lie one behind the other in this order.
bool IsDense(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides) {
  std::int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

// Starts, ends and axes are attributes before opset 10, inputs (with steps) afterwards.
class Slice final : public OpKernel {
 public:
  explicit Slice(OpKernelInfo& info)
      : from_attributes_(info.node().SinceVersion() < 10),
        starts_(info.attributes().Ints("starts")),
        ends_(info.attributes().Ints("ends")),
        axes_(info.attributes().Ints("axes")),
        level_(IsaOf(info)) {}

  void Prepare(PrepareContext& context) const override {
    Window window;
    if (IsPacked(context.input_elem(0)) || !ReadKnown(context, &window)) return;
    Dims dims, strides;
    std::int64_t offset = 0;
    if (!Apply(window, context.input_dims(0), &dims, &strides, &offset).empty()) return;
    if (Product(dims) == 0 || !IsDense(dims, strides)) return;
    context.OutputIsPart(
        0, static_cast<std::size_t>(offset) * ElementCopy(context.input_elem(0)).bytes);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Window window{starts_, ends_, axes_, {}};
    if (!from_attributes_) {
      window.starts = ReadIntegers(context, 1);
      window.ends = ReadIntegers(context, 2);
      if (context.has_input(3)) window.axes = ReadIntegers(context, 3);
      if (context.has_input(4)) window.steps = ReadIntegers(context, 4);
    }
    Dims dims, strides;
    std::int64_t offset = 0;
    const std::string wrong = Apply(window, x.dims(), &dims, &strides, &offset);
    if (!wrong.empty()) context.Fail(wrong);
    Tensor& y = context.Output(0, dims);
    Rearrange(context, level_, x, offset, dims, strides, y);
  }

 private:
  struct Window {
    Dims starts, ends, axes, steps;  // axes, steps: empty where not given
  };

  // False: some of it is known only when the step runs.
  bool ReadKnown(const PrepareContext& context, Window* window) const {
    *window = {starts_, ends_, axes_, {}};
    if (from_attributes_) return true;
    Dims* const lists[] = {&window->starts, &window->ends, &window->axes, &window->steps};
    for (std::size_t i = 1; i <= 4; ++i) {
      if (!context.has_input(i)) continue;
      const Tensor* value = context.input_value(i);
      if (value == nullptr || !ReadIntegers(*value, lists[i - 1])) return false;
    }
    return true;
  }

  // "" or what is wrong.
  static std::string Apply(const Window& window, std::span<const std::int64_t> from, Dims* dims,
                           Dims* strides, std::int64_t* offset) {
    const std::size_t count = window.starts.size();
    if (window.ends.size() != count || (!window.axes.empty() && window.axes.size() != count) ||
        (!window.steps.empty() && window.steps.size() != count)) {
      return "starts, ends, axes and steps differ in length";
    }
    *dims = Dims(from);
    *strides = DenseStrides(from);
    InlineVector<bool, 8> seen(from.size(), false);
    const auto rank = static_cast<std::int64_t>(from.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t given =
          window.axes.empty() ? static_cast<std::int64_t>(i) : window.axes[i];
      if (given < -rank || given >= rank) {
        return "axis " + std::to_string(given) + " is out of range for rank " +
               std::to_string(rank);
      }
      const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
      if (seen[axis]) return "axis " + std::to_string(given) + " is given twice";
      seen[axis] = true;
      const std::int64_t step = window.steps.empty() ? 1 : window.steps[i];
      if (step == 0) return "a step of 0";
      const Part part = PartOf(from[axis], window.starts[i], window.ends[i], step);
      (*dims)[axis] = part.count;
      *offset += part.start * (*strides)[axis];
      (*strides)[axis] *= part.step;
    }
    return "";
  }

  struct Part {
    std::int64_t start, count, step;
  };
  static Part PartOf(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
    // A step beyond the size reads one element whatever its value.
    step = std::clamp<std::int64_t>(step, -size - 1, size + 1);
    const auto wrap = [&](std::int64_t v) {
      return v < 0 ? (v < -size ? -1 - size : v) + size : v;
    };
    if (step > 0) {
      const std::int64_t first = std::clamp<std::int64_t>(wrap(start), 0, size);
      const std::int64_t last = std::clamp<std::int64_t>(wrap(end), 0, size);
      return {first, last > first ? (last - first - 1) / step + 1 : 0, step};
    }
    const std::int64_t first = std::clamp<std::int64_t>(wrap(start), -1, size - 1);
    const std::int64_t last = std::clamp<std::int64_t>(wrap(end), -1, size - 1);
    const std::int64_t count = first > last ? (first - last - 1) / -step + 1 : 0;
    return {count > 0 ? first : 0, count, step};
  }

  bool from_attributes_;
  Dims starts_, ends_, axes_;
  math::IsaLevel level_;
};

// Broadcasts the input onto `dims`, which may be a finer view of the output's.
void Spread(OpKernelContext& context, const Tensor& x, std::span<const std::int64_t> from,
            std::span<const std::int64_t> dims, Tensor& y) {
  if (y.size() == 0) return;
  math::BroadcastPlan plan;
  const math::BroadcastInput input{from, {}};
  if (!math::MakeBroadcastPlan(dims, {&input, 1}, &plan)) context.Fail("too many dimensions");
  if (x.type() == DataType::kString) {
    math::BroadcastCursor cursor(plan, 0);
    for (std::int64_t i = 0; i < plan.size; ++i) {
      y.data_mutable<std::string>()[i] = x.data<std::string>()[cursor.offset(0)];
      cursor.Advance(1);
    }
    return;
  }
  const int bytes = BitsOf(x.type()) / 8;
  ParallelItems(context, y.size(), 0.06 * bytes, [&](std::int64_t begin, std::int64_t end) {
    math::ExpandRange(plan, 0, x.raw(), static_cast<std::byte*>(y.raw_mutable()) + begin * bytes,
                      bytes, begin, end);
  });
}

class Expand final : public OpKernel {
 public:
  explicit Expand(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims shape = ReadIntegers(context, 1);
    for (std::int64_t d : shape) {
      if (d < 0) context.Fail("the shape " + DimsToString(shape) + " has a negative size");
    }
    const Dims dims = BroadcastDimsOf(context, x.dims(), shape);
    ElementCount(dims);
    Tensor& y = context.Output(0, dims);
    Spread(context, x, x.dims(), dims, y);
  }
};

class Tile final : public OpKernel {
 public:
  explicit Tile(OpKernelInfo& info) : legacy_(info.node().SinceVersion() < 6) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims repeats(x.rank(), 1);
    if (legacy_) {
      const std::int64_t axis = NormalizeAxis(context, ReadIntegerScalar(context, 2), x.rank());
      repeats[static_cast<std::size_t>(axis)] = ReadIntegerScalar(context, 1);
    } else {
      repeats = ReadIntegers(context, 1);
    }
    if (repeats.size() != x.rank())
      context.Fail("repeats " + DimsToString(repeats) + " for " + x.Describe());
    // Repeating a dim is broadcasting a new one before it.
    Dims dims, from, to;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (repeats[i] < 0) context.Fail("repeats are " + DimsToString(repeats));
      std::int64_t repeated = 0;
      if (__builtin_mul_overflow(x.dim(i), repeats[i], &repeated)) {
        context.Fail("repeats are " + DimsToString(repeats));
      }
      dims.push_back(repeated);
      if (repeats[i] != 1) {
        from.push_back(1);
        to.push_back(repeats[i]);
      }
      from.push_back(x.dim(i));
      to.push_back(x.dim(i));
    }
    ElementCount(dims);
    Tensor& y = context.Output(0, dims);
    Spread(context, x, from, to, y);
  }

 private:
  bool legacy_;
};

// Moves blocks between channels and the two spatial dims.
class Blocks final : public OpKernel {
 public:
  explicit Blocks(OpKernelInfo& info)
      : to_space_(info.node().OpType() == "DepthToSpace"),
        block_(info.attributes().Int("blocksize", 0)),
        column_first_(info.attributes().String("mode", "DCR") == "CRD"),
        level_(IsaOf(info)) {
    if (block_ < 1 || block_ > 32768) info.Fail("blocksize is " + std::to_string(block_));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 4) context.Fail("the input must have four dimensions, is " + x.Describe());
    const std::int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3), b = block_;
    if (to_space_) {
      if (c % (b * b) != 0)
        context.Fail(std::to_string(c) + " channels are no multiple of blocksize squared");
      const std::int64_t depth = c / (b * b), plane = h * w;
      const Dims out{n, depth, h * b, w * b};
      Tensor& y = context.Output(0, out);
      const std::int64_t channel = column_first_ ? plane * b * b : plane;
      const std::int64_t block_row = column_first_ ? plane * b : plane * depth * b;
      const std::int64_t block_column = column_first_ ? plane : plane * depth;
      const Dims dims{n, depth, h, b, w, b};
      const Dims strides{c * plane, channel, w, block_row, 1, block_column};
      return Rearrange(context, level_, x, 0, dims, strides, y);
    }
    if (h % b != 0 || w % b != 0)
      context.Fail("spatial dims of " + x.Describe() + " are no multiples of blocksize");
    const Dims out{n, c * b * b, h / b, w / b};
    Tensor& y = context.Output(0, out);
    const Dims dims =
        column_first_ ? Dims{n, c, b, b, h / b, w / b} : Dims{n, b, b, c, h / b, w / b};
    const Dims strides = column_first_ ? Dims{c * h * w, h * w, w, 1, w * b, b}
                                       : Dims{c * h * w, w, 1, h * w, w * b, b};
    Rearrange(context, level_, x, 0, dims, strides, y);
  }

 private:
  bool to_space_;
  std::int64_t block_;
  bool column_first_;
  math::IsaLevel level_;
};

class ReverseSequence final : public OpKernel {
 public:
  explicit ReverseSequence(OpKernelInfo& info)
      : batch_axis_(info.attributes().Int("batch_axis", 1)),
        time_axis_(info.attributes().Int("time_axis", 0)) {
    if (std::min(batch_axis_, time_axis_) != 0 || std::max(batch_axis_, time_axis_) != 1)
      info.Fail("batch_axis and time_axis must be 0 and 1");
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) context.Fail("the input is " + x.Describe());
    const Dims lengths = ReadIntegers(context, 1);
    const std::int64_t batch = x.dim(static_cast<std::size_t>(batch_axis_)),
                       time = x.dim(static_cast<std::size_t>(time_axis_));
    if (static_cast<std::int64_t>(lengths.size()) != batch)
      context.Fail("got " + std::to_string(lengths.size()) + " lengths for a batch of " +
                   std::to_string(batch));
    for (std::int64_t length : lengths) {
      if (length < 0 || length > time)
        context.Fail("length " + std::to_string(length) + " of a sequence of " +
                     std::to_string(time));
    }
    Tensor& y = context.Output(0, x.dims());
    const std::int64_t block = Product(x.dims().subspan(2));
    const std::int64_t batch_pitch = batch_axis_ == 0 ? time * block : block;
    const std::int64_t time_pitch = batch_axis_ == 0 ? block : batch * block;
    const ElementCopy copy(x.type());
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length = lengths[static_cast<std::size_t>(b)];
      for (std::int64_t t = 0; t < time; ++t) {
        const std::int64_t source = t < length ? length - 1 - t : t;
        copy.At(y.raw_mutable(), b * batch_pitch + t * time_pitch, x.raw(),
                b * batch_pitch + source * time_pitch, block);
      }
    }
  }

 private:
  std::int64_t batch_axis_, time_axis_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  registry.Register(KernelCreateInfo::For("Transpose")
                        .Input(0, movable | types::kPacked)
                        .PartViews()
                        .Make<Transpose>());
  registry.Register(
      KernelCreateInfo::For("Slice").Since(1, 9).Input(0, movable).PartViews().Make<Slice>());
  registry.Register(KernelCreateInfo::For("Slice")
                        .Since(10)
                        .Input(0, movable)
                        .HostInput(1)
                        .HostInput(2)
                        .HostInput(3)
                        .HostInput(4)
                        .PartViews()
                        .Make<Slice>());
  registry.Register(KernelCreateInfo::For("Expand").Input(0, movable).HostInput(1).Make<Expand>());
  registry.Register(KernelCreateInfo::For("Tile")
                        .Input(0, movable)
                        .HostInput(1)
                        .HostInput(2)
                        .PartViews()
                        .Make<Tile>());
  registry.Register(KernelCreateInfo::For("DepthToSpace").Input(0, movable).Make<Blocks>());
  registry.Register(KernelCreateInfo::For("SpaceToDepth").Input(0, movable).Make<Blocks>());
  registry.Register(KernelCreateInfo::For("ReverseSequence")
                        .Input(0, movable)
                        .HostInput(1)
                        .Make<ReverseSequence>());
}

}  // namespace switchyard::cpu::kernels::movement
