#pragma once
// A kernel of the CPU provider, run on values that lie in a vault.

#include <memory>

#include "support/vault_provider/vault_memory.h"
#include "switchyard/ep/kernel_registry.h"

namespace switchyard::test {

// `registered`: the kernel's registration with the vault, of which the host arguments count.
// `provider`: whose kernel `create` makes.
std::unique_ptr<OpKernel> MakeVaultKernel(OpKernelInfo& info, const KernelCreateFn& create,
                                          std::uint64_t host_inputs, std::uint64_t host_outputs,
                                          std::shared_ptr<IExecutionProvider> provider,
                                          std::shared_ptr<const VaultMemory> memory);

}  // namespace switchyard::test
