// ScatterElements (and its old name Scatter), ScatterND, TensorScatter: writing at indices, in
// index order, with an optional reduction. Indices are checked before anything is written.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::scatter {
namespace {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

Reduction ReductionOf(const OpKernelInfo& info) {
  const std::string name = info.attributes().String("reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "min") return Reduction::kMin;
  if (name == "max") return Reduction::kMax;
  info.Fail("reduction is '" + name + "'");
}

template <typename T>
T Combine(Reduction reduction, T old_value, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    switch (reduction) {
      case Reduction::kAdd:
      case Reduction::kMax:
        return old_value || update;
      case Reduction::kMul:
      case Reduction::kMin:
        return old_value && update;
      default:
        return update;
    }
  } else {
    using C = ComputeOf<T>;
    const C a = Widen(old_value), b = Widen(update);
    switch (reduction) {
      case Reduction::kAdd:
        return Narrow<T>(static_cast<C>(a + b));
      case Reduction::kMul:
        return Narrow<T>(static_cast<C>(a * b));
      case Reduction::kMin:
        return b != b || b < a ? update : old_value;
      case Reduction::kMax:
        return b != b || b > a ? update : old_value;
      default:
        return update;
    }
  }
}

// Reduces `count` elements of `updates` at `from` into `y` at `to`.
void Write(Reduction reduction, const ElementCopy& copy, Tensor& y, std::int64_t to,
           const Tensor& updates, std::int64_t from, std::int64_t count) {
  if (reduction == Reduction::kNone) {
    copy.At(y.raw_mutable(), to, updates.raw(), from, count);
    return;
  }
  DispatchType(y.type(), NumericAndBoolTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* target = y.data_mutable<T>() + to;
    const T* source = updates.data<T>() + from;
    for (std::int64_t i = 0; i < count; ++i) target[i] = Combine(reduction, target[i], source[i]);
  });
}

std::int64_t IndexAt(const Tensor& indices, std::int64_t i) {
  return indices.type() == DataType::kInt32 ? static_cast<const std::int32_t*>(indices.raw())[i]
                                            : static_cast<const std::int64_t*>(indices.raw())[i];
}

std::int64_t CheckedIndex(const OpKernelContext& context, const Tensor& indices, std::int64_t i,
                          std::int64_t size) {
  const std::int64_t at = IndexAt(indices, i);
  if (at < -size || at >= size) {
    context.Fail("index " + std::to_string(at) + " is out of range for " + std::to_string(size) +
                 " entries");
  }
  return at < 0 ? at + size : at;
}

class ScatterElements final : public OpKernel {
 public:
  explicit ScatterElements(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", 0)), reduction_(ReductionOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    const Tensor& updates = context.Input(2);
    if (data.rank() == 0 || indices.rank() != data.rank() ||
        !std::equal(indices.dims().begin(), indices.dims().end(), updates.dims().begin(),
                    updates.dims().end())) {
      context.Fail("data " + data.Describe() + ", indices " + indices.Describe() + " and updates " +
                   updates.Describe() + " do not fit");
    }
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, data.rank()));
    for (std::size_t i = 0; i < data.rank(); ++i) {
      if (i != axis && indices.dim(i) > data.dim(i)) {
        context.Fail("indices " + indices.Describe() + " exceed data " + data.Describe());
      }
    }
    for (std::int64_t i = 0; i < indices.size(); ++i)
      CheckedIndex(context, indices, i, data.dim(axis));
    Tensor& y = context.Output(0, data.dims());
    CopyTensor(context, data, y);
    if (indices.size() == 0) return;
    Run(indices, updates, axis, y);
  }

 private:
  void Run(const Tensor& indices, const Tensor& updates, std::size_t axis, Tensor& y) const {
    const std::size_t rank = y.rank();
    Dims strides(rank, 1), at(rank, 0);
    for (std::size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * y.dim(i);
    const ElementCopy copy(y.type());
    std::int64_t base = 0;  // without the axis
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      std::int64_t index = IndexAt(indices, i);
      if (index < 0) index += y.dim(axis);
      Write(reduction_, copy, y, base + index * strides[axis], updates, i, 1);
      for (std::size_t k = rank; k-- > 0;) {
        if (k != axis) base += strides[k];
        if (++at[k] < indices.dim(k)) break;
        if (k != axis) base -= at[k] * strides[k];
        at[k] = 0;
      }
    }
  }
  std::int64_t axis_;
  Reduction reduction_;
};

