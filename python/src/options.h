#pragma once
// SessionOptions and RunOptions as Python shows them.

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "switchyard/ep/run_options.h"
#include "switchyard/session/session_options.h"

namespace switchyard::python {

namespace nb = nanobind;

struct PySessionOptions {
  SessionOptions core;
};

struct PyRunOptions {
  RunOptions core;
  bool only_execute_path_to_fetches = false;  // a Run executes what its outputs need in any case
};

void BindOptions(nb::module_& module);

}  // namespace switchyard::python
