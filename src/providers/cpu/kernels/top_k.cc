// The k largest or smallest elements along an axis; equal ones in the order of their indices.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::top_k {
namespace {

template <typename T>
struct Entry {
  T value;
  std::int64_t index;
};

// NaN counts as larger than every number, so that the order is total.
template <typename C>
bool Larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (a != a || b != b) return a != a && b == b;
  }
  return a > b;
}

class TopK final : public OpKernel {
 public:
  explicit TopK(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", -1)),
        k_(info.attributes().Int("k", -1)),
        from_input_(info.node().SinceVersion() >= 10),
        largest_(info.attributes().Int("largest", 1) != 0) {}

  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    if (dims.empty()) context.Fail("the input is a scalar");
    const std::int64_t size =
        dims[static_cast<std::size_t>(NormalizeAxis(context, axis_, dims.size()))];
    context.SetScratch(static_cast<std::size_t>(size) * kEntryBytes *
                       static_cast<std::size_t>(context.team_size()));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    const std::int64_t k = from_input_ ? ReadIntegerScalar(context, 1) : k_;
    const std::int64_t size = x.dim(axis);
    if (k < 0 || k > size)
      context.Fail("k is " + std::to_string(k) + " for a size of " + std::to_string(size));
    Dims dims(x.dims());
    dims[axis] = k;
    Tensor* values = context.has_output(0) ? &context.Output(0, dims) : nullptr;
    Tensor* indices = context.has_output(1) ? &context.Output(1, dims) : nullptr;
    const std::int64_t inner = Product(x.dims().subspan(axis + 1));
    const std::int64_t rows = size == 0 ? 0 : x.size() / size;
    if (k == 0 || rows == 0) return;
    DispatchType(x.type(), NumericTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      static_assert(sizeof(Entry<ComputeOf<T>>) <= kEntryBytes);
      const double ns = 4.0 * static_cast<double>(size) + 10;
      const auto per_chunk = static_cast<std::int64_t>(std::max(1.0, 10000.0 / ns));
      context.team().ParallelFor((rows + per_chunk - 1) / per_chunk, [&](std::int64_t chunk,
                                                                         int worker) {
        auto* entries = reinterpret_cast<Entry<ComputeOf<T>>*>(
            static_cast<std::byte*>(context.scratch()) +
            static_cast<std::size_t>(size) * kEntryBytes * static_cast<std::size_t>(worker));
        for (std::int64_t r = chunk * per_chunk; r < std::min(rows, (chunk + 1) * per_chunk); ++r) {
          const std::int64_t from = r / inner * size * inner + r % inner;
          Select<T>(x.data<T>() + from, size, inner, k, entries);
          const std::int64_t to = r / inner * k * inner + r % inner;
          for (std::int64_t i = 0; i < k; ++i) {
            if (values != nullptr)
              values->data_mutable<T>()[to + i * inner] = Narrow<T>(entries[i].value);
            if (indices != nullptr)
              indices->data_mutable<std::int64_t>()[to + i * inner] = entries[i].index;
          }
        }
      });
    });
  }

 private:
  static constexpr std::size_t kEntryBytes = 16;

  template <typename T>
  void Select(const T* x, std::int64_t size, std::int64_t stride, std::int64_t k,
              Entry<ComputeOf<T>>* entries) const {
    for (std::int64_t i = 0; i < size; ++i) entries[i] = {Widen(x[i * stride]), i};
    const auto before = [this](const auto& a, const auto& b) {
      if (largest_ ? Larger(a.value, b.value) : Larger(b.value, a.value)) return true;
      if (largest_ ? Larger(b.value, a.value) : Larger(a.value, b.value)) return false;
      return a.index < b.index;
    };
    if (k * 8 < size) {
      std::nth_element(entries, entries + k - 1, entries + size, before);
      std::sort(entries, entries + k, before);
    } else if (k < size) {
      std::partial_sort(entries, entries + k, entries + size, before);
    } else {
      std::sort(entries, entries + size, before);
    }
  }

  std::int64_t axis_, k_;
  bool from_input_, largest_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("TopK").Since(1, 9).Input(0, types::kNumeric).Make<TopK>());
  registry.Register(
      KernelCreateInfo::For("TopK").Since(10).Input(0, types::kNumeric).HostInput(1).Make<TopK>());
}

}  // namespace switchyard::cpu::kernels::top_k
