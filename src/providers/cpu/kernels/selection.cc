// Choosing elements: Where, Clip, Compress, NonZero, OneHot, Trilu.

#include <atomic>

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::selection {
namespace {

class Where final : public OpKernel {
 public:
  explicit Where(OpKernelInfo&) {}
  std::size_t state_bytes() const override { return sizeof(BroadcastState); }

  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const Dims xy = BroadcastDimsOf(context, context.input_dims(1), context.input_dims(2));
    const Dims out = BroadcastDimsOf(context, context.input_dims(0), xy);
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {context.input_dims(0), context.input_dims(1), context.input_dims(2)},
             &state.plan);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const Tensor& c = context.Input(0);
    const Tensor& x = context.Input(1);
    const Tensor& y = context.Input(2);
    Tensor& out = context.Output(0, state.out.span());
    if (out.type() == DataType::kString) return Strings(state.plan, c, x, y, out);
    const int bytes = BitsOf(out.type()) / 8;
    ParallelItems(context, state.plan.size, 0.5, [&](std::int64_t begin, std::int64_t end) {
      math::RunWhere(state.plan, c.raw(), x.raw(), y.raw(), out.raw_mutable(), bytes, begin, end);
    });
  }

 private:
  static void Strings(const math::BroadcastPlan& plan, const Tensor& c, const Tensor& x,
                      const Tensor& y, Tensor& out) {
    math::BroadcastCursor cursor(plan, 0);
    for (std::int64_t i = 0; i < plan.size; ++i) {
      out.data_mutable<std::string>()[i] = c.data<bool>()[cursor.offset(0)]
                                               ? x.data<std::string>()[cursor.offset(1)]
                                               : y.data<std::string>()[cursor.offset(2)];
      cursor.Advance(1);
    }
  }
};

