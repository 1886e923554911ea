#pragma once

// The version of the library that is linked, and that of these headers: compare the two to find a
// mix.

#include <string_view>

// Of the headers; the library does not build with another one.
#define SWITCHYARD_HEADER_VERSION "0.1.0"

namespace switchyard {

// "major.minor.patch" of the running library.
__attribute__((visibility("default"))) std::string_view Version();

}  // namespace switchyard
