// Operators of ai.onnx.ml that reshape features: scaling, imputing, encoding, choosing.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "providers/cpu/kernels/ml/scores.h"

namespace switchyard::cpu::kernels::features {
namespace {

using ml::RowTypes;

template <typename T>
std::vector<T> Copy(std::span<const T> values) {
  return std::vector<T>(values.begin(), values.end());
}

std::int64_t LastDim(const Tensor& x) { return x.rank() == 0 ? 1 : x.dim(x.rank() - 1); }

// A list of one value stands for all features, else there is one for each.
void CheckPerFeature(const OpKernelContext& context, const char* name, std::size_t count,
                     const Tensor& x) {
  if (count == 1 || static_cast<std::int64_t>(count) == LastDim(x)) return;
  context.Fail(std::string(name) + " has " + std::to_string(count) + " values, the input is " +
               x.Describe());
}

class Normalizer final : public OpKernel {
 public:
  explicit Normalizer(OpKernelInfo& info) {
    const std::string norm = info.attributes().String("norm", "MAX");
    kind_ = norm == "MAX" ? Kind::kMax : norm == "L1" ? Kind::kL1 : Kind::kL2;
    if (kind_ == Kind::kL2 && norm != "L2") info.Fail("norm '" + norm + "' is none of MAX, L1, L2");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const ml::Rows rows = ml::RowsOf(context, x);
    float* y = context.Output(0, x.dims()).data_mutable<float>();
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      ParallelItems(context, rows.count, 2.0 * static_cast<double>(rows.width),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        Row(from + r * rows.width, rows.width, y + r * rows.width);
                      }
                    });
    });
  }

 private:
  enum class Kind { kMax, kL1, kL2 };

  template <typename T>
  void Row(const T* from, std::int64_t width, float* to) const {
    double norm = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto v = static_cast<double>(from[i]);
      if (kind_ == Kind::kMax) norm = std::max(norm, std::abs(v));
      if (kind_ == Kind::kL1) norm += std::abs(v);
      if (kind_ == Kind::kL2) norm += v * v;
    }
    if (kind_ == Kind::kL2) norm = std::sqrt(norm);
    if (norm == 0) norm = 1;
    for (std::int64_t i = 0; i < width; ++i) {
      to[i] = static_cast<float>(static_cast<double>(from[i]) / norm);
    }
  }

  Kind kind_;
};

class Scaler final : public OpKernel {
 public:
  explicit Scaler(OpKernelInfo& info)
      : offset_(Copy(info.attributes().Floats("offset"))),
        scale_(Copy(info.attributes().Floats("scale"))) {
    if (scale_.empty()) info.Fail("scale is missing or empty");
    if (offset_.size() != scale_.size()) {
      info.Fail("offset has " + std::to_string(offset_.size()) + " values, scale " +
                std::to_string(scale_.size()));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    CheckPerFeature(context, "scale", scale_.size(), x);
    float* y = context.Output(0, x.dims()).data_mutable<float>();
    const std::int64_t width = LastDim(x);
    const std::int64_t step = scale_.size() == 1 ? 0 : 1;
    if (width == 0) return;
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
      const T* from = x.data<T>();
      ParallelItems(context, x.size() / width, static_cast<double>(width),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        for (std::int64_t i = 0; i < width; ++i) {
                          const auto f = static_cast<std::size_t>(i * step);
                          y[r * width + i] = static_cast<float>(
                              (static_cast<Wide>(from[r * width + i]) - offset_[f]) * scale_[f]);
                        }
                      }
                    });
    });
  }

 private:
  std::vector<float> offset_, scale_;
};

