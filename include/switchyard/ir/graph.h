#pragma once
// The graph: nodes and values with ids that stay the same while it is edited. It knows operators by
// name only: no placement, no kernel, no scratch fields. One writer at a time.
// Bodies of If, Loop, Scan are Graphs held in attributes; values they capture from outside are
// NodeArgs of the body with is_captured(), named like the outer value, and listed among the node's
// implicit inputs.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "switchyard/ir/attribute.h"
#include "switchyard/ir/known_value.h"
#include "switchyard/ir/model_context.h"

namespace switchyard {

using NodeIndex = std::size_t;
using ValueId = std::uint32_t;
inline constexpr NodeIndex kNoNode = static_cast<NodeIndex>(-1);
inline constexpr ValueId kNoValue = static_cast<ValueId>(-1);

// A value: graph input, constant, captured value or output of a node.
class SWITCHYARD_API NodeArg {
 public:
  ValueId id() const { return id_; }
  const std::string& Name() const { return name_; }
  const ValueType& type() const { return info_.type; }
  const ValueInfo& info() const { return info_; }  // type, and integers known of its contents
  const ConstantPtr& constant() const { return constant_; }  // nullptr: not a constant
  NodeIndex producer() const { return producer_; }           // kNoNode: none
  int producer_slot() const { return producer_slot_; }
  bool is_input() const { return is_input_; }        // of this graph
  bool is_captured() const { return is_captured_; }  // from the surrounding graph
  // A graph input with a default value that a Run may replace (IR >= 4): not to be folded.
  bool is_overridable() const { return is_input_ && constant_ != nullptr; }
  // Constant in every Run.
  bool is_constant() const { return constant_ != nullptr && !is_input_; }
  // Nodes that read it, each once per use, implicit uses by nodes with bodies included.
  std::span<const NodeIndex> consumers() const { return consumers_; }

 private:
  friend class Graph;
  friend class Patch;
  ValueId id_ = kNoValue;
  std::string name_;
  ValueInfo info_;
  ConstantPtr constant_;
  NodeIndex producer_ = kNoNode;
  int producer_slot_ = 0;
  bool is_input_ = false;
  bool is_captured_ = false;
  int output_uses_ = 0;  // how often it is a graph output
  std::vector<NodeIndex> consumers_;
};

class SWITCHYARD_API Node {
 public:
  NodeIndex Index() const { return index_; }
  const std::string& Name() const { return name_; }
  const std::string& OpType() const { return op_type_; }
  const std::string& Domain() const { return domain_; }      // "" is ai.onnx
  const std::string& Overload() const { return overload_; }  // of the model-local function it calls
  int SinceVersion() const {
    return since_version_;
  }  // of the schema it resolves to; the opset
     // version where there is no schema
  const Attributes& attributes() const { return attributes_; }
  // Optional arguments left out are nullptr.
  std::span<NodeArg* const> inputs() const { return inputs_; }
  std::span<NodeArg* const> outputs() const { return outputs_; }
  // Outer values that its bodies capture.
  std::span<NodeArg* const> implicit_inputs() const { return implicit_inputs_; }
  bool has_body() const;
  // Bodies with their attribute names, in attribute order.
  std::vector<std::pair<std::string, Graph*>> bodies() const;
  // "Conv 'block3/conv1' (opset 13)": for messages.
  std::string Describe() const;

