// switchyard run: one or more runs with given or random inputs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>

#include "cli/commands.h"
#include "cli/npy.h"
#include "switchyard/tensor/narrow_float.h"
#include "switchyard/tensor/shape.h"

namespace switchyard::cli {
namespace {

struct RunArguments {
  SessionArguments session;
  std::vector<std::string> inputs;   // "name=file.npy"
  std::vector<std::string> dims;     // "N=4"
  std::vector<std::string> outputs;  // names
  std::string output_directory;
  int repeat = 1;
  std::uint32_t seed = 1;
};

std::pair<std::string, std::string> Split(const std::string& text, const char* option) {
  // Names of values may hold '=', file names rarely do.
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(option) + " '" + text + "': expected name=value");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

std::map<std::string, std::int64_t> DimValues(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& text : texts) {
    const auto [name, value] = Split(text, "--dim");
    if (value.empty() || value.size() > 12 ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, "--dim '" + text + "': expected a number");
    }
    dims[name] = std::stoll(value);
  }
  return dims;
}

// Dimensions that the model leaves open and --dim does not give are 1.
Dims DimsFor(const Shape& shape, const std::map<std::string, std::int64_t>& given) {
  Dims dims;
  if (!shape.ranked()) return dims;
  for (const Dim& dim : shape) {
    const auto found = dim.is_symbolic() ? given.find(dim.ToString()) : given.end();
    dims.push_back(dim.is_value() ? dim.value() : found != given.end() ? found->second : 1);
  }
  return dims;
}

template <typename T>
void Fill(Tensor& tensor, std::mt19937& random, double low, double high) {
  std::uniform_real_distribution<double> distribution(low, high);
  T* data = tensor.data_mutable<T>();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      data[i] = static_cast<T>(std::floor(distribution(random)));
    } else {
      data[i] = T(static_cast<float>(distribution(random)));
    }
  }
}

// Floats in [0, 1), integers 0 or 1: valid as indices and masks of most models.
OrtValue RandomValue(const SessionArg& input, const std::map<std::string, std::int64_t>& dims,
                     std::mt19937& random) {
  if (!input.type.is_tensor()) {
    throw Error(ErrorCode::kInvalidArgument, "input '" + input.name + "' is " +
                                                 input.type.ToString() +
                                                 ": only tensors can be given here");
  }
  Tensor tensor(input.type.elem, DimsFor(input.type.shape, dims), MakeHostAllocator());
  switch (input.type.elem) {
    case DataType::kFloat:
      Fill<float>(tensor, random, 0, 1);
      break;
    case DataType::kDouble:
      Fill<double>(tensor, random, 0, 1);
      break;
    case DataType::kFloat16:
      Fill<Float16>(tensor, random, 0, 1);
      break;
    case DataType::kBFloat16:
      Fill<BFloat16>(tensor, random, 0, 1);
      break;
    case DataType::kInt64:
      Fill<std::int64_t>(tensor, random, 0, 2);
      break;
    case DataType::kInt32:
      Fill<std::int32_t>(tensor, random, 0, 2);
      break;
    case DataType::kInt16:
      Fill<std::int16_t>(tensor, random, 0, 2);
      break;
    case DataType::kInt8:
      Fill<std::int8_t>(tensor, random, 0, 2);
      break;
    case DataType::kUint64:
      Fill<std::uint64_t>(tensor, random, 0, 2);
      break;
    case DataType::kUint32:
      Fill<std::uint32_t>(tensor, random, 0, 2);
      break;
    case DataType::kUint16:
      Fill<std::uint16_t>(tensor, random, 0, 2);
      break;
    case DataType::kUint8:
      Fill<std::uint8_t>(tensor, random, 0, 256);
      break;
    case DataType::kBool:
      Fill<bool>(tensor, random, 0, 2);
      break;
    case DataType::kString:
      break;  // empty texts
    default:
      throw Error(
          ErrorCode::kInvalidArgument,
          "input '" + input.name + "' is " + input.type.ToString() + ": give it with --input");
  }
  return tensor;
}

struct Feeds {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
};

