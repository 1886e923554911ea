#pragma once
// The commands of the tool `switchyard`: each adds itself to the parser and runs when it was asked
// for.

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace switchyard::cli {

void AddRun(CLI::App& app);
void AddInspect(CLI::App& app);
void AddExplain(CLI::App& app);
void AddProviders(CLI::App& app);
void AddPasses(CLI::App& app);

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

void AddSessionArguments(CLI::App& command, SessionArguments& arguments);
// With the provider modules of `libraries` loaded.
std::shared_ptr<Environment> MakeEnvironment(const std::vector<std::string>& libraries,
                                             bool verbose);
// Warnings about providers go to standard error. Throws switchyard::Error.
std::unique_ptr<InferenceSession> OpenSession(const SessionArguments& arguments);

// "float[N,3,224,224]", "seq(tensor(int64))".
std::string DescribeType(const ValueType& type);

}  // namespace switchyard::cli
