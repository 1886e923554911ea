// Operators of ai.onnx.ml that look values up: label encoders, category mappers, and those that
// take or make maps.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "providers/cpu/kernels/ml/scores.h"

namespace switchyard::cpu::kernels::labels {
namespace {

using KeyTypes = TypeList<float, double, std::int16_t, std::int32_t, std::int64_t>;
constexpr TypeSet kKeyTypes = DataType::kFloat | DataType::kDouble | DataType::kInt16 |
                              DataType::kInt32 | DataType::kInt64 | TypeSet(DataType::kString);

template <typename T>
Tensor ToTensor(std::span<const T> values) {
  const std::int64_t dims[1] = {static_cast<std::int64_t>(values.size())};
  return OrtValue::FromData<T>(dims, values).tensor();
}

// Positions of keys of one type. Floats by value: every NaN is one key, -0 and 0 another.
class Lookup {
 public:
  // Of equal keys the last counts.
  void Build(const Tensor& keys) {
    type_ = keys.type();
    for (std::int64_t i = 0; i < keys.size(); ++i) {
      if (type_ == DataType::kString) {
        strings_.insert_or_assign(keys.data<std::string>()[i], i);
      } else {
        DispatchType(type_, KeyTypes{}, [&](auto tag) {
          using T = typename decltype(tag)::type;
          numbers_.insert_or_assign(Code(keys.data<T>()[i]), i);
        });
      }
    }
  }
  DataType type() const { return type_; }
  std::int64_t Find(const std::string& key, std::int64_t absent) const {
    const auto it = strings_.find(key);
    return it == strings_.end() ? absent : it->second;
  }
  template <typename T>
  std::int64_t Find(T key, std::int64_t absent) const {
    const auto it = numbers_.find(Code(key));
    return it == numbers_.end() ? absent : it->second;
  }

 private:
  template <typename T>
  static std::int64_t Code(T key) {
    if constexpr (std::is_integral_v<T>) {
      return key;
    } else {
      double value = key == T(0) ? 0.0 : static_cast<double>(key);
      if (value != value) value = std::numeric_limits<double>::quiet_NaN();
      std::int64_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    }
  }

  DataType type_ = DataType::kUndefined;
  std::unordered_map<std::string, std::int64_t> strings_;
  std::unordered_map<std::int64_t, std::int64_t> numbers_;
};

// Keys to values of any two element types.
class Mapper : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    const ElementCopy copy(values_.type());
    const std::int64_t absent = values_.size();
    const auto put = [&](std::int64_t i, std::int64_t from) {
      if (from == absent) {
        copy.At(y.raw_mutable(), i, default_.raw(), 0, 1);
      } else {
        copy.At(y.raw_mutable(), i, values_.raw(), from, 1);
      }
    };
    if (x.type() == DataType::kString) {
      const std::string* keys = x.data<std::string>();
      for (std::int64_t i = 0; i < x.size(); ++i) put(i, lookup_.Find(keys[i], absent));
      return;
    }
    DispatchType(x.type(), KeyTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* keys = x.data<T>();
      for (std::int64_t i = 0; i < x.size(); ++i) put(i, lookup_.Find(keys[i], absent));
    });
  }

 protected:
  // Throws unless keys, values and default fit each other and the node's types.
  void Set(const OpKernelInfo& info, const Tensor& keys, Tensor values, Tensor absent) {
    if (keys.size() != values.size()) {
      info.Fail("has " + std::to_string(keys.size()) + " keys and " +
                std::to_string(values.size()) + " values");
    }
    if (keys.type() != info.input_type(0).elem) {
      info.Fail("keys are " + std::string(DataTypeName(keys.type())) + ", the input is " +
                info.input_type(0).ToString());
    }
    if (values.type() != info.output_type(0).elem || !kKeyTypes.Contains(values.type())) {
      info.Fail("values are " + std::string(DataTypeName(values.type())) + ", the output is " +
                info.output_type(0).ToString());
    }
    if (absent.type() != values.type() || absent.size() != 1) {
      info.Fail("the default is " + absent.Describe() + ", expected one " +
                std::string(DataTypeName(values.type())));
    }
    lookup_.Build(keys);
    values_ = std::move(values);
    default_ = std::move(absent);
  }

 private:
  Lookup lookup_;
  Tensor values_, default_;
};

// The list of attribute `name`_strings, _int64s, _floats or _tensor: exactly one must be there.
Tensor ListOf(const OpKernelInfo& info, const std::string& name) {
  const Attributes& a = info.attributes();
  Tensor list;
  int found = 0;
  if (a.Has(name + "_strings")) list = ToTensor(a.Strings(name + "_strings")), ++found;
  if (a.Has(name + "_int64s")) list = ToTensor(a.Ints(name + "_int64s")), ++found;
  if (a.Has(name + "_floats")) list = ToTensor(a.Floats(name + "_floats")), ++found;
  if (const ConstantPtr tensor = a.Tensor(name + "_tensor")) {
    list = tensor->tensor().Clone(MakeHostAllocator());
    ++found;
  }
  if (found != 1) {
    info.Fail("one of the lists of " + name + " must be given, there are " + std::to_string(found));
  }
  return list;
}

