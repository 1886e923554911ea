#include "cli/feeds.h"

#include <map>
#include <utility>

#include "cli/npy.h"

namespace switchyard::cli {
namespace {

std::pair<std::string, std::string> Split(const std::string& text, const char* option) {
  // Names of values may hold '=', file names rarely do.
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(option) + " '" + text + "': expected name=value");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void AddFeedArguments(CLI::App& command, FeedArguments& arguments) {
  command.add_option("-i,--input", arguments.inputs,
                     "an input as name=file.npy; others are random");
  command.add_option("-d,--dim", arguments.dims,
                     "size of a symbolic dimension of random inputs, name=value (1)");
  command.add_option("--seed", arguments.seed, "of random inputs")->capture_default_str();
}

SampleOptions MakeSampleOptions(const FeedArguments& arguments) {
  SampleOptions options;
  options.seed = arguments.seed;
  for (const std::string& text : arguments.dims) {
    const auto [name, value] = Split(text, "--dim");
    if (value.empty() || value.size() > 12 ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, "--dim '" + text + "': expected a number");
    }
    options.dims[name] = std::stoll(value);
  }
  return options;
}

Feeds MakeFeeds(const FeedArguments& arguments, std::span<const SessionArg> inputs) {
  std::map<std::string, std::string> files;
  for (const std::string& text : arguments.inputs) files.insert(Split(text, "--input"));
  const SampleOptions sample = MakeSampleOptions(arguments);
  Feeds feeds;
  for (const SessionArg& input : inputs) {
    const auto file = files.find(input.name);
    const bool given = file != files.end();
    if (!given && input.type.kind == ValueType::Kind::kOptional) continue;
    if (!given && !input.type.is_tensor()) {
      throw Error(ErrorCode::kInvalidArgument, "input '" + input.name + "' is " +
                                                   input.type.ToString() +
                                                   ": only tensors can be given here");
    }
    feeds.names.push_back(input.name);
    feeds.values.push_back(given ? OrtValue(ReadNpy(file->second)) : SampleInput(input, sample));
    feeds.files.push_back(given ? file->second : "");
    if (given) files.erase(file);
  }
  for (const auto& [name, path] : files) {
    feeds.names.push_back(name);
    feeds.values.emplace_back(ReadNpy(path));
    feeds.files.push_back(path);
  }
  return feeds;
}

}  // namespace switchyard::cli
