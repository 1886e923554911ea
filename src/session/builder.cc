#include "session/builder.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/float_mode.h"
#include "base/format.h"
#include "base/time_limit.h"
#include "ir/constant_node.h"
#include "ir/functions.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "runtime/node_runner.h"
#include "session/config_keys.h"
#include "session/extended_passes.h"
#include "session/option_checks.h"
#include "session/profiler.h"
#include "session/provider_list.h"
#include "session/report_nodes.h"
#include "session/saved_graph.h"
#include "session/shown_types.h"
#include "switchyard/base/cpu_features.h"

namespace switchyard {

namespace ir::ops {
void RegisterAll(InferenceRegistry& registry);
}
namespace passes::basic {
void RegisterAll(PassRegistry& registry);
}

namespace {

constexpr const char* kTimeLimitKey = "switchyard.load_time_limit_ms";
constexpr const char* kFreeDimensionPass = "free_dimension_override";

// Constant nodes are constants at every level.
void ReplaceConstantNodes(Graph& graph) {
  const std::vector<NodeIndex> order(graph.TopologicalOrder().begin(),
                                     graph.TopologicalOrder().end());
  for (NodeIndex index : order) {
    Node& node = *graph.node(index);
    for (const auto& [name, body] : node.bodies()) ReplaceConstantNodes(*body);
    if (node.OpType() != "Constant" || !node.Domain().empty() || node.outputs().size() != 1) {
      continue;
    }
    NodeArg* output = node.outputs()[0];
    ConstantPtr constant = ConstantOfAttributes(node.attributes());
    graph.RemoveNode(index);
    graph.SetConstant(output, std::move(constant));
  }
}

std::int64_t ConfigNumber(const SessionOptions& options, std::string_view key,
                          std::int64_t absent) {
  const std::string text = options.ConfigEntry(key);
  if (text.empty()) return absent;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw(ErrorCode::kInvalidArgument,
          "configuration entry '{}': expected a whole number, got '{}'", key, text);
  }
  return value;
}

bool Flag(const SessionOptions& options, std::string_view key) {
  return ConfigFlag(key, options.ConfigEntry(key));
}

class Builder {
 public:
  Builder(const Environment& environment, const SessionOptions& options)
      : environment_(environment),
        options_(options),
        model_(std::make_unique<BuiltModel>()),
        reporter_(model_->report) {}

  std::unique_ptr<BuiltModel> Run(const std::string* path, std::span<const std::byte> bytes) {
    const std::int64_t start = SteadyNow();
    const std::int64_t longest = ConfigNumber(options_, kTimeLimitKey, 0);
    if (longest < 0) {
      Throw(ErrorCode::kInvalidArgument,
            "configuration entry '{}': expected milliseconds, 0 for no limit, got {}",
            kTimeLimitKey, longest);
    }
    const TimeLimit limit(longest, kTimeLimitKey);
    Prepare();
    const DenormalMode denormals(model_->flush_denormals);
    Import(path, bytes);
    const ShownTypes shown(*graph_);
    Infer();
    for (const std::string& warning : model_->report.warnings) Log(Severity::kWarning, warning);
    if (Flag(options_, "switchyard.expose_values")) ExposeValues();
    RunBasicPasses();
    CollectArguments(shown);  // with dims that a pass has fixed
    CheckTimeLimit();
    std::optional<SavedGraph> saved;
    if (!options_.optimized_model_filepath.empty()) saved.emplace(*graph_);
    Place();
    if (saved) {
      Save(*saved);
      saved.reset();
    }
    RunProviderPasses();
    CheckTimeLimit();
    PlanCopiesAndSteps();
    Finish();
    model_->report.load_milliseconds = static_cast<double>(SteadyNow() - start) * 1e-6;
    return std::move(model_);
  }

 private:
  void Log(Severity severity, std::string_view text) const {
    model_->logger.Log(severity, "session", text);
  }

