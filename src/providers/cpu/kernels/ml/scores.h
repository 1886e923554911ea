#pragma once
// What the classifiers and regressors of ai.onnx.ml share: post transforms, class labels, rows of
// any numeric type. Not the models themselves.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::ml {

// The values equal the codes of TreeEnsemble's attribute.
enum class PostTransform : int { kNone = 0, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// Attribute post_transform as text. Fails for other names.
PostTransform PostTransformOf(const OpKernelInfo& info);
void ApplyPostTransform(PostTransform transform, std::span<double> scores);

// The first of the largest; 0 if there is none.
std::size_t ArgMax(std::span<const double> values);

// Labels given as strings or as integers; without any they are 0, 1, 2 ...
class ClassLabels {
 public:
  ClassLabels(const OpKernelInfo& info, std::string_view ints_attribute);
  std::size_t size() const { return ints_.empty() ? strings_.size() : ints_.size(); }
  // The label of class `index` to element `row` of labels.
  void Write(Tensor& labels, std::int64_t row, std::size_t index) const;

 private:
  std::vector<std::int64_t> ints_;
  std::vector<std::string> strings_;
};

// [N, C], or [C] as one row.
struct Rows {
  std::int64_t count = 0;
  std::int64_t width = 0;
};
Rows RowsOf(const OpKernelContext& context, const Tensor& x);

using RowTypes = TypeList<float, double, std::int64_t, std::int32_t>;
inline constexpr TypeSet kRowTypes =
    DataType::kFloat | DataType::kDouble | DataType::kInt64 | TypeSet(DataType::kInt32);

// `count` elements of x from element `begin` on, as doubles.
void ReadRow(const Tensor& x, std::int64_t begin, std::span<double> values);

// Sum of a[i] * b[i] in an order that depends on the length alone.
double Dot(const double* a, const double* b, std::int64_t count);
double SquaredDistance(const double* a, const double* b, std::int64_t count);

}  // namespace switchyard::cpu::ml
