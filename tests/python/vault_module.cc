// The vault provider of tests/support as a module: memory of a device, from Python.

#include "support/vault_provider/vault_provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  return switchyard::AnswerProviderEntry(factory, switchyard::test::MakeVaultFactory);
}
