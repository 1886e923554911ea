#include <algorithm>
#include <string>
#include <string_view>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/errors.h"
#include "src/numpy_array.h"
#include "src/session.h"
#include "switchyard/session/io_binding.h"

namespace switchyard::python {
namespace {

struct PyIoBinding {
  std::shared_ptr<LoadedSession> loaded;
  std::unique_ptr<IOBinding> binding;
};

OrtDevice::DeviceType KindOf(const std::string& name) {
  if (name == "cpu") return OrtDevice::CPU;
  if (name == "cuda" || name == "gpu" || name == "hip" || name == "dml" || name == "webgpu")
    return OrtDevice::GPU;
  if (name == "npu" || name == "cann") return OrtDevice::NPU;
  const std::string_view custom = "device";
  const std::string number = name.substr(std::min(custom.size(), name.size()));
  if (name.starts_with(custom) && !number.empty() && number.size() <= 3 &&
      number.find_first_not_of("0123456789") == std::string::npos) {
    const int kind = std::stoi(number);
    if (kind >= OrtDevice::kFirstCustom && kind <= 127)
      return static_cast<OrtDevice::DeviceType>(kind);
  }
  RaiseRuntimeError("Unsupported device type: " + name +
                    ", known are cpu, cuda, gpu, hip, dml, webgpu, npu, cann, device16 and up");
}

// Errors of binding are RuntimeErrors with what was being done in front.
template <typename Body>
void Attempt(const char* what, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    RaiseRuntimeError(std::string(what) + ": " + error.message());
  }
}

// A tensor over memory that the caller keeps alive.
Tensor Window(nb::handle element_type, const std::vector<std::int64_t>& shape,
              std::uintptr_t address, const OrtDevice& device) {
  const DataType type = ToDataType(element_type);
  if (type == DataType::kString)
    RaiseRuntimeError("Only binding non-string Tensors is currently supported");
  return Tensor(type, shape, reinterpret_cast<void*>(address), device);
}

void BindCpuInput(PyIoBinding& self, const std::string& name, nb::handle array) {
  const nb::object plain = IsArray(array) ? nb::borrow(array) : ToArray(array);
  Attempt("Error when bind input",
          [&] { self.binding->BindInput(name, OwningTensor(plain).value); });
}

void BindInput(PyIoBinding& self, const std::string& name, nb::handle device_type, int device_id,
               nb::handle element_type, const std::vector<std::int64_t>& shape,
               std::uintptr_t buffer_ptr) {
  Attempt("Error when binding input", [&] {
    self.binding->BindInput(
        name, Window(element_type, shape, buffer_ptr, ToDevice(device_type, device_id)));
  });
}

// The third argument is a device number, or an array that takes the results.
void BindOutput(PyIoBinding& self, const std::string& name, nb::handle device_type,
                nb::handle device_id, nb::handle element_type, nb::handle shape,
                nb::handle buffer_ptr) {
  if (IsArray(device_id)) {
    if (!IsPlain(device_id) || !IsWritable(device_id)) {
      RaiseValueError(
          "an array bound to an output must be contiguous, aligned, in native byte order and "
          "writable");
    }
    Attempt("Error when binding output",
            [&] { self.binding->BindOutput(name, OwningTensor(device_id).value); });
    return;
  }
  const OrtDevice device = ToDevice(device_type, nb::cast<int>(device_id));
  if (buffer_ptr.is_none()) {
    Attempt("Error when binding output", [&] { self.binding->BindOutput(name, device); });
    return;
  }
  if (element_type.is_none() || shape.is_none()) {
    RaiseValueError(
        "`element_type` and `shape` are to be provided if pre-allocated memory is provided");
  }
  Attempt("Error when binding output", [&] {
    self.binding->BindOutput(name, Window(element_type, nb::cast<std::vector<std::int64_t>>(shape),
                                          nb::cast<std::uintptr_t>(buffer_ptr), device));
  });
}

std::vector<PyOrtValue> Outputs(const PyIoBinding& self) {
  std::vector<PyOrtValue> values;
  for (const OrtValue& value : self.binding->outputs())
    values.push_back(PyOrtValue(value, false, self.loaded));
  return values;
}

nb::list CopyOutputs(const PyIoBinding& self) {
  nb::list arrays;
  for (const OrtValue& value : self.binding->outputs()) {
    OrtValue host = value;
    if (value.is_tensor() && !value.tensor().device().is_host()) {
      const nb::gil_scoped_release release;
      host = self.loaded->session->CopyTo(value, OrtDevice());
    } else if (value.is_tensor() && value.tensor().storage().use_count() != 2) {
      // Held by more than the binding and `host`: an input may show the same memory.
      host = value.tensor().Clone(MakeHostAllocator());
    }
    arrays.append(ViewAsPython(host, true));
  }
  return arrays;
}

void RunBound(const PySession&, PyIoBinding& binding, nb::handle run_options) {
  const RunOptions& options = RunOptionsOf(run_options);
  try {
    const nb::gil_scoped_release release;
    binding.loaded->session->Run(options, *binding.binding);
  } catch (const Error& error) {
    RaiseRuntimeError("Error in execution: " + error.message());
  }
}

}  // namespace

