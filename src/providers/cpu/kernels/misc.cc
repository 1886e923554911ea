// Det, Unique, NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::misc {
namespace {

class Determinant final : public OpKernel {
 public:
  explicit Determinant(OpKernelInfo&) {}

  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    if (dims.size() < 2 || dims[dims.size() - 1] != dims[dims.size() - 2]) {
      context.Fail("the input of dims " + DimsToString(dims) + " holds no square matrices");
    }
    context.SetScratch(static_cast<std::size_t>(dims.back() * dims.back()) * sizeof(double));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::int64_t n = x.dim(x.rank() - 1);
    Tensor& y = context.Output(0, x.dims().first(x.rank() - 2));
    auto* work = static_cast<double*>(context.scratch());
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t m = 0; m < y.size(); ++m) {
        for (std::int64_t i = 0; i < n * n; ++i)
          work[i] = static_cast<double>(Widen(x.data<T>()[m * n * n + i]));
        y.data_mutable<T>()[m] = Narrow<T>(static_cast<ComputeOf<T>>(Eliminate(work, n)));
      }
    });
  }

 private:
  // Gaussian elimination with partial pivoting.
  static double Eliminate(double* a, std::int64_t n) {
    double det = 1;
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t r = k + 1; r < n; ++r) {
        if (std::abs(a[r * n + k]) > std::abs(a[pivot * n + k])) pivot = r;
      }
      if (a[pivot * n + k] == 0) return 0;
      if (pivot != k) {
        std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
        det = -det;
      }
      det *= a[k * n + k];
      for (std::int64_t r = k + 1; r < n; ++r) {
        const double factor = a[r * n + k] / a[k * n + k];
        for (std::int64_t c = k; c < n; ++c) a[r * n + c] -= factor * a[k * n + c];
      }
    }
    return det;
  }
};

// Distinct elements, or distinct slices along an axis.
class Unique final : public OpKernel {
 public:
  explicit Unique(OpKernelInfo& info)
      : flat_(!info.attributes().Has("axis")),
        axis_(info.attributes().Int("axis", 0)),
        sorted_(info.attributes().Int("sorted", 1) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type() == DataType::kString) return Run<std::string>(context, x);
    DispatchType(x.type(), NumericAndBoolTypes{},
                 [&](auto tag) { Run<typename decltype(tag)::type>(context, x); });
  }

 private:
  // Element k of slice i is at (k / inner) * size * inner + i * inner + k % inner.
  struct Slices {
    std::int64_t count, length, inner;
    std::int64_t At(std::int64_t slice, std::int64_t k) const {
      return (k / inner * count + slice) * inner + k % inner;
    }
  };

  // NaN sorts last; NaNs equal each other for the order only, as numbers they are distinct.
  template <typename T>
  static int Compare(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, std::string>) {
      return a.compare(b);
    } else {
      const auto x = Widen(a), y = Widen(b);
      if (x < y) return -1;
      if (y < x) return 1;
      if (x == y) return 0;
      return static_cast<int>(x != x) - static_cast<int>(y != y);
    }
  }

  // Heap memory is used here: how many there are is only known at the end.
  template <typename T>
  void Run(OpKernelContext& context, const Tensor& x) const {
    Slices s{x.size(), 1, 1};
    std::size_t axis = 0;
    if (!flat_) {
      axis = static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank()));
      s.count = x.dim(axis);
      s.inner = Product(x.dims().subspan(axis + 1));
      s.length = Product(x.dims().first(axis)) * s.inner;
    }
    const T* data = x.data<T>();
    const auto compare = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t k = 0; k < s.length; ++k) {
        const int order = Compare(data[s.At(a, k)], data[s.At(b, k)]);
        if (order != 0) return order;
      }
      return 0;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(s.count)), group(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const int c = compare(a, b);
      return c != 0 ? c < 0 : a < b;
    });
    std::vector<std::int64_t> first, counts;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        first.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      group[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
    }
    if (!sorted_) ByAppearance(&first, &counts, &group);
    Store<T>(context, x, axis, s, first, counts, group);
  }

  static void ByAppearance(std::vector<std::int64_t>* first, std::vector<std::int64_t>* counts,
                           std::vector<std::int64_t>* group) {
    std::vector<std::int64_t> rank(first->size()), place(first->size());
    for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = static_cast<std::int64_t>(i);
    std::sort(rank.begin(), rank.end(), [&](std::int64_t a, std::int64_t b) {
      return (*first)[static_cast<std::size_t>(a)] < (*first)[static_cast<std::size_t>(b)];
    });
    std::vector<std::int64_t> new_first, new_counts;
    for (std::size_t i = 0; i < rank.size(); ++i) {
      const auto old = static_cast<std::size_t>(rank[i]);
      place[old] = static_cast<std::int64_t>(i);
      new_first.push_back((*first)[old]);
      new_counts.push_back((*counts)[old]);
    }
    for (std::int64_t& g : *group) g = place[static_cast<std::size_t>(g)];
    *first = std::move(new_first);
    *counts = std::move(new_counts);
  }

  template <typename T>
  void Store(OpKernelContext& context, const Tensor& x, std::size_t axis, const Slices& s,
             const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& counts,
             const std::vector<std::int64_t>& group) const {
    const auto distinct = static_cast<std::int64_t>(first.size());
    Dims dims(x.dims());
    if (flat_) dims.assign(&distinct, &distinct + 1);
    if (!flat_) dims[axis] = distinct;
    Tensor& y = context.Output(0, dims);
    const Slices out{distinct, s.length, s.inner};
    for (std::int64_t i = 0; i < distinct; ++i) {
      for (std::int64_t k = 0; k < s.length; ++k) {
        y.data_mutable<T>()[out.At(i, k)] =
            x.data<T>()[s.At(first[static_cast<std::size_t>(i)], k)];
      }
    }
    const std::vector<std::int64_t>* extra[3] = {&first, &group, &counts};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!context.has_output(i + 1)) continue;
      const auto count = static_cast<std::int64_t>(extra[i]->size());
      std::copy(extra[i]->begin(), extra[i]->end(),
                context.Output(i + 1, {&count, 1}).data_mutable<std::int64_t>());
    }
  }

  bool flat_;
  std::int64_t axis_;
  bool sorted_;
};

