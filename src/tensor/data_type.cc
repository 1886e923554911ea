#include "switchyard/tensor/data_type.h"

#include <array>

#include "base/format.h"

namespace switchyard {
namespace {

struct TypeFact {
  std::string_view name;
  int bits;
};

constexpr std::array<TypeFact, kDataTypeCount> kFacts = {{
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", static_cast<int>(sizeof(std::string)) * 8},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
}};

const TypeFact& FactOf(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  return kFacts[index < kFacts.size() ? index : 0];
}

}  // namespace

std::string_view DataTypeName(DataType type) { return FactOf(type).name; }

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (std::size_t i = 1; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

int BitsOf(DataType type) { return FactOf(type).bits; }

std::size_t BytesOf(DataType type, std::int64_t count) {
  const auto bits = static_cast<std::size_t>(BitsOf(type));
  if (count < 0) Throw(ErrorCode::kInvalidArgument, "a tensor can't have {} elements", count);
  const auto elements = static_cast<std::size_t>(count);
  if (bits >= 8) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(elements, bits / 8, &bytes)) {
      Throw(ErrorCode::kInvalidArgument, "{} elements of {} do not fit in memory", count,
            DataTypeName(type));
    }
    return bytes;
  }
  if (bits == 0) return 0;
  const std::size_t per_byte = 8 / bits;
  return elements / per_byte + (elements % per_byte != 0 ? 1 : 0);
}

std::string TypeSet::ToString() const {
  std::string text;
  for (int i = 1; i < kDataTypeCount; ++i) {
    if (!Contains(static_cast<DataType>(i))) continue;
    if (!text.empty()) text += ", ";
    text += DataTypeName(static_cast<DataType>(i));
  }
  return text;
}

}  // namespace switchyard