 private:
  friend class Graph;
  friend class Patch;
  NodeIndex index_ = kNoNode;
  std::string name_;
  std::string op_type_;
  std::string domain_;
  std::string overload_;
  int since_version_ = 0;
  Attributes attributes_;
  std::vector<NodeArg*> inputs_;
  std::vector<NodeArg*> outputs_;
  std::vector<NodeArg*> implicit_inputs_;
};

class SWITCHYARD_API Graph {
 public:
  explicit Graph(std::shared_ptr<ModelContext> context, Graph* parent = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  // A deep copy, bodies included; ids are the same.
  std::unique_ptr<Graph> Clone() const;
  // The same below another parent, or (symbols made anew) in another model.
  std::unique_ptr<Graph> CloneInto(std::shared_ptr<ModelContext> context, Graph* parent) const;

  ModelContext& context() const { return *context_; }
  const std::shared_ptr<ModelContext>& shared_context() const { return context_; }
  SymbolTable& symbols() const { return context_->symbols; }
  int opset(std::string_view domain) const;  // 0: not imported
  Graph* parent() const { return parent_; }

  // ---- reading
  std::span<NodeArg* const> inputs() const { return inputs_; }  // overridable ones included
  std::span<NodeArg* const> outputs() const { return outputs_; }
  bool is_output(const NodeArg* value) const { return value->output_uses_ != 0; }
  Node* node(NodeIndex index) const;                        // nullptr: removed
  std::size_t node_limit() const { return nodes_.size(); }  // indices are below it
  std::size_t node_count() const { return live_nodes_; }
  NodeArg* value(ValueId id) const;  // nullptr: removed
  std::size_t value_limit() const { return values_.size(); }
  NodeArg* FindValue(std::string_view name) const;
  // Producers before consumers; ties in order of creation. Throws InvalidGraph naming a node of the
  // cycle if there is one. Cached until the next edit.
  std::span<const NodeIndex> TopologicalOrder() const;

  // ---- writing: the importer and Patch; passes stage their edits in a Patch instead
  NodeArg* AddInput(std::string name, ValueType type);
  NodeArg* AddConstant(std::string name, ConstantPtr constant);  // name "": a fresh one
  NodeArg* AddValue(std::string name, ValueType type = {});      // name "": a fresh one
  NodeArg* Capture(std::string_view outer_name);                 // of the parent, or its parents
  void SetConstant(NodeArg* value, ConstantPtr constant);        // also the default of an input
  void MarkOutput(NodeArg* value);
  void ReplaceOutput(std::size_t index, NodeArg* value);
  Node* AddNode(std::string op_type, std::string domain, std::string name,
                std::span<NodeArg* const> inputs, std::span<NodeArg* const> outputs,
                Attributes attributes, int since_version = 0);
  void SetOverload(Node* node, std::string overload) { node->overload_ = std::move(overload); }
  void RemoveNode(NodeIndex index);
  void SetInput(Node* node, std::size_t slot, NodeArg* value);
  void SetOutput(Node* node, std::size_t slot, NodeArg* value);
  void SetAttribute(Node* node, Attribute attribute);
  void EraseAttribute(Node* node, std::string_view name);
  void SetInfo(NodeArg* value, ValueInfo info);
  void RenameValue(NodeArg* value, std::string name);  // captures in bodies follow
  void RemoveValue(NodeArg* value);                    // only without producer and consumers
  void DropInput(NodeArg* value);                      // an input becomes a plain value or constant
  // Drops values and constants that nothing reads, in bodies too.
  void RemoveUnusedValues();
  // Reads anew what the node's bodies capture; call it after editing them.
  void UpdateImplicitInputs(Node* node);
  // Not used in this graph or around it.
  std::string UniqueName(std::string_view stem);
  // Whether types come from inference (set by InferGraph) or are only declared.
  bool inferred() const { return inferred_; }
  void set_inferred() { inferred_ = true; }

 private:
  friend class Patch;
  void AddUse(NodeArg* value, NodeIndex user);
  void RemoveUse(NodeArg* value, NodeIndex user);
  NodeArg* NewValue(std::string name);
  void Rewire(NodeArg* from, NodeArg* to, bool outputs);
  void RenameCapture(const std::string& old_name, const std::string& name);
  void RankNodes() const;

  std::shared_ptr<ModelContext> context_;
  Graph* parent_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<NodeArg>> values_;
  std::vector<NodeArg*> inputs_;
  std::vector<NodeArg*> outputs_;
  std::unordered_map<std::string, NodeArg*> by_name_;
  std::size_t live_nodes_ = 0;
  std::uint64_t next_fresh_ = 0;
  bool inferred_ = false;
  mutable std::vector<NodeIndex> order_;
  mutable bool order_valid_ = false;
  // Increasing along every edge, with gaps: lets a Patch tell cheaply that it makes no cycle.
  mutable std::vector<std::uint64_t> rank_;
  mutable bool rank_valid_ = false;
};

}  // namespace switchyard
