#pragma once
// What every CPU kernel file needs: choosing code by element type, reading small integer inputs,
// axes, element copies and the cost rule that decides about threads. Not arithmetic: that is math/.

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

#include "providers/cpu/math/isa.h"
#include "switchyard/ep/kernel_registry.h"
#include "switchyard/tensor/shape.h"

namespace switchyard::cpu {

template <typename T>
struct TypeTag {
  using type = T;
};
template <typename... Ts>
struct TypeList {};

using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using IntegerTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                              std::uint16_t, std::uint32_t, std::uint64_t>;
using NumericTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
             std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using NumericAndBoolTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
             std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;
using IndexTypes = TypeList<std::int32_t, std::int64_t>;

// Calls f(TypeTag<T>) for the C++ type of `type`. False: not in the list.
template <typename F, typename... Ts>
bool DispatchType(DataType type, TypeList<Ts...>, F&& f) {
  return ((DataTypeOf<Ts> == type ? (f(TypeTag<Ts>{}), true) : false) || ...);
}

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool kIsFloating = kIsHalf<T> || std::is_floating_point_v<T>;
// The type that arithmetic on T is done in.
template <typename T>
using ComputeOf = std::conditional_t<kIsHalf<T>, float, T>;
template <typename T>
ComputeOf<T> Widen(T v) {
  return static_cast<ComputeOf<T>>(v);
}
template <typename T>
T Narrow(ComputeOf<T> v) {
  return static_cast<T>(v);
}

// The level that the session's CPU provider runs at.
math::IsaLevel IsaOf(const OpKernelInfo& info);

inline std::int64_t Product(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  return n;
}

// A negative axis counts from the end. `Context` is any of the three kernel contexts.
template <typename Context>
std::int64_t NormalizeAxis(const Context& context, std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) {
    context.Fail("axis " + std::to_string(axis) + " is out of range for rank " +
                 std::to_string(rank));
  }
  return axis < 0 ? axis + r : axis;
}

// The elements of an int32 or int64 host tensor. Fails for other types or more than one dimension.
Dims ReadIntegers(const OpKernelContext& context, std::size_t input);
bool ReadIntegers(const Tensor& tensor, Dims* values);
// One number of any numeric type.
double ReadScalar(const OpKernelContext& context, std::size_t input);
std::int64_t ReadIntegerScalar(const OpKernelContext& context, std::size_t input);

// Copies of plain data, for kernels that only move elements.
struct ElementCopy {
  explicit ElementCopy(DataType type);
  std::size_t bytes;
  bool is_string;
  void Run(void* to, const void* from, std::int64_t count) const {
    if (is_string) {
      CopyStrings(to, from, count);
    } else if (count > 0) {  // an empty tensor may have no address
      std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
    }
  }
  void At(void* to, std::int64_t to_index, const void* from, std::int64_t from_index,
          std::int64_t count) const {
    Run(static_cast<std::byte*>(to) + static_cast<std::size_t>(to_index) * bytes,
        static_cast<const std::byte*>(from) + static_cast<std::size_t>(from_index) * bytes, count);
  }

 private:
  static void CopyStrings(void* to, const void* from, std::int64_t count);
};

// Copies a whole tensor unless both are the same memory.
void CopyTensor(OpKernelContext& context, const Tensor& from, Tensor& to);

// Unpacks 4- and 2-bit elements to one byte each (raw codes), and back.
void UnpackCodes(DataType type, const void* packed, std::int64_t count, std::uint8_t* codes);
void PackCodes(DataType type, const std::uint8_t* codes, std::int64_t count, void* packed);

// Runs body(begin, end) over [0, total); on several threads if the whole is worth it. The result
// must be the same for every split.
template <typename Body>
void ParallelItems(OpKernelContext& context, std::int64_t total, double ns_per_item, Body&& body) {
  constexpr double kNsWorthAThread = 8000;
  if (total <= 0) return;
  const double grain = kNsWorthAThread / (ns_per_item > 1e-3 ? ns_per_item : 1e-3);
  if (static_cast<double>(total) <= grain || context.team().size() == 1) {
    body(std::int64_t{0}, total);
  } else {
    context.team().ParallelRange(total, grain < 1 ? 1 : static_cast<std::int64_t>(grain), body);
  }
}

// Dims as plain data, for the state that Prepare leaves.
struct PodDims {
  static constexpr int kMax = 12;
  std::int32_t rank = 0;
  std::int64_t d[kMax] = {};
  std::span<const std::int64_t> span() const { return {d, static_cast<std::size_t>(rank)}; }
};
template <typename Context>
void StoreDims(const Context& context, std::span<const std::int64_t> dims, PodDims* out) {
  if (dims.size() > PodDims::kMax) {
    context.Fail("rank " + std::to_string(dims.size()) + " is more than the " +
                 std::to_string(PodDims::kMax) + " that this kernel handles");
  }
  out->rank = static_cast<std::int32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) out->d[i] = dims[i];
}

// NumPy broadcasting of two shapes.
template <typename Context>
Dims BroadcastDimsOf(const Context& context, std::span<const std::int64_t> a,
                     std::span<const std::int64_t> b) {
  Dims out(a.size() > b.size() ? a.size() : b.size(), 1);
  for (std::size_t back = 0; back < out.size(); ++back) {
    const std::int64_t x = back < a.size() ? a[a.size() - 1 - back] : 1;
    const std::int64_t y = back < b.size() ? b[b.size() - 1 - back] : 1;
    if (x != y && x != 1 && y != 1) {
      context.Fail("shapes " + DimsToString(a) + " and " + DimsToString(b) + " do not broadcast");
    }
    out[out.size() - 1 - back] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace switchyard::cpu
