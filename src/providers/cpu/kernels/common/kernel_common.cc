#include "providers/cpu/kernels/common/kernel_common.h"

#include <algorithm>

#include "providers/cpu/provider.h"

namespace switchyard::cpu {

math::IsaLevel IsaOf(const OpKernelInfo& info) {
  const auto* provider = dynamic_cast<const CpuExecutionProvider*>(&info.provider());
  return provider != nullptr ? provider->isa() : math::IsaLevel::kBaseline;
}

bool ReadIntegers(const Tensor& tensor, Dims* values) {
  if (tensor.rank() > 1) return false;
  values->resize(static_cast<std::size_t>(tensor.size()));
  if (tensor.type() == DataType::kInt64) {
    std::copy_n(static_cast<const std::int64_t*>(tensor.raw()), tensor.size(), values->data());
  } else if (tensor.type() == DataType::kInt32) {
    std::copy_n(static_cast<const std::int32_t*>(tensor.raw()), tensor.size(), values->data());
  } else {
    return false;
  }
  return true;
}

Dims ReadIntegers(const OpKernelContext& context, std::size_t input) {
  Dims values;
  if (!ReadIntegers(context.Input(input), &values)) {
    context.Fail("input " + std::to_string(input) + " must be an int32 or int64 vector, is " +
                 context.Input(input).Describe());
  }
  return values;
}

double ReadScalar(const OpKernelContext& context, std::size_t input) {
  const Tensor& tensor = context.Input(input);
  double value = 0;
  if (tensor.size() != 1 || !DispatchType(tensor.type(), NumericAndBoolTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        value = static_cast<double>(Widen(*static_cast<const T*>(tensor.raw())));
      })) {
    context.Fail("input " + std::to_string(input) + " must be one number, is " + tensor.Describe());
  }
  return value;
}

std::int64_t ReadIntegerScalar(const OpKernelContext& context, std::size_t input) {
  const Tensor& tensor = context.Input(input);
  std::int64_t value = 0;
  if (tensor.size() != 1 || !DispatchType(tensor.type(), NumericAndBoolTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        value = static_cast<std::int64_t>(Widen(*static_cast<const T*>(tensor.raw())));
      })) {
    context.Fail("input " + std::to_string(input) + " must be one number, is " + tensor.Describe());
  }
  return value;
}

ElementCopy::ElementCopy(DataType type)
    : bytes(static_cast<std::size_t>(BitsOf(type) / 8)), is_string(type == DataType::kString) {}

void ElementCopy::CopyStrings(void* to, const void* from, std::int64_t count) {
  std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
}

void CopyTensor(OpKernelContext& context, const Tensor& from, Tensor& to) {
  if (from.raw() == to.raw()) return;
  if (from.type() == DataType::kString) {
    ElementCopy(from.type()).Run(to.raw_mutable(), from.raw(), from.size());
    return;
  }
  const auto bytes = static_cast<std::int64_t>(from.bytes());
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw_mutable());
  ParallelItems(context, bytes, 0.05, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

void UnpackCodes(DataType type, const void* packed, std::int64_t count, std::uint8_t* codes) {
  const int bits = BitsOf(type);
  const int per_byte = 8 / bits;
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  const auto* source = static_cast<const std::uint8_t*>(packed);
  for (std::int64_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>(source[i / per_byte] >> (bits * (i % per_byte))) & mask;
  }
}

void PackCodes(DataType type, const std::uint8_t* codes, std::int64_t count, void* packed) {
  const int bits = BitsOf(type);
  const int per_byte = 8 / bits;
  auto* target = static_cast<std::uint8_t*>(packed);
  std::memset(target, 0, BytesOf(type, count));
  for (std::int64_t i = 0; i < count; ++i) {
    target[i / per_byte] |= static_cast<std::uint8_t>(codes[i] << (bits * (i % per_byte)));
  }
}

}  // namespace switchyard::cpu