template <typename T>
Tensor One(T value) {
  return ToTensor(std::span<const T>(&value, 1));
}

Tensor DefaultOf(const OpKernelInfo& info, DataType type) {
  const Attributes& a = info.attributes();
  if (const ConstantPtr tensor = a.Tensor("default_tensor")) {
    return tensor->tensor().Clone(MakeHostAllocator());
  }
  const float real = a.Float("default_float", -0.0f);
  const std::int64_t integer = a.Int("default_int64", -1);
  switch (type) {
    case DataType::kString:
      return One(a.String("default_string", "_Unused"));
    case DataType::kFloat:
      return One(real);
    case DataType::kDouble:
      return One(static_cast<double>(real));
    case DataType::kInt16:
      return One(static_cast<std::int16_t>(integer));
    case DataType::kInt32:
      return One(static_cast<std::int32_t>(integer));
    case DataType::kInt64:
      return One(integer);
    default:
      info.Fail("values of " + std::string(DataTypeName(type)));
  }
}

class LabelEncoder final : public Mapper {
 public:
  explicit LabelEncoder(OpKernelInfo& info) {
    const Tensor keys = ListOf(info, "keys");
    Tensor values = ListOf(info, "values");
    const DataType type = values.type();
    Set(info, keys, std::move(values), DefaultOf(info, type));
  }
};

// Strings to integers or back, which one the input's type tells.
void SetPairs(const OpKernelInfo& info, const Tensor& strings, const Tensor& ints,
              const std::function<void(const Tensor&, Tensor, Tensor)>& set) {
  const bool from_text = info.input_type(0).elem == DataType::kString;
  const DataType to = from_text ? DataType::kInt64 : DataType::kString;
  set(from_text ? strings : ints, from_text ? ints : strings, DefaultOf(info, to));
}

// Version 1: positions in a list of classes.
class ClassEncoder final : public Mapper {
 public:
  explicit ClassEncoder(OpKernelInfo& info) {
    const auto classes = info.attributes().Strings("classes_strings");
    std::vector<std::int64_t> positions(classes.size());
    for (std::size_t i = 0; i < classes.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
    SetPairs(
        info, ToTensor(classes), ToTensor(std::span<const std::int64_t>(positions)),
        [&](const Tensor& k, Tensor v, Tensor d) { Set(info, k, std::move(v), std::move(d)); });
  }
};

class CategoryMapper final : public Mapper {
 public:
  explicit CategoryMapper(OpKernelInfo& info) {
    SetPairs(
        info, ToTensor(info.attributes().Strings("cats_strings")),
        ToTensor(info.attributes().Ints("cats_int64s")),
        [&](const Tensor& k, Tensor v, Tensor d) { Set(info, k, std::move(v), std::move(d)); });
  }
};

template <typename T>
T Parsed(const OpKernelContext& context, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) {
    context.Fail("'" + text + "' is not a number");
  }
  if constexpr (std::is_integral_v<T>) {
    if (!(std::abs(value) < 9.2e18)) context.Fail("'" + text + "' is no int64");
  }
  return static_cast<T>(value);
}

// A value of a map as T: text is read, numbers are converted or written.
template <typename T, typename V>
T Converted(const OpKernelContext& context, const V& value) {
  if constexpr (std::is_same_v<T, V>) {
    return value;
  } else if constexpr (std::is_same_v<V, std::string>) {
    return Parsed<T>(context, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
    return std::string(buffer, end.ptr);
  } else {
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>) {
      if (!(std::abs(value) < V(9.2e18))) context.Fail(std::to_string(value) + " is no int64");
    }
    return static_cast<T>(value);
  }
}

class CastMap final : public OpKernel {
 public:
  explicit CastMap(OpKernelInfo& info)
      : dense_(info.attributes().String("map_form", "DENSE") == "DENSE"),
        size_(info.attributes().Int("max_map", 1)) {
    const std::string to = info.attributes().String("cast_to", "TO_FLOAT");
    if (to != "TO_FLOAT" && to != "TO_INT64" && to != "TO_STRING") {
      info.Fail("cast_to '" + to + "' is none of TO_FLOAT, TO_STRING, TO_INT64");
    }
    if (!dense_ && info.attributes().String("map_form", "") != "SPARSE") {
      info.Fail("map_form is none of DENSE, SPARSE");
    }
    if (!dense_ && size_ < 1) info.Fail("max_map is " + std::to_string(size_));
  }

  void Compute(OpKernelContext& context) const override {
    std::visit([&](const auto& entries) { Cast(context, entries); },
               context.InputValue(0).map().entries);
  }

