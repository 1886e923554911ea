// Conversions between all numeric ONNX types. Pure functions over raw pointers, nothing is
// allocated; results do not depend on how a range is split. Rules of ONNX Cast: float to integer
// truncates, integers wrap, anything non-zero is true, narrow floats round half to even.
// Out-of-range float to integer is undefined by ONNX and is the hardware's value here.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

using ConvertFn = void (*)(const void* src, void* dst, int64_t n);

enum class RoundMode : int { kUp, kDown, kNearest };  // for float8e8m0 only

// One-step conversion where one side is float (or both types are equal); null where there is none.
// Narrow floats saturate. Packed types start at the low bits of the first byte.
ConvertFn GetConvert(ElemType from, ElemType to, IsaLevel level);

struct CastKernel {
  ConvertFn load = nullptr;   // null: src already has the middle type
  ConvertFn store = nullptr;  // null: dst has the middle type
  int mid_bytes = 0;          // 0: no such conversion
  int from_bits = 0;
  int to_bits = 0;
};

CastKernel GetCast(ElemType from, ElemType to, IsaLevel level, bool saturate = true,
                   RoundMode round = RoundMode::kUp);

// Converts elements [begin, end); src and dst are the bases of whole tensors. With packed types
// begin must be a multiple of 8.
void RunCast(const CastKernel& kernel, const void* src, void* dst, int64_t begin, int64_t end);

}  // namespace switchyard::cpu::math
