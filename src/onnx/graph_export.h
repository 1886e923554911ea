#pragma once
// Graphs and function bodies to GraphProto and FunctionProto. ONNX forbids that a body defines a
// name which is visible from outside; such names of a Graph are changed on the way out.

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx/proto_writer.h"
#include "onnx/value_export.h"
#include "switchyard/ir/graph.h"

namespace switchyard::onnx {

class GraphExporter {
 public:
  explicit GraphExporter(ExternalPlan* external) : external_(external) {}
  ProtoWriter WriteMain(const Graph& graph) { return WriteGraph(graph, nullptr); }
  ProtoWriter WriteFunction(const FunctionBody& function);

 private:
  // The names that one graph's values have in the file.
  struct Scope {
    const Graph& graph;
    const Scope* outer;
    std::unordered_set<std::string> used;
    std::unordered_map<const NodeArg*, std::string> renamed;
  };
  Scope MakeScope(const Graph& graph, const Scope* outer) const;
  static const std::string& NameOf(const NodeArg& value, const Scope& scope);
  ProtoWriter WriteGraph(const Graph& graph, const Scope* outer);
  void WriteConstants(const Scope& scope, ProtoWriter* out);
  void WriteNodes(const Scope& scope, FieldNumber field, ProtoWriter* out);
  ProtoWriter WriteNode(const Node& node, const Scope& scope);
  ProtoWriter WriteAttribute(const Attribute& attribute, const Scope* scope);
  void WriteAttributeValue(const Attribute& attribute, const Scope* scope, ProtoWriter* out);
  ProtoWriter WriteValueInfo(const NodeArg& value, const Scope& scope, bool with_denotations);
  void WriteHints(const Scope& scope, ProtoWriter* out);
  void WriteAnnotations(const Scope& scope, ProtoWriter* out);

  // Unique per model; empty names stay empty.
  std::string NodeName(const Node& node);

  ExternalPlan* external_;
  std::unordered_set<std::string> node_names_;
};

ProtoWriter WriteOpset(std::string_view domain, int version);

}  // namespace switchyard::onnx
