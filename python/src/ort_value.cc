#include <cstring>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/errors.h"
#include "src/numpy_array.h"
#include "src/session.h"
#include "switchyard/tensor/shape.h"

namespace switchyard::python {
namespace {

const Tensor& TensorOf(const PyOrtValue& self) {
  if (!self.value.is_tensor()) {
    RaiseRuntimeError(
        "Only OrtValues that are Tensors are currently supported, this one is " +
        (self.value.has_value() ? self.value.type().ToString() : std::string("empty")));
  }
  return self.value.tensor();
}

// Memory of devices belongs to providers, and those to sessions.
std::shared_ptr<LoadedSession> HomeOn(const OrtDevice& device) {
  std::shared_ptr<LoadedSession> home = SessionReaching(device);
  if (!home) {
    RaiseRuntimeError("Can't allocate memory on " + device.ToString() +
                      ": no session that is alive has a provider with memory there");
  }
  return home;
}

PyOrtValue FromNumpy(nb::handle array, nb::handle device_type, int device_id, int) {
  const OrtDevice device = ToDevice(device_type, device_id);
  if (!IsArray(array)) {
    RaiseRuntimeError("Creation of OrtValues is currently only supported from numpy arrays, got " +
                      std::string(Py_TYPE(array.ptr())->tp_name));
  }
  PyOrtValue host = OwningTensor(array);
  if (device.is_host()) return host;
  const std::shared_ptr<LoadedSession> home = HomeOn(device);
  const nb::gil_scoped_release release;
  return PyOrtValue(home->session->CopyTo(host.value, device), false, home);
}

// The device of an OrtMemoryInfo of the package: host memory, or what a live session reaches.
OrtDevice DeviceOfInfo(nb::handle info) {
  const int kind = nb::cast<int>(nb::int_(info.attr("device_type")));
  const int memory = nb::cast<int>(nb::int_(info.attr("device_mem_type")));
  const OrtDevice device(static_cast<OrtDevice::DeviceType>(kind),
                         static_cast<OrtDevice::MemoryType>(memory),
                         nb::cast<OrtDevice::DeviceId>(info.attr("device_id")));
  if (device != OrtDevice() && !SessionReaching(device)) {
    RaiseRuntimeError("No shared allocator found for: " + nb::cast<std::string>(nb::repr(info)));
  }
  return device;
}

PyOrtValue FromShape(const std::vector<std::int64_t>& shape, nb::handle element_type,
                     nb::handle device_type, int device_id, int, nb::handle memory_info) {
  const DataType type = ToDataType(element_type);
  OrtDevice device;
  if (memory_info.is_none()) {
    device = ToDevice(device_type, device_id);
  } else {
    if (ToDevice(device_type, device_id) != OrtDevice() &&
        PyErr_WarnEx(PyExc_UserWarning, "memory_info is given: the device arguments are ignored",
                     1) != 0)
      throw nb::python_error();
    device = DeviceOfInfo(memory_info);
  }
  if (device.type == OrtDevice::CPU) return NewTensor(type, shape, MakeHostAllocator(), nullptr);
  const std::shared_ptr<LoadedSession> home = HomeOn(device);
  return NewTensor(type, shape, home->session->allocator(device), home);
}

PyOrtValue FromSparse(nb::object sparse) {
  if (!nb::hasattr(sparse, "as_coo_view"))
    RaiseTypeError("expected a SparseTensor, got " + std::string(Py_TYPE(sparse.ptr())->tp_name));
  PyOrtValue value{OrtValue()};
  value.sparse = std::move(sparse);
  return value;
}

nb::object AsSparse(const PyOrtValue& self) {
  if (!self.sparse.is_valid())
    RaiseRuntimeError("This OrtValue does not contain SparseTensor. Check data_type() value.");
  return self.sparse;
}

// Memory that the caller keeps alive; `owner` lives as long as the value.
PyOrtValue Window(nb::object owner, std::uintptr_t address, nb::handle element_type,
                  const std::vector<std::int64_t>& shape, nb::handle device) {
  const DataType type = ToDataType(element_type);
  if (type == DataType::kString)
    RaiseRuntimeError("Only binding non-string Tensors is currently supported");
  Tensor tensor(type, shape, reinterpret_cast<void*>(address), ToDevice(device, 0));
  tensor.set_storage(StoragePtr(owner.release().ptr(), [](void* object) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquire;
    Py_DECREF(static_cast<PyObject*>(object));
  }));
  return PyOrtValue(OrtValue(std::move(tensor)));
}

std::string DeviceName(const PyOrtValue& self) {
  if (!self.value.is_tensor()) return "cpu";
  const std::string text = self.value.tensor().device().ToString();
  return text.substr(0, text.find(':'));
}

std::string DataTypeText(const PyOrtValue& self) {
  if (self.sparse.is_valid()) return nb::cast<std::string>(self.sparse.attr("data_type")());
  return self.value.type().ToString();
}

std::vector<std::int64_t> ShapeOf(const PyOrtValue& self) {
  if (self.sparse.is_valid())
    return nb::cast<std::vector<std::int64_t>>(self.sparse.attr("dense_shape")());
  const auto dims = TensorOf(self).dims();
  return std::vector<std::int64_t>(dims.begin(), dims.end());
}

int ElementCode(const PyOrtValue& self) {
  if (!self.sparse.is_valid()) return static_cast<int>(TensorOf(self).type());
  return static_cast<int>(ToDataType(self.sparse.attr("values")().attr("dtype")));
}

nb::object ToNumpy(const PyOrtValue& self) {
  if (self.sparse.is_valid())
    RaiseRuntimeError("Only OrtValues that are Tensors are convertible to Numpy objects");
  return ViewAsPython(OnHost(self), !self.read_only);
}

nb::object AsArray(nb::handle self, nb::handle dtype, nb::handle copy) {
  nb::object array = ToNumpy(*nb::inst_ptr<PyOrtValue>(self));
  const bool must_copy = !copy.is_none() && nb::cast<bool>(copy);
  if (!dtype.is_none()) {
    const nb::object wanted = array.attr("astype")(dtype, nb::arg("copy") = must_copy);
    if (wanted.ptr() != array.ptr() && !copy.is_none() && !must_copy) {
      RaiseValueError("Unable to avoid copy while creating an array of another element type");
    }
    return wanted;
  }
  return must_copy ? nb::object(array.attr("copy")()) : array;
}

void Overwrite(PyOrtValue& self, const Tensor& source) {
  Tensor& target = self.value.tensor();
  if (self.read_only) RaiseRuntimeError("update_inplace: the memory of this value is read-only");
  if (source.type() != target.type() || source.size() != target.size()) {
    RaiseRuntimeError("update_inplace: got " + source.Describe() + " for " + target.Describe());
  }
  if (!target.device().is_host() || !source.device().is_host()) {
    const OrtDevice device = target.device().is_host() ? source.device() : target.device();
    const std::shared_ptr<LoadedSession> home = self.home ? self.home : HomeOn(device);
    const nb::gil_scoped_release release;
    return home->session->CopyInto(source, target);
  }
  if (target.type() == DataType::kString) {
    std::copy_n(source.data<std::string>(), source.size(), target.data_mutable<std::string>());
  } else if (target.size() != 0) {
    std::memmove(target.raw_mutable(), source.raw(), source.bytes());
  }
}

void UpdateInPlace(PyOrtValue& self, nb::handle source) {
  TensorOf(self);
  if (nb::isinstance<PyOrtValue>(source))
    return Overwrite(self, TensorOf(*nb::inst_ptr<PyOrtValue>(source)));
  if (!IsArray(source)) {
    RaiseTypeError("update_inplace: data must be a numpy array or an OrtValue, got " +
                   std::string(Py_TYPE(source.ptr())->tp_name));
  }
  Borrowed borrowed;
  const OrtValue value = ToOrtValue(source, nullptr, "update_inplace", borrowed);
  Overwrite(self, value.tensor());
}

nb::dlpack::dtype ToDlpack(DataType type) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [type](Code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code),
                             static_cast<std::uint8_t>(BitsOf(type)), 1};
  };
  if (types::kSigned.Contains(type)) return make(Code::Int);
  if (types::kUnsigned.Contains(type)) return make(Code::UInt);
  if (type == DataType::kBool) return make(Code::Bool);
  if (type == DataType::kBFloat16) return make(Code::Bfloat);
  if (types::kFloats.Contains(type)) return make(Code::Float);
  if (types::kComplex.Contains(type)) return make(Code::Complex);
  throw Error(ErrorCode::kNotImplemented, "DLPack exchange of " + std::string(DataTypeName(type)));
}

