#pragma once
// Copies the graph of a function into the graph that calls it. The machinery of functions.h.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "switchyard/ir/graph.h"

namespace switchyard {

// What the call gives the body's copies.
struct FunctionCall {
  const FunctionBody& function;
  const Attributes& attributes;  // of the node
  std::string prefix;            // of new names
  std::string where;             // for messages

  [[noreturn]] void Fail(const std::string& text) const;
};

// Copies one graph of a function into `target`. Values of the source are looked up in `values`;
// nullptr there stands for an optional input that the call leaves out. Without `outer`, what the
// source captures is what `target` sees under that name.
class BodyCopier {
 public:
  BodyCopier(const FunctionCall& call, const Graph& source, Graph& target, BodyCopier* outer)
      : call_(call), source_(source), target_(target), outer_(outer) {}

  void Bind(const NodeArg* value, NodeArg* copy) { values_[value] = copy; }
  void CopyConstants();
  // The copies of nodes, producers first.
  std::vector<Node*> CopyNodes();
  NodeArg* Copy(const NodeArg* value);

 private:
  NodeArg* NewValue(const NodeArg& value) {
    return target_.AddValue(target_.UniqueName(call_.prefix + value.Name()));
  }
  std::optional<Attribute> Bound(const Attribute& attribute) const;
  std::shared_ptr<Graph> CopyBody(const Graph& body);
  Attributes CopyAttributes(const Node& node);

  const FunctionCall& call_;
  const Graph& source_;
  Graph& target_;
  BodyCopier* outer_;
  std::unordered_map<const NodeArg*, NodeArg*> values_;
};

}  // namespace switchyard
