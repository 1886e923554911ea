// The same provider as a module, for the tests of the tool.

#include "support/wrong_provider/wrong_provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  return switchyard::AnswerProviderEntry(factory, switchyard::test::MakeWrongFactory);
}
