#pragma once
// The exception classes of the module, one per code, and the one place where errors become them.

#include <string>

#include <nanobind/nanobind.h>

#include "switchyard/base/error.h"

namespace switchyard::python {

namespace nb = nanobind;

// Makes the classes in `module` and translates switchyard::Error from then on.
void BindErrors(nb::module_& module);

// The text of an error as Python shows it: "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : ...".
std::string ErrorText(const Error& error);

// What the interface raises as plain Python exceptions.
[[noreturn]] void RaiseRuntimeError(const std::string& message);
[[noreturn]] void RaiseValueError(const std::string& message);
[[noreturn]] void RaiseTypeError(const std::string& message);

}  // namespace switchyard::python
