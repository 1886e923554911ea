#include "ir/constant_info.h"

#include <limits>

namespace switchyard {
namespace {

template <typename T>
bool Append(const Tensor& tensor, InlineVector<Dim, 8>* out) {
  out->clear();
  for (const T element : tensor.values<T>()) {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (element > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return false;
      }
    }
    out->push_back(Dim(static_cast<std::int64_t>(element)));
  }
  return true;
}

}  // namespace

bool FollowedInts(const Tensor& tensor, InlineVector<Dim, 8>* out) {
  if (tensor.size() > static_cast<std::int64_t>(ValueInfo::kMaxFollowed)) return false;
  switch (tensor.type()) {
    case DataType::kInt64:
      return Append<std::int64_t>(tensor, out);
    case DataType::kInt32:
      return Append<std::int32_t>(tensor, out);
    case DataType::kInt16:
      return Append<std::int16_t>(tensor, out);
    case DataType::kInt8:
      return Append<std::int8_t>(tensor, out);
    case DataType::kUint64:
      return Append<std::uint64_t>(tensor, out);
    case DataType::kUint32:
      return Append<std::uint32_t>(tensor, out);
    case DataType::kUint16:
      return Append<std::uint16_t>(tensor, out);
    case DataType::kUint8:
      return Append<std::uint8_t>(tensor, out);
    case DataType::kBool:
      return Append<bool>(tensor, out);
    default:
      return false;
  }
}

ValueInfo InfoOf(const Constant& constant) {
  ValueInfo info;
  info.type = ValueType::Tensor(constant.type(), Shape(constant.dims()));
  const bool integers = (types::kIntegers | types::kBool).Contains(constant.type());
  if (integers && constant.size() <= static_cast<std::int64_t>(ValueInfo::kMaxFollowed)) {
    info.has_value = FollowedInts(constant.tensor(), &info.value);
  }
  return info;
}

}  // namespace switchyard
