// What is known of the provider where its module is not built or can't be loaded.

#include "providers/openvino/entry.h"

namespace switchyard::openvino {

void Register(ProviderCatalog& catalog);
void Register(ProviderCatalog& catalog) { catalog.Add(MakeModuleFactory(Entry())); }

}  // namespace switchyard::openvino
