// switchyard inspect: what is in a model file.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "switchyard/session/inspect.h"

namespace switchyard::cli {
namespace {

std::string DomainName(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

void PrintArgs(const char* title, const std::vector<SessionArg>& args) {
  if (args.empty()) return;
  std::printf("%s\n", title);
  for (const SessionArg& arg : args)
    std::printf("  %-32s %s\n", arg.name.c_str(), DescribeType(arg.type).c_str());
}

void PrintField(const char* title, const std::string& text) {
  if (!text.empty()) std::printf("%-12s %s\n", title, text.c_str());
}

void PrintText(const ModelSummary& summary) {
  const ModelMetadata& metadata = summary.metadata;
  std::string opsets;
  for (const auto& [domain, version] : summary.opsets) {
    opsets += (opsets.empty() ? "" : ", ") + DomainName(domain) + " " + std::to_string(version);
  }
  PrintField("graph", metadata.graph_name);
  PrintField("producer", metadata.producer_name);
  PrintField("domain", metadata.domain);
  if (metadata.version != 0) PrintField("version", std::to_string(metadata.version));
  PrintField("description", metadata.description);
  PrintField("ir", std::to_string(summary.ir_version));
  PrintField("opsets", opsets);
  PrintArgs("inputs", summary.inputs);
  PrintArgs("inputs with a default", summary.overridable);
  PrintArgs("outputs", summary.outputs);
  std::printf("operators (%lld nodes)\n", static_cast<long long>(summary.nodes));
  for (const auto& [op, count] : summary.operators) {
    std::printf("  %-32s %lld\n", op.c_str(), static_cast<long long>(count));
  }
  std::printf("constants    %lld, %llu bytes\n", static_cast<long long>(summary.constants),
              static_cast<unsigned long long>(summary.constant_bytes));
  if (!metadata.custom_metadata_map.empty()) std::printf("metadata\n");
  for (const auto& [key, value] : metadata.custom_metadata_map)
    std::printf("  %s: %s\n", key.c_str(), value.c_str());
  for (const std::string& warning : summary.warnings)
    std::printf("warning      %s\n", warning.c_str());
}

Json ArgsToJson(const std::vector<SessionArg>& args) {
  Json rows = Json::array();
  for (const SessionArg& arg : args) {
    Json row = {{"name", arg.name}, {"type", arg.type.ToString()}};
    if (arg.type.is_tensor() && arg.type.shape.ranked()) {
      Json dims = Json::array();
      for (const Dim& dim : arg.type.shape) {
        dims.push_back(dim.is_value()     ? Json(dim.value())
                       : dim.is_unknown() ? Json()
                                          : Json(dim.ToString()));
      }
      row["shape"] = dims;
    }
    rows.push_back(row);
  }
  return rows;
}

void PrintSummaryJson(const ModelSummary& summary) {
  const ModelMetadata& metadata = summary.metadata;
  Json opsets = Json::object();
  for (const auto& [domain, version] : summary.opsets) opsets[DomainName(domain)] = version;
  const Json document = {{"schema_version", 1},
                         {"graph", metadata.graph_name},
                         {"producer", metadata.producer_name},
                         {"domain", metadata.domain},
                         {"version", metadata.version},
                         {"description", metadata.description},
                         {"ir_version", summary.ir_version},
                         {"opsets", opsets},
                         {"inputs", ArgsToJson(summary.inputs)},
                         {"overridable_initializers", ArgsToJson(summary.overridable)},
                         {"outputs", ArgsToJson(summary.outputs)},
                         {"nodes", summary.nodes},
                         {"operators", summary.operators},
                         {"constants", summary.constants},
                         {"constant_bytes", summary.constant_bytes},
                         {"metadata", metadata.custom_metadata_map},
                         {"warnings", summary.warnings}};
  PrintJson(document);
}

}  // namespace

void AddInspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "Show what is in a model file");
  const auto model = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  command->add_option("model", *model, "ONNX file")->required();
  command->add_flag("--json", *json, "as JSON with a schema_version");
  command->footer(
      "Examples:\n  switchyard inspect model.onnx\n  switchyard inspect model.onnx --json");
  command->callback([model, json] {
    const ModelSummary summary = SummarizeModel(*model);
    *json ? PrintSummaryJson(summary) : PrintText(summary);
  });
}

}  // namespace switchyard::cli