// min and max are attributes before opset 11, optional inputs afterwards.
class Clip final : public OpKernel {
 public:
  explicit Clip(OpKernelInfo& info) : from_attributes_(info.node().SinceVersion() < 11) {
    const auto type = static_cast<math::ElemType>(info.input_type(0).elem);
    low_ = info.attributes().Float("min", std::numeric_limits<float>::lowest());
    high_ = info.attributes().Float("max", std::numeric_limits<float>::max());
    clip_ = math::GetUnary(math::UnaryOp::kClip, type, IsaOf(info));
    max_ = math::GetBinary(math::BinaryOp::kMax, type, IsaOf(info));
    min_ = math::GetBinary(math::BinaryOp::kMin, type, IsaOf(info));
    if (max_.fn == nullptr || min_.fn == nullptr)
      info.Fail("no vector kernel", ErrorCode::kNotImplemented);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const auto* from = static_cast<const std::byte*>(x.raw());
    auto* to = static_cast<std::byte*>(y.raw_mutable());
    if (x.type() == DataType::kFloat && clip_.fn != nullptr) {
      const float low =
          Limit(context, 1, from_attributes_ ? low_ : -std::numeric_limits<float>::infinity());
      const float high =
          Limit(context, 2, from_attributes_ ? high_ : std::numeric_limits<float>::infinity());
      ParallelItems(context, x.size(), 0.3, [&](std::int64_t begin, std::int64_t end) {
        math::RunUnary(clip_, from + begin * 4, to + begin * 4, end - begin, low, high);
      });
      return;
    }
    std::uint64_t low_bits = 0, high_bits = 0;
    const void* low = Bound(context, 1, low_, &low_bits);
    const void* high = Bound(context, 2, high_, &high_bits);
    if (low == nullptr && high == nullptr) return CopyTensor(context, x, y);
    ParallelItems(context, x.size(), 0.6, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += kBlock) {
        const std::int64_t n = std::min(kBlock, end - begin);
        const std::byte* in = from + begin * max_.in_bytes;
        std::byte* out = to + begin * max_.in_bytes;
        if (low != nullptr) {
          math::RunBinary(max_, in, low, out, n, math::Span::kVectorScalar);
          in = out;
        }
        if (high != nullptr) math::RunBinary(min_, in, high, out, n, math::Span::kVectorScalar);
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 2048;

  static float Limit(const OpKernelContext& context, std::size_t input, float absent) {
    const Tensor* limit = context.OptionalInput(input);
    if (limit == nullptr) return absent;
    if (limit->size() != 1)
      context.Fail("input " + std::to_string(input) + " must be a scalar, is " + limit->Describe());
    return *limit->data<float>();
  }

  const void* Bound(const OpKernelContext& context, std::size_t input, float attribute,
                    std::uint64_t* bits) const {
    if (from_attributes_) {
      DispatchType(context.Input(0).type(), FloatTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T value = Narrow<T>(static_cast<ComputeOf<T>>(attribute));
        std::memcpy(bits, &value, sizeof(T));
      });
      return bits;
    }
    const Tensor* limit = context.OptionalInput(input);
    if (limit == nullptr) return nullptr;
    if (limit->size() != 1 || limit->type() != context.Input(0).type()) {
      context.Fail("input " + std::to_string(input) + " must be one " +
                   std::string(DataTypeName(context.Input(0).type())) + ", is " +
                   limit->Describe());
    }
    return limit->raw();
  }

  bool from_attributes_;
  float low_, high_;
  math::UnaryKernel clip_;
  math::BinaryKernel max_, min_;
};

class Compress final : public OpKernel {
 public:
  explicit Compress(OpKernelInfo& info)
      : flat_(!info.attributes().Has("axis")), axis_(info.attributes().Int("axis", 0)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& condition = context.Input(1);
    if (condition.rank() != 1)
      context.Fail("the condition must be a vector, is " + condition.Describe());
    const bool* keep = condition.data<bool>();
    const std::size_t axis =
        flat_ ? 0 : static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    const std::int64_t size = flat_ ? x.size() : x.dim(axis);
    const std::int64_t rows = flat_ ? 1 : Product(x.dims().first(axis));
    const std::int64_t block = flat_ ? 1 : Product(x.dims().subspan(axis + 1));
    if (condition.size() > size) {
      for (std::int64_t i = size; i < condition.size(); ++i) {
        if (keep[i])
          context.Fail("the condition chooses entry " + std::to_string(i) + " of " +
                       std::to_string(size));
      }
    }
    const std::int64_t limit = std::min(size, condition.size());
    const std::int64_t kept = std::count(keep, keep + limit, true);
    Dims dims(x.dims());
    if (flat_) dims.assign(&kept, &kept + 1);
    if (!flat_) dims[axis] = kept;
    Tensor& y = context.Output(0, dims);
    const ElementCopy copy(x.type());
    std::int64_t to = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < limit; ++i) {
        if (!keep[i]) continue;
        copy.At(y.raw_mutable(), to, x.raw(), (r * size + i) * block, block);
        to += block;
      }
    }
  }

 private:
  bool flat_;
  std::int64_t axis_;
};

class NonZero final : public OpKernel {
 public:
  explicit NonZero(OpKernelInfo&) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type() == DataType::kString) {
      return Run(context, x, x.data<std::string>(),
                 [](const std::string& s) { return !s.empty(); });
    }
    DispatchType(x.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Run(context, x, x.data<T>(), [](T v) { return Widen(v) != ComputeOf<T>(0); });
    });
  }

 private:
  template <typename T, typename F>
  static void Run(OpKernelContext& context, const Tensor& x, const T* data, F is_set) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) count += is_set(data[i]) ? 1 : 0;
    const auto rank = static_cast<std::int64_t>(x.rank());
    const std::int64_t dims[2] = {rank, count};
    std::int64_t* y = context.Output(0, dims).template data_mutable<std::int64_t>();
    std::int64_t column = 0;
    for (std::int64_t i = 0; i < x.size() && column < count; ++i) {
      if (!is_set(data[i])) continue;
      std::int64_t rest = i;
      for (std::int64_t k = rank - 1; k >= 0; --k) {
        const std::int64_t size = x.dim(static_cast<std::size_t>(k));
        y[k * count + column] = rest % size;
        rest /= size;
      }
      ++column;
    }
  }
};

