#pragma once
// Convolutions of 8-bit integers with one input channel per group: each plane is widened to 16 bits
// with its padding, a band of rows at a time, and each output row is summed over its taps.

#include "providers/cpu/math/conv.h"
#include "providers/cpu/math/igemm.h"

namespace switchyard::cpu {

class IntegerDepthwise {
 public:
  // Whether weights of this shape are for it; the spatial sizes do not matter.
  static bool Applies(const math::ConvShape& shape);

  IntegerDepthwise() = default;
  explicit IntegerDepthwise(const math::ConvShape& shape);

  std::int64_t items() const { return items_; }
  std::size_t scratch_bytes() const;  // per running item

  // x, w and c are the bases of the whole tensors; args as for the product of weights and columns:
  // a_* tell of the weights, b_* of the input.
  void Run(const math::IgemmOps& ops, const math::IgemmArgs& args, std::int64_t item,
           std::byte* scratch) const;

 private:
  static constexpr std::int64_t kMaxTaps = 64;
  static constexpr std::int64_t kSlack = 32;  // elements that a row's last vectors read beyond it

  void FillRow(const math::IgemmOps& ops, const math::IgemmArgs& args, const std::uint8_t* row,
               std::int16_t* to, std::int16_t* line) const;

  math::ConvShape s_;
  std::int64_t width_ = 0;    // of a padded row
  std::int64_t pitch_ = 0;    // of one phase of a padded row: every stride-th element
  std::int64_t band_ = 1;     // output rows at once
  std::int64_t band_in_ = 1;  // the input rows that they read
  std::int64_t bands_ = 0;
  std::int64_t items_ = 0;
};

}  // namespace switchyard::cpu