DataType FromDlpack(const nb::dlpack::dtype& dtype) {
  for (int code = 1; code < kDataTypeCount; ++code) {
    const auto type = static_cast<DataType>(code);
    const bool exchanged =
        types::kNumeric.Contains(type) || types::kComplex.Contains(type) || type == DataType::kBool;
    if (exchanged && ToDlpack(type) == dtype) return type;
  }
  RaiseRuntimeError("the array has an element type that no tensor has");
}

nb::object ExportDlpack(nb::handle object) {
  const PyOrtValue& self = *nb::inst_ptr<PyOrtValue>(object);
  const Tensor& tensor = TensorOf(self);
  if (!tensor.device().is_host()) {
    throw Error(ErrorCode::kNotImplemented,
                "DLPack exchange of memory on " + tensor.device().ToString() +
                    ": only the host's memory has a number that other libraries know");
  }
  if (self.read_only) RaiseRuntimeError("read-only memory can't be exported through DLPack");
  std::vector<std::size_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::vector<std::int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  const nb::ndarray<> view(const_cast<void*>(tensor.raw()), shape.size(), shape.data(), object,
                           strides.empty() ? nullptr : strides.data(), ToDlpack(tensor.type()),
                           nb::device::cpu::value, 0);
  return nb::cast(view, nb::rv_policy::reference);
}

