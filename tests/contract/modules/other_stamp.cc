// A provider module of another version: whoever lets it fill in a factory ends the process.

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) const char* SwitchyardProviderEntry(
    void* factory) {
  if (factory != nullptr) std::abort();
  return "switchyard 99.0.0 c++abi 1";
}