class Imputer final : public OpKernel {
 public:
  explicit Imputer(OpKernelInfo& info)
      : floats_(Copy(info.attributes().Floats("imputed_value_floats"))),
        ints_(Copy(info.attributes().Ints("imputed_value_int64s"))),
        replaced_float_(info.attributes().Float("replaced_value_float", 0)),
        replaced_int_(info.attributes().Int("replaced_value_int64", 0)) {
    if (!floats_.empty() && !ints_.empty()) {
      info.Fail("both imputed_value_floats and imputed_value_int64s are given");
    }
    const DataType type = info.input_type(0).elem;
    const bool floating = type == DataType::kFloat || type == DataType::kDouble;
    if (floating ? floats_.empty() : ints_.empty()) {
      info.Fail(std::string(floating ? "imputed_value_floats" : "imputed_value_int64s") +
                " is missing or empty");
    }
    for (const std::int64_t v : ints_) {
      if (type == DataType::kInt32 && static_cast<std::int32_t>(v) != v) {
        info.Fail("imputed value " + std::to_string(v) + " is no int32");
      }
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        Replace<T>(context, x, y, ints_, [&](T v) { return v == replaced_int_; });
      } else if (std::isnan(replaced_float_)) {
        Replace<T>(context, x, y, floats_, [](T v) { return std::isnan(v); });
      } else {
        Replace<T>(context, x, y, floats_,
                   [&](T v) { return v == static_cast<T>(replaced_float_); });
      }
    });
  }

 private:
  template <typename T, typename V, typename Test>
  static void Replace(OpKernelContext& context, const Tensor& x, Tensor& y,
                      const std::vector<V>& values, Test&& is_missing) {
    CheckPerFeature(context, "the list of imputed values", values.size(), x);
    const T* from = x.data<T>();
    T* to = y.data_mutable<T>();
    const std::int64_t width = values.size() == 1 ? 1 : LastDim(x);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      to[i] = is_missing(from[i]) ? static_cast<T>(values[static_cast<std::size_t>(i % width)])
                                  : from[i];
    }
  }

  std::vector<float> floats_;
  std::vector<std::int64_t> ints_;
  float replaced_float_;
  std::int64_t replaced_int_;
};

class Binarizer final : public OpKernel {
 public:
  explicit Binarizer(OpKernelInfo& info) : threshold_(info.attributes().Float("threshold", 0)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
      const T* from = x.data<T>();
      T* to = y.data_mutable<T>();
      ParallelItems(context, x.size(), 0.5, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = static_cast<Wide>(from[i]) > static_cast<Wide>(threshold_) ? T(1) : T(0);
        }
      });
    });
  }

 private:
  float threshold_;
};

class OneHotEncoder final : public OpKernel {
 public:
  explicit OneHotEncoder(OpKernelInfo& info) : zeros_(info.attributes().Int("zeros", 1) != 0) {
    const auto strings = info.attributes().Strings("cats_strings");
    const auto ints = info.attributes().Ints("cats_int64s");
    if (strings.empty() == ints.empty()) {
      info.Fail("one of cats_strings and cats_int64s must be given");
    }
    if ((info.input_type(0).elem == DataType::kString) != ints.empty()) {
      info.Fail("the categories are of another kind than the input, " +
                info.input_type(0).ToString());
    }
    for (std::size_t i = 0; i < strings.size(); ++i) strings_.emplace(strings[i], i);
    for (std::size_t i = 0; i < ints.size(); ++i) ints_.emplace(ints[i], i);
    count_ = static_cast<std::int64_t>(std::max(strings.size(), ints.size()));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims dims(x.dims());
    dims.push_back(count_);
    Tensor& y = context.Output(0, dims);
    float* to = y.data_mutable<float>();
    std::fill_n(to, y.size(), 0.0f);
    if (x.type() == DataType::kString) {
      const std::string* from = x.data<std::string>();
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto it = strings_.find(from[i]);
        if (it == strings_.end()) {
          Unknown(context, from[i]);
        } else {
          to[i * count_ + static_cast<std::int64_t>(it->second)] = 1;
        }
      }
      return;
    }
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto it = Find(from[i]);
        if (it == ints_.end()) {
          Unknown(context, std::to_string(from[i]));
        } else {
          to[i * count_ + static_cast<std::int64_t>(it->second)] = 1;
        }
      }
    });
  }

 private:
  template <typename T>
  std::unordered_map<std::int64_t, std::size_t>::const_iterator Find(T value) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(std::abs(value) < T(9.2e18))) return ints_.end();
    }
    return ints_.find(static_cast<std::int64_t>(value));
  }
  void Unknown(const OpKernelContext& context, const std::string& value) const {
    if (!zeros_) context.Fail("'" + value + "' is no known category");
  }

  bool zeros_;
  std::int64_t count_ = 0;
  std::unordered_map<std::string, std::size_t> strings_;
  std::unordered_map<std::int64_t, std::size_t> ints_;
};

