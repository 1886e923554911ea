// Concat and Split: rows of blocks between one tensor and several. With one row the parts are
// stretches of the whole, which the runtime may lay there: then nothing is copied.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::concat {
namespace {

// Copies `rows` blocks of `block` elements between two row pitches.
void CopyRows(OpKernelContext& context, const ElementCopy& copy, void* to, std::int64_t to_pitch,
              std::int64_t to_offset, const void* from, std::int64_t from_pitch,
              std::int64_t from_offset, std::int64_t rows, std::int64_t block) {
  if (rows == 0 || block == 0) return;
  if (rows == 1 && !copy.is_string) {
    auto* target = static_cast<std::byte*>(to) + to_offset * static_cast<std::int64_t>(copy.bytes);
    const auto* source =
        static_cast<const std::byte*>(from) + from_offset * static_cast<std::int64_t>(copy.bytes);
    if (target == source) return;
    ParallelItems(context, block * static_cast<std::int64_t>(copy.bytes), 0.05,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::memcpy(target + begin, source + begin,
                                static_cast<std::size_t>(end - begin));
                  });
    return;
  }
  const double ns = 3 + 0.05 * static_cast<double>(block) * static_cast<double>(copy.bytes);
  ParallelItems(context, rows, ns, [&](std::int64_t begin, std::int64_t end) {
    if (block == 1 && copy.bytes == 4 && !copy.is_string) {
      auto* target = static_cast<std::uint32_t*>(to) + to_offset;
      const auto* source = static_cast<const std::uint32_t*>(from) + from_offset;
      for (std::int64_t r = begin; r < end; ++r) target[r * to_pitch] = source[r * from_pitch];
      return;
    }
    for (std::int64_t r = begin; r < end; ++r) {
      copy.At(to, r * to_pitch + to_offset, from, r * from_pitch + from_offset, block);
    }
  });
}

class Concat final : public OpKernel {
 public:
  explicit Concat(OpKernelInfo& info) : axis_(info.attributes().Int("axis", 1)) {}

  void Prepare(PrepareContext& context) const override {
    const ElementCopy copy(context.input_elem(0));
    const auto rank = static_cast<std::int64_t>(context.input_dims(0).size());
    if (copy.is_string || axis_ < -rank || axis_ >= rank) return;
    const auto axis = static_cast<std::size_t>(axis_ < 0 ? axis_ + rank : axis_);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
      const auto dims = context.input_dims(i);
      if (dims.size() <= axis || Product(dims.first(axis)) != 1) return;
      context.InputIsPart(i, offset);
      offset += static_cast<std::size_t>(Product(dims)) * copy.bytes;
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& first = context.Input(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, first.rank()));
    Dims dims(first.dims());
    for (std::size_t i = 1; i < context.num_inputs(); ++i) {
      const Tensor& x = context.Input(i);
      bool fits = x.rank() == first.rank() && x.type() == first.type();
      for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = k == axis || x.dim(k) == dims[k];
      if (!fits) {
        context.Fail("input " + std::to_string(i) + " is " + x.Describe() + ", input 0 is " +
                     first.Describe() + ", axis " + std::to_string(axis));
      }
      dims[axis] += x.dim(axis);
    }
    Tensor& y = context.Output(0, dims);
    const ElementCopy copy(y.type());
    const std::int64_t rows = Product(y.dims().first(axis));
    const std::int64_t inner = Product(y.dims().subspan(axis + 1));
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.Input(i);
      const std::int64_t block = x.dim(axis) * inner;
      CopyRows(context, copy, y.raw_mutable(), y.dim(axis) * inner, offset, x.raw(), block, 0, rows,
               block);
      offset += block;
    }
  }

 private:
  std::int64_t axis_;
};

class Split final : public OpKernel {
 public:
  explicit Split(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", 0)), count_(info.num_outputs()) {
    const auto sizes = info.attributes().Ints("split");
    sizes_.assign(sizes.begin(), sizes.end());
    const std::int64_t wanted = info.attributes().Int("num_outputs", 0);
    if (wanted != 0 && wanted != static_cast<std::int64_t>(count_)) {
      info.Fail("num_outputs is " + std::to_string(wanted) + " with " + std::to_string(count_) +
                " outputs");
    }
    ragged_ = info.node().SinceVersion() >= 18;
  }

  void Prepare(PrepareContext& context) const override {
    const ElementCopy copy(context.input_elem(0));
    const auto dims = context.input_dims(0);
    const auto rank = static_cast<std::int64_t>(dims.size());
    if (copy.is_string || axis_ < -rank || axis_ >= rank) return;
    const auto axis = static_cast<std::size_t>(axis_ < 0 ? axis_ + rank : axis_);
    if (Product(dims.first(axis)) != 1) return;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      bool known = false;
      const auto part = context.output_dims(i, &known);
      // Where an output is absent the place of the next ones is not told by the shapes.
      if (!known || part.size() <= axis) return;
      context.OutputIsPart(i, offset);
      offset += static_cast<std::size_t>(Product(part)) * copy.bytes;
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    const Dims sizes = Sizes(context, x.dim(axis));
    const ElementCopy copy(x.type());
    const std::int64_t rows = Product(x.dims().first(axis));
    const std::int64_t inner = Product(x.dims().subspan(axis + 1));
    std::int64_t offset = 0;
    Dims dims(x.dims());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t block = sizes[i] * inner;
      if (context.has_output(i)) {
        dims[axis] = sizes[i];
        Tensor& y = context.Output(i, dims);
        CopyRows(context, copy, y.raw_mutable(), block, 0, x.raw(), x.dim(axis) * inner, offset,
                 rows, block);
      }
      offset += block;
    }
  }

 private:
  Dims Sizes(const OpKernelContext& context, std::int64_t total) const {
    Dims sizes = sizes_;
    if (context.has_input(1)) sizes = ReadIntegers(context, 1);
    if (sizes.empty()) {
      const auto count = static_cast<std::int64_t>(count_);
      if (!ragged_ && total % count != 0) {
        context.Fail("a size of " + std::to_string(total) + " does not split into " +
                     std::to_string(count_) + " equal parts");
      }
      const std::int64_t each = (total + count - 1) / count;
      for (std::int64_t i = 0; i < count; ++i) {
        sizes.push_back(std::clamp<std::int64_t>(total - i * each, 0, each));
      }
    }
    std::int64_t sum = 0;
    bool bad = sizes.size() < context.num_outputs();
    for (std::int64_t s : sizes) {
      bad = bad || s < 0;
      sum += s;
    }
    if (bad || sum != total) {
      context.Fail("parts " + DimsToString(sizes) + " for a size of " + std::to_string(total) +
                   " and " + std::to_string(context.num_outputs()) + " outputs");
    }
    return sizes;
  }

  std::int64_t axis_;
  std::size_t count_;
  Dims sizes_;
  bool ragged_ = false;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  registry.Register(KernelCreateInfo::For("Concat").Input(0, movable).PartInputs().Make<Concat>());
  registry.Register(KernelCreateInfo::For("Split")
                        .Since(1, 1)
                        .Input(0, movable)
                        .HostInput(1)
                        .PartViews()
                        .Make<Split>());
  registry.Register(
      KernelCreateInfo::For("Split").Since(2, 12).Input(0, movable).PartViews().Make<Split>());
  registry.Register(KernelCreateInfo::For("Split")
                        .Since(13)
                        .Input(0, movable)
                        .HostInput(1)
                        .PartViews()
                        .Make<Split>());
}

}  // namespace switchyard::cpu::kernels::concat
