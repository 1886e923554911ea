// Gather, GatherElements, GatherND: reading at indices. An index out of range is an error before
// anything is read there.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_move.h"

namespace switchyard::cpu::kernels::gather {
namespace {

[[noreturn]] void BadIndex(const OpKernelContext& context, std::int64_t index, std::int64_t size) {
  context.Fail("index " + std::to_string(index) + " is out of range for " + std::to_string(size) +
               " entries");
}

inline std::int64_t Wrapped(std::int64_t index, std::int64_t size) {
  return index < 0 ? index + size : index;
}

template <typename I>
void CheckIndices(const OpKernelContext& context, const I* indices, std::int64_t count,
                  std::int64_t size) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(indices[i]);
    if (at < -size || at >= size) BadIndex(context, at, size);
  }
}

template <typename F>
void WithIndices(const OpKernelContext& context, const Tensor& indices, F&& f) {
  if (!DispatchType(indices.type(), IndexTypes{}, f)) {
    context.Fail("indices must be int32 or int64, are " + indices.Describe());
  }
}

// Whether the indices count up by one within the size: neighbouring rows.
bool AreNeighbours(const Dims& indices, std::int64_t size) {
  if (indices.empty()) return false;
  const std::int64_t first = Wrapped(indices[0], size);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (Wrapped(indices[i], size) != first + static_cast<std::int64_t>(i)) return false;
  }
  return first >= 0 && first + static_cast<std::int64_t>(indices.size()) <= size;
}

class Gather final : public OpKernel {
 public:
  explicit Gather(OpKernelInfo& info) : axis_(info.attributes().Int("axis", 0)) {}

  void Prepare(PrepareContext& context) const override {
    const ElementCopy copy(context.input_elem(0));
    const auto dims = context.input_dims(0);
    const auto rank = static_cast<std::int64_t>(dims.size());
    const Tensor* indices = context.input_value(1);
    Dims rows;
    if (copy.is_string || indices == nullptr || axis_ < -rank || axis_ >= rank) return;
    const auto axis = static_cast<std::size_t>(axis_ < 0 ? axis_ + rank : axis_);
    if (Product(dims.first(axis)) != 1 || !ReadIntegers(*indices, &rows)) return;
    if (!AreNeighbours(rows, dims[axis])) return;
    const std::int64_t block = Product(dims.subspan(axis + 1));
    context.OutputIsPart(
        0, static_cast<std::size_t>(Wrapped(rows[0], dims[axis]) * block) * copy.bytes);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    if (data.rank() == 0) context.Fail("data is a scalar");
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, data.rank()));
    Dims dims(data.dims().first(axis));
    for (std::int64_t d : indices.dims()) dims.push_back(d);
    for (std::int64_t d : data.dims().subspan(axis + 1)) dims.push_back(d);
    Tensor& y = context.Output(0, dims);
    const std::int64_t outer = Product(data.dims().first(axis));
    const std::int64_t block = Product(data.dims().subspan(axis + 1));
    WithIndices(context, indices, [&](auto tag) {
      using I = typename decltype(tag)::type;
      Run(context, data, indices.data<I>(), indices.size(), data.dim(axis), outer, block, y);
    });
  }

 private:
  template <typename I>
  static void Run(OpKernelContext& context, const Tensor& data, const I* indices,
                  std::int64_t count, std::int64_t size, std::int64_t outer, std::int64_t block,
                  Tensor& y) {
    const ElementCopy copy(data.type());
    if (copy.is_string) {
      CheckIndices(context, indices, count, size);
      for (std::int64_t i = 0; i < outer * count; ++i) {
        const std::int64_t at = (i / count) * size + Wrapped(indices[i % count], size);
        copy.At(y.raw_mutable(), i * block, data.raw(), at * block, block);
      }
      return;
    }
    if (block == 0) return CheckIndices(context, indices, count, size);
    const std::int64_t row_bytes = block * static_cast<std::int64_t>(copy.bytes);
    if (outer == 1 && count > 0 &&
        y.raw() == static_cast<const std::byte*>(data.raw()) +
                       Wrapped(static_cast<std::int64_t>(indices[0]), size) * row_bytes) {
      return CheckIndices(context, indices, count, size);  // a view
    }
    ParallelItems(context, outer * count, 1.5 + 0.06 * static_cast<double>(row_bytes),
                  [&](std::int64_t begin, std::int64_t end) {
                    const std::int64_t bad = math::GatherRows<I>(
                        data.raw(), y.raw_mutable(), indices, size, count, row_bytes, begin, end);
                    if (bad >= 0)
                      BadIndex(context, static_cast<std::int64_t>(indices[bad % count]), size);
                  });
  }
  std::int64_t axis_;
};

