#pragma once
// What the inference functions of many operators share: attributes, axes, broadcasting, windows,
// following integers. Nothing here allocates when ranks are small and dims are numbers, but to
// fail.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "switchyard/ir/inference.h"

namespace switchyard::ir {

using Ints = InlineVector<Dim, 8>;
using Axes = InlineVector<std::int64_t, 8>;

// ---- provable facts of a dim
inline bool IsValue(const Dim& d, std::int64_t value) { return d.is_value() && d.value() == value; }

// ---- attributes
// A string attribute without copying it.
std::string_view Text(const InferenceContext& ctx, std::string_view name, std::string_view absent);
// An attribute that holds an element type code; fails when it is none.
DataType DataTypeAttribute(const InferenceContext& ctx, std::string_view name, DataType absent);
// Fails unless attribute `name` has `count` numbers (or is absent).
std::span<const std::int64_t> IntsOfSize(const InferenceContext& ctx, std::string_view name,
                                         std::size_t count);

// ---- failing
// "input 1 'W': expected <expected>, got <got>".
[[noreturn]] void FailInput(const InferenceContext& ctx, std::size_t input, std::string_view name,
                            std::string_view expected, std::string_view got);
// Fails if the input is a tensor of known rank outside [least, most].
void CheckRank(const InferenceContext& ctx, std::size_t input, std::string_view name,
               std::size_t least, std::size_t most = 64);
// Fails if both are numbers and differ; the more telling one otherwise.
Dim Same(const InferenceContext& ctx, const Dim& a, const Dim& b, std::string_view what);

// ---- whole types
void CopyType(InferenceContext& ctx, std::size_t input, std::size_t output);
// The shape of an input with another element type.
void CopyShape(InferenceContext& ctx, std::size_t input, std::size_t output, DataType elem);
// NumPy broadcast of the inputs first..last (exclusive); those absent do not count.
Shape Broadcast(const InferenceContext& ctx, std::size_t first, std::size_t last);

// ---- axes
// Sorted axes within `rank` without duplicates.
Axes NormalAxes(const InferenceContext& ctx, std::span<const std::int64_t> axes, std::size_t rank);
// Axes given by attribute `name`, or by input `input` where the version has that input. False if
// they are an input whose contents are not known. *given is false if neither is there.
bool ReadAxes(InferenceContext& ctx, std::string_view name, std::size_t input, Axes* axes,
              bool* given);
// The integers of an input as numbers; false unless all are.
bool ReadNumbers(InferenceContext& ctx, std::size_t input, Axes* numbers);
// How many elements a rank-1 input has, if that is a number.
std::optional<std::size_t> ListLength(const InferenceContext& ctx, std::size_t input);

// ---- sliding windows
struct Window {
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads;  // begins, then ends
  std::string_view auto_pad;
  bool ceil_mode = false;
};
// Attributes of a window over `spatial` dims; `kernel` is kernel_shape unless that is absent.
Window ReadWindow(const InferenceContext& ctx, std::size_t spatial, std::span<const Dim> kernel);
// Positions of the window along spatial dim `i` of size `in`.
Dim WindowCount(const InferenceContext& ctx, const Window& window, std::size_t i, const Dim& in);

// ---- matrix products
// NumPy's matmul: lists count as a row (left) or a column (right), leading dims broadcast.
Shape MatMulShape(const InferenceContext& ctx, const Shape& a, const Shape& b);
// Of two matrices, transposed as attributes transA and transB say.
Shape GemmShape(const InferenceContext& ctx, std::size_t a, std::size_t b);

// ---- following integers
// Types in which the arithmetic of shapes is done. A float tensor may carry integers too (Cast of a
// shape), which operators that only move or round them pass on.
bool Followable(DataType elem);
// Gives output 0 of an elementwise operator the integers that `op` makes of those of its inputs.
void FollowUnary(InferenceContext& ctx, FunctionRef<Dim(const Dim&)> op);
void FollowBinary(InferenceContext& ctx, FunctionRef<Dim(const Dim&, const Dim&)> op);
// Copies the followed integers of an input to output 0.
void FollowSame(InferenceContext& ctx, std::size_t input);

}  // namespace switchyard::ir