  void Prepare() {
    const Severity severity = options_.log_severity >= 0
                                  ? static_cast<Severity>(options_.log_severity)
                                  : environment_.logger().minimum();
    model_->logger = environment_.logger().Derive(severity, options_.log_id);
    for (const auto& [key, value] : options_.config) {
      if (!IsKnownConfigKey(key))
        Log(Severity::kWarning,
            fmt::format("configuration entry '{}' is unknown and has no effect", key));
    }
    CheckOptions(options_);
    if (!options_.use_per_session_threads && environment_.shared_team()) {
      model_->team = environment_.shared_team();
    } else {
      const int threads = options_.intra_op_num_threads > 0 ? options_.intra_op_num_threads
                                                            : DetectCpuFeatures().physical_cores;
      const std::string spinning = options_.ConfigEntry("session.intra_op.allow_spinning", "1");
      model_->team = std::make_shared<ThreadTeam>(
          threads, ConfigFlag("session.intra_op.allow_spinning", spinning));
    }
    const std::string accuracy = options_.ConfigEntry("switchyard.accuracy", "default");
    if (accuracy != "default" && accuracy != "exact" && accuracy != "fast") {
      Throw(ErrorCode::kInvalidArgument,
            "configuration entry 'switchyard.accuracy': expected exact, default or fast, got '{}'",
            accuracy);
    }
    limits_.admitted = accuracy == "exact"
                           ? Exactness::kExact
                           : (accuracy == "fast" ? Exactness::kApproximate : Exactness::kRounding);
    constexpr const char* kDenormalsKey = "session.set_denormal_as_zero";
    model_->flush_denormals = options_.ConfigEntry(kDenormalsKey).empty()
                                  ? accuracy != "exact"
                                  : Flag(options_, kDenormalsKey);
    limits_.verify_each_pass = Flag(options_, "switchyard.verify_each_pass");
    patches_left_ = ConfigNumber(options_, "switchyard.stop_after_patches", -1);
    limits_.stop_after = patches_left_;
    const ProviderEnvironment provider_environment{model_->team->size(), options_.config,
                                                   model_->logger, MakeModelWriter()};
    model_->providers = MakeProviders(options_, environment_, provider_environment);
    limits_.disabled = DisabledPasses(options_, PassNames());
    model_->spaces =
        std::make_unique<MemorySpaces>(model_->providers, environment_.host_allocator());
    ir::ops::RegisterAll(model_->inference);
    for (const auto& domain : options_.custom_domains()) {
      for (const OpSchemaDefinition& schema : domain->schemas) model_->schemas.Add(schema);
      for (const auto& [op, fn] : domain->inference)
        model_->inference.Register(domain->domain, op, 1, 0, fn);
      if (domain->kernels) custom_kernels_.push_back(domain->kernels);
    }
  }

  std::vector<std::string> PassNames() const {
    PassRegistry registry;
    passes::basic::RegisterAll(registry);
    std::vector<std::string> names;
    for (const auto& pass : registry.passes()) names.emplace_back(pass->name());
    for (std::string_view name : extended_.names()) names.emplace_back(name);
    for (std::size_t p = 0; p < model_->providers.size(); ++p) {
      PassPipeline pipeline;
      model_->providers[p].AddPasses(pipeline, extended_);
      for (std::string_view name : pipeline.names()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
      }
    }
    return names;
  }

  void Import(const std::string* path, std::span<const std::byte> bytes) {
    ImportOptions import;
    import.schemas = &model_->schemas;
    import.external_folder =
        options_.ConfigEntry("session.model_external_initializers_file_folder_path");
    import.external_tensors = &options_.initializers;
    import.external_files = &options_.external_files;
    import.warnings = &model_->report.warnings;
    model_->report.model = path != nullptr ? *path : "";
    graph_ = path != nullptr ? ImportModel(*path, import) : ImportModelBytes(bytes, import);
    for (const auto& [name, value] : options_.initializers) {
      NodeArg* constant = graph_->FindValue(name);
      if (constant == nullptr || constant->constant() == nullptr) {
        Throw(ErrorCode::kInvalidArgument, "add_initializer: the model has no initializer '{}'",
              name);
      }
      graph_->SetConstant(constant, std::make_shared<const Constant>(value.tensor()));
    }
    VerifyGraph(*graph_);
    ReplaceConstantNodes(*graph_);
    const ModelContext& context = graph_->context();
    model_->metadata = {context.producer_name, context.graph_name,       context.domain,
                        context.doc_string,    context.graph_doc_string, context.model_version,
                        context.metadata};
  }

