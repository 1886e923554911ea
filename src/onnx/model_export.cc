#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "ir/schema_versions.h"
#include "onnx/export.h"
#include "onnx/fields.h"
#include "onnx/graph_export.h"
#include "onnx/import.h"
#include "switchyard/base/error.h"
#include "switchyard/base/version.h"
#include "switchyard/ir/schema.h"

namespace switchyard {
namespace onnx {
namespace {

// A file that appears under its name only when it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) Fail();
  }
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!committed_) ::unlink(partial_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          ::write(descriptor_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) Fail();
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void Commit() {
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0) Fail();
    committed_ = true;
  }

 private:
  [[noreturn]] void Fail() const {
    throw Error(ErrorCode::kFail, fmt::format("can't write '{}': {}", path_, std::strerror(errno)));
  }
  std::string path_, partial_;
  int descriptor_ = -1;
  bool committed_ = false;
};

template <typename Visit>
void ForEachNode(const Graph& graph, const Visit& visit) {
  for (NodeIndex i = 0; i < graph.node_limit(); ++i) {
    const Node* node = graph.node(i);
    if (node == nullptr) continue;
    visit(*node);
    for (const auto& [name, body] : node->bodies()) ForEachNode(*body, visit);
  }
}

const FunctionBody* Callee(const ModelContext& context, const Node& node) {
  for (const FunctionBody& function : context.functions) {
    if (function.name == node.OpType() && function.domain == node.Domain() &&
        function.overload == node.Overload()) {
      return &function;
    }
  }
  return nullptr;
}

std::vector<const FunctionBody*> ReachableFunctions(const Graph& graph) {
  std::vector<const FunctionBody*> found;
  const ModelContext& context = graph.context();
  if (context.functions.empty()) return found;
  const auto add = [&](const Node& node) {
    const FunctionBody* callee = Callee(context, node);
    if (callee != nullptr && std::find(found.begin(), found.end(), callee) == found.end()) {
      found.push_back(callee);
    }
  };
  ForEachNode(graph, add);
  for (std::size_t i = 0; i < found.size(); ++i) ForEachNode(*found[i]->body, add);
  return found;
}

// One opset of a domain in which every node means what it means in the graph: it has the node's
// version, or failing such an opset, a newer one with the very same signature (more types).
class OpsetChoice {
 public:
  OpsetChoice(const OpSchemaRegistry& schemas, std::string domain)
      : schemas_(schemas), domain_(std::move(domain)) {}
  void Add(const Node& node) {
    // Operators without schema mean the same in every opset.
    const OpSchema* schema = schemas_.Find(domain_, node.OpType(), node.SinceVersion());
    if (schema == nullptr || schema->since_version != node.SinceVersion()) return;
    for (const Node* known : nodes_) {
      if (known->OpType() == node.OpType() && known->SinceVersion() == node.SinceVersion()) return;
    }
    nodes_.push_back(&node);
  }
  int Pick(int imported) const {
    int lowest = 1;
    for (const Node* node : nodes_) lowest = std::max(lowest, node->SinceVersion());
    for (const bool exact : {true, false}) {
      if (imported >= lowest && Misfit(imported, exact) == nullptr) return imported;
      if (nodes_.empty()) return std::max(imported, 1);
      const int last = std::max(schemas_.NewestOpset(domain_), lowest);
      for (int version = lowest; version <= last; ++version) {
        if (Misfit(version, exact) == nullptr) return version;
      }
    }
    throw Error(ErrorCode::kNotImplemented,
                fmt::format("the model can't be saved: {} means something else in opset {}, which "
                            "other nodes need",
                            Misfit(lowest, false)->Describe(), lowest));
  }

