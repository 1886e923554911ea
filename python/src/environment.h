#pragma once
// The one Environment of the process, made when first asked for.

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "switchyard/session/environment.h"

namespace switchyard::python {

namespace nb = nanobind;

std::shared_ptr<Environment> ProcessEnvironment();
// True after set_global_thread_pool_sizes: sessions must not ask for threads of their own.
bool HasGlobalThreads();

void BindEnvironment(nb::module_& module);

}  // namespace switchyard::python
