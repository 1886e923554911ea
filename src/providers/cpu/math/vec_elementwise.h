// Elementwise operators of ONNX over dense ranges, all numeric types, with broadcasting on top.
// Pure functions over raw pointers, nothing is allocated, results do not depend on how a range is
// split. An output may be the same buffer as an input of the same element size that is not
// broadcast.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_broadcast.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

enum class BinaryOp : int {
  kAdd,
  kSub,
  kMul,
  kDiv,   // integers truncate towards zero; MIN / -1 wraps
  kMod,   // sign of the divisor (ONNX Mod with fmod = 0); floats likewise
  kFmod,  // sign of the dividend (fmod = 1)
  kPow,
  kMin,  // NaN if either is
  kMax,
  kBitAnd,  // on bool: And, Or, Xor
  kBitOr,
  kBitXor,
  kShiftLeft,  // a shift by the width or more gives 0 (or the sign)
  kShiftRight,
  kEqual,  // from here on the result is bool
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};

enum class UnaryOp : int {
  kCopy,
  kNeg,
  kAbs,
  kSign,
  kBitNot,  // on bool: Not
  kFloor,
  kCeil,
  kRound,  // half to even
  kTrunc,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExpm1,
  kLog,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kSilu,  // x sigmoid(p0 x)
  kGeluErf,
  kGeluTanh,
  kRelu,
  kLeakyRelu,        // p0: slope
  kThresholdedRelu,  // p0: alpha
  kClip,  // p0: low, p1: high; NaN passes. Bounds that float does not hold: kMax, kMin with a
          // scalar
  kElu,   // p0: alpha
  kSelu,  // p0: alpha, p1: gamma
  kCelu,  // p0: alpha
  kSoftplus,
  kSoftsign,
  kHardSigmoid,  // p0: alpha, p1: beta
  kHardSwish,
  kMish,
  kShrink,  // p0: lambda, p1: bias
  kAffine,  // p0 x + p1
  kIsNan,   // from here on the result is bool; in programs 0 or 1
  kIsInf,   // p0 != 0: negative ones, p1 != 0: positive ones
};

// What an operation reports; the caller turns it into an Error.
inline constexpr uint32_t kDivideByZero = 1;

// How the two operands of a range advance.
enum class Span : int { kVectorVector, kVectorScalar, kScalarVector };

// A chosen binary operation. `fn` is null where the type does not have the operation.
struct BinaryKernel {
  using Fn = uint32_t (*)(const void* a, const void* b, void* out, int64_t n, Span span);
  Fn fn = nullptr;
  void (*load)(const void* src, void* dst, int64_t n) = nullptr;  // 16-bit float to float
  void (*store)(const void* src, void* dst,
                int64_t n) = nullptr;  // and back, if the result is not bool
  int in_bytes = 0;
  int out_bytes = 0;
  bool swapped = false;  // computed with a and b exchanged
};

BinaryKernel GetBinary(BinaryOp op, ElemType type, IsaLevel level);

// Runs n elements without broadcasting but for scalars; returns kDivideByZero or 0.
uint32_t RunBinary(const BinaryKernel& kernel, const void* a, const void* b, void* out, int64_t n,
                   Span span);

// Runs output elements [begin, end) of a plan with two inputs. a, b, out are the bases of whole
// tensors.
uint32_t RunBinary(const BinaryKernel& kernel, const BroadcastPlan& plan, const void* a,
                   const void* b, void* out, int64_t begin, int64_t end);

// A chosen unary operation. Parameters are those named at UnaryOp.
struct UnaryKernel {
  using Fn = void (*)(const void* in, void* out, int64_t n, const float* params);
  Fn fn = nullptr;
  void (*load)(const void* src, void* dst, int64_t n) = nullptr;
  void (*store)(const void* src, void* dst, int64_t n) = nullptr;
  int in_bytes = 0;
  int out_bytes = 0;
};

UnaryKernel GetUnary(UnaryOp op, ElemType type, IsaLevel level);
void RunUnary(const UnaryKernel& kernel, const void* in, void* out, int64_t n, float p0 = 0,
              float p1 = 0);

// out = cond ? x : y for elements of 1, 2, 4, 8 or 16 bytes; plan inputs are cond (1 byte), x, y.
void RunWhere(const BroadcastPlan& plan, const void* cond, const void* x, const void* y, void* out,
              int bytes, int64_t begin, int64_t end);

}  // namespace switchyard::cpu::math