 private:
  bool Fits(const Node& node, int version, bool exact) const {
    const OpSchema* schema = schemas_.Find(domain_, node.OpType(), version);
    if (schema == nullptr) return false;
    if (schema->since_version == node.SinceVersion()) return true;
    const OpSchema* own = schemas_.Find(domain_, node.OpType(), node.SinceVersion());
    return !exact && !schema->deprecated && schema->since_version > own->since_version &&
           SameSignature(*own, *schema, false);
  }
  const Node* Misfit(int version, bool exact) const {
    for (const Node* node : nodes_) {
      if (!Fits(*node, version, exact)) return node;
    }
    return nullptr;
  }
  const OpSchemaRegistry& schemas_;
  std::string domain_;
  std::vector<const Node*> nodes_;  // one per operator and version
};

std::map<std::string, int> ChooseOpsets(const Graph& graph, const OpSchemaRegistry& schemas) {
  std::map<std::string, int> result = graph.context().opset_imports;
  std::map<std::string, OpsetChoice> choices;
  ForEachNode(graph, [&](const Node& node) {
    if (Callee(graph.context(), node) != nullptr) {
      result.emplace(node.Domain(), 1);
      return;
    }
    choices.try_emplace(node.Domain(), schemas, node.Domain()).first->second.Add(node);
  });
  for (const auto& [domain, choice] : choices) {
    const auto imported = result.find(domain);
    result[domain] = choice.Pick(imported != result.end() ? imported->second : 0);
  }
  return result;
}

// Initialisers that are not inputs came with IR 4, functions with 8, their overloads with 10.
std::int64_t ChooseIrVersion(const Graph& graph, std::span<const FunctionBody* const> functions) {
  std::int64_t version = std::max<std::int64_t>(graph.context().ir_version, 4);
  for (const FunctionBody* function : functions) {
    version = std::max<std::int64_t>(version, function->overload.empty() ? 8 : 10);
  }
  return version;
}

