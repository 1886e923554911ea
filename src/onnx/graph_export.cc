#include "onnx/graph_export.h"

#include <type_traits>

#include "onnx/fields.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {

GraphExporter::Scope GraphExporter::MakeScope(const Graph& graph, const Scope* outer) const {
  Scope scope{graph, outer, {}, {}};
  const auto visible = [&](const std::string& name) {
    for (const Scope* at = outer; at != nullptr; at = at->outer) {
      if (at->used.contains(name)) return true;
    }
    return false;
  };
  std::vector<const NodeArg*> hidden;
  for (ValueId id = 0; id < graph.value_limit(); ++id) {
    const NodeArg* value = graph.value(id);
    if (value == nullptr || value->is_captured()) continue;
    if (visible(value->Name())) {
      hidden.push_back(value);
    } else {
      scope.used.insert(value->Name());
    }
  }
  for (const NodeArg* value : hidden) {
    std::string name;
    for (int i = 1; name.empty() || visible(name) || scope.used.contains(name); ++i) {
      name = value->Name() + "__" + std::to_string(i);
    }
    scope.used.insert(name);
    scope.renamed.emplace(value, std::move(name));
  }
  return scope;
}

const std::string& GraphExporter::NameOf(const NodeArg& value, const Scope& scope) {
  const NodeArg* at = &value;
  const Scope* where = &scope;
  while (at->is_captured()) {
    SY_CHECK(where->outer != nullptr);
    where = where->outer;
    at = where->graph.FindValue(at->Name());
    SY_CHECK(at != nullptr);
  }
  const auto renamed = where->renamed.find(at);
  return renamed != where->renamed.end() ? renamed->second : at->Name();
}

ProtoWriter GraphExporter::WriteGraph(const Graph& graph, const Scope* outer) {
  const Scope scope = MakeScope(graph, outer);
  const ModelContext& context = graph.context();
  const bool main = outer == nullptr;
  ProtoWriter result;
  WriteNodes(scope, graph::kNode, &result);
  const std::string& name = context.graph_name;
  result.Text(graph::kName, main && !name.empty() ? name : main ? "graph" : "body");
  WriteConstants(scope, &result);
  if (main) result.Text(graph::kDocString, context.graph_doc_string);
  for (const NodeArg* input : graph.inputs()) {
    result.Message(graph::kInput, WriteValueInfo(*input, scope, main));
  }
  for (const NodeArg* output : graph.outputs()) {
    result.Message(graph::kOutput, WriteValueInfo(*output, scope, main));
  }
  WriteHints(scope, &result);
  if (main) WriteAnnotations(scope, &result);
  return result;
}

void GraphExporter::WriteConstants(const Scope& scope, ProtoWriter* out) {
  for (ValueId id = 0; id < scope.graph.value_limit(); ++id) {
    const NodeArg* value = scope.graph.value(id);
    if (value == nullptr || value->is_captured() || !value->constant()) continue;
    const bool needed =
        value->is_input() || !value->consumers().empty() || scope.graph.is_output(value);
    if (!needed) continue;
    out->Message(graph::kInitializer,
                 WriteTensor(NameOf(*value, scope), value->constant(), external_));
  }
}

void GraphExporter::WriteNodes(const Scope& scope, FieldNumber field, ProtoWriter* out) {
  for (const NodeIndex index : scope.graph.TopologicalOrder()) {
    out->Message(field, WriteNode(*scope.graph.node(index), scope));
  }
}

std::string GraphExporter::NodeName(const Node& node) {
  std::string name = node.Name();
  if (name.empty()) return name;
  for (int i = 1; !node_names_.insert(name).second; ++i) {
    name = node.Name() + "__" + std::to_string(i);
  }
  return name;
}

ProtoWriter GraphExporter::WriteNode(const Node& source, const Scope& scope) {
  ProtoWriter result;
  for (const NodeArg* input : source.inputs()) {
    result.Bytes(node::kInput, input != nullptr ? NameOf(*input, scope) : "");
  }
  for (const NodeArg* output : source.outputs()) {
    result.Bytes(node::kOutput, output != nullptr ? NameOf(*output, scope) : "");
  }
  result.Text(node::kName, NodeName(source));
  result.Text(node::kOpType, source.OpType());
  result.Text(node::kDomain, source.Domain());
  result.Text(node::kOverload, source.Overload());
  for (const Attribute& item : source.attributes()) {
    result.Message(node::kAttribute, WriteAttribute(item, &scope));
  }
  return result;
}

ProtoWriter GraphExporter::WriteAttribute(const Attribute& item, const Scope* scope) {
  ProtoWriter result;
  result.Text(attribute::kName, item.name);
  if (const auto* reference = std::get_if<AttributeReference>(&item.value)) {
    result.Text(attribute::kRefAttrName, reference->name);
  } else {
    WriteAttributeValue(item, scope, &result);
  }
  result.Int(attribute::kType, static_cast<int>(item.type()));
  return result;
}

