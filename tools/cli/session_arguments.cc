#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "switchyard/session/provider_names.h"

namespace switchyard::cli {
namespace {

[[noreturn]] void Refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::pair<std::string, std::string> SplitEntry(const std::string& text, const char* option) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    Refuse(std::string(option) + " '" + text + "': expected key=value");
  return {text.substr(0, at), text.substr(at + 1)};
}

// "NAME:key=value,key=value"
NamedProvider ParseProvider(const std::string& text) {
  const std::size_t colon = text.find(':');
  NamedProvider provider{text.substr(0, colon), {}};
  if (colon == std::string::npos) return provider;
  std::size_t begin = colon + 1;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto [key, value] = SplitEntry(text.substr(begin, end - begin), "--provider");
    provider.second[key] = value;
    begin = end + 1;
  }
  return provider;
}

const std::map<std::string, GraphOptimizationLevel>& Levels() {
  static const std::map<std::string, GraphOptimizationLevel> levels = {
      {"disabled", GraphOptimizationLevel::kDisableAll},
      {"basic", GraphOptimizationLevel::kBasic},
      {"extended", GraphOptimizationLevel::kExtended},
      {"layout", GraphOptimizationLevel::kLayout},
      {"all", GraphOptimizationLevel::kAll}};
  return levels;
}

}  // namespace

void AddSessionArguments(CLI::App& command, SessionArguments& arguments) {
  command.add_option("model", arguments.model, "ONNX file")->required();
  command.add_option(
      "-p,--provider", arguments.providers,
      "execution provider, NAME or NAME:key=value,...; several in order of priority");
  command.add_option("--provider-library", arguments.libraries, "provider module to load first");
  command
      .add_option("-l,--level", arguments.level,
                  "optimisation: disabled, basic, extended, layout, all")
      ->check(CLI::IsMember({"disabled", "basic", "extended", "layout", "all"}))
      ->capture_default_str();
  command.add_option("-t,--threads", arguments.threads, "threads; 0: one per physical core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("-c,--config", arguments.config, "session configuration entry, key=value");
  command.add_flag("-v,--verbose", arguments.verbose, "log every placement and pass");
}

std::shared_ptr<Environment> MakeEnvironment(const std::vector<std::string>& libraries,
                                             bool verbose) {
  EnvironmentOptions options;
  if (verbose) options.log_severity = Severity::kVerbose;
  auto environment = std::make_shared<Environment>(std::move(options));
  for (const std::string& library : libraries) environment->providers().LoadLibrary(library);
  return environment;
}

std::unique_ptr<InferenceSession> OpenSession(const SessionArguments& arguments) {
  const std::shared_ptr<Environment> environment =
      MakeEnvironment(arguments.libraries, arguments.verbose);
  SessionOptions options;
  options.intra_op_num_threads = arguments.threads;
  options.optimization_level = Levels().at(arguments.level);
  for (const std::string& entry : arguments.config) {
    auto [key, value] = SplitEntry(entry, "--config");
    options.AddConfigEntry(std::move(key), std::move(value));
  }
  std::vector<NamedProvider> providers;
  for (const std::string& text : arguments.providers) providers.push_back(ParseProvider(text));
  for (const std::string& warning :
       AppendProvidersByName(environment->providers(), providers, options)) {
    std::fprintf(stderr, "switchyard: warning: %s\n", warning.c_str());
  }
  return std::make_unique<InferenceSession>(environment, arguments.model, options);
}

std::string DescribeType(const ValueType& type) {
  if (!type.is_tensor()) return type.ToString();
  return std::string(DataTypeName(type.elem)) + type.shape.ToString();
}

}  // namespace switchyard::cli
