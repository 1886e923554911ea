#include <cstring>
#include <string>

#include <nanobind/stl/string.h>

#include "src/errors.h"
#include "src/numpy_array.h"
#include "src/values.h"
#include "switchyard/tensor/allocator.h"

namespace switchyard::python {
namespace {

std::string TypeName(nb::handle value) { return Py_TYPE(value.ptr())->tp_name; }

[[noreturn]] void RefuseValue(nb::handle value, const ValueType* expected, std::string_view name) {
  RaiseRuntimeError("input '" + std::string(name) + "': Unable to handle object of type <class '" +
                    TypeName(value) + "'>" +
                    (expected != nullptr ? ", expected " + expected->ToString() : std::string()));
}

const AllocatorPtr& HostAllocator() {
  static const AllocatorPtr allocator = MakeHostAllocator();
  return allocator;
}

// Text of a str, bytes or whatever str() makes of it.
std::string ToText(PyObject* item) {
  if (PyBytes_Check(item))
    return {PyBytes_AS_STRING(item), static_cast<std::size_t>(PyBytes_GET_SIZE(item))};
  const nb::object text = PyUnicode_Check(item) ? nb::borrow(item) : nb::steal(PyObject_Str(item));
  if (!text.is_valid()) throw nb::python_error();
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8 != nullptr) return {utf8, static_cast<std::size_t>(size)};
  // Bytes that were no UTF-8 come in as lone surrogates and go out as they were.
  PyErr_Clear();
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

Tensor StringTensor(nb::handle array) {
  const nb::object objects = ToObjects(array);
  Tensor tensor(DataType::kString, ArrayDims(array), HostAllocator());
  auto* items = static_cast<PyObject**>(ArrayData(objects));
  std::string* strings = tensor.data_mutable<std::string>();
  for (std::int64_t i = 0; i < tensor.size(); ++i) strings[i] = ToText(items[i]);
  return tensor;
}

// Types below a byte: ml_dtypes has one element per byte, ONNX packs them from the low bits up.
Tensor PackedTensor(nb::handle plain, DataType type) {
  Tensor tensor(type, ArrayDims(plain), HostAllocator());
  const int bits = BitsOf(type), per_byte = 8 / bits;
  const auto* elements = static_cast<const std::uint8_t*>(ArrayData(plain));
  auto* bytes = static_cast<std::uint8_t*>(tensor.raw_mutable());
  if (tensor.size() != 0) std::memset(bytes, 0, tensor.bytes());
  const unsigned mask = (1u << bits) - 1;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    bytes[i / per_byte] |=
        static_cast<std::uint8_t>((elements[i] & mask) << (bits * (i % per_byte)));
  }
  return tensor;
}

OrtValue ArrayToValue(nb::handle array, std::string_view name, Borrowed& borrowed) {
  const DataType type = ElementType(array);
  if (type == DataType::kString) return StringTensor(array);
  if (type == DataType::kUndefined) {
    RaiseRuntimeError("input '" + std::string(name) + "': Numpy_type " + ElementTypeName(array) +
                      " can't be converted to MLDataType.");
  }
  borrowed.push_back(ToPlain(array));
  const nb::object& plain = borrowed.back();
  if (IsPacked(type)) return PackedTensor(plain, type);
  return Tensor(type, ArrayDims(plain), ArrayData(plain));
}

template <typename T>
T ToScalar(nb::handle value);

template <>
std::string ToScalar<std::string>(nb::handle value) {
  return ToText(value.ptr());
}

template <>
std::int64_t ToScalar<std::int64_t>(nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const std::int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

template <>
double ToScalar<double>(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

template <>
float ToScalar<float>(nb::handle value) {
  return static_cast<float>(ToScalar<double>(value));
}

template <typename Key, typename Value>
OrtValue FillMap(nb::handle dict) {
  std::map<Key, Value> entries;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value) != 0;) {
    if constexpr (std::is_same_v<Key, std::string>) {
      if (!PyUnicode_Check(key))
        RaiseRuntimeError("Unexpected key type " + TypeName(key) + ", it should be str");
    } else if (PyIndex_Check(key) == 0) {
      RaiseRuntimeError("Unexpected key type " + TypeName(key) + ", it should be int");
    }
    entries[ToScalar<Key>(key)] = ToScalar<Value>(value);
  }
  return OrtValue::Map(MapValue{std::move(entries)});
}

template <typename Key>
OrtValue FillMapOf(nb::handle dict, DataType value_type) {
  switch (value_type) {
    case DataType::kFloat:
      return FillMap<Key, float>(dict);
    case DataType::kDouble:
      return FillMap<Key, double>(dict);
    case DataType::kInt64:
      return FillMap<Key, std::int64_t>(dict);
    case DataType::kString:
      return FillMap<Key, std::string>(dict);
    default:
      throw Error(ErrorCode::kNotImplemented,
                  "maps to " + std::string(DataTypeName(value_type)) + " are not supported");
  }
}

OrtValue DictToValue(nb::handle dict, const ValueType* expected, std::string_view name) {
  if (expected == nullptr || expected->kind != ValueType::Kind::kMap)
    RefuseValue(dict, expected, name);
  const DataType value_type = expected->element ? expected->element->elem : DataType::kUndefined;
  if (expected->elem == DataType::kString) return FillMapOf<std::string>(dict, value_type);
  return FillMapOf<std::int64_t>(dict, value_type);
}

// Elements are copied: a sequence that comes out may hold them.
OrtValue ListToSequence(nb::handle list, const ValueType& expected, std::string_view name) {
  std::vector<OrtValue> items;
  for (const nb::handle item : nb::iter(list)) {
    Borrowed borrowed;
    OrtValue value = ToOrtValue(item, expected.element.get(), name, borrowed);
    if (value.is_tensor() && value.tensor().storage() == nullptr) {
      value = value.tensor().Clone(HostAllocator());
    }
    items.push_back(std::move(value));
  }
  return OrtValue::Sequence(expected.element ? *expected.element : ValueType(), std::move(items));
}

// Numbers and nested lists; NumPy's refusal gets the wire's name.
nb::object NumbersToArray(nb::handle value, const ValueType* expected, std::string_view name) {
  try {
    return ToArray(value, expected != nullptr ? expected->elem : DataType::kUndefined);
  } catch (nb::python_error& error) {
    const std::string reason = nb::cast<std::string>(nb::str(error.value()));
    const std::string message = "input '" + std::string(name) +
                                "': Unable to handle object of type <class '" + TypeName(value) +
                                "'>: " + reason;
    nb::raise_from(error, PyExc_RuntimeError, "%s", message.c_str());
  }
}

}  // namespace

