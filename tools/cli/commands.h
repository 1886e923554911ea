#pragma once
// The commands of the tool `switchyard`: each adds itself to the parser and runs when it was asked
// for.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "switchyard/session/inference_session.h"
#include "switchyard/session/provider_names.h"

namespace switchyard::cli {

using Json = nlohmann::ordered_json;

// Exit status of a command that did its work and found a difference: verify, bench --compare.
inline constexpr int kDiffers = 3;

void AddRun(CLI::App& app);
void AddInspect(CLI::App& app);
void AddExplain(CLI::App& app);
void AddBench(CLI::App& app);
void AddOptimize(CLI::App& app);
void AddVerify(CLI::App& app);
void AddProviders(CLI::App& app);
void AddPasses(CLI::App& app);
void AddCompletion(CLI::App& app);

// Options that make a session, shared by the commands that need one.
struct SessionArguments {
  std::string model;
  std::vector<std::string> providers;  // "NAME" or "NAME:key=value,key=value"
  std::vector<std::string> libraries;  // provider modules
  std::vector<std::string> config;     // "key=value"
  std::string level = "all";
  int threads = 0;
  bool verbose = false;
};

// Which parts of them a command has: all, or those that do not choose a level, threads, providers.
enum class SessionParts { kAll, kNoLevel, kModelOnly };

void AddSessionArguments(CLI::App& command, SessionArguments& arguments,
                         SessionParts parts = SessionParts::kAll);
// With the provider modules of `libraries` loaded.
std::shared_ptr<Environment> MakeEnvironment(const std::vector<std::string>& libraries,
                                             bool verbose);
// All but the providers.
SessionOptions MakeOptions(const SessionArguments& arguments);
// "NAME:key=value,key=value"
NamedProvider ParseProvider(const std::string& text);
// Warnings about providers go to standard error.
void UseProviders(const Environment& environment, std::span<const NamedProvider> providers,
                  SessionOptions& options);
// Throws switchyard::Error.
std::unique_ptr<InferenceSession> OpenSession(const SessionArguments& arguments);
std::unique_ptr<InferenceSession> OpenSession(const std::shared_ptr<Environment>& environment,
                                              const std::string& model,
                                              const SessionOptions& options);
GraphOptimizationLevel LevelNamed(const std::string& name);
const std::vector<std::string>& LevelNames();

// "float[N,3,224,224]", "seq(tensor(int64))".
std::string DescribeType(const ValueType& type);

void PrintJson(const Json& document);
// To the file, or to standard output where `path` is empty. Throws Fail.
void WriteText(const std::string& path, const std::string& text);

}  // namespace switchyard::cli
