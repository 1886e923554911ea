#pragma once
// Our element types and OpenVINO's.

#include <openvino/core/type/element_type.hpp>

#include "switchyard/tensor/data_type.h"

namespace switchyard::openvino {

// dynamic: OpenVINO has none, or this provider hands over none (strings).
inline ov::element::Type ElementType(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return ov::element::f32;
    case DataType::kDouble:
      return ov::element::f64;
    case DataType::kFloat16:
      return ov::element::f16;
    case DataType::kBFloat16:
      return ov::element::bf16;
    case DataType::kInt8:
      return ov::element::i8;
    case DataType::kInt16:
      return ov::element::i16;
    case DataType::kInt32:
      return ov::element::i32;
    case DataType::kInt64:
      return ov::element::i64;
    case DataType::kUint8:
      return ov::element::u8;
    case DataType::kUint16:
      return ov::element::u16;
    case DataType::kUint32:
      return ov::element::u32;
    case DataType::kUint64:
      return ov::element::u64;
    case DataType::kBool:
      return ov::element::boolean;
    case DataType::kInt4:
      return ov::element::i4;
    case DataType::kUint4:
      return ov::element::u4;
    default:
      return ov::element::dynamic;
  }
}

}  // namespace switchyard::openvino
