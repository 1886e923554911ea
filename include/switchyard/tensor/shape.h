#pragma once
// Shape: what is known of a tensor's dims: unranked, or a list of Dim. Concrete dims of a tensor in
// memory are plain Dims (inline_vector.h).

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "switchyard/base/export.h"
#include "switchyard/base/inline_vector.h"
#include "switchyard/tensor/dim.h"

namespace switchyard {

class SWITCHYARD_API Shape {
 public:
  using DimList = InlineVector<Dim, 6>;
  Shape() = default;  // unranked
  Shape(std::initializer_list<Dim> dims) : ranked_(true), dims_(dims) {}
  explicit Shape(std::span<const std::int64_t> dims);
  static Shape Scalar() { return Shape(std::initializer_list<Dim>{}); }
  static Shape OfRank(std::size_t rank);  // all dims unknown

  bool ranked() const { return ranked_; }
  std::size_t rank() const { return dims_.size(); }  // only if ranked()
  const Dim& operator[](std::size_t i) const { return dims_[i]; }
  Dim& operator[](std::size_t i) { return dims_[i]; }
  const Dim* begin() const { return dims_.begin(); }
  const Dim* end() const { return dims_.end(); }
  void push_back(const Dim& dim) {
    ranked_ = true;
    dims_.push_back(dim);
  }
  void resize(std::size_t rank) {
    ranked_ = true;
    dims_.resize(rank);
  }

  // All dims are numbers.
  bool is_concrete() const;
  // The dims as numbers; only if is_concrete().
  Dims concrete() const;
  // Product of the dims; unknown when unranked.
  Dim element_count() const;
  std::string ToString() const;  // "[N,3,224,224]", "[]", "[...]" for unranked
  // Provably equal in rank and every dim.
  friend bool operator==(const Shape& a, const Shape& b) {
    return a.ranked_ && b.ranked_ && a.dims_ == b.dims_;
  }

 private:
  bool ranked_ = false;
  DimList dims_;
};

// NumPy broadcasting of shapes; nullopt when they provably do not fit.
SWITCHYARD_API std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);
// Keeps what either side knows. nullopt when both know and differ.
SWITCHYARD_API std::optional<Shape> MergeShapes(const Shape& a, const Shape& b);

// Product of concrete dims. Throws InvalidArgument when it overflows or a dim is negative.
SWITCHYARD_API std::int64_t ElementCount(std::span<const std::int64_t> dims);
SWITCHYARD_API std::string DimsToString(std::span<const std::int64_t> dims);  // "[2,3]"

}  // namespace switchyard
