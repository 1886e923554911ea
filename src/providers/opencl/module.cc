// The one function that the module exports.

#include "providers/opencl/provider.h"

extern "C" SWITCHYARD_API const char* SwitchyardProviderEntry(
    switchyard::ProviderFactory* factory) {
  *factory = switchyard::opencl::MakeFactory();
  return switchyard::AbiStamp().data();
}