// Inputs side by side; each fills as many columns as the attribute says.
class FeatureVectorizer final : public OpKernel {
 public:
  explicit FeatureVectorizer(OpKernelInfo& info)
      : widths_(Copy(info.attributes().Ints("inputdimensions"))) {
    for (const std::int64_t w : widths_) {
      if (w < 0 || w > (std::int64_t{1} << 40)) {
        info.Fail("inputdimensions has " + std::to_string(w));
      }
    }
    if (!widths_.empty() && widths_.size() != info.num_inputs()) {
      info.Fail("inputdimensions has " + std::to_string(widths_.size()) + " entries for " +
                std::to_string(info.num_inputs()) + " inputs");
    }
  }

  void Compute(OpKernelContext& context) const override {
    const ml::Rows first = ml::RowsOf(context, context.Input(0));
    std::int64_t total = 0;
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      const ml::Rows rows = ml::RowsOf(context, context.Input(i));
      if (rows.count != first.count) {
        context.Fail("input " + std::to_string(i) + " has " + std::to_string(rows.count) +
                     " rows, input 0 has " + std::to_string(first.count));
      }
      if (rows.width > Width(context, i)) {
        context.Fail("input " + std::to_string(i) + " has " + std::to_string(rows.width) +
                     " columns, inputdimensions says " + std::to_string(Width(context, i)));
      }
      total += Width(context, i);
    }
    const std::int64_t dims[2] = {first.count, total};
    Tensor& y = context.Output(0, dims);
    float* to = y.data_mutable<float>();
    std::fill_n(to, y.size(), 0.0f);
    std::int64_t column = 0;
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      Fill(context.Input(i), ml::RowsOf(context, context.Input(i)), to + column, total);
      column += Width(context, i);
    }
  }

 private:
  std::int64_t Width(const OpKernelContext& context, std::size_t i) const {
    return widths_.empty() ? ml::RowsOf(context, context.Input(i)).width : widths_[i];
  }
  static void Fill(const Tensor& x, const ml::Rows& rows, float* to, std::int64_t stride) {
    DispatchType(x.type(), RowTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      for (std::int64_t r = 0; r < rows.count; ++r) {
        for (std::int64_t c = 0; c < rows.width; ++c) {
          to[r * stride + c] = static_cast<float>(from[r * rows.width + c]);
        }
      }
    });
  }

  std::vector<std::int64_t> widths_;
};

// Columns by index.
class ArrayFeatureExtractor final : public OpKernel {
 public:
  explicit ArrayFeatureExtractor(OpKernelInfo&) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    if (x.rank() == 0) context.Fail("the input must have a dimension, is " + x.Describe());
    if (indices.size() == 0) context.Fail("there are no indices");
    const std::int64_t width = LastDim(x), count = indices.size();
    const std::int64_t* at = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      if (at[i] < 0 || at[i] >= width) {
        context.Fail("index " + std::to_string(at[i]) + " is out of range for " + x.Describe());
      }
    }
    Dims dims(x.dims());
    dims.back() = count;
    if (x.rank() == 1) dims.insert(dims.begin(), 1);
    Tensor& y = context.Output(0, dims);
    const ElementCopy copy(x.type());
    const std::int64_t rows = x.rank() == 1 ? 1 : Product(x.dims().first(x.rank() - 1));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < count; ++i) {
        copy.At(y.raw_mutable(), r * count + i, x.raw(), r * width + at[i], 1);
      }
    }
  }
};

template <typename Kernel>
void Add(KernelRegistry& registry, const char* op, TypeSet types) {
  registry.Register(KernelCreateInfo::For(op, "ai.onnx.ml").Input(0, types).Make<Kernel>());
}

}  // namespace

void Register(KernelRegistry& registry) {
  Add<Normalizer>(registry, "Normalizer", ml::kRowTypes);
  Add<Scaler>(registry, "Scaler", ml::kRowTypes);
  Add<Imputer>(registry, "Imputer", ml::kRowTypes);
  Add<Binarizer>(registry, "Binarizer", ml::kRowTypes);
  Add<OneHotEncoder>(registry, "OneHotEncoder", ml::kRowTypes | types::kString);
  Add<FeatureVectorizer>(registry, "FeatureVectorizer", ml::kRowTypes);
  Add<ArrayFeatureExtractor>(registry, "ArrayFeatureExtractor", ml::kRowTypes | types::kString);
}

}  // namespace switchyard::cpu::kernels::features
