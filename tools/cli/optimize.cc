// switchyard optimize: writes the model as the passes leave it.

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "switchyard/session/inspect.h"

namespace switchyard::cli {
namespace {

struct OptimizeArguments {
  SessionArguments session;
  std::string output, external;
  bool json = false;
};

std::uintmax_t SizeOf(const std::string& path) {
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  return ignored ? 0 : size;
}

Json Report(const OptimizeArguments& arguments, const InferenceSession& session) {
  const ModelSummary before = SummarizeModel(arguments.session.model);
  const ModelSummary after = SummarizeModel(arguments.output);
  Json passes = Json::array();
  for (const PassResult& pass : session.report().passes) {
    if (pass.applied != 0) passes.push_back({{"name", pass.name}, {"applied", pass.applied}});
  }
  return {{"schema_version", 1},
          {"input", arguments.session.model},
          {"output", arguments.output},
          {"level", arguments.session.level},
          {"nodes_before", before.nodes},
          {"nodes_after", after.nodes},
          {"bytes_before", SizeOf(arguments.session.model)},
          {"bytes_after", SizeOf(arguments.output)},
          {"operators_after", after.operators},
          {"passes", passes}};
}

void PrintText(const Json& report) {
  std::printf("%s: %lld nodes, %llu bytes; it had %lld nodes, %llu bytes\n",
              report["output"].get<std::string>().c_str(), report["nodes_after"].get<long long>(),
              report["bytes_after"].get<unsigned long long>(),
              report["nodes_before"].get<long long>(),
              report["bytes_before"].get<unsigned long long>());
  for (const Json& pass : report["passes"]) {
    std::printf("  %-32s %d\n", pass["name"].get<std::string>().c_str(),
                pass["applied"].get<int>());
  }
}

void Execute(const OptimizeArguments& arguments) {
  std::error_code ignored;
  if (std::filesystem::equivalent(arguments.session.model, arguments.output, ignored)) {
    throw Error(ErrorCode::kInvalidArgument,
                "--output '" + arguments.output + "' is the model itself: name another file");
  }
  const auto environment = MakeEnvironment(arguments.session.libraries, arguments.session.verbose);
  SessionOptions options = MakeOptions(arguments.session);
  options.optimized_model_filepath = arguments.output;
  if (!arguments.external.empty()) {
    options.AddConfigEntry("session.optimized_model_external_initializers_file_name",
                           arguments.external);
  }
  const auto session = OpenSession(environment, arguments.session.model, options);
  const Json report = Report(arguments, *session);
  arguments.json ? PrintJson(report) : PrintText(report);
}

}  // namespace

void AddOptimize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("optimize", "Write the optimised model");
  const auto arguments = std::make_shared<OptimizeArguments>();
  arguments->session.level = "extended";
  AddSessionArguments(*command, arguments->session, SessionParts::kModelOnly);
  command
      ->add_option("-l,--level", arguments->session.level,
                   "basic: only operators of the standard; extended: com.microsoft ones too")
      ->check(CLI::IsMember({"basic", "extended"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "ONNX file to write")->required();
  command->add_option("--external", arguments->external,
                      "name of a file beside it for large constants");
  command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->footer(
      "Later levels use forms that only this library has; they are made again from the written\n"
      "file when it is loaded.\n\n"
      "Examples:\n"
      "  switchyard optimize model.onnx -o smaller.onnx\n"
      "  switchyard optimize model.onnx -o smaller.onnx -l basic\n"
      "  switchyard optimize model.onnx -o big.onnx --external big.data");
  command->callback([arguments] { Execute(*arguments); });
}

}  // namespace switchyard::cli
