// Sequences and optional values. Tensors are copied into sequences: the memory of a wire is used
// again once its last reader has run.

#include <algorithm>

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::sequences {
namespace {

OrtValue Kept(const Tensor& tensor) { return OrtValue(tensor.Clone(MakeHostAllocator())); }

// A position from -count up to last; `input` may be absent.
std::int64_t PositionOf(const OpKernelContext& context, std::size_t input, std::int64_t count,
                        std::int64_t last, std::int64_t absent) {
  if (!context.has_input(input)) return absent;
  const std::int64_t at = ReadIntegerScalar(context, input);
  if (at < -count || at > last) {
    context.Fail("position " + std::to_string(at) + " is out of range for a sequence of " +
                 std::to_string(count));
  }
  return at < 0 ? at + count : at;
}

void CheckElement(const OpKernelContext& context, DataType expected, const Tensor& tensor) {
  if (tensor.type() == expected || expected == DataType::kUndefined) return;
  context.Fail("the sequence holds " + std::string(DataTypeName(expected)) +
               " tensors, the tensor is " + tensor.Describe());
}

ValueType ElementOf(DataType type) { return ValueType::Tensor(type); }

void SetSequence(OpKernelContext& context, const ValueType& element, std::vector<OrtValue> items) {
  context.SetOutput(0, OrtValue::Sequence(element, std::move(items)));
}

class SequenceEmpty final : public OpKernel {
 public:
  explicit SequenceEmpty(OpKernelInfo& info) {
    const std::int64_t type = info.attributes().Int("dtype", 1);
    if (type <= 0 || type >= kDataTypeCount) info.Fail("dtype is " + std::to_string(type));
    type_ = static_cast<DataType>(type);
  }
  void Compute(OpKernelContext& context) const override {
    SetSequence(context, ElementOf(type_), {});
  }

 private:
  DataType type_;
};

class SequenceConstruct final : public OpKernel {
 public:
  explicit SequenceConstruct(OpKernelInfo& info) {
    if (info.num_inputs() == 0) info.Fail("has no inputs");
  }
  void Compute(OpKernelContext& context) const override {
    std::vector<OrtValue> items;
    const DataType type = context.Input(0).type();
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      CheckElement(context, type, context.Input(i));
      items.push_back(Kept(context.Input(i)));
    }
    SetSequence(context, ElementOf(type), std::move(items));
  }
};

class SequenceInsert final : public OpKernel {
 public:
  explicit SequenceInsert(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const SequenceValue& from = context.InputValue(0).sequence();
    const Tensor& tensor = context.Input(1);
    CheckElement(context, from.element_type.elem, tensor);
    const std::int64_t count = std::ssize(from.items);
    const std::int64_t at = PositionOf(context, 2, count, count, count);
    std::vector<OrtValue> items;
    items.reserve(from.items.size() + 1);
    items.assign(from.items.begin(), from.items.end());
    items.insert(items.begin() + at, Kept(tensor));
    SetSequence(context, from.element_type, std::move(items));
  }
};

class SequenceErase final : public OpKernel {
 public:
  explicit SequenceErase(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const SequenceValue& from = context.InputValue(0).sequence();
    const std::int64_t count = std::ssize(from.items);
    if (count == 0) context.Fail("the sequence is empty");
    const std::int64_t at = PositionOf(context, 1, count, count - 1, count - 1);
    std::vector<OrtValue> items = from.items;
    items.erase(items.begin() + at);
    SetSequence(context, from.element_type, std::move(items));
  }
};

class SequenceAt final : public OpKernel {
 public:
  explicit SequenceAt(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const SequenceValue& from = context.InputValue(0).sequence();
    const std::int64_t count = std::ssize(from.items);
    const std::int64_t at = PositionOf(context, 1, count, count - 1, 0);
    const OrtValue& item = from.items[static_cast<std::size_t>(at)];
    if (!item.is_tensor()) return context.SetOutput(0, item);
    const Tensor& tensor = item.tensor();
    Tensor& y = context.Output(0, tensor.dims());
    CheckElement(context, y.type(), tensor);
    CopyTensor(context, tensor, y);
  }
};

class SequenceLength final : public OpKernel {
 public:
  explicit SequenceLength(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const SequenceValue& from = context.InputValue(0).sequence();
    *context.Output(0, {}).data_mutable<std::int64_t>() = std::ssize(from.items);
  }
};

class ConcatFromSequence final : public OpKernel {
 public:
  explicit ConcatFromSequence(OpKernelInfo& info)
      : stacks_(info.attributes().Int("new_axis", 0) != 0),
        axis_(info.attributes().Int("axis", 0)) {
    if (!info.attributes().Has("axis")) info.Fail("attribute 'axis' is missing");
  }

  void Compute(OpKernelContext& context) const override {
    const SequenceValue& from = context.InputValue(0).sequence();
    if (from.items.empty()) context.Fail("the sequence is empty");
    const Tensor& first = from.items[0].tensor();
    const std::size_t rank = first.rank() + (stacks_ ? 1 : 0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, rank));
    Dims dims(first.dims());
    if (stacks_) dims.insert(dims.begin() + axis, 1);
    dims[axis] = 0;
    for (const OrtValue& item : from.items) {
      CheckFits(context, item.tensor(), first, axis);
      dims[axis] += stacks_ ? 1 : item.tensor().dim(axis);
    }
    Tensor& y = context.Output(0, dims);
    CheckElement(context, y.type(), first);
    const ElementCopy copy(y.type());
    const std::int64_t outer = Product(std::span<const std::int64_t>(dims).first(axis));
    const std::int64_t inner = Product(std::span<const std::int64_t>(dims).subspan(axis + 1));
    std::int64_t at = 0;
    for (const OrtValue& item : from.items) {
      const Tensor& tensor = item.tensor();
      const std::int64_t block = (stacks_ ? 1 : tensor.dim(axis)) * inner;
      for (std::int64_t o = 0; o < outer; ++o) {
        copy.At(y.raw_mutable(), o * dims[axis] * inner + at, tensor.raw(), o * block, block);
      }
      at += block;
    }
  }

 private:
  void CheckFits(const OpKernelContext& context, const Tensor& tensor, const Tensor& first,
                 std::size_t axis) const {
    bool fits = tensor.rank() == first.rank() && tensor.type() == first.type();
    for (std::size_t i = 0; fits && i < first.rank(); ++i) {
      fits = tensor.dim(i) == first.dim(i) || (!stacks_ && i == axis);
    }
    if (!fits) context.Fail(tensor.Describe() + " does not join with " + first.Describe());
  }

  bool stacks_;
  std::int64_t axis_;
};

