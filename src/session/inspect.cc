#include "switchyard/session/inspect.h"

#include "onnx/export.h"
#include "onnx/import.h"
#include "session/extended_passes.h"
#include "switchyard/ir/graph.h"

namespace switchyard {

namespace passes::basic {
void RegisterAll(PassRegistry& registry);
}

namespace {

void CountNodes(const Graph& graph, ModelSummary& summary) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = *graph.node(index);
    const std::string prefix = node.Domain().empty() ? "" : node.Domain() + ".";
    ++summary.operators[prefix + node.OpType()];
    ++summary.nodes;
    for (const auto& [name, body] : node.bodies()) CountNodes(*body, summary);
  }
  for (ValueId id = 0; id < graph.value_limit(); ++id) {
    const NodeArg* value = graph.value(id);
    if (value == nullptr || value->constant() == nullptr) continue;
    ++summary.constants;
    summary.constant_bytes += value->constant()->bytes();
  }
}

void AddRow(const Pass& pass, const std::string& provider, std::vector<PassDescription>& rows) {
  rows.push_back({std::string(pass.name()), pass.stage(), pass.exactness(), provider});
}

}  // namespace

ModelSummary SummarizeModel(const std::string& path) {
  ModelSummary summary;
  ImportOptions options;
  options.warnings = &summary.warnings;
  const std::unique_ptr<Graph> graph = ImportModel(path, options);
  const ModelContext& context = graph->context();
  summary.metadata = {context.producer_name, context.graph_name,       context.domain,
                      context.doc_string,    context.graph_doc_string, context.model_version,
                      context.metadata};
  summary.ir_version = context.ir_version;
  summary.opsets = context.opset_imports;
  summary.symbols = graph->shared_context();
  for (const NodeArg* input : graph->inputs()) {
    (input->is_overridable() ? summary.overridable : summary.inputs)
        .push_back({input->Name(), input->type()});
  }
  for (const NodeArg* output : graph->outputs())
    summary.outputs.push_back({output->Name(), output->type()});
  CountNodes(*graph, summary);
  return summary;
}

std::vector<PassDescription> ListPasses(const Environment& environment) {
  std::vector<PassDescription> rows;
  PassRegistry registry;
  passes::basic::RegisterAll(registry);
  PassPipeline pipeline;
  for (const auto& pass : registry.passes()) pipeline.Add(*pass);
  for (const Pass* pass : pipeline.passes()) AddRow(*pass, "", rows);
  const ExtendedPasses extended;
  for (const ProviderFactory& factory : environment.providers().all()) {
    if (factory.unavailable && factory.unavailable()) continue;
    PassPipeline own;
    factory.create({}, {1, {}, environment.logger(), MakeModelWriter()})->AddPasses(own, extended);
    for (const Pass* pass : own.passes()) AddRow(*pass, factory.name, rows);
  }
  return rows;
}

}  // namespace switchyard