  void Infer() {
    constexpr const char* kStrictKey = "session.strict_shape_type_inference";
    const bool told = !options_.ConfigEntry(kStrictKey).empty();
    model_->strict_signature = !told || Flag(options_, kStrictKey);
    std::vector<Shape> declared;
    for (const NodeArg* output : graph_->outputs()) declared.push_back(output->type().shape);
    std::vector<std::string> contradictions;
    InferGraph(*graph_, model_->inference, &contradictions);
    VerifyGraph(*graph_, &model_->schemas);  // now that types are known
    if (told && model_->strict_signature && !contradictions.empty()) {
      Throw(ErrorCode::kInvalidGraph, "{} ({} is set)", fmt::join(contradictions, "; "),
            kStrictKey);
    }
    if (model_->strict_signature) CheckOutputs(declared, kStrictKey);
    std::move(contradictions.begin(), contradictions.end(),
              std::back_inserter(model_->report.warnings));
  }

  // An output of no dims at all is what exporters write that do not know.
  void CheckOutputs(std::span<const Shape> declared, const char* key) const {
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const NodeArg& output = *graph_->outputs()[i];
      if (!declared[i].ranked() || declared[i].rank() == 0) continue;
      if (MergeShapes(output.type().shape, declared[i])) continue;
      const std::string maker = output.producer() == kNoNode
                                    ? std::string("the graph")
                                    : graph_->node(output.producer())->Describe();
      Throw(ErrorCode::kInvalidGraph,
            "output '{}' is declared with shape {}, {} gives it {} ({}=0 lets it pass)",
            output.Name(), declared[i].ToString(), maker, output.type().shape.ToString(), key);
    }
  }

  void ExposeValues() {
    for (NodeIndex index : graph_->TopologicalOrder()) {
      for (NodeArg* value : graph_->node(index)->outputs()) {
        if (value != nullptr && value->type().known() && !graph_->is_output(value))
          graph_->MarkOutput(value);
      }
    }
  }

  void CollectArguments(const ShownTypes& shown) {
    model_->input_index.clear();
    for (const NodeArg* input : graph_->inputs()) {
      std::vector<SessionArg>& list =
          input->is_overridable() ? model_->overridable : model_->inputs;
      const int index = static_cast<int>(list.size());
      model_->input_index.push_back(input->is_overridable() ? -1 - index : index);
      list.push_back({input->Name(), shown.Show(input->type())});
    }
    for (const NodeArg* output : graph_->outputs()) {
      model_->outputs.push_back({output->Name(), shown.Show(output->type())});
    }
  }

  int FallbackIndex() const {
    const std::string name = environment_.providers().Fallback().name;
    for (std::size_t p = 0; p < model_->providers.size(); ++p) {
      if (model_->providers[p].Type() == name) return static_cast<int>(p);
    }
    SY_CHECK(false);
    return 0;
  }

  PassContext MakePassContext() {
    const auto cpu = model_->providers.shared(static_cast<std::size_t>(FallbackIndex()));
    PassContext context(model_->inference);
    context.evaluate = MakeNodeEvaluator(cpu, custom_kernels_, model_->inference, *model_->team,
                                         environment_.host_allocator());
    context.log = [this](Severity severity, std::string_view text) {
      Log(severity, text);
      said_ = text;
    };
    // The pipeline says what it has applied, then calls this.
    context.on_applied = [this](const Graph&, const Patch::Result&) {
      model_->report.patches.push_back(said_);
    };
    context.max_fold_bytes = static_cast<std::size_t>(
        ConfigNumber(options_, "optimization.constant_folding_max_output_size_in_bytes",
                     std::int64_t{64} << 20));
    context.free_dimension_overrides_by_name = options_.free_dimension_overrides;
    context.free_dimension_overrides_by_denotation =
        options_.free_dimension_overrides_by_denotation;
    return context;
  }

  void RunBasicPasses() {
    PassRegistry registry;
    passes::basic::RegisterAll(registry);
    PassPipeline pipeline;
    const bool optimise = options_.optimization_level >= GraphOptimizationLevel::kBasic;
    for (const auto& pass : registry.passes()) {
      if (optimise || pass->name() == kFreeDimensionPass) pipeline.Add(*pass);
    }
    PassContext context = MakePassContext();
    model_->report.passes = pipeline.Run(*graph_, context, limits_, &patches_left_);
  }

