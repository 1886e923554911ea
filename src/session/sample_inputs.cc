#include "switchyard/session/sample_inputs.h"

#include <cmath>
#include <random>
#include <type_traits>

#include "base/format.h"

namespace switchyard {
namespace {

Dims DimsFor(const Shape& shape, const std::map<std::string, std::int64_t>& given) {
  Dims dims;
  if (!shape.ranked()) return dims;
  for (const Dim& dim : shape) {
    const auto found = dim.is_symbolic() ? given.find(dim.ToString()) : given.end();
    dims.push_back(dim.is_value() ? dim.value() : found != given.end() ? found->second : 1);
  }
  return dims;
}

template <typename T>
void Fill(Tensor& tensor, std::mt19937& random, double high) {
  std::uniform_real_distribution<double> distribution(0, high);
  T* data = tensor.data_mutable<T>();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      data[i] = distribution(random) >= 1;
    } else if constexpr (std::is_integral_v<T>) {
      data[i] = static_cast<T>(std::floor(distribution(random)));
    } else {
      data[i] = T(static_cast<float>(distribution(random)));
    }
  }
}

// FNV-1a, so that an input's values depend on its name alone.
std::uint32_t HashOf(const std::string& name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

bool FillTensor(Tensor& tensor, std::mt19937& random) {
  switch (tensor.type()) {
    case DataType::kFloat:
      Fill<float>(tensor, random, 1);
      return true;
    case DataType::kDouble:
      Fill<double>(tensor, random, 1);
      return true;
    case DataType::kFloat16:
      Fill<Float16>(tensor, random, 1);
      return true;
    case DataType::kBFloat16:
      Fill<BFloat16>(tensor, random, 1);
      return true;
    case DataType::kInt64:
      Fill<std::int64_t>(tensor, random, 2);
      return true;
    case DataType::kInt32:
      Fill<std::int32_t>(tensor, random, 2);
      return true;
    case DataType::kInt16:
      Fill<std::int16_t>(tensor, random, 2);
      return true;
    case DataType::kInt8:
      Fill<std::int8_t>(tensor, random, 2);
      return true;
    case DataType::kUint64:
      Fill<std::uint64_t>(tensor, random, 2);
      return true;
    case DataType::kUint32:
      Fill<std::uint32_t>(tensor, random, 2);
      return true;
    case DataType::kUint16:
      Fill<std::uint16_t>(tensor, random, 2);
      return true;
    case DataType::kUint8:
      Fill<std::uint8_t>(tensor, random, 256);
      return true;
    case DataType::kBool:
      Fill<bool>(tensor, random, 2);
      return true;
    default:
      return tensor.type() == DataType::kString;
  }
}

}  // namespace

OrtValue SampleInput(const SessionArg& input, const SampleOptions& options) {
  if (!input.type.is_tensor()) {
    Throw(ErrorCode::kInvalidArgument, "input '{}' is {}: only tensors can be made up", input.name,
          input.type.ToString());
  }
  Tensor tensor(input.type.elem, DimsFor(input.type.shape, options.dims), MakeHostAllocator());
  std::mt19937 random(options.seed ^ HashOf(input.name));
  if (!FillTensor(tensor, random)) {
    Throw(ErrorCode::kInvalidArgument, "input '{}' is {}: values of this type can't be made up",
          input.name, input.type.ToString());
  }
  return tensor;
}

NamedValues SampleInputs(std::span<const SessionArg> inputs, const SampleOptions& options) {
  NamedValues feeds;
  for (const SessionArg& input : inputs) {
    if (input.type.kind == ValueType::Kind::kOptional) continue;
    feeds.names.push_back(input.name);
    feeds.values.push_back(SampleInput(input, options));
  }
  return feeds;
}

}  // namespace switchyard
