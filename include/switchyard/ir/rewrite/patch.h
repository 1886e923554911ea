#pragma once
// A staged edit of a graph: built first, then checked and applied as a whole, or refused without a
// trace. Refused when it would change the type or the shape of a value that stays, drop a graph
// output, or make a cycle.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ir/inference.h"

namespace switchyard {

class SWITCHYARD_API Patch {
 public:
  explicit Patch(const Graph& graph);
  ~Patch();
  Patch(Patch&&) noexcept;

  // A value of the graph or one staged here.
  struct Ref {
    NodeArg* existing = nullptr;
    int staged = -1;
    Ref() = default;
    Ref(NodeArg* value) : existing(value) {}  // NOLINT: implicit by intent
    bool empty() const { return existing == nullptr && staged < 0; }
  };

  Ref AddConstant(ConstantPtr constant, std::string_view stem = "");
  // Output types come from inference when the patch is applied. The opset is the graph's import of
  // the domain; `since_version` overrides it.
  std::vector<Ref> AddNode(std::string_view op_type, std::string_view domain,
                           std::span<const Ref> inputs, Attributes attributes,
                           std::size_t num_outputs = 1, std::string_view name = "",
                           int since_version = 0);
  Ref AddNode1(std::string_view op_type, std::string_view domain, std::initializer_list<Ref> inputs,
               Attributes attributes = {}, std::string_view name = "");
  // Type and shape of a staged value for which inference finds none.
  void SetInfo(Ref value, ValueInfo info);
  // Stages copies of the nodes of `body`, which is a body of a node of this graph or that of a
  // function, `inputs` in place of its inputs; answers what its outputs are. References to function
  // attributes are looked up in `arguments`; without one there the attribute is left out. Names of
  // nodes get `prefix` in front.
  std::vector<Ref> Inline(const Graph& body, std::span<const Ref> inputs, std::string_view prefix,
                          const Attributes* arguments = nullptr);
  // The graph input has this shape: what follows from it is inferred anew.
  void RefineInput(NodeArg* input, Shape shape);
  void Remove(const Node& node);
  void SetInput(const Node& node, std::size_t slot, Ref value);
  void SetAttribute(const Node& node, Attribute attribute);
  void EraseAttribute(const Node& node, std::string_view name);
  // All readers of `old` but the nodes staged here (graph outputs and bodies included) read `with`
  // instead; a graph output keeps its name, if need be by an Identity.
  void ReplaceUses(NodeArg* old, Ref with);

  bool empty() const;

  struct Result {
    std::string refused;  // empty: applied; otherwise why not
    std::vector<NodeIndex> created;
    std::vector<NodeIndex> removed;
    std::vector<NodeIndex> touched;  // live nodes around the edit, the created ones included
  };
  // Says of a node about to be created why it may not be, "" if it may. Its types are known.
  using NodeCheck = std::function<std::string(const Node&)>;
  // The graph is unchanged when refused. Nodes left without a reader by the edit are removed.
  Result Commit(Graph& graph, const InferenceRegistry& inference,
                const NodeCheck& check = nullptr) &&;
  std::string Apply(Graph& graph, const InferenceRegistry& inference) && {
    return std::move(*this).Commit(graph, inference).refused;
  }
  // Existing nodes that the patch removes or edits directly.
  std::vector<NodeIndex> edited_nodes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
