#pragma once
// The inputs of a run: files where the command line names them, made up otherwise.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "switchyard/session/sample_inputs.h"

namespace switchyard::cli {

struct FeedArguments {
  std::vector<std::string> inputs;  // "name=file.npy"
  std::vector<std::string> dims;    // "N=4"
  std::uint32_t seed = 1;
};

struct Feeds : NamedValues {
  std::vector<std::string> files;  // per value: where it comes from, "" made up
};

void AddFeedArguments(CLI::App& command, FeedArguments& arguments);
// Throws InvalidArgument, NoSuchFile. Files for names that the model has not are fed all the same:
// the session refuses them.
Feeds MakeFeeds(const FeedArguments& arguments, std::span<const SessionArg> inputs);
SampleOptions MakeSampleOptions(const FeedArguments& arguments);

}  // namespace switchyard::cli
