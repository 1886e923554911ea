#include "src/numpy_array.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

namespace switchyard::python {
namespace {

struct NarrowName {
  DataType type;
  const char* name;  // in ml_dtypes
};
constexpr NarrowName kNarrowNames[] = {
    {DataType::kBFloat16, "bfloat16"},
    {DataType::kFloat8E4M3FN, "float8_e4m3fn"},
    {DataType::kFloat8E4M3FNUZ, "float8_e4m3fnuz"},
    {DataType::kFloat8E5M2, "float8_e5m2"},
    {DataType::kFloat8E5M2FNUZ, "float8_e5m2fnuz"},
    {DataType::kFloat8E8M0, "float8_e8m0fnu"},
    {DataType::kFloat4E2M1, "float4_e2m1fn"},
    {DataType::kUint4, "uint4"},
    {DataType::kInt4, "int4"},
    {DataType::kUint2, "uint2"},
    {DataType::kInt2, "int2"},
};

PyArrayObject* AsArray(nb::handle value) { return reinterpret_cast<PyArrayObject*>(value.ptr()); }

nb::object Checked(PyObject* result) {
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

DataType NarrowType(const PyArray_Descr* descr) {
  const std::string_view full = descr->typeobj->tp_name;
  const std::string_view name = full.substr(full.rfind('.') + 1);
  for (const NarrowName& narrow : kNarrowNames) {
    if (name == narrow.name) return narrow.type;
  }
  return DataType::kUndefined;
}

DataType TypeOfDescr(const PyArray_Descr* descr) {
  switch (descr->type_num) {
    case NPY_BOOL:
      return DataType::kBool;
    case NPY_BYTE:
      return DataType::kInt8;
    case NPY_UBYTE:
      return DataType::kUint8;
    case NPY_SHORT:
      return DataType::kInt16;
    case NPY_USHORT:
      return DataType::kUint16;
    case NPY_INT:
      return DataType::kInt32;
    case NPY_UINT:
      return DataType::kUint32;
    case NPY_LONG:
      return sizeof(long) == 8 ? DataType::kInt64 : DataType::kInt32;
    case NPY_ULONG:
      return sizeof(long) == 8 ? DataType::kUint64 : DataType::kUint32;
    case NPY_LONGLONG:
      return DataType::kInt64;
    case NPY_ULONGLONG:
      return DataType::kUint64;
    case NPY_HALF:
      return DataType::kFloat16;
    case NPY_FLOAT:
      return DataType::kFloat;
    case NPY_DOUBLE:
      return DataType::kDouble;
    case NPY_CFLOAT:
      return DataType::kComplex64;
    case NPY_CDOUBLE:
      return DataType::kComplex128;
    case NPY_STRING:
    case NPY_UNICODE:
    case NPY_OBJECT:
    case NPY_VOID:
    case 2056:  // NPY_VSTRING, the text type of variable width
      return DataType::kString;
    default:
      break;
  }
  return PyTypeNum_ISUSERDEF(descr->type_num) ? NarrowType(descr) : DataType::kUndefined;
}

int NumberOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return NPY_BOOL;
    case DataType::kInt8:
      return NPY_INT8;
    case DataType::kUint8:
      return NPY_UINT8;
    case DataType::kInt16:
      return NPY_INT16;
    case DataType::kUint16:
      return NPY_UINT16;
    case DataType::kInt32:
      return NPY_INT32;
    case DataType::kUint32:
      return NPY_UINT32;
    case DataType::kInt64:
      return NPY_INT64;
    case DataType::kUint64:
      return NPY_UINT64;
    case DataType::kFloat16:
      return NPY_FLOAT16;
    case DataType::kFloat:
      return NPY_FLOAT32;
    case DataType::kDouble:
      return NPY_FLOAT64;
    case DataType::kComplex64:
      return NPY_COMPLEX64;
    case DataType::kComplex128:
      return NPY_COMPLEX128;
    case DataType::kString:
      return NPY_OBJECT;
    default:
      return -1;
  }
}

// The descriptor of a type of ml_dtypes; kept for the life of the process.
PyArray_Descr* NarrowDescr(DataType type) {
  static std::array<PyArray_Descr*, kDataTypeCount> known{};
  PyArray_Descr*& descr = known[static_cast<std::size_t>(type)];
  if (descr != nullptr) return descr;
  for (const NarrowName& narrow : kNarrowNames) {
    if (narrow.type != type) continue;
    PyObject* package = PyImport_ImportModule("ml_dtypes");
    if (package == nullptr) {
      PyErr_Clear();
      const std::string message = "No corresponding Numpy type for Tensor Type " +
                                  std::string(DataTypeName(type)) +
                                  ": install ml_dtypes, or use OrtValue.data_ptr()";
      PyErr_SetString(PyExc_RuntimeError, message.c_str());
      throw nb::python_error();
    }
    const nb::object owner = nb::steal(package);
    const nb::object scalar = owner.attr(narrow.name);
    if (PyArray_DescrConverter(scalar.ptr(), &descr) == 0) throw nb::python_error();
    return descr;
  }
  PyErr_SetString(PyExc_RuntimeError, "a tensor of undefined type has no array");
  throw nb::python_error();
}

// A new reference.
PyArray_Descr* DescrOf(DataType type) {
  const int number = NumberOf(type);
  if (number >= 0) return PyArray_DescrFromType(number);
  PyArray_Descr* descr = NarrowDescr(type);
  Py_INCREF(descr);
  return descr;
}

// NumPy's API table is reached through a macro that returns from the function it stands in.
void* LoadApi() {
  import_array();
  return &PyArray_API;
}

}  // namespace

