#pragma once
// Kernels that are templates over the element type of their first input: what they claim and what
// is made come from one list.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu {

// Input 0 takes the types of the list; the node's own decides which Kernel<T> is made.
template <template <typename> class Kernel, typename... Ts>
KernelCreateInfo ByFirstInput(KernelCreateInfo info, TypeList<Ts...>) {
  info.Input(0, (TypeSet(DataTypeOf<Ts>) | ...));
  info.Create([](OpKernelInfo& made) -> std::unique_ptr<OpKernel> {
    std::unique_ptr<OpKernel> kernel;
    DispatchType(made.input_type(0).elem, TypeList<Ts...>{}, [&](auto tag) {
      kernel = std::make_unique<Kernel<typename decltype(tag)::type>>(made);
    });
    return kernel;
  });
  return info;
}

}  // namespace switchyard::cpu
