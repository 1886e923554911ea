// QuantizeLinear, DequantizeLinear and requantisation: per tensor, per axis, blocked. Pure
// functions over raw pointers, nothing is allocated; elements are independent, so ranges may be
// split at any multiple of 8.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

// Where the scale of an element of [outer, axis, inner] is found.
struct QuantLayout {
  enum class Kind : int {
    kTensor,   // one scale
    kAxis,     // scale[axis]
    kBlocked,  // scale[outer][ceil(axis / block)][inner]
  };
  Kind kind = Kind::kTensor;
  int64_t axis = 1, inner = 1, block = 1;
};

struct QuantArgs {
  IsaLevel level = IsaLevel::kBaseline;
  QuantLayout layout;
  ElemType real = ElemType::kFloat;   // float, float16, bfloat16; the real side of both directions,
                                      // int32 for input
  ElemType quant = ElemType::kUint8;  // 8-, 16-, 4- and 2-bit integers, float8 and float4 types;
                                      // int32 to dequantise
  ElemType scale_type = ElemType::kFloat;
  const void* scale = nullptr;
  const void* zero_point = nullptr;  // of type quant; null: 0
  bool saturate = true;              // float8 only
};

// y = saturate(round_half_even(x / scale) + zero_point); float8 and float4: y = cast(x / scale).
// NaN becomes the lowest integer. Elements [begin, end), begin a multiple of 8; x and y are the
// bases of whole tensors. False for a type that is not listed.
bool RunQuantize(const QuantArgs& args, const void* x, void* y, int64_t begin, int64_t end);

// y = (x - zero_point) * scale, computed in float.
bool RunDequantize(const QuantArgs& args, const void* x, void* y, int64_t begin, int64_t end);

// out = saturate(round_half_even(acc * multiplier) + zero_point) for uint8 or int8 output;
// multiplier has n values with per_element, else one.
void RequantizeRow(const int32_t* acc, const float* multiplier, bool per_element,
                   int32_t zero_point, ElemType type, void* out, int64_t n, IsaLevel level);

// Scale and zero point that DynamicQuantizeLinear prescribes for values in [low, high].
void DynamicQuantParams(float low, float high, float* scale, uint8_t* zero_point);

}  // namespace switchyard::cpu::math
