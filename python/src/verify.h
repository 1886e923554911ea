#pragma once
// switchyard.verify.

#include <nanobind/nanobind.h>

namespace switchyard::python {

void BindVerify(nanobind::module_& module);

}  // namespace switchyard::python