Feeds MakeFeeds(const RunArguments& arguments, const InferenceSession& session) {
  std::map<std::string, std::string> files;
  for (const std::string& text : arguments.inputs) files.insert(Split(text, "--input"));
  const std::map<std::string, std::int64_t> dims = DimValues(arguments.dims);
  std::mt19937 random(arguments.seed);
  Feeds feeds;
  for (const SessionArg& input : session.inputs()) {
    const auto file = files.find(input.name);
    const bool given = file != files.end();
    if (!given && input.type.kind == ValueType::Kind::kOptional) continue;
    feeds.names.push_back(input.name);
    feeds.values.push_back(given ? OrtValue(ReadNpy(file->second))
                                 : RandomValue(input, dims, random));
    const Tensor& tensor = feeds.values.back().tensor();
    std::printf("input  %s %s %s\n", input.name.c_str(), tensor.Describe().c_str(),
                given ? file->second.c_str() : "random");
    if (given) files.erase(file);
  }
  for (const auto& [name, path] : files) {  // unknown ones are the session's to refuse
    feeds.names.push_back(name);
    feeds.values.emplace_back(ReadNpy(path));
  }
  return feeds;
}

template <typename T>
std::string Summary(const Tensor& tensor) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (const T& item : tensor.values<T>()) {
    const double value = static_cast<double>(
        static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(item));
    low = std::min(low, value), high = std::max(high, value), sum += value;
  }
  char text[96];
  std::snprintf(text, sizeof text, "min %.6g max %.6g mean %.6g", low, high,
                sum / static_cast<double>(tensor.size()));
  return text;
}

std::string Summarize(const Tensor& tensor) {
  if (tensor.size() == 0) return "";
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
      return "";
  }
}

std::string FileName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == '\\'; }, '_');
  return name + ".npy";
}

void Report(const RunArguments& arguments, const InferenceSession& session,
            const std::vector<std::string>& names, const std::vector<OrtValue>& outputs) {
  if (!arguments.output_directory.empty())
    std::filesystem::create_directories(arguments.output_directory);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OrtValue host =
        outputs[i].is_tensor() ? session.CopyTo(outputs[i], OrtDevice()) : outputs[i];
    if (!host.is_tensor()) {
      std::printf("output %s %s\n", names[i].c_str(),
                  host.has_value() ? host.type().ToString().c_str() : "empty");
      continue;
    }
    std::printf("output %s %s %s\n", names[i].c_str(), host.tensor().Describe().c_str(),
                Summarize(host.tensor()).c_str());
    if (arguments.output_directory.empty()) continue;
    const std::filesystem::path path =
        std::filesystem::path(arguments.output_directory) / FileName(names[i]);
    WriteNpy(path.string(), host.tensor());
  }
}

void Execute(const RunArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<InferenceSession> session = OpenSession(arguments.session);
  const double load = milliseconds(Clock::now() - begin);
  const Feeds feeds = MakeFeeds(arguments, *session);
  std::vector<std::string> names = arguments.outputs;
  if (names.empty()) {
    for (const SessionArg& output : session->outputs()) names.push_back(output.name);
  }
  std::vector<double> times;
  std::vector<OrtValue> outputs;
  for (int i = 0; i < arguments.repeat; ++i) {
    const Clock::time_point start = Clock::now();
    outputs = session->Run({}, feeds.names, feeds.values, names);
    times.push_back(milliseconds(Clock::now() - start));
  }
  Report(arguments, *session, names, outputs);
  std::sort(times.begin(), times.end());
  std::printf("load %.2f ms, run best %.3f ms, median %.3f ms of %zu\n", load, times.front(),
              times[times.size() / 2], times.size());
}

}  // namespace

void AddRun(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a model with given or random inputs");
  const auto arguments = std::make_shared<RunArguments>();
  AddSessionArguments(*command, arguments->session);
  command->add_option("-i,--input", arguments->inputs,
                      "an input as name=file.npy; others are random");
  command->add_option("-d,--dim", arguments->dims,
                      "size of a symbolic dimension of random inputs, name=value (1)");
  command->add_option("--output", arguments->outputs, "output to compute; all if none is named");
  command->add_option("-o,--output-dir", arguments->output_directory,
                      "write outputs there as NAME.npy");
  command->add_option("-n,--repeat", arguments->repeat, "number of runs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "of random inputs")->capture_default_str();
  command->footer(
      "Examples:\n"
      "  switchyard run model.onnx\n"
      "  switchyard run model.onnx -i x=picture.npy -o out\n"
      "  switchyard run model.onnx -d batch=8 -n 100 -t 2\n"
      "  switchyard run model.onnx -p CPUExecutionProvider -l basic");
  command->callback([arguments] { Execute(*arguments); });
}

}  // namespace switchyard::cli
