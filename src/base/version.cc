#include "switchyard/base/version.h"

namespace switchyard {

static_assert(std::string_view(SWITCHYARD_HEADER_VERSION) == SWITCHYARD_VERSION,
              "include/switchyard/base/version.h has another version than the project");

std::string_view Version() { return SWITCHYARD_VERSION; }

}  // namespace switchyard