class GatherElements final : public OpKernel {
 public:
  explicit GatherElements(OpKernelInfo& info) : axis_(info.attributes().Int("axis", 0)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    if (data.rank() == 0 || data.rank() != indices.rank()) {
      context.Fail("indices " + indices.Describe() + " do not have the rank of data " +
                   data.Describe());
    }
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, data.rank()));
    for (std::size_t i = 0; i < data.rank(); ++i) {
      if (i != axis && indices.dim(i) > data.dim(i)) {
        context.Fail("indices " + indices.Describe() + " exceed data " + data.Describe());
      }
    }
    Tensor& y = context.Output(0, indices.dims());
    if (y.size() == 0) return;
    WithIndices(context, indices, [&](auto tag) {
      using I = typename decltype(tag)::type;
      CheckIndices(context, indices.data<I>(), indices.size(), data.dim(axis));
      Run(context, data, indices, indices.data<I>(), axis, y);
    });
  }

 private:
  // One row of the innermost dimension at a time.
  template <typename I>
  static void Run(OpKernelContext& context, const Tensor& data, const Tensor& indices,
                  const I* index, std::size_t axis, Tensor& y) {
    const std::size_t rank = data.rank();
    Dims strides(rank, 1);
    for (std::size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * data.dim(i);
    const std::int64_t inner = indices.dim(rank - 1);
    const ElementCopy copy(data.type());
    ParallelItems(context, y.size() / inner, 2.0 * static_cast<double>(inner),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row) {
                      std::int64_t base = 0, rest = row;
                      for (std::size_t i = rank - 1; i-- > 0;) {
                        if (i != axis) base += rest % indices.dim(i) * strides[i];
                        rest /= indices.dim(i);
                      }
                      const std::int64_t step = axis == rank - 1 ? 0 : 1;
                      const I* at = index + row * inner;
                      const std::int64_t out = row * inner;
                      for (std::int64_t k = 0; k < inner; ++k) {
                        const std::int64_t from =
                            base + k * step + Wrapped(at[k], data.dim(axis)) * strides[axis];
                        copy.At(y.raw_mutable(), out + k, data.raw(), from, 1);
                      }
                    }
                  });
  }
  std::int64_t axis_;
};

class GatherNd final : public OpKernel {
 public:
  explicit GatherNd(OpKernelInfo& info) : batch_dims_(info.attributes().Int("batch_dims", 0)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    const auto batch = static_cast<std::size_t>(batch_dims_);
    if (batch_dims_ < 0 || indices.rank() == 0 || data.rank() == 0 || batch >= indices.rank() ||
        batch >= data.rank()) {
      context.Fail("batch_dims " + std::to_string(batch_dims_) + " with data " + data.Describe() +
                   " and indices " + indices.Describe());
    }
    const std::int64_t depth = indices.dim(indices.rank() - 1);
    if (depth < 1 || depth > static_cast<std::int64_t>(data.rank() - batch)) {
      context.Fail("index tuples of " + std::to_string(depth) + " for data " + data.Describe());
    }
    for (std::size_t i = 0; i < batch; ++i) {
      if (data.dim(i) != indices.dim(i))
        context.Fail("batch dims of " + data.Describe() + " and " + indices.Describe() + " differ");
    }
    Dims dims(indices.dims().first(indices.rank() - 1));
    const auto tail = data.dims().subspan(batch + static_cast<std::size_t>(depth));
    for (std::int64_t d : tail) dims.push_back(d);
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    WithIndices(context, indices, [&](auto tag) {
      using I = typename decltype(tag)::type;
      Run(context, data, indices, indices.data<I>(), batch, static_cast<std::size_t>(depth),
          Product(tail), y);
    });
  }

 private:
  template <typename I>
  static void Run(OpKernelContext& context, const Tensor& data, const Tensor& indices,
                  const I* index, std::size_t batch, std::size_t depth, std::int64_t block,
                  Tensor& y) {
    const std::int64_t tuples = indices.size() / static_cast<std::int64_t>(depth);
    const std::int64_t batches = Product(data.dims().first(batch));
    const std::int64_t per_batch = tuples / batches;
    const std::int64_t batch_size = data.size() / batches;
    const ElementCopy copy(data.type());
    const double ns = 4 + 0.05 * static_cast<double>(block) * static_cast<double>(copy.bytes);
    ParallelItems(context, tuples, ns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        std::int64_t at = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          const auto value = static_cast<std::int64_t>(
              index[t * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(k)]);
          const std::int64_t size = data.dim(batch + k);
          if (value < -size || value >= size) BadIndex(context, value, size);
          at = at * size + Wrapped(value, size);
        }
        copy.At(y.raw_mutable(), t * block, data.raw(), t / per_batch * batch_size + at * block,
                block);
      }
    });
  }
  std::int64_t batch_dims_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  registry.Register(KernelCreateInfo::For("Gather")
                        .Input(0, movable)
                        .Input(1, types::kIndex)
                        .PartViews()
                        .Make<Gather>());
  registry.Register(KernelCreateInfo::For("GatherElements")
                        .Input(0, movable)
                        .Input(1, types::kIndex)
                        .Make<GatherElements>());
  registry.Register(
      KernelCreateInfo::For("GatherND").Input(0, movable).Input(1, types::kIndex).Make<GatherNd>());
}

}  // namespace switchyard::cpu::kernels::gather