ProtoWriter WriteModelProto(const Graph& graph, const OpSchemaRegistry& schemas,
                            ExternalPlan* external, bool with_texts = true) {
  const ModelContext& context = graph.context();
  const std::vector<const FunctionBody*> functions = ReachableFunctions(graph);
  GraphExporter exporter(external);
  ProtoWriter result;
  result.Int(model::kIrVersion, ChooseIrVersion(graph, functions));
  result.Text(model::kProducerName, "switchyard");
  result.Text(model::kProducerVersion, Version());
  if (with_texts) {
    result.Text(model::kDomain, context.domain);
    if (context.model_version != 0) result.Int(model::kModelVersion, context.model_version);
    result.Text(model::kDocString, context.doc_string);
  }
  result.Message(model::kGraph, exporter.WriteMain(graph));
  for (const auto& [domain, version] : ChooseOpsets(graph, schemas)) {
    result.Message(model::kOpsetImport, WriteOpset(domain, version));
  }
  for (const auto& [key, value] : context.metadata) {
    if (!with_texts) break;
    ProtoWriter pair;
    pair.Bytes(entry::kKey, key);
    pair.Bytes(entry::kValue, value);
    result.Message(model::kMetadataProps, std::move(pair));
  }
  for (const FunctionBody* function : functions) {
    result.Message(model::kFunctions, exporter.WriteFunction(*function));
  }
  return result;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string FolderWithSlash(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

[[noreturn]] void TooLarge(std::uint64_t size, const ExportOptions& options) {
  throw Error(ErrorCode::kFail, fmt::format("the model takes {} bytes, at most {} are allowed",
                                            size, options.max_file_bytes));
}

std::string ToBytes(const ProtoWriter& proto, const ExportOptions& options) {
  if (proto.size() > options.max_file_bytes) TooLarge(proto.size(), options);
  std::string result;
  result.reserve(proto.size());
  proto.Write([&](std::span<const std::byte> bytes) {
    result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return result;
}

// The nodes of a window as a graph of their own. Constants are shared.
std::unique_ptr<Graph> GraphOf(const GraphViewer& part) {
  auto graph = std::make_unique<Graph>(part.graph().shared_context());
  std::unordered_map<const NodeArg*, NodeArg*> made;
  const auto value_of = [&](const NodeArg* value) -> NodeArg* {
    if (value == nullptr) return nullptr;
    NodeArg*& own = made[value];
    if (own == nullptr) {
      own = value->is_constant() ? graph->AddConstant(value->Name(), value->constant())
                                 : graph->AddValue(value->Name(), value->type());
    }
    return own;
  };
  for (const NodeArg* value : part.GetInputs())
    made[value] = graph->AddInput(value->Name(), value->type());
  for (NodeIndex index : part.GetNodesInTopologicalOrder()) {
    const Node& node = *part.GetNode(index);
    std::vector<NodeArg*> inputs, outputs;
    for (const NodeArg* value : node.inputs()) inputs.push_back(value_of(value));
    for (const NodeArg* value : node.implicit_inputs()) value_of(value);
    for (const NodeArg* value : node.outputs()) outputs.push_back(value_of(value));
    Node* own = graph->AddNode(node.OpType(), node.Domain(), node.Name(), inputs, outputs,
                               node.attributes(), node.SinceVersion());
    graph->SetOverload(own, node.Overload());
  }
  for (const NodeArg* value : part.GetOutputs()) graph->MarkOutput(value_of(value));
  return graph;
}

class Writer final : public ModelWriter {
 public:
  std::string Write(const GraphViewer& part, const ModelWriteOptions& options) const override {
    const std::unique_ptr<Graph> graph = GraphOf(part);
    ExternalPlan by_address;
    if (options.by_address_from != UINT64_MAX) {
      auto address = options.address;
      if (!address) address = [](const Constant& constant) { return constant.tensor().raw(); };
      by_address = ExternalPlan(kModelInMemory, options.by_address_from, std::move(address));
    }
    return ToBytes(WriteModelProto(*graph, schemas_, &by_address, false), {});
  }

 private:
  const OpSchemaRegistry schemas_;
};

}  // namespace
}  // namespace onnx

void WriteModel(const Graph& graph, const std::string& path, const ExportOptions& options) {
  const OpSchemaRegistry built_in;
  const OpSchemaRegistry& schemas = options.schemas != nullptr ? *options.schemas : built_in;
  onnx::ExternalPlan external;
  if (!options.external_file.empty()) {
    if (options.external_file.find('/') != std::string::npos) {
      throw Error(ErrorCode::kFail,
                  fmt::format("external file name '{}' holds a folder", options.external_file));
    }
    external = onnx::ExternalPlan(options.external_file, options.external_min_bytes);
  }
  onnx::ProtoWriter proto = onnx::WriteModelProto(graph, schemas, &external);
  if (proto.size() > options.max_file_bytes && options.external_file.empty()) {
    external = onnx::ExternalPlan(onnx::FileName(path) + ".data", options.external_min_bytes);
    proto = onnx::WriteModelProto(graph, schemas, &external);
  }
  if (proto.size() > options.max_file_bytes) onnx::TooLarge(proto.size(), options);
  onnx::NewFile file(path);
  proto.Write([&](std::span<const std::byte> bytes) { file.Write(bytes); });
  if (!external.empty()) {
    onnx::NewFile data(onnx::FolderWithSlash(path) + external.file());
    external.Write([&](std::span<const std::byte> bytes) { data.Write(bytes); });
    data.Commit();
  }
  file.Commit();
}

std::string WriteModelBytes(const Graph& graph, const ExportOptions& options) {
  const OpSchemaRegistry built_in;
  const onnx::ProtoWriter proto = onnx::WriteModelProto(
      graph, options.schemas != nullptr ? *options.schemas : built_in, nullptr);
  if (!options.external_file.empty()) {
    throw Error(ErrorCode::kFail, "a model in memory can't have an external file");
  }
  return onnx::ToBytes(proto, options);
}

std::shared_ptr<const ModelWriter> MakeModelWriter() { return std::make_shared<onnx::Writer>(); }

}  // namespace switchyard
