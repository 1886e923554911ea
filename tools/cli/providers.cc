// switchyard providers: the execution providers that this build knows.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace switchyard::cli {
namespace {

struct ProvidersArguments {
  std::vector<std::string> libraries;
  bool json = false;
};

std::string ReasonOf(const ProviderFactory& factory) {
  return factory.unavailable ? factory.unavailable().value_or("") : "";
}

void PrintText(const ProviderFactory& factory, const std::string& reason) {
  std::printf("%-32s %s\n", factory.name.c_str(),
              reason.empty() ? "available" : ("not available: " + reason).c_str());
  if (!reason.empty()) return;
  const std::vector<OrtEpDevice> devices =
      factory.devices ? factory.devices() : std::vector<OrtEpDevice>();
  for (const OrtEpDevice& device : devices)
    std::printf("  device  %s\n", device.device.vendor.c_str());
  std::string keys;
  for (const std::string& key : factory.option_keys) keys += (keys.empty() ? "" : ", ") + key;
  if (!keys.empty()) std::printf("  options %s\n", keys.c_str());
}

void Execute(const ProvidersArguments& arguments) {
  const std::shared_ptr<Environment> environment = MakeEnvironment(arguments.libraries, false);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ProviderFactory& factory : environment->providers().all()) {
    const std::string reason = ReasonOf(factory);
    if (!arguments.json) {
      PrintText(factory, reason);
      continue;
    }
    rows.push_back({{"name", factory.name},
                    {"aliases", factory.aliases},
                    {"device_kind", factory.device_kind},
                    {"available", reason.empty()},
                    {"reason", reason},
                    {"option_keys", factory.option_keys}});
  }
  if (!arguments.json) return;
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"providers", rows}};
  std::printf("%s\n", document.dump(2).c_str());
}

}  // namespace

void AddProviders(CLI::App& app) {
  CLI::App* command = app.add_subcommand("providers", "List the execution providers");
  const auto arguments = std::make_shared<ProvidersArguments>();
  command->add_option("--provider-library", arguments->libraries, "provider module to load first");
  command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->footer("Examples:\n  switchyard providers\n  switchyard providers --json");
  command->callback([arguments] { Execute(*arguments); });
}

}  // namespace switchyard::cli