class OneHot final : public OpKernel {
 public:
  explicit OneHot(OpKernelInfo& info) : axis_(info.attributes().Int("axis", -1)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& indices = context.Input(0);
    const std::int64_t depth = ReadIntegerScalar(context, 1);
    const Tensor& values = context.Input(2);
    if (depth < 1) context.Fail("depth is " + std::to_string(depth));
    if (values.size() != 2)
      context.Fail("values must be two, off and on, are " + values.Describe());
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, indices.rank() + 1));
    Dims dims(indices.dims());
    dims.insert(dims.begin() + axis, depth);
    Tensor& y = context.Output(0, dims);
    const std::int64_t inner = Product(indices.dims().subspan(axis));
    const ElementCopy copy(values.type());
    for (std::int64_t i = 0; i < y.size(); ++i) copy.At(y.raw_mutable(), i, values.raw(), 0, 1);
    DispatchType(indices.type(), NumericTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* at = indices.data<T>();
      for (std::int64_t i = 0; i < indices.size(); ++i) {
        auto index = static_cast<std::int64_t>(Widen(at[i]));
        if (index < 0) index += depth;
        if (index < 0 || index >= depth) continue;  // a row without a hot entry
        copy.At(y.raw_mutable(), (i / inner * depth + index) * inner + i % inner, values.raw(), 1,
                1);
      }
    });
  }

 private:
  std::int64_t axis_;
};

class Trilu final : public OpKernel {
 public:
  explicit Trilu(OpKernelInfo& info) : upper_(info.attributes().Int("upper", 1) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    const std::int64_t k =
        context.has_input(1) ? std::clamp(ReadIntegerScalar(context, 1), -kFar, kFar) : 0;
    if (x.rank() < 2) context.Fail("the input must have two dimensions, is " + x.Describe());
    const std::int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    const auto bytes = static_cast<std::int64_t>(BitsOf(x.type()) / 8);
    const auto* from = static_cast<const std::byte*>(x.raw());
    auto* to = static_cast<std::byte*>(y.raw_mutable());
    const std::int64_t total = y.size() / columns;
    ParallelItems(
        context, total, 2 + 0.05 * static_cast<double>(columns * bytes),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            // Entries before the border belong to the lower part, from it on to the upper part.
            const std::int64_t diagonal = r % rows + (upper_ ? k : k + 1);
            const std::int64_t border = std::clamp<std::int64_t>(diagonal, 0, columns);
            const std::int64_t first = upper_ ? border : 0, last = upper_ ? columns : border;
            std::byte* row = to + r * columns * bytes;
            const std::byte* source = from + r * columns * bytes;
            if (row != source)
              std::memcpy(row + first * bytes, source + first * bytes,
                          static_cast<std::size_t>((last - first) * bytes));
            std::memset(row, 0, static_cast<std::size_t>(first * bytes));
            std::memset(row + last * bytes, 0, static_cast<std::size_t>((columns - last) * bytes));
          }
        });
  }

 private:
  bool upper_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kFixedBytes | types::kString;
  registry.Register(
      KernelCreateInfo::For("Where").Input(1, movable).MayAlias(1, 0).MayAlias(2, 0).Make<Where>());
  registry.Register(KernelCreateInfo::For("Clip")
                        .Since(1, 10)
                        .Input(0, types::kFloats)
                        .MayAlias(0, 0)
                        .Make<Clip>());
  registry.Register(KernelCreateInfo::For("Clip")
                        .Since(11)
                        .Input(0, types::kNumeric)
                        .HostInput(1)
                        .HostInput(2)
                        .MayAlias(0, 0)
                        .Make<Clip>());
  registry.Register(KernelCreateInfo::For("Compress").Input(0, movable).Make<Compress>());
  registry.Register(KernelCreateInfo::For("NonZero")
                        .Input(0, types::kNumeric | types::kBool | types::kString)
                        .Make<NonZero>());
  registry.Register(KernelCreateInfo::For("OneHot")
                        .Input(0, types::kNumeric)
                        .Input(2, movable)
                        .HostInput(1)
                        .Make<OneHot>());
  registry.Register(KernelCreateInfo::For("Trilu")
                        .Input(0, types::kFixedBytes)
                        .HostInput(1)
                        .MayAlias(0, 0)
                        .Make<Trilu>());
}

}  // namespace switchyard::cpu::kernels::selection
