#pragma once
// The staged state of a Patch, and its application in steps: resolve, infer, check, splice, clean.

#include <optional>

#include "switchyard/ir/rewrite/patch.h"

namespace switchyard {

struct Patch::Impl {
  struct Staged {
    std::unique_ptr<NodeArg> arg;  // until it moves into the graph
    NodeArg* raw = nullptr;
    std::string stem;
  };
  struct StagedNode {
    std::unique_ptr<Node> node;
    std::vector<Ref> inputs, outputs;
    std::vector<std::pair<std::string, Ref>> captures;  // name inside its bodies, value outside
    std::optional<Attributes> arguments;                // of the function it is inlined from
    bool resolve = false;                               // references in bodies
    int opset = 0;
  };
  struct InputEdit {
    NodeIndex node;
    std::size_t slot;
    Ref value;
  };
  struct AttributeEdit {
    NodeIndex node;
    Attribute attribute;
    bool erase;
  };
  struct Replacement {
    NodeArg* old;
    Ref with;
    bool keeps_output = false;  // `old` stays the graph output: `with` can't take its name
  };

  explicit Impl(const Graph& g) : graph(g) {}

  const Graph& graph;
  std::vector<Staged> values;
  std::vector<StagedNode> nodes;
  std::vector<NodeIndex> removals;
  std::vector<InputEdit> input_edits;
  std::vector<AttributeEdit> attribute_edits;
  std::vector<Replacement> replacements;
  std::vector<std::pair<NodeArg*, Shape>> refinements;  // of graph inputs

  // ---- staging
  Ref NewValue(std::string_view stem);
  std::vector<Ref> NewNode(std::string_view op_type, std::string_view domain,
                           std::span<const Ref> inputs, Attributes attributes,
                           const std::vector<bool>& has_output, std::string_view name,
                           int since_version);
  void InlineNode(const Node& node, std::string_view prefix, const Attributes* arguments,
                  bool same_symbols, std::vector<Ref>* known);

  // ---- applying; the checks answer why not, "" if they pass
  Result Commit(Graph& target, const InferenceRegistry& inference, const NodeCheck& check);
  std::string CheckReferences(const Graph& target) const;
  void DecideOutputs(const Graph& target);
  void ResolveStaged(Graph& target);
  void CloneBodies(Graph& target, StagedNode& staged);
  std::string InferStaged(Graph& target, const InferenceRegistry& inference,
                          const NodeCheck& check);
  std::string CheckEdits(const Graph& target, const InferenceRegistry& inference) const;
  std::string CheckReplacements(const Graph& target) const;
  std::string CheckRemovals(const Graph& target) const;
  std::string CheckCycle(const Graph& target);
  void Splice(Graph& target, Result* result);
  void SpliceNodes(Graph& target, Result* result);
  void SpliceReplacement(Graph& target, const Replacement& replacement, Result* result);
  void NoteNeighbours(const Graph& target, const Node& node, Result* result);
  void RemoveDead(Graph& target, Result* result);
  void Propagate(Graph& target, const InferenceRegistry& inference, Result* result) const;

  NodeArg* Resolve(const Ref& ref) const {
    return ref.staged >= 0 ? values[static_cast<std::size_t>(ref.staged)].raw : ref.existing;
  }
  bool IsRemoved(NodeIndex index) const;
  const Replacement* ReplacementOf(const NodeArg* value) const;

  struct OutputIdentity {
    NodeArg* old;
    NodeArg* with;
  };
  std::vector<OutputIdentity> identities;
  bool keeps_ranks = false;         // the splice leaves the ranks of the target valid
  std::uint64_t low = 0, step = 0;  // ranks of staged nodes: low + step, low + 2 * step ...
  std::vector<NodeArg*> changed;    // whose info grew: readers are inferred anew
  std::vector<NodeIndex> maybe_dead;
  std::vector<ValueId> maybe_unread;
};

}  // namespace switchyard
