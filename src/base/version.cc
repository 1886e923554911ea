#include "switchyard/base/version.h"

namespace switchyard {

std::string_view Version() { return SWITCHYARD_VERSION; }

}  // namespace switchyard
