// The same provider as a module, for the tests of the tool.

#include "support/wrong_provider/wrong_provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  *factory = switchyard::test::MakeWrongFactory();
  return switchyard::AbiStamp().data();
}
