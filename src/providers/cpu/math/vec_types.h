// Element types of the vector library and their sizes. The numbers are those of ONNX's
// TensorProto.DataType, so callers convert with a static_cast. Not a tensor type: pure functions
// over raw pointers only.
#pragma once

#include <cstdint>

namespace switchyard::cpu::math {

enum class ElemType : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
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

// Bits of one element; 0 for what this library does not know. 4- and 2-bit types are packed, first
// element in the low bits.
constexpr int BitsOf(ElemType t) {
  switch (t) {
    case ElemType::kDouble:
    case ElemType::kInt64:
    case ElemType::kUint64:
      return 64;
    case ElemType::kFloat:
    case ElemType::kInt32:
    case ElemType::kUint32:
      return 32;
    case ElemType::kFloat16:
    case ElemType::kBfloat16:
    case ElemType::kInt16:
    case ElemType::kUint16:
      return 16;
    case ElemType::kUint8:
    case ElemType::kInt8:
    case ElemType::kBool:
    case ElemType::kFloat8E4M3FN:
    case ElemType::kFloat8E4M3FNUZ:
    case ElemType::kFloat8E5M2:
    case ElemType::kFloat8E5M2FNUZ:
    case ElemType::kFloat8E8M0:
      return 8;
    case ElemType::kUint4:
    case ElemType::kInt4:
    case ElemType::kFloat4E2M1:
      return 4;
    case ElemType::kUint2:
    case ElemType::kInt2:
      return 2;
  }
  return 0;
}

// Bytes of one element; 0 for packed types.
constexpr int BytesOf(ElemType t) { return BitsOf(t) / 8; }

}  // namespace switchyard::cpu::math