class SplitToSequence final : public OpKernel {
 public:
  explicit SplitToSequence(OpKernelInfo& info)
      : axis_(info.attributes().Int("axis", 0)), keep_(info.attributes().Int("keepdims", 1) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
    const std::vector<std::int64_t> sizes = Sizes(context, x.dim(axis));
    const bool squeeze = !keep_ && !context.has_input(1);
    const std::int64_t outer = Product(x.dims().first(axis));
    const std::int64_t inner = Product(x.dims().subspan(axis + 1));
    const ElementCopy copy(x.type());
    std::vector<OrtValue> items;
    items.reserve(sizes.size());
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      Dims dims(x.dims());
      dims[axis] = size;
      if (squeeze) dims.erase(dims.begin() + axis);
      Tensor part(x.type(), dims, MakeHostAllocator());
      for (std::int64_t o = 0; o < outer; ++o) {
        copy.At(part.raw_mutable(), o * size * inner, x.raw(), (o * x.dim(axis) + at) * inner,
                size * inner);
      }
      at += size;
      items.push_back(OrtValue(std::move(part)));
    }
    SetSequence(context, ElementOf(x.type()), std::move(items));
  }

 private:
  static std::vector<std::int64_t> Sizes(const OpKernelContext& context, std::int64_t length) {
    if (!context.has_input(1)) {
      return std::vector<std::int64_t>(static_cast<std::size_t>(length), 1);
    }
    if (context.Input(1).rank() == 0) {
      const std::int64_t size = ReadIntegerScalar(context, 1);
      if (size < 1) context.Fail("split is " + std::to_string(size));
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(length / size), size);
      if (length % size != 0) sizes.push_back(length % size);
      return sizes;
    }
    const Dims given = ReadIntegers(context, 1);
    std::int64_t rest = length;
    for (const std::int64_t size : given) {
      if (size < 0 || size > rest) rest = -1;
      if (rest < 0) break;
      rest -= size;
    }
    if (rest != 0) {
      context.Fail("split " + DimsToString(given) + " does not add up to " +
                   std::to_string(length));
    }
    return std::vector<std::int64_t>(given.begin(), given.end());
  }

  std::int64_t axis_;
  bool keep_;
};

class Optional final : public OpKernel {
 public:
  explicit Optional(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    if (!context.has_input(0)) return context.SetOutput(0, OrtValue());
    const OrtValue& value = context.InputValue(0);
    context.SetOutput(0, value.is_tensor() ? Kept(value.tensor()) : value);
  }
};

class OptionalHasElement final : public OpKernel {
 public:
  explicit OptionalHasElement(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const bool has = context.has_input(0) && context.InputValue(0).has_value();
    *context.Output(0, {}).data_mutable<bool>() = has;
  }
};

class OptionalGetElement final : public OpKernel {
 public:
  explicit OptionalGetElement(OpKernelInfo&) {}
  void Compute(OpKernelContext& context) const override {
    const OrtValue& value = context.InputValue(0);
    if (!value.has_value()) context.Fail("the optional value is empty");
    if (!value.is_tensor()) return context.SetOutput(0, value);
    const Tensor& tensor = value.tensor();
    Tensor& y = context.Output(0, tensor.dims());
    CheckElement(context, y.type(), tensor);
    CopyTensor(context, tensor, y);
  }
};

template <typename Kernel>
void Add(KernelRegistry& registry, const char* op) {
  registry.Register(KernelCreateInfo::For(op).Make<Kernel>());
}

}  // namespace

void Register(KernelRegistry& registry) {
  Add<SequenceEmpty>(registry, "SequenceEmpty");
  Add<SequenceLength>(registry, "SequenceLength");
  Add<ConcatFromSequence>(registry, "ConcatFromSequence");
  Add<Optional>(registry, "Optional");
  Add<OptionalHasElement>(registry, "OptionalHasElement");
  Add<OptionalGetElement>(registry, "OptionalGetElement");
  registry.Register(KernelCreateInfo::For("SequenceConstruct").Make<SequenceConstruct>());
  registry.Register(KernelCreateInfo::For("SequenceInsert").HostInput(2).Make<SequenceInsert>());
  registry.Register(KernelCreateInfo::For("SequenceErase").HostInput(1).Make<SequenceErase>());
  registry.Register(KernelCreateInfo::For("SequenceAt").HostInput(1).Make<SequenceAt>());
  registry.Register(KernelCreateInfo::For("SplitToSequence")
                        .Input(0, types::kFixedBytes | types::kString)
                        .HostInput(1)
                        .Make<SplitToSequence>());
}

}  // namespace switchyard::cpu::kernels::sequences
