#include <nanobind/nanobind.h>

#include "src/environment.h"
#include "src/errors.h"
#include "src/numpy_array.h"
#include "src/options.h"
#include "src/session.h"
#include "src/verify.h"

NB_MODULE(_core, module) {
  using namespace switchyard::python;  // NOLINT: the body of this function is the module
  module.doc() = "The native part of the package switchyard.";
  // Sessions that a program leaves to the end of the interpreter are no leaks.
  nb::set_leak_warnings(false);
  ImportNumpy();
  BindErrors(module);
  BindEnvironment(module);
  BindOrtValue(module);
  BindOptions(module);
  BindSession(module);
  BindIoBinding(module);
  BindListing(module);
  BindVerify(module);
}
