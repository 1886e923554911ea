// switchyard run: one or more runs with given or random inputs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <type_traits>

#include "cli/commands.h"
#include "cli/feeds.h"
#include "cli/npy.h"
#include "cli/progress.h"
#include "switchyard/tensor/narrow_float.h"

namespace switchyard::cli {
namespace {

struct RunArguments {
  SessionArguments session;
  FeedArguments feeds;
  std::vector<std::string> outputs;  // names
  std::string output_directory;
  int repeat = 1;
  bool json = false;
};

struct Range {
  double low = INFINITY, high = -INFINITY, mean = 0;
};

template <typename T>
Range Summary(const Tensor& tensor) {
  Range range;
  double sum = 0;
  for (const T& item : tensor.values<T>()) {
    const double value = static_cast<double>(
        static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(item));
    range.low = std::min(range.low, value), range.high = std::max(range.high, value);
    sum += value;
  }
  range.mean = sum / static_cast<double>(tensor.size());
  return range;
}

std::optional<Range> Summarize(const Tensor& tensor) {
  if (tensor.size() == 0) return std::nullopt;
  switch (tensor.type()) {
    case DataType::kFloat:
      return Summary<float>(tensor);
    case DataType::kDouble:
      return Summary<double>(tensor);
    case DataType::kFloat16:
      return Summary<Float16>(tensor);
    case DataType::kBFloat16:
      return Summary<BFloat16>(tensor);
    case DataType::kInt64:
      return Summary<std::int64_t>(tensor);
    case DataType::kInt32:
      return Summary<std::int32_t>(tensor);
    case DataType::kUint8:
      return Summary<std::uint8_t>(tensor);
    case DataType::kInt8:
      return Summary<std::int8_t>(tensor);
    case DataType::kBool:
      return Summary<bool>(tensor);
    default:
      return std::nullopt;
  }
}

std::string FileName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == '\\'; }, '_');
  return name + ".npy";
}

Json DescribeOutput(const RunArguments& arguments, const InferenceSession& session,
                    const std::string& name, const OrtValue& output) {
  const OrtValue host = output.is_tensor() ? session.CopyTo(output, OrtDevice()) : output;
  if (!host.is_tensor())
    return {{"name", name}, {"value", host.has_value() ? host.type().ToString() : "empty"}};
  Json row = {{"name", name}, {"value", host.tensor().Describe()}};
  if (const std::optional<Range> range = Summarize(host.tensor())) {
    row["min"] = range->low;
    row["max"] = range->high;
    row["mean"] = range->mean;
  }
  if (!arguments.output_directory.empty()) {
    const std::filesystem::path path =
        std::filesystem::path(arguments.output_directory) / FileName(name);
    WriteNpy(path.string(), host.tensor());
    row["file"] = path.string();
  }
  return row;
}

Json DescribeInputs(const Feeds& feeds) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < feeds.names.size(); ++i) {
    rows.push_back({{"name", feeds.names[i]},
                    {"value", feeds.values[i].tensor().Describe()},
                    {"file", feeds.files[i]}});
  }
  return rows;
}

void PrintText(const Json& result) {
  for (const Json& row : result["inputs"]) {
    const std::string file = row["file"];
    std::printf("input  %s %s %s\n", row["name"].get<std::string>().c_str(),
                row["value"].get<std::string>().c_str(), file.empty() ? "random" : file.c_str());
  }
  for (const Json& row : result["outputs"]) {
    std::printf("output %s %s", row["name"].get<std::string>().c_str(),
                row["value"].get<std::string>().c_str());
    if (row.contains("min")) {
      std::printf(" min %.6g max %.6g mean %.6g", row["min"].get<double>(),
                  row["max"].get<double>(), row["mean"].get<double>());
    }
    std::printf("\n");
  }
  std::printf("load %.2f ms, run best %.3f ms, median %.3f ms of %d\n",
              result["load_ms"].get<double>(), result["best_ms"].get<double>(),
              result["median_ms"].get<double>(), result["runs"].get<int>());
}

void Execute(const RunArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<InferenceSession> session = OpenSession(arguments.session);
  const double load = milliseconds(Clock::now() - begin);
  const Feeds feeds = MakeFeeds(arguments.feeds, session->inputs());
  std::vector<std::string> names = arguments.outputs;
  if (names.empty()) {
    for (const SessionArg& output : session->outputs()) names.push_back(output.name);
  }
  std::vector<double> times;
  std::vector<OrtValue> outputs;
  {
    Progress progress("running");
    for (int i = 0; i < arguments.repeat; ++i) {
      const Clock::time_point start = Clock::now();
      outputs = session->Run({}, feeds.names, feeds.values, names);
      times.push_back(milliseconds(Clock::now() - start));
      progress.Set(times.size(), static_cast<std::size_t>(arguments.repeat), "running");
    }
  }
  if (!arguments.output_directory.empty())
    std::filesystem::create_directories(arguments.output_directory);
  Json result = {{"schema_version", 1},
                 {"model", arguments.session.model},
                 {"inputs", DescribeInputs(feeds)},
                 {"outputs", Json::array()}};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    result["outputs"].push_back(DescribeOutput(arguments, *session, names[i], outputs[i]));
  std::sort(times.begin(), times.end());
  result["runs"] = times.size();
  result["load_ms"] = load;
  result["best_ms"] = times.front();
  result["median_ms"] = times[times.size() / 2];
  arguments.json ? PrintJson(result) : PrintText(result);
}

}  // namespace

void AddRun(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a model with given or random inputs");
  const auto arguments = std::make_shared<RunArguments>();
  AddSessionArguments(*command, arguments->session);
  AddFeedArguments(*command, arguments->feeds);
  command->add_option("--output", arguments->outputs, "output to compute; all if none is named");
  command->add_option("-o,--output-dir", arguments->output_directory,
                      "write outputs there as NAME.npy");
  command->add_option("-n,--repeat", arguments->repeat, "number of runs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->footer(
      "Examples:\n"
      "  switchyard run model.onnx\n"
      "  switchyard run model.onnx -i x=picture.npy -o out\n"
      "  switchyard run model.onnx -d batch=8 -n 100 -t 2\n"
      "  switchyard run model.onnx -p CPUExecutionProvider -l basic");
  command->callback([arguments] { Execute(*arguments); });
}

}  // namespace switchyard::cli