PyOrtValue ImportDlpack(nb::object source) {
  nb::ndarray<> array;
  if (!nb::try_cast(source, array))
    RaiseTypeError("from_dlpack: expected a DLPack capsule or an object with __dlpack__");
  if (array.device_type() != nb::device::cpu::value) {
    throw Error(ErrorCode::kNotImplemented, "DLPack exchange of device memory");
  }
  Dims dims, strides;
  std::int64_t dense = 1;
  for (std::size_t i = 0; i < array.ndim(); ++i)
    dims.push_back(static_cast<std::int64_t>(array.shape(i)));
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.size() != 0 && array.shape(i) != 1 && array.stride(i) != dense)
      RaiseRuntimeError("from_dlpack: the array is not contiguous");
    dense *= static_cast<std::int64_t>(array.shape(i));
  }
  const DataType type = FromDlpack(array.dtype());
  void* data = array.data();
  auto keep = std::make_shared<nb::ndarray<>>(std::move(array));
  const StoragePtr storage(keep.get(), [keep](void*) mutable {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquire;
    keep.reset();
  });
  return PyOrtValue(OrtValue(Tensor(type, dims, data, {}, storage)));
}

using OrtValueClass = nb::class_<PyOrtValue>;

void BindMakers(OrtValueClass& cls) {
  cls.def_static(
         "ortvalue_from_numpy", &FromNumpy, nb::arg("numpy_obj"), nb::arg("device_type") = "cpu",
         nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
         "A value over the array's memory, which stays alive; a copy where the array is not plain "
         "(text, types below a byte, not contiguous), or on another device: RuntimeError where no "
         "live session has memory there.")
      .def_static(
          "ortvalue_from_numpy_with_onnx_type",
          [](nb::handle array, int type) {
            return OwningTensor(array, ToDataType(nb::int_(type)));
          },
          nb::arg("data"), nb::arg("onnx_element_type"),
          "The array's bytes as elements of a type of equal size.")
      .def_static(
          "ortvalue_from_shape_and_type", &FromShape, nb::arg("shape"), nb::arg("element_type"),
          nb::arg("device_type") = "cpu", nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
          nb::arg("memory_info") = nb::none(),
          "A tensor of its own, contents undefined. element_type: of NumPy, or an ONNX code, not "
          "text (RuntimeError). memory_info: an OrtMemoryInfo instead of the device; RuntimeError "
          "for memory that no live session has.")
      .def_static("ort_value_from_sparse_tensor", &FromSparse, nb::arg("sparse_tensor"),
                  "A value that carries a SparseTensor. Sessions take none.")
      .def_static("_window", &Window, nb::arg("owner"), nb::arg("address"), nb::arg("element_type"),
                  nb::arg("shape"), nb::arg("device"))
      .def_static("from_dlpack", &ImportDlpack, nb::arg("data"),
                  "A value over the memory of a DLPack object.");
}