class ScatterNd final : public OpKernel {
 public:
  explicit ScatterNd(OpKernelInfo& info) : reduction_(ReductionOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    const Tensor& updates = context.Input(2);
    if (data.rank() == 0 || indices.rank() == 0) context.Fail("data and indices need a dimension");
    const std::int64_t depth = indices.dim(indices.rank() - 1);
    if (depth < 0 || depth > static_cast<std::int64_t>(data.rank())) {
      context.Fail("index tuples of " + std::to_string(depth) + " for data " + data.Describe());
    }
    Dims wanted(indices.dims().first(indices.rank() - 1));
    const auto tail = data.dims().subspan(static_cast<std::size_t>(depth));
    for (std::int64_t d : tail) wanted.push_back(d);
    if (!std::equal(wanted.begin(), wanted.end(), updates.dims().begin(), updates.dims().end())) {
      context.Fail("updates are " + updates.Describe() + ", expected dims " + DimsToString(wanted));
    }
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      CheckedIndex(context, indices, i, data.dim(static_cast<std::size_t>(i % depth)));
    }
    Tensor& y = context.Output(0, data.dims());
    CopyTensor(context, data, y);
    const std::int64_t block = Product(tail);
    const std::int64_t tuples = Product(indices.dims().first(indices.rank() - 1));
    const ElementCopy copy(y.type());
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::int64_t at = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t size = data.dim(static_cast<std::size_t>(k));
        const std::int64_t index = IndexAt(indices, t * depth + k);
        at = at * size + (index < 0 ? index + size : index);
      }
      Write(reduction_, copy, y, at * block, updates, t * block, block);
    }
  }

 private:
  Reduction reduction_;
};

// Writes a sequence of entries into a cache, at a start index per batch entry.
class TensorScatter final : public OpKernel {
 public:
  explicit TensorScatter(OpKernelInfo& info) : axis_(info.attributes().Int("axis", -2)) {
    const std::string mode = info.attributes().String("mode", "linear");
    circular_ = mode == "circular";
    if (!circular_ && mode != "linear") info.Fail("mode is '" + mode + "'");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& past = context.Input(0);
    const Tensor& update = context.Input(1);
    const Tensor* starts = context.OptionalInput(2);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, past.rank()));
    if (axis == 0 || update.rank() != past.rank())
      context.Fail("axis must not be the batch axis and ranks must agree");
    for (std::size_t i = 0; i < past.rank(); ++i) {
      if (i == axis ? update.dim(i) > past.dim(i) : update.dim(i) != past.dim(i)) {
        context.Fail("update " + update.Describe() + " does not fit the cache " + past.Describe());
      }
    }
    if (starts != nullptr && starts->size() != past.dim(0))
      context.Fail("write_indices are " + starts->Describe());
    const std::int64_t length = past.dim(axis), added = update.dim(axis);
    for (std::int64_t b = 0; starts != nullptr && b < past.dim(0); ++b) {
      const std::int64_t start = IndexAt(*starts, b);
      if (start < 0 || (!circular_ && start > length - added)) {
        context.Fail("write index " + std::to_string(start) + " with " + std::to_string(added) +
                     " entries exceeds the cache of " + std::to_string(length));
      }
    }
    Tensor& y = context.Output(0, past.dims());
    CopyTensor(context, past, y);
    const std::int64_t middle = Product(past.dims().subspan(1, axis - 1));
    const std::int64_t block = Product(past.dims().subspan(axis + 1));
    const ElementCopy copy(y.type());
    for (std::int64_t row = 0; row < past.dim(0) * middle; ++row) {
      const std::int64_t start = starts != nullptr ? IndexAt(*starts, row / middle) : 0;
      for (std::int64_t k = 0; k < added; ++k) {
        const std::int64_t to = circular_ ? (start % length + k) % length : start + k;
        copy.At(y.raw_mutable(), (row * length + to) * block, update.raw(),
                (row * added + k) * block, block);
      }
    }
  }

 private:
  std::int64_t axis_;
  bool circular_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  for (const char* name : {"Scatter", "ScatterElements"}) {
    registry.Register(KernelCreateInfo::For(name)
                          .Input(0, movable)
                          .Input(1, types::kIndex)
                          .MayAlias(0, 0)
                          .Make<ScatterElements>());
  }
  registry.Register(KernelCreateInfo::For("ScatterND")
                        .Input(0, movable)
                        .Input(1, types::kIndex)
                        .MayAlias(0, 0)
                        .Make<ScatterNd>());
  registry.Register(KernelCreateInfo::For("TensorScatter")
                        .Input(0, movable)
                        .HostInput(2)
                        .MayAlias(0, 0)
                        .Make<TensorScatter>());
}

}  // namespace switchyard::cpu::kernels::scatter
