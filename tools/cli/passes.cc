// switchyard passes: the graph passes in the order they run.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "switchyard/session/inspect.h"

namespace switchyard::cli {
namespace {

const char* NameOf(PassStage stage) {
  switch (stage) {
    case PassStage::kBasic:
      return "basic";
    case PassStage::kExtended:
      return "extended";
    case PassStage::kLayout:
      return "layout";
    case PassStage::kAll:
      return "all";
  }
  return "";
}

const char* NameOf(Exactness exactness) {
  switch (exactness) {
    case Exactness::kExact:
      return "exact";
    case Exactness::kRounding:
      return "rounding";
    case Exactness::kApproximate:
      return "approximate";
  }
  return "";
}

void PrintText(const std::vector<PassDescription>& passes) {
  std::printf("%-40s %-10s %-12s %s\n", "pass", "level", "results", "on nodes of");
  for (const PassDescription& pass : passes) {
    std::printf("%-40s %-10s %-12s %s\n", pass.name.c_str(), NameOf(pass.stage),
                NameOf(pass.exactness),
                pass.provider.empty() ? "the whole graph" : pass.provider.c_str());
  }
}

void PrintJson(const std::vector<PassDescription>& passes) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PassDescription& pass : passes) {
    rows.push_back({{"name", pass.name},
                    {"level", NameOf(pass.stage)},
                    {"exactness", NameOf(pass.exactness)},
                    {"provider", pass.provider}});
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"passes", rows}};
  std::printf("%s\n", document.dump(2).c_str());
}

}  // namespace

void AddPasses(CLI::App& app) {
  CLI::App* command = app.add_subcommand("passes", "List the graph passes in the order they run");
  const auto libraries = std::make_shared<std::vector<std::string>>();
  const auto json = std::make_shared<bool>(false);
  command->add_option("--provider-library", *libraries, "provider module to load first");
  command->add_flag("--json", *json, "as JSON with a schema_version");
  command->footer("Examples:\n  switchyard passes\n  switchyard passes --json");
  command->callback([libraries, json] {
    const std::vector<PassDescription> passes = ListPasses(*MakeEnvironment(*libraries, false));
    *json ? PrintJson(passes) : PrintText(passes);
  });
}

}  // namespace switchyard::cli
