#include <fmt/format.h>

#include <limits>
#include <new>
#include <stdexcept>

#include "onnx/fields.h"
#include "onnx/graph_import.h"
#include "onnx/import.h"
#include "onnx/import_state.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"
#include "switchyard/ir/schema.h"

namespace switchyard {
namespace onnx {
namespace {

struct ModelParts {
  std::string_view graph;
  bool has_graph = false;
  bool has_training = false;
  std::vector<std::string_view> opsets, functions;
};

struct FunctionParts {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes, attribute_protos, nodes, opsets,
      value_infos;

  std::string Describe() const {
    return fmt::format("function '{}.{}'{}", domain, name,
                       overload.empty() ? "" : fmt::format(" (overload '{}')", overload));
  }
  FunctionKey key() const { return FunctionKey(domain, name, overload); }
};

std::pair<std::string, std::string> ReadEntry(std::string_view proto) {
  std::pair<std::string, std::string> pair;
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() == BytesKey(entry::kKey)) pair.first = reader.bytes();
    if (reader.key() == BytesKey(entry::kValue)) pair.second = reader.bytes();
  }
  return pair;
}

ModelParts ReadModelFields(std::string_view proto, ModelContext* context) {
  ModelParts parts;
  Reader reader(proto);
  while (reader.Next()) {
    switch (reader.key()) {
      case IntKey(model::kIrVersion):
        context->ir_version = reader.int64();
        break;
      case BytesKey(model::kProducerName):
        context->producer_name = reader.bytes();
        break;
      case BytesKey(model::kProducerVersion):
        context->producer_version = reader.bytes();
        break;
      case BytesKey(model::kDomain):
        context->domain = reader.bytes();
        break;
      case IntKey(model::kModelVersion):
        context->model_version = reader.int64();
        break;
      case BytesKey(model::kDocString):
        context->doc_string = reader.bytes();
        break;
      case BytesKey(model::kGraph):
        if (parts.has_graph) ThrowInvalid("the model has two graphs");
        parts.has_graph = true;
        parts.graph = reader.bytes();
        break;
      case BytesKey(model::kOpsetImport):
        parts.opsets.push_back(reader.bytes());
        break;
      case BytesKey(model::kMetadataProps):
        context->metadata.insert(ReadEntry(reader.bytes()));
        break;
      case BytesKey(model::kTrainingInfo):
        parts.has_training = true;
        break;
      case BytesKey(model::kFunctions):
        parts.functions.push_back(reader.bytes());
        break;
      default:
        break;
    }
  }
  return parts;
}

std::map<std::string, int> ReadOpsets(std::span<const std::string_view> protos,
                                      ImportState& state) {
  std::map<std::string, int> imports;
  for (const std::string_view proto : protos) {
    std::string domain;
    std::int64_t version = 0;
    Reader reader(proto);
    while (reader.Next()) {
      if (reader.key() == BytesKey(opset_id::kDomain)) {
        domain = state.CheckName(reader.bytes(), "opset domain");
      }
      if (reader.key() == IntKey(opset_id::kVersion)) version = reader.int64();
    }
    if (domain == "ai.onnx") domain.clear();
    const char* shown = domain.empty() ? "ai.onnx" : domain.c_str();
    if (version < 1 || version > std::numeric_limits<int>::max()) {
      ThrowInvalid(fmt::format("opset version {} of the domain {}", version, shown));
    }
    const int newest = state.schemas().NewestOpset(domain);
    if (newest != 0 && version > newest && (domain.empty() || domain.starts_with("ai.onnx"))) {
      ThrowNotImplemented(
          fmt::format("opset {} of the domain {}; the newest known is {}", version, shown, newest));
    }
    const auto [at, added] = imports.emplace(domain, static_cast<int>(version));
    if (!added && at->second != version) {
      ThrowInvalid(
          fmt::format("two opsets, {} and {}, of the domain {}", at->second, version, shown));
    }
  }
  return imports;
}

FunctionParts ReadFunctionFields(std::string_view proto, ImportState& state) {
  FunctionParts parts;
  Reader reader(proto);
  while (reader.Next()) {
    switch (reader.key()) {
      case BytesKey(function::kName):
        parts.name = state.CheckName(reader.bytes(), "function name");
        break;
      case BytesKey(function::kInput):
        parts.inputs.push_back(reader.bytes());
        break;
      case BytesKey(function::kOutput):
        parts.outputs.push_back(reader.bytes());
        break;
      case BytesKey(function::kAttribute):
        parts.attributes.push_back(state.CheckName(reader.bytes(), "attribute name"));
        break;
      case BytesKey(function::kNode):
        parts.nodes.push_back(reader.bytes());
        break;
      case BytesKey(function::kOpsetImport):
        parts.opsets.push_back(reader.bytes());
        break;
      case BytesKey(function::kDomain):
        parts.domain = state.CheckName(reader.bytes(), "function domain");
        break;
      case BytesKey(function::kAttributeProto):
        parts.attribute_protos.push_back(reader.bytes());
        break;
      case BytesKey(function::kValueInfo):
        parts.value_infos.push_back(reader.bytes());
        break;
      case BytesKey(function::kOverload):
        parts.overload = state.CheckName(reader.bytes(), "overload");
        break;
      default:
        break;
    }
  }
  if (parts.domain == "ai.onnx") parts.domain = {};
  if (parts.name.empty()) ThrowInvalid("a function has no name");
  return parts;
}

FunctionBody ReadFunction(const FunctionParts& parts, const ModelFacts& facts,
                          const ModelContext& model, ImportState& state, CallCount* calls) {
  FunctionBody result;
  result.domain = parts.domain;
  result.name = parts.name;
  result.overload = parts.overload;
  result.attributes.assign(parts.attributes.begin(), parts.attributes.end());
  result.opset_imports = ReadOpsets(parts.opsets, state);
  result.opset_imports.insert(model.opset_imports.begin(), model.opset_imports.end());
  auto context = std::make_shared<ModelContext>();
  context->ir_version = model.ir_version;
  context->opset_imports = result.opset_imports;
  GraphImporter importer(state, facts, context, true);
  result.body = importer.ReadFunction(parts.inputs, parts.outputs, parts.nodes, parts.value_infos);
  // Defaults are literals: they are read like a node's attributes outside of functions.
  GraphImporter literals(state, facts, context, false);
  for (const std::string_view proto : parts.attribute_protos) {
    result.default_attributes.Set(literals.ReadAttribute(proto, result.body.get(), 0));
  }
  *calls = importer.calls();
  return result;
}

// What functions become when every call is inlined. Refuses recursion, and sizes and depths above
// the limits: a few functions that call each other twice are enough for a graph without end.
class Expansion {
 public:
  Expansion(const std::vector<FunctionBody>& functions, const std::vector<CallCount>& calls,
            const ImportLimits& limits)
      : functions_(functions),
        calls_(calls),
        limits_(limits),
        sizes_(calls.size()),
        done_(calls.size(), kUnseen) {}

