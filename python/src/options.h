#pragma once
// SessionOptions and RunOptions as Python shows them.

#include <atomic>
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
  nb::object selection = nb::none();  // None, a policy's number, or a delegate: see _options.py
  // Copies share it: whoever holds the options may cancel a load that goes on.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);

  PySessionOptions() { core.profile_file_prefix = "onnxruntime_profile_"; }
};

struct PyRunOptions {
  RunOptions core;
  std::vector<nb::object> adapters;           // of the package's class LoraAdapter
  bool only_execute_path_to_fetches = false;  // a Run executes what its outputs need in any case
};

void BindOptions(nb::module_& module);

}  // namespace switchyard::python