  void Save(SavedGraph& saved) {
    if (options_.optimization_level >= GraphOptimizationLevel::kExtended) {
      // What is done to the copy is no patch of the session's graph.
      const std::size_t patches = model_->report.patches.size();
      saved.Fuse(
          *graph_, placement_, model_->providers, extended_, [this] { return MakePassContext(); },
          limits_, patches_left_);
      model_->report.patches.resize(patches);
    }
    ExportOptions save;
    save.schemas = &model_->schemas;
    save.external_file =
        options_.ConfigEntry("session.optimized_model_external_initializers_file_name");
    const std::int64_t least = ConfigNumber(
        options_, "session.optimized_model_external_initializers_min_size_in_bytes", 1024);
    save.external_min_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(least, 0));
    WriteModel(saved.graph(), options_.optimized_model_filepath, save);
  }

  void Place() {
    for (std::size_t p = 0; p < model_->providers.size(); ++p) {
      const auto number = ConfigNumber(
          options_, "switchyard.provider." + model_->providers.name(p) + ".memory_budget", 0);
      budgets_.push_back(static_cast<std::size_t>(std::max<std::int64_t>(number, 0)));
    }
    PartitionOptions partition{
        model_->providers,
        custom_kernels_,
        FallbackIndex(),
        extended_,
        [this](Graph& graph, Node& node) { return InlineFunction(graph, node); },
        budgets_,
        {}};
    partition.compile.team = model_->team.get();
    placement_ = PartitionGraph(*graph_, partition);
    if (Flag(options_, "session.disable_cpu_ep_fallback")) RefuseFallback();
  }

  bool InlineFunction(Graph& graph, Node& node);

  void RefuseFallback() const {
    const int cpu = FallbackIndex();
    if (model_->providers.size() == 1) return;
    std::string names;
    for (const auto& [graph, nodes] : placement_.nodes) {
      for (const auto& [index, placement] : nodes) {
        if (placement.provider != cpu) continue;
        names += "\n  " + graph->node(index)->Describe();
        for (const auto& [provider, reason] : placement.refusals)
          names += fmt::format("; {}: {}", provider, reason);
      }
    }
    if (!names.empty()) {
      Throw(ErrorCode::kFail,
            "session.disable_cpu_ep_fallback is set and these nodes fell back to the CPU:{}",
            names);
    }
  }

  // Level-2 fusions and layout, on the partitions of a provider that asked for them.
  void RunProviderPasses() {
    if (options_.optimization_level < GraphOptimizationLevel::kExtended) return;
    for (std::size_t p = 0; p < model_->providers.size(); ++p) {
      PassPipeline pipeline;
      model_->providers[p].AddPasses(pipeline, extended_);
      limits_.up_to =
          options_.optimization_level == GraphOptimizationLevel::kExtended ? PassStage::kExtended
          : options_.optimization_level == GraphOptimizationLevel::kLayout ? PassStage::kLayout
                                                                           : PassStage::kAll;
      if (pipeline.size() == 0) continue;
      PassContext context = MakePassContext();
      context.may_touch = [&](const Node& node) { return ProviderOf(node) == static_cast<int>(p); };
      const auto registry = model_->providers[p].GetKernelRegistry();
      context.refuse_node = [&](const Node& node) {
        std::string reason = "the provider has no kernels";
        return registry && registry->Find(node, &reason) != nullptr ? std::string() : reason;
      };
      context.on_applied = [&, record = context.on_applied](const Graph& graph,
                                                            const Patch::Result& result) {
        record(graph, result);
        PlaceNew(*graph_, static_cast<int>(p));
      };
      auto results = pipeline.Run(*graph_, context, limits_, &patches_left_);
      model_->report.passes.insert(model_->report.passes.end(), results.begin(), results.end());
      PlaceNew(*graph_, static_cast<int>(p));
    }
  }

  int ProviderOf(const Node& node) const {
    for (const auto& [graph, nodes] : placement_.nodes) {
      if (node.Index() >= graph->node_limit() || graph->node(node.Index()) != &node) continue;
      const auto it = nodes.find(node.Index());
      return it == nodes.end() ? -1 : it->second.provider;
    }
    return -1;
  }

  // Nodes that a provider's passes made belong to it; its registry must have their kernels.
  void PlaceNew(Graph& graph, int provider) {
    auto& nodes = placement_.nodes[&graph];
    std::erase_if(nodes, [&](const auto& row) {
      return row.first >= graph.node_limit() || graph.node(row.first) == nullptr;
    });
    for (NodeIndex index : graph.TopologicalOrder()) {
      const Node& node = *graph.node(index);
      if (const auto it = nodes.find(index); it == nodes.end()) {
        std::string reason = "the provider has no kernels";
        const auto registry =
            model_->providers[static_cast<std::size_t>(provider)].GetKernelRegistry();
        const KernelCreateInfo* kernel = registry ? registry->Find(node, &reason) : nullptr;
        if (kernel == nullptr) {
          Throw(ErrorCode::kEpFail, "{}: a pass made {}, for which it has no kernel: {}",
                model_->providers.name(static_cast<std::size_t>(provider)), node.Describe(),
                reason);
        }
        NodePlacement placement;
        placement.provider = provider;
        placement.kernel = kernel;
        placement.cause = "made by a pass of the provider";
        nodes[index] = std::move(placement);
      } else if (it->second.provider < 0) {
        for (const auto& [name, body] : node.bodies()) PlaceNew(*body, provider);
      }
    }
  }

  void PlanCopiesAndSteps() {
    copies_ = PlanCopies(*graph_, placement_, *model_->spaces, model_->inference);
    for (const CopyPlan::Row& row : copies_.copies) {
      const ValueType& type = row.node->inputs()[0]->type();
      std::int64_t bytes = -1;
      if (type.is_tensor() && type.shape.is_concrete()) {
        bytes = static_cast<std::int64_t>(BytesOf(type.elem, ElementCount(type.shape.concrete())));
      }
      model_->report.copies.push_back({row.value, row.node->outputs()[0]->Name(),
                                       model_->spaces->device(row.from).ToString(),
                                       model_->spaces->device(row.to).ToString(), bytes});
    }
    const std::int64_t most = ConfigNumber(options_, "switchyard.max_copies", -1);
    if (most >= 0 && static_cast<std::int64_t>(copies_.copies.size()) > most) {
      std::string list;
      for (const auto& copy : model_->report.copies) {
        list += fmt::format("\n  {} {} -> {}, {} bytes", copy.value, copy.from, copy.to,
                            copy.bytes >= 0 ? std::to_string(copy.bytes) : "?");
      }
      Throw(ErrorCode::kFail, "switchyard.max_copies is {} and a run needs {} copies:{}", most,
            copies_.copies.size(), list);
    }
    reporter_.AddGraph(*graph_, placement_, copies_, model_->providers);
    model_->constants = std::make_unique<ConstantStore>(*model_->spaces);
    PlanOptions plan{model_->providers, *model_->spaces, model_->inference, *model_->team,
                     options_.enable_mem_reuse};
    model_->plan = BuildPlan(std::move(graph_), placement_, copies_, *model_->constants, plan);
    reporter_.AddVariants(*model_->plan);
    model_->graph_paths = reporter_.TakePaths();
    model_->node_rows = reporter_.TakeRows();
    model_->report.constant_bytes = model_->constants->bytes();
  }

  void Finish() {
    for (std::size_t p = 0; p < model_->providers.size(); ++p)
      model_->report.providers.push_back(model_->providers.name(p));
    if (model_->logger.Enabled(Severity::kVerbose)) {
      for (const auto& row : model_->report.nodes) {
        Log(Severity::kVerbose,
            fmt::format("node placement: {} ({}) on [{}]", row.op, row.name, row.provider));
      }
    }
  }

  const Environment& environment_;
  const SessionOptions& options_;
  std::unique_ptr<BuiltModel> model_;
  NodeReporter reporter_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::shared_ptr<KernelRegistry>> custom_kernels_;
  std::vector<std::size_t> budgets_;
  ExtendedPasses extended_;
  PassPipeline::Limits limits_;
  std::int64_t patches_left_ = -1;
  std::string said_;  // by the pass pipeline, last
  Placement placement_;
  CopyPlan copies_;
};

bool Builder::InlineFunction(Graph& graph, Node& node) {
  if (!InlineNode(graph, node.Index(), model_->schemas, &model_->inference)) return false;
  ReplaceConstantNodes(graph);
  return true;
}

}  // namespace

std::unique_ptr<BuiltModel> BuildModel(const Environment& environment,
                                       const SessionOptions& options, const std::string* path,
                                       std::span<const std::byte> bytes) {
  return Builder(environment, options).Run(path, bytes);
}

}  // namespace switchyard