  void Check(const CallCount& main) {
    for (std::size_t i = 0; i < calls_.size(); ++i) Visit(i);
    Limit(Expand(main));
  }

 private:
  enum State : std::uint8_t { kUnseen, kOpen, kDone };
  struct Size {
    std::size_t nodes = 0;
    int depth = 0;
  };

  Size Expand(const CallCount& own) const {
    Size size{own.nodes, own.depth};
    for (const auto& [callee, calls] : own.calls) {
      std::size_t more = 0;
      if (__builtin_mul_overflow(calls.nodes, sizes_[callee].nodes, &more) ||
          __builtin_add_overflow(size.nodes, more, &size.nodes)) {
        size.nodes = std::numeric_limits<std::size_t>::max();
      }
      size.depth = std::max(size.depth, calls.depth + sizes_[callee].depth);
    }
    return size;
  }

  void Limit(const Size& size) const {
    if (size.nodes > limits_.nodes) ThrowLimit("nodes with its functions inlined", limits_.nodes);
    if (size.depth > limits_.depth) {
      ThrowInvalid(fmt::format("with functions inlined, bodies are nested more than {} deep",
                               limits_.depth));
    }
  }

  // Depth first with a stack of our own: chains of calls may be long.
  void Visit(std::size_t root) {
    if (done_[root] == kDone) return;
    std::vector<std::size_t> stack{root};
    while (!stack.empty()) {
      const std::size_t at = stack.back();
      if (done_[at] == kDone) {
        stack.pop_back();
        continue;
      }
      if (done_[at] == kOpen) {
        sizes_[at] = Expand(calls_[at]);
        sizes_[at].depth = std::min(sizes_[at].depth, limits_.depth + 1);
        done_[at] = kDone;
        stack.pop_back();
        continue;
      }
      done_[at] = kOpen;
      for (const auto& [callee, calls] : calls_[at].calls) {
        if (done_[callee] == kOpen) {
          ThrowInvalid(fmt::format("the function '{}.{}' calls itself", functions_[callee].domain,
                                   functions_[callee].name));
        }
        if (done_[callee] == kUnseen) stack.push_back(callee);
      }
    }
  }

