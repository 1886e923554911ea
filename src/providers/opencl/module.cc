// The one function that the module exports.

#include "providers/opencl/provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  return switchyard::AnswerProviderEntry(factory, switchyard::opencl::MakeFactory);
}
