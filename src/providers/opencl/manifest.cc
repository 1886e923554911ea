// What is known of the provider where its module is not built or can't be loaded.

#include "providers/opencl/entry.h"

namespace switchyard::opencl {

void Register(ProviderCatalog& catalog);
void Register(ProviderCatalog& catalog) { catalog.Add(MakeModuleFactory(Entry())); }

}  // namespace switchyard::opencl
