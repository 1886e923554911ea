#include "providers/cpu/kernels/ml/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace switchyard::cpu::ml {
namespace {

double Logistic(double x) {
  const double v = 1 / (1 + std::exp(-std::abs(x)));
  return x < 0 ? 1 - v : v;
}

// Winitzki's closed form of the inverse error function, then Newton's steps to full precision.
double InverseErf(double x) {
  if (!(std::abs(x) < 1)) {
    return std::abs(x) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                            : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kPi = 3.14159265358979323846, kA = 0.147;
  const double log = std::log1p(-x * x);
  const double v = 2 / (kPi * kA) + 0.5 * log;
  double y = std::copysign(std::sqrt(std::sqrt(v * v - log / kA) - v), x);
  for (int step = 0; step < 3; ++step) {
    const double slope = 2 / std::sqrt(kPi) * std::exp(-y * y);
    if (slope == 0) break;
    y -= (std::erf(y) - x) / slope;
  }
  return y;
}

void Softmax(std::span<double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - top);
  for (double& s : scores) s /= sum;
}

// Scores that are zero stay so.
void SoftmaxZero(std::span<double> scores) {
  constexpr double kZero = 1e-7;
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::abs(s) > kZero ? std::exp(s - top) : s * std::exp(-top);
  for (double& s : scores) s = sum == 0 ? 0.5 : s / sum;
}

template <typename T>
void ReadAs(const Tensor& x, std::int64_t begin, std::span<double> values) {
  const T* from = x.data<T>() + begin;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(Widen(from[i]));
}

constexpr int kLanes = 4;

}  // namespace

PostTransform PostTransformOf(const OpKernelInfo& info) {
  const std::string name = info.attributes().String("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  info.Fail("post_transform '" + name +
            "' is none of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT");
}

void ApplyPostTransform(PostTransform transform, std::span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
      return Softmax(scores);
    case PostTransform::kSoftmaxZero:
      return SoftmaxZero(scores);
    case PostTransform::kLogistic:
      for (double& s : scores) s = Logistic(s);
      return;
    case PostTransform::kProbit:
      for (double& s : scores) s = std::sqrt(2.0) * InverseErf(2 * s - 1);
      return;
  }
}

std::size_t ArgMax(std::span<const double> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

ClassLabels::ClassLabels(const OpKernelInfo& info, std::string_view ints_attribute) {
  const auto strings = info.attributes().Strings("classlabels_strings");
  const auto ints = info.attributes().Ints(ints_attribute);
  strings_.assign(strings.begin(), strings.end());
  ints_.assign(ints.begin(), ints.end());
  if (!strings_.empty() && !ints_.empty()) {
    info.Fail("both classlabels_strings and " + std::string(ints_attribute) + " are given");
  }
  const DataType wanted = strings_.empty() ? DataType::kInt64 : DataType::kString;
  if (info.has_output(0) && info.output_type(0).elem != wanted) {
    info.Fail("labels are " + std::string(DataTypeName(wanted)) + ", output 0 is " +
              info.output_type(0).ToString());
  }
}

void ClassLabels::Write(Tensor& labels, std::int64_t row, std::size_t index) const {
  if (!strings_.empty()) {
    labels.data_mutable<std::string>()[row] = index < strings_.size() ? strings_[index] : "";
  } else {
    labels.data_mutable<std::int64_t>()[row] =
        index < ints_.size() ? ints_[index] : static_cast<std::int64_t>(index);
  }
}

Rows RowsOf(const OpKernelContext& context, const Tensor& x) {
  if (x.rank() == 1) return {1, x.dim(0)};
  if (x.rank() == 2) return {x.dim(0), x.dim(1)};
  context.Fail("the input must be [N, C] or [C], is " + x.Describe());
}

void ReadRow(const Tensor& x, std::int64_t begin, std::span<double> values) {
  if (!DispatchType(x.type(), RowTypes{},
                    [&](auto tag) { ReadAs<typename decltype(tag)::type>(x, begin, values); })) {
    throw Error(ErrorCode::kNotImplemented, "rows of " + std::string(DataTypeName(x.type())));
  }
}

double Dot(const double* a, const double* b, std::int64_t count) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  for (; i < count; ++i) lanes[0] += a[i] * b[i];
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

double SquaredDistance(const double* a, const double* b, std::int64_t count) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += (a[i + l] - b[i + l]) * (a[i + l] - b[i + l]);
  }
  for (; i < count; ++i) lanes[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

}  // namespace switchyard::cpu::ml
