#pragma once
// Element types, by the codes of the ONNX format, and sets of them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "switchyard/base/export.h"

namespace switchyard {

enum class DataType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};
inline constexpr int kDataTypeCount = 27;

// "float", "uint8", "float8e4m3fn" ...: the word inside "tensor(...)".
SWITCHYARD_API std::string_view DataTypeName(DataType type);
SWITCHYARD_API std::optional<DataType> DataTypeFromName(std::string_view name);
// Bits one element takes; strings: those of the in-memory std::string; 0 for kUndefined.
SWITCHYARD_API int BitsOf(DataType type);
// Bytes of `count` elements, packed types rounded up. Throws InvalidArgument when it overflows.
SWITCHYARD_API std::size_t BytesOf(DataType type, std::int64_t count);
inline bool IsPacked(DataType type) { return BitsOf(type) < 8 && BitsOf(type) > 0; }

// A set of element types as a bit mask.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(DataType type) : bits_(1u << static_cast<int>(type)) {}  // NOLINT: implicit
  constexpr explicit TypeSet(std::uint32_t bits) : bits_(bits) {}
  constexpr bool Contains(DataType type) const {
    return ((bits_ >> static_cast<int>(type)) & 1u) != 0;
  }
  constexpr std::uint32_t bits() const { return bits_; }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) { return TypeSet(a.bits_ | b.bits_); }
  friend constexpr bool operator==(TypeSet a, TypeSet b) { return a.bits_ == b.bits_; }
  std::string ToString() const;  // "float, double"

 private:
  std::uint32_t bits_ = 0;
};
constexpr TypeSet operator|(DataType a, DataType b) { return TypeSet(a) | TypeSet(b); }

namespace types {
inline constexpr TypeSet kFloat32{DataType::kFloat};
inline constexpr TypeSet kFloats =
    DataType::kFloat | DataType::kDouble | DataType::kFloat16 | TypeSet(DataType::kBFloat16);
inline constexpr TypeSet kSigned =
    DataType::kInt8 | DataType::kInt16 | DataType::kInt32 | TypeSet(DataType::kInt64);
inline constexpr TypeSet kUnsigned =
    DataType::kUint8 | DataType::kUint16 | DataType::kUint32 | TypeSet(DataType::kUint64);
inline constexpr TypeSet kIntegers = kSigned | kUnsigned;
inline constexpr TypeSet kNumeric = kFloats | kIntegers;
inline constexpr TypeSet kBool{DataType::kBool};
inline constexpr TypeSet kString{DataType::kString};
inline constexpr TypeSet kIndex = DataType::kInt32 | DataType::kInt64;
inline constexpr TypeSet kFloat8 = DataType::kFloat8E4M3FN | DataType::kFloat8E4M3FNUZ |
                                   DataType::kFloat8E5M2 | TypeSet(DataType::kFloat8E5M2FNUZ);
inline constexpr TypeSet kPacked = DataType::kUint4 | DataType::kInt4 | DataType::kUint2 |
                                   DataType::kInt2 | TypeSet(DataType::kFloat4E2M1);
inline constexpr TypeSet kComplex = DataType::kComplex64 | DataType::kComplex128;
// Whatever has a fixed size of whole bytes: data movement does not look inside.
inline constexpr TypeSet kFixedBytes =
    kNumeric | kBool | kFloat8 | kComplex | TypeSet(DataType::kFloat8E8M0);
inline constexpr TypeSet kAll = kFixedBytes | kPacked | kString;
}  // namespace types

// DataTypeOf<T>: the code of a C++ type. Narrow floats have their own types in narrow_float.h.
template <typename T>
struct DataTypeTraits;
#define SY_DATA_TYPE(cpp, code)                       \
  template <>                                         \
  struct DataTypeTraits<cpp> {                        \
    static constexpr DataType value = DataType::code; \
  }
SY_DATA_TYPE(float, kFloat);
SY_DATA_TYPE(double, kDouble);
SY_DATA_TYPE(std::uint8_t, kUint8);
SY_DATA_TYPE(std::int8_t, kInt8);
SY_DATA_TYPE(std::uint16_t, kUint16);
SY_DATA_TYPE(std::int16_t, kInt16);
SY_DATA_TYPE(std::uint32_t, kUint32);
SY_DATA_TYPE(std::int32_t, kInt32);
SY_DATA_TYPE(std::uint64_t, kUint64);
SY_DATA_TYPE(std::int64_t, kInt64);
SY_DATA_TYPE(bool, kBool);
SY_DATA_TYPE(std::string, kString);
template <typename T>
inline constexpr DataType DataTypeOf = DataTypeTraits<T>::value;

}  // namespace switchyard
