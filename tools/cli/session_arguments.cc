#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "cli/commands.h"
#include "cli/progress.h"

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

}  // namespace

const std::vector<std::string>& LevelNames() {
  static const std::vector<std::string> names = {"disabled", "basic", "extended", "layout", "all"};
  return names;
}

GraphOptimizationLevel LevelNamed(const std::string& name) {
  constexpr GraphOptimizationLevel kLevels[] = {
      GraphOptimizationLevel::kDisableAll, GraphOptimizationLevel::kBasic,
      GraphOptimizationLevel::kExtended, GraphOptimizationLevel::kLayout,
      GraphOptimizationLevel::kAll};
  const auto& names = LevelNames();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    Refuse("level '" + name + "': expected disabled, basic, extended, layout or all");
  return kLevels[at - names.begin()];
}

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

void AddSessionArguments(CLI::App& command, SessionArguments& arguments, SessionParts parts) {
  command.add_option("model", arguments.model, "ONNX file")->required();
  command.add_option("--provider-library", arguments.libraries, "provider module to load first");
  command.add_option("-c,--config", arguments.config, "session configuration entry, key=value");
  command.add_flag("-v,--verbose", arguments.verbose, "log every placement and pass");
  if (parts == SessionParts::kModelOnly) return;
  command.add_option(
      "-p,--provider", arguments.providers,
      "execution provider, NAME or NAME:key=value,...; several in order of priority");
  command.add_option("-t,--threads", arguments.threads, "threads; 0: one per physical core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  if (parts == SessionParts::kNoLevel) return;
  command
      .add_option("-l,--level", arguments.level,
                  "optimisation: disabled, basic, extended, layout, all")
      ->check(CLI::IsMember(LevelNames()))
      ->capture_default_str();
}

std::shared_ptr<Environment> MakeEnvironment(const std::vector<std::string>& libraries,
                                             bool verbose) {
  EnvironmentOptions options;
  if (verbose) options.log_severity = Severity::kVerbose;
  auto environment = std::make_shared<Environment>(std::move(options));
  for (const std::string& library : libraries) environment->providers().LoadLibrary(library);
  return environment;
}

SessionOptions MakeOptions(const SessionArguments& arguments) {
  SessionOptions options;
  options.intra_op_num_threads = arguments.threads;
  options.optimization_level = LevelNamed(arguments.level);
  for (const std::string& entry : arguments.config) {
    auto [key, value] = SplitEntry(entry, "--config");
    options.AddConfigEntry(std::move(key), std::move(value));
  }
  return options;
}

void UseProviders(const Environment& environment, std::span<const NamedProvider> providers,
                  SessionOptions& options) {
  for (const std::string& warning :
       AppendProvidersByName(environment.providers(), providers, options)) {
    std::fprintf(stderr, "switchyard: warning: %s\n", warning.c_str());
  }
}

std::unique_ptr<InferenceSession> OpenSession(const std::shared_ptr<Environment>& environment,
                                              const std::string& model,
                                              const SessionOptions& options) {
  const Progress progress("loading " + model);
  return std::make_unique<InferenceSession>(environment, model, options);
}

std::unique_ptr<InferenceSession> OpenSession(const SessionArguments& arguments) {
  const auto environment = MakeEnvironment(arguments.libraries, arguments.verbose);
  SessionOptions options = MakeOptions(arguments);
  std::vector<NamedProvider> providers;
  for (const std::string& text : arguments.providers) providers.push_back(ParseProvider(text));
  UseProviders(*environment, providers, options);
  return OpenSession(environment, arguments.model, options);
}

std::string DescribeType(const ValueType& type) {
  if (!type.is_tensor()) return type.ToString();
  return std::string(DataTypeName(type.elem)) + type.shape.ToString();
}

void PrintJson(const Json& document) {
  std::printf("%s\n", document.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void WriteText(const std::string& path, const std::string& text) {
  const bool ended = !text.empty() && text.back() == '\n';
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    if (!ended) std::fputc('\n', stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text << (ended ? "" : "\n");
  file.close();
  if (!file) throw Error(ErrorCode::kFail, "'" + path + "' can't be written");
}

}  // namespace switchyard::cli
