#include "session/report_page.h"

#include "base/format.h"
#include "switchyard/session/session_report.h"

namespace switchyard {

std::string SessionReport::Html() const {
  constexpr std::string_view kMarker = "SWITCHYARD_REPORT";
  const std::string_view page = ExplainPage();
  const std::size_t at = page.find(kMarker);
  SY_CHECK(at != page.npos);
  std::string html(page.substr(0, at));
  for (const char c : Json()) {  // no text of a model may end the script element
    c == '<' ? html += "\\u003c" : html += c;
  }
  return html.append(page.substr(at + kMarker.size()));
}

}  // namespace switchyard