 private:
  template <typename K, typename V>
  void Cast(OpKernelContext& context, const std::map<K, V>& entries) const {
    if constexpr (!std::is_same_v<K, std::int64_t>) {
      context.Fail("the map must have int64 keys");
    } else {
      const std::int64_t dims[2] = {1, dense_ ? std::ssize(entries) : size_};
      Tensor& y = context.Output(0, dims);
      using Types = TypeList<float, std::int64_t, std::string>;
      DispatchType(y.type(), Types{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* to = y.data_mutable<T>();
        if (!dense_) std::fill_n(to, size_, T());
        std::int64_t next = 0;
        for (const auto& [key, value] : entries) {
          if (!dense_ && (key < 0 || key >= size_)) {
            context.Fail("key " + std::to_string(key) + " is out of range for max_map " +
                         std::to_string(size_));
          }
          to[dense_ ? next++ : key] = Converted<T>(context, value);
        }
      });
    }
  }

  bool dense_;
  std::int64_t size_;
};

// Keys outside the vocabulary are left out, as the estimators that are exported so do.
class DictVectorizer final : public OpKernel {
 public:
  explicit DictVectorizer(OpKernelInfo& info) {
    const auto strings = info.attributes().Strings("string_vocabulary");
    const auto ints = info.attributes().Ints("int64_vocabulary");
    if (strings.empty() == ints.empty()) {
      info.Fail("one of string_vocabulary and int64_vocabulary must be given");
    }
    count_ = static_cast<std::int64_t>(std::max(strings.size(), ints.size()));
    lookup_.Build(ints.empty() ? ToTensor(strings) : ToTensor(ints));
  }

  void Compute(OpKernelContext& context) const override {
    std::visit([&](const auto& entries) { Fill(context, entries); },
               context.InputValue(0).map().entries);
  }

 private:
  template <typename K, typename V>
  void Fill(OpKernelContext& context, const std::map<K, V>& entries) const {
    if (DataTypeOf<K> != lookup_.type()) {
      context.Fail("the map has " + std::string(DataTypeName(DataTypeOf<K>)) +
                   " keys, the vocabulary is " + std::string(DataTypeName(lookup_.type())));
    }
    const std::int64_t dims[2] = {1, count_};
    V* y = context.Output(0, dims).template data_mutable<V>();
    std::fill_n(y, count_, V());
    for (const auto& [key, value] : entries) {
      const std::int64_t at = lookup_.Find(key, std::int64_t{-1});
      if (at >= 0) y[at] = value;
    }
  }

  Lookup lookup_;
  std::int64_t count_ = 0;
};

class ZipMap final : public OpKernel {
 public:
  explicit ZipMap(OpKernelInfo& info) {
    const auto strings = info.attributes().Strings("classlabels_strings");
    const auto ints = info.attributes().Ints("classlabels_int64s");
    if (strings.empty() == ints.empty()) {
      info.Fail("one of classlabels_strings and classlabels_int64s must be given");
    }
    strings_.assign(strings.begin(), strings.end());
    ints_.assign(ints.begin(), ints.end());
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const ml::Rows rows = ml::RowsOf(context, x);
    const std::size_t count = std::max(strings_.size(), ints_.size());
    if (rows.width != static_cast<std::int64_t>(count)) {
      context.Fail("there are " + std::to_string(count) + " labels, the input is " + x.Describe());
    }
    std::vector<OrtValue> items;
    items.reserve(static_cast<std::size_t>(rows.count));
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const float* row = x.data<float>() + r * rows.width;
      MapValue map;
      if (ints_.empty()) {
        map.entries = Zip(strings_, row);
      } else {
        map.entries = Zip(ints_, row);
      }
      items.push_back(OrtValue::Map(std::move(map)));
    }
    const DataType key = ints_.empty() ? DataType::kString : DataType::kInt64;
    context.SetOutput(0,
                      OrtValue::Sequence(ValueType::Map(key, ValueType::Tensor(DataType::kFloat)),
                                         std::move(items)));
  }

 private:
  template <typename K>
  static std::map<K, float> Zip(const std::vector<K>& keys, const float* values) {
    std::map<K, float> map;
    for (std::size_t i = 0; i < keys.size(); ++i) map.insert_or_assign(keys[i], values[i]);
    return map;
  }

  std::vector<std::string> strings_;
  std::vector<std::int64_t> ints_;
};

KernelCreateInfo For(const char* op) { return KernelCreateInfo::For(op, "ai.onnx.ml"); }

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet pair = DataType::kInt64 | TypeSet(DataType::kString);
  registry.Register(For("LabelEncoder").Since(1, 1).Input(0, pair).Make<ClassEncoder>());
  registry.Register(For("LabelEncoder").Since(2).Input(0, kKeyTypes).Make<LabelEncoder>());
  registry.Register(For("CategoryMapper").Input(0, pair).Make<CategoryMapper>());
  registry.Register(For("CastMap").Make<CastMap>());
  registry.Register(For("DictVectorizer").Make<DictVectorizer>());
  registry.Register(For("ZipMap").Input(0, types::kFloat32).Make<ZipMap>());
}

}  // namespace switchyard::cpu::kernels::labels
