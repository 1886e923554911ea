#include "src/errors.h"

#include <map>

#include <nanobind/stl/string.h>

namespace switchyard::python {
namespace {

struct ErrorClass {
  ErrorCode code;
  const char* name;   // of the Python class
  const char* label;  // in the message
};
constexpr ErrorClass kClasses[] = {
    {ErrorCode::kFail, "Fail", "FAIL"},
    {ErrorCode::kInvalidArgument, "InvalidArgument", "INVALID_ARGUMENT"},
    {ErrorCode::kNoSuchFile, "NoSuchFile", "NO_SUCHFILE"},
    {ErrorCode::kNoModel, "NoModel", "NO_MODEL"},
    {ErrorCode::kEngineError, "EngineError", "ENGINE_ERROR"},
    {ErrorCode::kRuntimeException, "RuntimeException", "RUNTIME_EXCEPTION"},
    {ErrorCode::kInvalidProtobuf, "InvalidProtobuf", "INVALID_PROTOBUF"},
    {ErrorCode::kModelLoaded, "ModelLoaded", "MODEL_LOADED"},
    {ErrorCode::kNotImplemented, "NotImplemented", "NOT_IMPLEMENTED"},
    {ErrorCode::kInvalidGraph, "InvalidGraph", "INVALID_GRAPH"},
    {ErrorCode::kEpFail, "EPFail", "EP_FAIL"},
    {ErrorCode::kModelLoadCanceled, "ModelLoadCanceled", "MODEL_LOAD_CANCELED"},
    {ErrorCode::kModelRequiresCompilation, "ModelRequiresCompilation",
     "MODEL_REQUIRES_COMPILATION"},
    {ErrorCode::kNotFound, "NotFound", "NOT_FOUND"},
};

PyObject* g_classes[std::size(kClasses)] = {};  // never freed: errors may outlive the module

void Raise(PyObject* type, const std::string& message) {
  PyObject* text =
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
  if (text == nullptr) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void Translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    for (std::size_t i = 0; i < std::size(kClasses); ++i) {
      if (kClasses[i].code == error.code()) type = g_classes[i];
    }
    Raise(type, ErrorText(error));
  }
}

}  // namespace

std::string ErrorText(const Error& error) {
  const char* label = "FAIL";
  for (const ErrorClass& known : kClasses) {
    if (known.code == error.code()) label = known.label;
  }
  return "[ONNXRuntimeError] : " + std::to_string(static_cast<int>(error.code())) + " : " + label +
         " : " + error.message();
}

void BindErrors(nb::module_& module) {
  const std::string prefix = nb::cast<std::string>(module.attr("__name__")) + ".";
  for (std::size_t i = 0; i < std::size(kClasses); ++i) {
    const std::string name = prefix + kClasses[i].name;
    const std::string doc =
        std::string("Raised for errors with the code ") + kClasses[i].label + ".";
    g_classes[i] = PyErr_NewExceptionWithDoc(name.c_str(), doc.c_str(), PyExc_Exception, nullptr);
    if (g_classes[i] == nullptr) throw nb::python_error();
    module.attr(kClasses[i].name) = nb::borrow(g_classes[i]);
  }
  nb::register_exception_translator(Translate, nullptr);
}

void RaiseRuntimeError(const std::string& message) {
  Raise(PyExc_RuntimeError, message);
  throw nb::python_error();
}

void RaiseValueError(const std::string& message) {
  Raise(PyExc_ValueError, message);
  throw nb::python_error();
}

void RaiseTypeError(const std::string& message) {
  Raise(PyExc_TypeError, message);
  throw nb::python_error();
}

}  // namespace switchyard::python
