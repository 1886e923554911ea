#pragma once
// NumPy arrays as the rest of the module needs them. numpy_array.cc alone knows NumPy's C
// interface. All functions need the GIL and throw nb::python_error for what NumPy refuses.

#include <cstdint>
#include <span>
#include <string>

#include <nanobind/nanobind.h>

#include "switchyard/tensor/data_type.h"

namespace switchyard::python {

namespace nb = nanobind;

// Once, when the module is imported.
void ImportNumpy();

bool IsArray(nb::handle value);
// The element type that an array maps to: text of any kind is kString, narrow types of ml_dtypes
// have their own codes. kUndefined: none.
DataType ElementType(nb::handle array);
// "float32", "datetime64[ns]" ...
std::string ElementTypeName(nb::handle array);
// Dense, aligned and in native byte order: its memory can be read as it is.
bool IsPlain(nb::handle array);
bool IsWritable(nb::handle array);
// The array itself if it is plain, else a plain copy.
nb::object ToPlain(nb::handle array);
std::span<const std::int64_t> ArrayDims(nb::handle array);
std::int64_t ArraySize(nb::handle array);
void* ArrayData(nb::handle array);
// The array as one of Python objects (text, bytes).
nb::object ToObjects(nb::handle array);

// What `value` (numbers, nested lists, anything NumPy understands) is as an array; with a type, of
// that type: numbers with a fraction are never cut to integers.
nb::object ToArray(nb::handle value, DataType type = DataType::kUndefined);

// A window onto `data` that keeps `owner` alive. strides: in elements, empty when dense. Types that
// NumPy lacks need the package ml_dtypes.
nb::object WrapArray(DataType type, std::span<const std::int64_t> dims,
                     std::span<const std::int64_t> strides, void* data, nb::object owner,
                     bool writable);
// An array of its own, contents undefined. kString: of Python objects, to be filled through
// ArrayData.
nb::object NewArray(DataType type, std::span<const std::int64_t> dims);
// A code of the ONNX format, or what NumPy takes for an element type. Throws TypeError.
DataType ToDataType(nb::handle spec);

}  // namespace switchyard::python
