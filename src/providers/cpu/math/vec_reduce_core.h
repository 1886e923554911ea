// The per-level inner loops behind vec_reduce.h; private to the vector library.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// Inner operations on a canonical type.
enum class Fold : int { kSum, kSumAbs, kSumSquare, kSumExp, kProd, kMin, kMax };
constexpr int kFolds = 7;

// Folds one contiguous chunk; `shift` is subtracted before exp.
template <class T>
using RowFold = T (*)(const T* x, int64_t n, T shift);
// acc[i] = fold(acc[i], x[i]); shift has one value per column and is read by kSumExp only.
template <class T>
using ColumnFold = void (*)(T* acc, const T* x, const T* shift, int64_t n);

RowFold<float> FloatRowFold(Fold fold, IsaLevel level);
RowFold<double> DoubleRowFold(Fold fold, IsaLevel level);
RowFold<int64_t> Int64RowFold(Fold fold, IsaLevel level);
ColumnFold<float> FloatColumnFold(Fold fold, IsaLevel level);
ColumnFold<double> DoubleColumnFold(Fold fold, IsaLevel level);
ColumnFold<int64_t> Int64ColumnFold(Fold fold, IsaLevel level);

}  // namespace switchyard::cpu::math