void ImportNumpy() {
  if (LoadApi() == nullptr) throw nb::python_error();
}

bool IsArray(nb::handle value) { return PyArray_Check(value.ptr()); }

DataType ElementType(nb::handle array) { return TypeOfDescr(PyArray_DESCR(AsArray(array))); }

std::string ElementTypeName(nb::handle array) {
  const nb::object text =
      nb::steal(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(AsArray(array)))));
  return nb::cast<std::string>(text);
}

bool IsPlain(nb::handle array) {
  PyArrayObject* object = AsArray(array);
  return PyArray_CHKFLAGS(object, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED) &&
         PyArray_ISNOTSWAPPED(object);
}

bool IsWritable(nb::handle array) { return PyArray_ISWRITEABLE(AsArray(array)); }

nb::object ToPlain(nb::handle array) {
  if (IsPlain(array)) return nb::borrow(array);
  return Checked(PyArray_CheckFromAny(
      array.ptr(), nullptr, 0, 0, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED,
      nullptr));
}

std::span<const std::int64_t> ArrayDims(nb::handle array) {
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  PyArrayObject* object = AsArray(array);
  return {reinterpret_cast<const std::int64_t*>(PyArray_DIMS(object)),
          static_cast<std::size_t>(PyArray_NDIM(object))};
}

std::int64_t ArraySize(nb::handle array) { return PyArray_SIZE(AsArray(array)); }

void* ArrayData(nb::handle array) { return PyArray_DATA(AsArray(array)); }

nb::object ToObjects(nb::handle array) {
  PyArrayObject* object = AsArray(array);
  if (PyArray_TYPE(object) == NPY_VOID) {
    // A void scalar would be a structure; its bytes are wanted.
    const std::string width = "S" + std::to_string(PyArray_ITEMSIZE(object));
    const nb::object plain = ToPlain(array);
    return ToObjects(plain.attr("view")(width));
  }
  return Checked(PyArray_FromAny(array.ptr(), PyArray_DescrFromType(NPY_OBJECT), 0, 0,
                                 NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST,
                                 nullptr));
}

nb::object ToArray(nb::handle value, DataType type) {
  if (type == DataType::kUndefined)
    return Checked(PyArray_FromAny(value.ptr(), nullptr, 0, 0, 0, nullptr));
  if (types::kIntegers.Contains(type) || type == DataType::kBool) {
    const nb::object natural = Checked(PyArray_FromAny(value.ptr(), nullptr, 0, 0, 0, nullptr));
    const int number = PyArray_TYPE(AsArray(natural));
    if (ArraySize(natural) != 0 && (PyTypeNum_ISFLOAT(number) || PyTypeNum_ISCOMPLEX(number)))
      return natural;
  }
  return Checked(PyArray_FromAny(value.ptr(), DescrOf(type), 0, 0,
                                 NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST,
                                 nullptr));
}

nb::object WrapArray(DataType type, std::span<const std::int64_t> dims,
                     std::span<const std::int64_t> strides, void* data, nb::object owner,
                     bool writable) {
  if (data == nullptr) return NewArray(type, dims);
  PyArray_Descr* descr = DescrOf(type);
  npy_intp byte_strides[NPY_MAXDIMS];
  const bool strided = !strides.empty() && strides.size() <= NPY_MAXDIMS;
  if (strided) {
    for (std::size_t i = 0; i < strides.size(); ++i)
      byte_strides[i] = strides[i] * PyDataType_ELSIZE(descr);
  }
  const int flags = writable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO;
  nb::object array =
      Checked(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(dims.size()),
                                   reinterpret_cast<const npy_intp*>(dims.data()),
                                   strided ? byte_strides : nullptr, data, flags, nullptr));
  if (PyArray_SetBaseObject(AsArray(array), owner.release().ptr()) < 0) throw nb::python_error();
  return array;
}

nb::object NewArray(DataType type, std::span<const std::int64_t> dims) {
  return Checked(PyArray_NewFromDescr(&PyArray_Type, DescrOf(type), static_cast<int>(dims.size()),
                                      reinterpret_cast<const npy_intp*>(dims.data()), nullptr,
                                      nullptr, 0, nullptr));
}

DataType ToDataType(nb::handle spec) {
  if (PyLong_Check(spec.ptr()) && !PyBool_Check(spec.ptr())) {
    const long code = PyLong_AsLong(spec.ptr());
    if (code > 0 && code < kDataTypeCount) return static_cast<DataType>(code);
    PyErr_Clear();
    PyErr_SetString(PyExc_TypeError, "element type is no code of the ONNX format (1 to 26)");
    throw nb::python_error();
  }
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(spec.ptr(), &descr) == 0) throw nb::python_error();
  const DataType type = TypeOfDescr(descr);
  const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(descr));
  if (type == DataType::kUndefined) {
    const std::string message =
        "element type " + nb::cast<std::string>(nb::str(owner)) + " has no tensor type";
    PyErr_SetString(PyExc_TypeError, message.c_str());
    throw nb::python_error();
  }
  return type;
}

}  // namespace switchyard::python
