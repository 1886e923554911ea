#pragma once

// The version of the library that is linked. Not the version of the headers: compare the two to
// find a mix.

#include <string_view>

namespace switchyard {

// "major.minor.patch" of the running library.
__attribute__((visibility("default"))) std::string_view Version();

}  // namespace switchyard
