// switchyard explain: what runs where and why.

#include <cstdio>

#include "cli/commands.h"

namespace switchyard::cli {

void AddExplain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Show what runs where and why");
  const auto arguments = std::make_shared<SessionArguments>();
  const auto json = std::make_shared<bool>(false);
  AddSessionArguments(*command, *arguments);
  command->add_flag("--json", *json, "as JSON with a schema_version");
  command->footer(
      "Examples:\n"
      "  switchyard explain model.onnx\n"
      "  switchyard explain model.onnx -p CPUExecutionProvider --json");
  command->callback([arguments, json] {
    const std::string text = OpenSession(*arguments)->Explain(*json);
    std::fputs(text.c_str(), stdout);
    if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
  });
}

}  // namespace switchyard::cli
