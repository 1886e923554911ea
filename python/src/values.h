#pragma once
// Python objects as OrtValues and back.
//
//   tensor    NumPy array, number, nested list, OrtValue    -> NumPy array (text: of str objects)
//   sequence  list                                          -> list
//   map       dict                                          -> dict
//   optional  None, or the value                            -> None, or the value
//
// All functions need the GIL.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "switchyard/tensor/allocator.h"
#include "switchyard/tensor/ort_value.h"

namespace switchyard::python {

namespace nb = nanobind;

struct LoadedSession;

// The class OrtValue of the module.
struct PyOrtValue {
  std::shared_ptr<LoadedSession> home;  // whose providers reach the memory; none: the host does
  OrtValue value;
  bool read_only = false;  // memory of an array that must not be written
  nb::object sparse;       // a SparseTensor of the package; `value` is empty then

  explicit PyOrtValue(OrtValue contents, bool must_not_be_written = false,
                      std::shared_ptr<LoadedSession> session = nullptr)
      : home(std::move(session)), value(std::move(contents)), read_only(must_not_be_written) {}
};

// Objects whose memory is borrowed for the length of a call.
using Borrowed = std::vector<nb::object>;

// A value for the wire `name` of type `expected` (nullptr: unknown). Tensors point into NumPy's
// memory where it is plain: the objects in `borrowed` must live as long. Throws TypeError or
// RuntimeError naming the wire for what can't be a value; whether type and dims fit is for the
// session to say.
OrtValue ToOrtValue(nb::handle value, const ValueType* expected, std::string_view name,
                    Borrowed& borrowed);

// The same for an array, which the tensor itself keeps alive. `code`: the element type that the
// bytes stand for, kUndefined for the array's own; its size must fit (RuntimeError).
PyOrtValue OwningTensor(nb::handle array, DataType code = DataType::kUndefined);

// A tensor of its own, contents undefined. Text and negative dims: RuntimeError, ValueError.
PyOrtValue NewTensor(DataType type, const std::vector<std::int64_t>& dims,
                     const AllocatorPtr& allocator, std::shared_ptr<LoadedSession> home);

// Values that a run gave. A tensor that shares its memory with a feed, a constant of the model or
// another value is copied, so that the array belongs to the caller alone.
nb::object ResultToPython(OrtValue& value, std::span<const OrtValue> feeds);
// A view onto the value's memory, which stays alive with it.
nb::object ViewAsPython(const OrtValue& value, bool writable);

// Copies of what a run gave, where the memory is shared with a feed.
OrtValue Unaliased(OrtValue value, std::span<const OrtValue> feeds);

}  // namespace switchyard::python
