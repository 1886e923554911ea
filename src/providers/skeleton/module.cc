// The one function that a provider module exports.

#include "providers/skeleton/provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  return switchyard::AnswerProviderEntry(factory, switchyard::skeleton::MakeFactory);
}
