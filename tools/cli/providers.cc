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

// What stands between a name and its use: is there code for it, does its library load, and would
// it run here and now.
struct Status {
  explicit Status(const ProviderFactory& factory) : built(factory.built) {
    const std::optional<std::string> why = factory.load ? factory.load() : std::nullopt;
    loadable = built && !why;
    reason = why.value_or(factory.unavailable ? factory.unavailable().value_or("") : "");
    if (reason.empty() && factory.devices) devices = factory.devices();
  }
  bool built;
  bool loadable = false;
  std::string reason;  // "": available
  std::vector<OrtEpDevice> devices;
};

std::string NameOf(const OrtEpDevice& device) {
  const auto name = device.ep_metadata.find("name");
  return name != device.ep_metadata.end() ? name->second : device.device.vendor;
}

void PrintText(const ProviderFactory& factory, const Status& status) {
  const char* state = status.reason.empty() ? "available"
                      : status.loadable     ? "not available"
                      : status.built        ? "does not load"
                                            : "not built";
  std::printf("%-32s %s%s%s\n", factory.name.c_str(), state, status.reason.empty() ? "" : ": ",
              status.reason.c_str());
  if (!status.reason.empty()) return;
  for (const OrtEpDevice& device : status.devices)
    std::printf("  device  %s\n", NameOf(device).c_str());
  std::string keys;
  for (const std::string& key : factory.option_keys) keys += (keys.empty() ? "" : ", ") + key;
  if (!keys.empty()) std::printf("  options %s\n", keys.c_str());
}

void Execute(const ProvidersArguments& arguments) {
  const std::shared_ptr<Environment> environment = MakeEnvironment(arguments.libraries, false);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ProviderFactory& factory : environment->providers().all()) {
    const Status status(factory);
    if (!arguments.json) {
      PrintText(factory, status);
      continue;
    }
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const OrtEpDevice& device : status.devices) devices.push_back(NameOf(device));
    rows.push_back({{"name", factory.name},
                    {"aliases", factory.aliases},
                    {"device_kind", factory.device_kind},
                    {"built", status.built},
                    {"loadable", status.loadable},
                    {"available", status.reason.empty()},
                    {"reason", status.reason},
                    {"devices", devices},
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