void BindReaders(OrtValueClass& cls) {
  cls.def(
         "has_value",
         [](const PyOrtValue& self) { return self.sparse.is_valid() || self.value.has_value(); },
         "False for an optional that is empty.")
      .def(
          "is_tensor", [](const PyOrtValue& self) { return self.value.is_tensor(); },
          "True for a dense tensor.")
      .def(
          "is_tensor_sequence",
          [](const PyOrtValue& self) {
            return self.value.is_sequence() && self.value.sequence().element_type.is_tensor();
          },
          "True for a sequence of tensors.")
      .def(
          "is_sparse_tensor", [](const PyOrtValue& self) { return self.sparse.is_valid(); },
          "True for what ort_value_from_sparse_tensor made.")
      .def("as_sparse_tensor", &AsSparse, "The SparseTensor; RuntimeError: there is none.")
      .def("data_type", &DataTypeText, "\"tensor(float)\" ...")
      .def("element_type", &ElementCode, "Code of the ONNX format. Tensors only: RuntimeError.")
      .def("shape", &ShapeOf, "Dims. Tensors only: RuntimeError.")
      .def(
          "tensor_size_in_bytes", [](const PyOrtValue& self) { return TensorOf(self).bytes(); },
          "Bytes of the elements. Tensors only: RuntimeError.")
      .def(
          "data_ptr",
          [](const PyOrtValue& self) {
            const Tensor& tensor = TensorOf(self);
            return tensor.size() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(tensor.raw());
          },
          "Address of the first element, 0 when there is none. Tensors only: RuntimeError.")
      .def("device_name", &DeviceName, "\"cpu\", \"gpu\" ...")
      .def("numpy", &ToNumpy,
           "An array over the value's memory, a copy of it from a device; a list or dict for "
           "sequences and maps.");
}

}  // namespace

void BindOrtValue(nb::module_& module) {
  OrtValueClass cls(
      module, "OrtValue", nb::dynamic_attr(),
      "A tensor, sequence, map or nothing, shared between NumPy and sessions. Threads "
      "may share one that none of them writes.");
  cls.def(
      "__init__",
      [](PyOrtValue* self, nb::handle ortvalue, nb::handle) {
        if (!nb::isinstance<PyOrtValue>(ortvalue)) {
          RaiseValueError("`Provided ortvalue` needs to be of type OrtValue, got " +
                          std::string(Py_TYPE(ortvalue.ptr())->tp_name));
        }
        new (self) PyOrtValue(*nb::inst_ptr<PyOrtValue>(ortvalue));
      },
      nb::arg("ortvalue"), nb::arg("numpy_obj") = nb::none(),
      "A second handle of the same value; ValueError for anything else.");
  BindMakers(cls);
  BindReaders(cls);
  cls.def("__array__", &AsArray, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("update_inplace", &UpdateInPlace, nb::arg("data"),
           "Overwrites the memory with an array or OrtValue.")
      .def("to_dlpack", &ExportDlpack, "A DLPack capsule over the value's memory.")
      .def("__dlpack__", [](nb::handle self, nb::kwargs) { return ExportDlpack(self); })
      .def("__dlpack_device__", [](const PyOrtValue&) { return nb::make_tuple(1, 0); })
      .def("_get_c_value", [](nb::handle self) { return nb::borrow(self); })
      .def_prop_ro("_ortvalue", [](nb::handle self) { return nb::borrow(self); });
  module.def(
      "is_dlpack_uint8_tensor",
      [](nb::object capsule) {
        nb::ndarray<> array;
        return nb::try_cast(capsule, array) && FromDlpack(array.dtype()) == DataType::kUint8;
      },
      nb::arg("capsule"), "Whether a DLPack capsule holds bytes, which may stand for bools.");
}

PyOrtValue NewTensor(DataType type, const std::vector<std::int64_t>& dims,
                     const AllocatorPtr& allocator, std::shared_ptr<LoadedSession> home) {
  if (type == DataType::kString) {
    RaiseRuntimeError(
        "Creation of OrtValues is currently only supported from non-string numpy arrays");
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0) RaiseValueError("shape " + DimsToString(dims) + " has a negative dimension");
  }
  return PyOrtValue(OrtValue(Tensor(type, dims, allocator)), false, std::move(home));
}

}  // namespace switchyard::python
