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

void RequireHost(const std::string& device) {
  if (device != "cpu") {
    RaiseRuntimeError(
        "Unsupported device type '" + device +
        "': OrtValues are made on the cpu; bind outputs to a device to have values there");
  }
}

PyOrtValue FromNumpy(nb::handle array, const std::string& device, int, int) {
  RequireHost(device);
  return OwningTensor(array);
}

PyOrtValue FromShape(const std::vector<std::int64_t>& shape, nb::handle element_type,
                     const std::string& device, int, int) {
  RequireHost(device);
  const DataType type = ToDataType(element_type);
  if (type == DataType::kString) {
    RaiseRuntimeError(
        "Creation of OrtValues is currently only supported from non-string numpy arrays");
  }
  for (const std::int64_t dim : shape) {
    if (dim < 0) RaiseValueError("shape " + DimsToString(shape) + " has a negative dimension");
  }
  return {Tensor(type, shape, MakeHostAllocator()), false};
}

std::string DeviceName(const PyOrtValue& self) {
  if (!self.value.is_tensor()) return "cpu";
  const std::string text = self.value.tensor().device().ToString();
  return text.substr(0, text.find(':'));
}

std::string DataTypeText(const PyOrtValue& self) {
  const std::string text = self.value.type().ToString();
  return text;
}

nb::object ToNumpy(const PyOrtValue& self) { return ViewAsPython(self.value, !self.read_only); }

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
    throw Error(ErrorCode::kNotImplemented, "update_inplace works on host memory only");
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
    RaiseTypeError("update_inplace: expected a numpy array or an OrtValue, got " +
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
  if (!tensor.device().is_host())
    throw Error(ErrorCode::kNotImplemented, "DLPack exchange of device memory");
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
    if (array.shape(i) != 1 && array.stride(i) != dense)
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
  return {Tensor(type, dims, data, {}, storage), false};
}

using OrtValueClass = nb::class_<PyOrtValue>;

void BindMakers(OrtValueClass& cls) {
  cls.def_static(
         "ortvalue_from_numpy", &FromNumpy, nb::arg("numpy_obj"), nb::arg("device_type") = "cpu",
         nb::arg("device_id") = 0, nb::arg("vendor_id") = -1,
         "A value over the array's memory, which stays alive; a copy where the array is not plain.")
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
          "A tensor of its own, contents undefined. element_type: of NumPy, or an ONNX code.")
      .def_static("from_dlpack", &ImportDlpack, nb::arg("data"),
                  "A value over the memory of a DLPack object.");
}

void BindReaders(OrtValueClass& cls) {
  cls.def("has_value", [](const PyOrtValue& self) { return self.value.has_value(); })
      .def("is_tensor", [](const PyOrtValue& self) { return self.value.is_tensor(); })
      .def("is_tensor_sequence",
           [](const PyOrtValue& self) {
             return self.value.is_sequence() && self.value.sequence().element_type.is_tensor();
           })
      .def("is_sparse_tensor", [](const PyOrtValue&) { return false; })
      .def("data_type", &DataTypeText, "\"tensor(float)\" ...")
      .def(
          "element_type",
          [](const PyOrtValue& self) { return static_cast<int>(TensorOf(self).type()); },
          "Code of the ONNX format.")
      .def("shape",
           [](const PyOrtValue& self) {
             const auto dims = TensorOf(self).dims();
             return std::vector<std::int64_t>(dims.begin(), dims.end());
           })
      .def("tensor_size_in_bytes", [](const PyOrtValue& self) { return TensorOf(self).bytes(); })
      .def(
          "data_ptr",
          [](const PyOrtValue& self) {
            return reinterpret_cast<std::uintptr_t>(TensorOf(self).raw());
          },
          "Address of the first element.")
      .def("device_name", &DeviceName)
      .def("numpy", &ToNumpy,
           "An array over the value's memory; a list or dict for sequences and maps.");
}

}  // namespace

void BindOrtValue(nb::module_& module) {
  OrtValueClass cls(module, "OrtValue", nb::dynamic_attr(),
                    "A tensor, sequence, map or nothing, shared between NumPy and sessions.");
  BindMakers(cls);
  BindReaders(cls);
  cls.def("__array__", &AsArray, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("update_inplace", &UpdateInPlace, nb::arg("data"),
           "Overwrites the memory with an array or OrtValue.")
      .def("to_dlpack", &ExportDlpack)
      .def("__dlpack__", [](nb::handle self, nb::kwargs) { return ExportDlpack(self); })
      .def("__dlpack_device__", [](const PyOrtValue&) { return nb::make_tuple(1, 0); })
      .def("_get_c_value", [](nb::handle self) { return nb::borrow(self); });
}

}  // namespace switchyard::python