OrtDevice ToDevice(nb::handle device, int id) {
  if (PyUnicode_Check(device.ptr())) {
    return OrtDevice(KindOf(nb::cast<std::string>(device)), OrtDevice::kDefault,
                     static_cast<OrtDevice::DeviceId>(id));
  }
  if (!nb::hasattr(device, "device_type") || !nb::hasattr(device, "device_mem_type"))
    RaiseTypeError("a device is its name or an OrtDevice, got " +
                   std::string(Py_TYPE(device.ptr())->tp_name));
  const int kind = nb::cast<int>(device.attr("device_type")());
  constexpr int kDml = 4;  // a GPU under a number of its own
  return OrtDevice(static_cast<OrtDevice::DeviceType>(kind == kDml ? OrtDevice::GPU : kind),
                   nb::cast<OrtDevice::MemoryType>(device.attr("device_mem_type")()),
                   nb::cast<OrtDevice::DeviceId>(device.attr("device_id")()));
}

void BindIoBinding(nb::module_& module) {
  nb::class_<PyIoBinding>(module, "IOBinding",
                          "Inputs and outputs fixed to memory for repeated runs.")
      .def(
          "__init__",
          [](PyIoBinding* self, const PySession& session) {
            if (!session.loaded)
              RaiseRuntimeError("the session has no model: its constructor failed");
            new (self)
                PyIoBinding{session.loaded, std::make_unique<IOBinding>(*session.loaded->session)};
          },
          nb::arg("session"))
      .def("bind_cpu_input", &BindCpuInput, nb::arg("name"), nb::arg("arr_on_cpu"),
           "Reads from this array.")
      .def("bind_input", &BindInput, nb::arg("name"), nb::arg("device_type"), nb::arg("device_id"),
           nb::arg("element_type"), nb::arg("shape"), nb::arg("buffer_ptr"),
           "Reads from memory at an address, which the caller keeps alive.")
      .def(
          "bind_ortvalue_input",
          [](PyIoBinding& self, const std::string& name, const PyOrtValue& value) {
            Attempt("Error when binding input",
                    [&] { self.binding->BindInput(name, value.value); });
          },
          nb::arg("name"), nb::arg("ortvalue"), "Reads from this value.")
      .def("bind_output", &BindOutput, nb::arg("name"), nb::arg("device_type") = "cpu",
           nb::arg("device_id") = 0, nb::arg("element_type") = nb::none(),
           nb::arg("shape") = nb::none(), nb::arg("buffer_ptr") = nb::none(),
           "Results are allocated on a device, or written to an address, or to an array given in "
           "place of device_id.")
      .def(
          "bind_ortvalue_output",
          [](PyIoBinding& self, const std::string& name, const PyOrtValue& value) {
            if (value.read_only) RaiseValueError("the memory of this value is read-only");
            Attempt("Error when binding output",
                    [&] { self.binding->BindOutput(name, value.value); });
          },
          nb::arg("name"), nb::arg("ortvalue"), "Writes results into this value.")
      .def("get_outputs", &Outputs,
           "Results of the last run in the order in which outputs were bound.")
      .def("copy_outputs_to_cpu", &CopyOutputs, "The same as arrays in host memory.")
      .def(
          "output_names", [](const PyIoBinding& self) { return self.binding->output_names(); },
          "Names of the bound outputs in the order in which they were bound.")
      .def(
          "clear_binding_inputs", [](PyIoBinding& self) { self.binding->ClearInputs(); },
          "Forgets the inputs.")
      .def(
          "clear_binding_outputs", [](PyIoBinding& self) { self.binding->ClearOutputs(); },
          "Forgets the outputs and their results.")
      .def(
          "synchronize_inputs", [](PyIoBinding& self) { self.binding->SynchronizeInputs(); },
          nb::call_guard<nb::gil_scoped_release>(), "Waits for the devices of the inputs.")
      .def(
          "synchronize_outputs", [](PyIoBinding& self) { self.binding->SynchronizeOutputs(); },
          nb::call_guard<nb::gil_scoped_release>(), "Waits for the devices of the outputs.");
  nb::object session = module.attr("Session");
  nb::cpp_function_def(&RunBound, nb::scope(session), nb::name("run_with_iobinding"),
                       nb::is_method(), nb::arg("iobinding"), nb::arg("run_options") = nb::none(),
                       "Runs with what is bound. RuntimeError: an input is missing, or a kernel "
                       "failed.");
}

}  // namespace switchyard::python