  const std::vector<FunctionBody>& functions_;
  const std::vector<CallCount>& calls_;
  const ImportLimits& limits_;
  std::vector<Size> sizes_;
  std::vector<State> done_;
};

void CheckVersions(const ModelParts& parts, ModelContext* context, ImportState& state) {
  if (!parts.has_graph) {
    throw Error(ErrorCode::kInvalidProtobuf, "no model: there is no graph in it");
  }
  if (context->ir_version < 1) {
    ThrowInvalid(fmt::format("IR version {}", context->ir_version));
  }
  if (context->ir_version > kNewestIrVersion) {
    ThrowNotImplemented(fmt::format("IR version {}; the newest known is {}", context->ir_version,
                                    kNewestIrVersion));
  }
  context->opset_imports = ReadOpsets(parts.opsets, state);
  if (context->opset_imports.empty()) {
    // Opsets came with IR 3.
    if (context->ir_version >= 3) ThrowInvalid("the model imports no opset");
    context->opset_imports[""] = 1;
  }
  if (parts.has_training) state.Warn("the model's training information is ignored");
}

std::unique_ptr<Graph> ReadModel(ImportState& state) {
  auto context = std::make_shared<ModelContext>();
  const ModelParts parts = ReadModelFields(state.bytes().view(), context.get());
  CheckVersions(parts, context.get(), state);
  ModelFacts facts;
  std::vector<FunctionParts> functions;
  for (const std::string_view proto : parts.functions) {
    functions.push_back(ReadFunctionFields(proto, state));
    if (!facts.functions.emplace(functions.back().key(), functions.size() - 1).second) {
      ThrowInvalid(functions.back().Describe() + " is defined twice");
    }
    facts.function_inputs.push_back(functions.back().inputs.size());
    facts.function_outputs.push_back(functions.back().outputs.size());
  }
  std::vector<CallCount> calls(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    context->functions.push_back(
        InContext([&] { return functions[i].Describe(); },
                  [&] { return ReadFunction(functions[i], facts, *context, state, &calls[i]); }));
  }
  GraphImporter importer(state, facts, context, false);
  std::unique_ptr<Graph> graph = importer.ReadMain(parts.graph);
  Expansion(context->functions, calls, state.limits()).Check(importer.calls());
  return graph;
}

// Exhausted memory and sizes that no container can have are the model's doing.
template <typename Body>
auto Guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kFail, "out of memory while loading the model");
  } catch (const std::length_error&) {
    throw Error(ErrorCode::kFail, "out of memory while loading the model");
  }
}

}  // namespace
}  // namespace onnx

std::unique_ptr<Graph> ImportModel(const std::string& path, const ImportOptions& options) {
  return onnx::InContext([&] { return "Load model from " + path + " failed"; },
                         [&] {
                           return onnx::Guarded([&] {
                             onnx::ModelBytes bytes(path, options.limits.file_bytes);
                             onnx::ImportState state(options, bytes,
                                                     onnx::ExternalFiles::BesideModel(path));
                             return onnx::ReadModel(state);
                           });
                         });
}

std::unique_ptr<Graph> ImportModelBytes(std::span<const std::byte> bytes,
                                        const ImportOptions& options) {
  return onnx::InContext([] { return std::string("model in memory"); },
                         [&] {
                           return onnx::Guarded([&] {
                             onnx::ModelBytes model(bytes);
                             onnx::ExternalFiles files;
                             if (!options.external_folder.empty()) {
                               files = onnx::ExternalFiles::InFolder(options.external_folder);
                             }
                             onnx::ImportState state(options, model, std::move(files));
                             return onnx::ReadModel(state);
                           });
                         });
}

}  // namespace switchyard