void GraphExporter::WriteAttributeValue(const Attribute& item, const Scope* scope,
                                        ProtoWriter* out) {
  SymbolTable own;
  SymbolTable& symbols = scope != nullptr ? scope->graph.symbols() : own;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, float>) {
          out->Float(attribute::kF, value);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          out->Int(attribute::kI, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out->Bytes(attribute::kS, value);
        } else if constexpr (std::is_same_v<T, ConstantPtr>) {
          out->Message(attribute::kT, WriteTensor("", value, external_));
        } else if constexpr (std::is_same_v<T, std::shared_ptr<Graph>>) {
          out->Message(attribute::kG, WriteGraph(*value, scope));
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          out->PackedFloats(attribute::kFloats, value);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          out->PackedInts(attribute::kInts, value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& text : value) out->Bytes(attribute::kStrings, text);
        } else if constexpr (std::is_same_v<T, std::vector<ConstantPtr>>) {
          for (const auto& one : value) {
            out->Message(attribute::kTensors, WriteTensor("", one, external_));
          }
        } else if constexpr (std::is_same_v<T, Attribute::Graphs>) {
          for (const auto& one : value) out->Message(attribute::kGraphs, WriteGraph(*one, scope));
        } else if constexpr (std::is_same_v<T, ValueType>) {
          out->Message(attribute::kTp, WriteType(value, symbols));
        } else if constexpr (std::is_same_v<T, std::vector<ValueType>>) {
          for (const auto& one : value) {
            out->Message(attribute::kTypeProtos, WriteType(one, symbols));
          }
        }
      },
      item.value);
}

ProtoWriter GraphExporter::WriteValueInfo(const NodeArg& value, const Scope& scope,
                                          bool with_denotations) {
  std::vector<std::pair<std::size_t, std::string>> denotations;
  if (with_denotations) {
    for (const auto& known : scope.graph.context().dim_denotations) {
      if (known.value == value.Name()) denotations.emplace_back(known.axis, known.denotation);
    }
  }
  ProtoWriter result;
  result.Text(value_info::kName, NameOf(value, scope));
  if (value.type().known()) {
    result.Message(value_info::kType, WriteType(value.type(), scope.graph.symbols(), denotations));
  }
  return result;
}

// Types of what nodes make: a reader without inference for an operator needs them.
void GraphExporter::WriteHints(const Scope& scope, ProtoWriter* out) {
  for (ValueId id = 0; id < scope.graph.value_limit(); ++id) {
    const NodeArg* value = scope.graph.value(id);
    if (value == nullptr || value->producer() == kNoNode || scope.graph.is_output(value)) continue;
    const ValueType& type = value->type();
    if (!type.known() || (type.is_tensor() && type.elem == DataType::kUndefined)) continue;
    out->Message(graph::kValueInfo, WriteValueInfo(*value, scope, false));
  }
}

void GraphExporter::WriteAnnotations(const Scope& scope, ProtoWriter* out) {
  for (const auto& [name, parameters] : scope.graph.context().quantization_annotations) {
    if (scope.graph.FindValue(name) == nullptr) continue;
    ProtoWriter note;
    note.Bytes(annotation::kTensorName, name);
    for (const auto& [key, value] : parameters) {
      ProtoWriter pair;
      pair.Bytes(entry::kKey, key);
      pair.Bytes(entry::kValue, value);
      note.Message(annotation::kQuantParameterTensorNames, std::move(pair));
    }
    out->Message(graph::kQuantizationAnnotation, std::move(note));
  }
}

ProtoWriter GraphExporter::WriteFunction(const FunctionBody& source) {
  const Graph& body = *source.body;
  const Scope scope = MakeScope(body, nullptr);
  ProtoWriter result;
  result.Text(function::kName, source.name);
  for (const NodeArg* input : body.inputs()) result.Bytes(function::kInput, input->Name());
  for (const NodeArg* output : body.outputs()) result.Bytes(function::kOutput, output->Name());
  for (const std::string& name : source.attributes) result.Bytes(function::kAttribute, name);
  for (const Attribute& item : source.default_attributes) {
    result.Message(function::kAttributeProto, WriteAttribute(item, &scope));
  }
  // Functions have no initialisers.
  for (ValueId id = 0; id < body.value_limit(); ++id) {
    const NodeArg* value = body.value(id);
    if (value == nullptr || !value->constant()) continue;
    ProtoWriter constant;
    constant.Bytes(node::kOutput, value->Name());
    constant.Text(node::kOpType, "Constant");
    constant.Message(node::kAttribute, WriteAttribute({"value", value->constant()}, &scope));
    result.Message(function::kNode, std::move(constant));
  }
  WriteNodes(scope, function::kNode, &result);
  for (const auto& [domain, version] : source.opset_imports) {
    result.Message(function::kOpsetImport, WriteOpset(domain, version));
  }
  result.Text(function::kDomain, source.domain);
  result.Text(function::kOverload, source.overload);
  return result;
}

ProtoWriter WriteOpset(std::string_view domain, int version) {
  ProtoWriter result;
  result.Bytes(opset_id::kDomain, domain);
  result.Int(opset_id::kVersion, version);
  return result;
}

}  // namespace switchyard::onnx