OrtValue ToOrtValue(nb::handle value, const ValueType* expected, std::string_view name,
                    Borrowed& borrowed) {
  while (expected != nullptr && expected->kind == ValueType::Kind::kOptional) {
    if (value.is_none()) return {};
    expected = expected->element.get();
  }
  const bool wants_sequence = expected != nullptr && expected->kind == ValueType::Kind::kSequence;
  if (IsArray(value) && !wants_sequence) return ArrayToValue(value, name, borrowed);
  if (nb::isinstance<PyOrtValue>(value)) {
    const PyOrtValue& given = *nb::inst_ptr<PyOrtValue>(value);
    if (!given.sparse.is_valid()) return given.value;
    throw Error(ErrorCode::kNotImplemented,
                "input '" + std::string(name) + "': sessions take no sparse tensors");
  }
  if (PyDict_Check(value.ptr())) return DictToValue(value, expected, name);
  if (wants_sequence) {
    if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()) ||
        PyIter_Check(value.ptr()) != 0 || (PySequence_Check(value.ptr()) == 0 && !IsArray(value)) ||
        (IsArray(value) && ArrayDims(value).empty())) {
      RefuseValue(value, expected, name);
    }
    return ListToSequence(value, *expected, name);
  }
  if (value.is_none() || (expected != nullptr && !expected->is_tensor()))
    RefuseValue(value, expected, name);
  return ArrayToValue(NumbersToArray(value, expected, name), name, borrowed);
}

PyOrtValue OwningTensor(nb::handle array, DataType code) {
  if (!IsArray(array)) RaiseTypeError("expected a numpy array, got " + TypeName(array));
  Borrowed borrowed;
  OrtValue value = ArrayToValue(array, "value", borrowed);
  Tensor& tensor = value.tensor();
  if (tensor.storage() != nullptr) {
    if (code != DataType::kUndefined && code != tensor.type()) {
      RaiseRuntimeError("an array of " + ElementTypeName(array) + " can't stand for " +
                        std::string(DataTypeName(code)));
    }
    return PyOrtValue(std::move(value));
  }
  const nb::object& plain = borrowed.back();
  if (code != DataType::kUndefined) {
    if (BitsOf(code) != BitsOf(tensor.type()) || code == DataType::kString) {
      RaiseRuntimeError("an array of " + ElementTypeName(array) + " can't stand for " +
                        std::string(DataTypeName(code)) + ": the elements differ in size");
    }
    tensor = Tensor(code, ArrayDims(plain), ArrayData(plain));
  }
  const bool read_only = !IsWritable(plain);
  tensor.set_storage(StoragePtr(nb::object(plain).release().ptr(), [](void* object) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquire;
    Py_DECREF(static_cast<PyObject*>(object));
  }));
  return PyOrtValue(std::move(value), read_only);
}

}  // namespace switchyard::python
