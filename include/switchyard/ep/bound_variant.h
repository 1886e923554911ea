#pragma once
// For kernels whose Prepare chooses among several ways: says which, and why, once they are bound.
// Optional: derive from it beside OpKernel.

#include <string>

#include "switchyard/base/export.h"

namespace switchyard {

class SWITCHYARD_API IBoundVariant {
 public:
  virtual ~IBoundVariant() = default;
  // `state` is what Prepare left. Stands in explain in place of OpKernel::Variant after a Run.
  virtual std::string BoundVariant(const void* state) const = 0;
};

}  // namespace switchyard