// Both losses: the second takes the logarithm of the softmax itself.
class Loss final : public OpKernel {
 public:
  explicit Loss(OpKernelInfo& info)
      : from_scores_(info.node().OpType() == "SoftmaxCrossEntropyLoss"),
        has_ignored_(info.attributes().Has("ignore_index")),
        ignored_(info.attributes().Int("ignore_index", 0)) {
    const std::string reduction = info.attributes().String("reduction", "mean");
    mean_ = reduction == "mean";
    sum_ = reduction == "sum";
    if (!mean_ && !sum_ && reduction != "none") info.Fail("reduction is '" + reduction + "'");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& target = context.Input(1);
    const Tensor* weight = context.OptionalInput(2);
    bool fits = x.rank() >= 2 && target.rank() + 1 == x.rank() && target.dim(0) == x.dim(0);
    for (std::size_t i = 1; fits && i < target.rank(); ++i) fits = target.dim(i) == x.dim(i + 1);
    if (!fits || (weight != nullptr && weight->size() != x.dim(1))) {
      context.Fail("input " + x.Describe() + ", target " + target.Describe());
    }
    DispatchType(x.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Run(context, x, x.data<T>(), target, weight != nullptr ? weight->data<T>() : nullptr);
    });
  }

 private:
  template <typename T>
  void Run(OpKernelContext& context, const Tensor& x, const T* data, const Tensor& target,
           const T* weight) const {
    using C = ComputeOf<T>;
    const std::int64_t classes = x.dim(1), inner = Product(x.dims().subspan(2));
    Tensor* log_prob =
        from_scores_ && context.has_output(1) ? &context.Output(1, x.dims()) : nullptr;
    Tensor& y = context.Output(0, mean_ || sum_ ? std::span<const std::int64_t>() : target.dims());
    double total = 0, weights = 0;
    for (std::int64_t i = 0; i < target.size(); ++i) {
      const T* column = data + i / inner * classes * inner + i % inner;
      double shift = 0;
      if (from_scores_) {
        shift = LogSumExp(column, classes, inner);
        if (log_prob != nullptr) {
          T* to = log_prob->data_mutable<T>() + (column - data);
          for (std::int64_t c = 0; c < classes; ++c)
            to[c * inner] =
                Narrow<T>(static_cast<C>(static_cast<double>(Widen(column[c * inner])) - shift));
        }
      }
      const std::int64_t label = target.type() == DataType::kInt32 ? target.data<std::int32_t>()[i]
                                                                   : target.data<std::int64_t>()[i];
      double loss = 0, w = 0;
      if (!has_ignored_ || label != ignored_) {
        if (label < 0 || label >= classes)
          context.Fail("class " + std::to_string(label) + " of " + std::to_string(classes));
        w = weight != nullptr ? static_cast<double>(Widen(weight[label])) : 1.0;
        loss = -(static_cast<double>(Widen(column[label * inner])) - shift) * w;
      }
      total += loss;
      weights += w;
      if (!mean_ && !sum_) y.data_mutable<T>()[i] = Narrow<T>(static_cast<C>(loss));
    }
    if (mean_ || sum_)
      *y.data_mutable<T>() = Narrow<T>(static_cast<C>(mean_ ? total / weights : total));
  }

  template <typename T>
  static double LogSumExp(const T* column, std::int64_t classes, std::int64_t stride) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t c = 0; c < classes; ++c)
      largest = std::max(largest, static_cast<double>(Widen(column[c * stride])));
    for (std::int64_t c = 0; c < classes; ++c)
      sum += std::exp(static_cast<double>(Widen(column[c * stride])) - largest);
    return largest + std::log(sum);
  }

  bool from_scores_, has_ignored_;
  std::int64_t ignored_;
  bool mean_ = false, sum_ = false;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("Det").Input(0, types::kFloats).Make<Determinant>());
  registry.Register(KernelCreateInfo::For("Unique")
                        .Input(0, types::kNumeric | types::kBool | types::kString)
                        .Make<Unique>());
  for (const char* name : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    registry.Register(
        KernelCreateInfo::For(name).Input(0, types::kFloats).Input(1, types::kIndex).Make<Loss>());
  }
}

}  // namespace switchyard::cpu::kernels::misc
