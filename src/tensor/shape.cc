#include "switchyard/tensor/shape.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard {

Shape::Shape(std::span<const std::int64_t> dims) : ranked_(true) {
  for (std::int64_t d : dims) dims_.push_back(Dim(d));
}

Shape Shape::OfRank(std::size_t rank) {
  Shape shape = Scalar();
  shape.dims_.resize(rank);
  return shape;
}

bool Shape::is_concrete() const {
  return ranked_ && std::all_of(begin(), end(), [](const Dim& d) { return d.is_value(); });
}

Dims Shape::concrete() const {
  SY_CHECK(is_concrete());
  Dims dims;
  for (const Dim& d : dims_) dims.push_back(d.value());
  return dims;
}

Dim Shape::element_count() const {
  if (!ranked_) return Dim();
  Dim count(1);
  for (const Dim& d : dims_) {
    if (d.is_value() && d.value() == 0) return Dim(0);
  }
  for (const Dim& d : dims_) count = count * d;
  return count;
}

std::string Shape::ToString() const {
  if (!ranked_) return "[...]";
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i != 0) text += ',';
    text += dims_[i].ToString();
  }
  return text + "]";
}

std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked()) return Shape();
  const std::size_t rank = std::max(a.rank(), b.rank());
  Shape out = Shape::OfRank(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from_end = rank - i;
    const Dim x = from_end <= a.rank() ? a[a.rank() - from_end] : Dim(1);
    const Dim y = from_end <= b.rank() ? b[b.rank() - from_end] : Dim(1);
    bool mismatch = false;
    out[i] = BroadcastDims(x, y, &mismatch);
    if (mismatch) return std::nullopt;
  }
  return out;
}

std::optional<Shape> MergeShapes(const Shape& a, const Shape& b) {
  if (!a.ranked()) return b;
  if (!b.ranked()) return a;
  if (a.rank() != b.rank()) return std::nullopt;
  Shape out = a;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (a[i].is_value() && b[i].is_value() && a[i].value() != b[i].value()) return std::nullopt;
    if (b[i].is_value() || a[i].is_unknown()) out[i] = b[i];
  }
  return out;
}

std::int64_t ElementCount(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  bool zero = false;
  for (std::int64_t d : dims) {
    if (d < 0)
      Throw(ErrorCode::kInvalidArgument, "negative dimension in shape {}", DimsToString(dims));
    if (d == 0) zero = true;
  }
  if (zero) return 0;
  for (std::int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count)) {
      Throw(ErrorCode::kInvalidArgument, "shape {} has more elements than can be counted",
            DimsToString(dims));
    }
  }
  return count;
}

std::string DimsToString(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace switchyard
