#pragma once
// Writes the body of a function operator node by node. Knows which opset it writes for: axes are
// attributes or inputs accordingly.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ir/graph.h"
#include "switchyard/ir/schema.h"

namespace switchyard {

class BodyBuilder {
 public:
  using Value = NodeArg*;

  // For a call of `node` in `graph`: the body has the node's arity and is written for the opset
  // that the graph imports, at least the node's.
  BodyBuilder(const Graph& graph, const Node& node, const OpSchemaRegistry& schemas);
  // A body of If, Loop or Scan inside another builder's; see Nested.
  BodyBuilder(BodyBuilder& outer, std::string name);

  int opset() const { return opset_; }
  const Node& node() const { return *node_; }
  const Attributes& attributes() const { return node_->attributes(); }

  // ---- the call
  Value Input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  bool Has(std::size_t i) const { return Input(i) != nullptr; }
  bool Wants(std::size_t output) const;
  // Of the argument in the calling graph; kUndefined and nothing when not known.
  DataType Elem(std::size_t i) const;
  std::optional<std::int64_t> Rank(std::size_t i) const;

  // ---- nodes
  Value Op(std::string_view op_type, std::initializer_list<Value> inputs,
           std::vector<Attribute> attributes = {});
  std::vector<Value> Many(std::string_view op_type, std::span<const Value> inputs,
                          std::size_t outputs, std::vector<Attribute> attributes = {});
  Value Cast(Value value, DataType to);
  Value Reduce(std::string_view op_type, Value value, std::span<const std::int64_t> axes,
               bool keep_dims);
  Value Unsqueeze(Value value, std::int64_t axis);
  Value Squeeze(Value value, std::int64_t axis);
  Value Transpose(Value value, std::initializer_list<std::int64_t> perm);
  Value Concat(std::int64_t axis, std::initializer_list<Value> values);
  Value Reshape(Value value, Value shape) { return Op("Reshape", {value, shape}); }
  // Dims [begin, end) of the value as a vector; end 0: to the last.
  Value Dims(Value value, std::int64_t begin, std::int64_t end = 0);
  // Elements [begin, end) of a vector, along axis 0.
  Value Elements(Value vector, std::int64_t begin, std::int64_t end);

  // ---- constants
  Value Ints(std::initializer_list<std::int64_t> values);
  Value Int(std::int64_t value);
  Value Bool(bool value);
  // A scalar of any numeric type.
  Value Scalar(double value, DataType type);
  Value Constant(ConstantPtr constant) { return graph_->AddConstant("", std::move(constant)); }

  // ---- bodies
  // Adds an input to a nested body.
  Value BodyInput(std::string_view name, ValueType type = {});
  // A value of the surrounding builder, seen from here.
  Value Outer(Value value) { return graph_->Capture(value->Name()); }
  void BodyOutput(Value value) { graph_->MarkOutput(value); }
  std::shared_ptr<Graph> FinishBody() { return graph_; }
  Graph& graph() { return *graph_; }

  // ---- the end
  void SetOutput(std::size_t i, Value value);
  FunctionBody Finish();

 private:
  const Graph* caller_;
  const Node* node_;
  const OpSchemaRegistry* schemas_;
  int opset_;
  std::shared_ptr<Graph> graph_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
};

// A scalar constant of a numeric type or bool, converted from a double.
ConstantPtr ScalarConstant(double value, DataType type);

}  // namespace switchyard
