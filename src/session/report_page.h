#pragma once
// The page of `switchyard explain --html`: explain_page.html, embedded by the build.

#include <string_view>

namespace switchyard {

// Holds the text SWITCHYARD_REPORT once, where the report goes as JSON.
std::string_view ExplainPage();

}  // namespace switchyard
