#pragma once
// Function operators: which body a node stands for, and putting that body in its place.
// Bodies are FunctionBody graphs, whether they come from the model, from the standard's plain
// bodies or from code (function_bodies.h).

#include <optional>
#include <vector>

#include "switchyard/ir/graph.h"
#include "switchyard/ir/inference.h"
#include "switchyard/ir/schema.h"

namespace switchyard {

// The function of the model that the node calls, nullptr: none. It hides a standard operator.
const FunctionBody* FindFunction(const ModelContext& context, const Node& node);

// The body that the standard gives this node's operator. Nothing: it has none, or it depends on
// types that are not known.
std::optional<FunctionBody> StandardBody(const Graph& graph, const Node& node,
                                         const OpSchemaRegistry& schemas);

// Puts a copy of the body in place of the node. New nodes and values have names that begin with the
// node's; attribute references become the node's attributes, the function's defaults, or nothing.
// Returns the new nodes, producers first; with `inference` their types are inferred. Throws
// InvalidGraph when node and function do not fit; the graph must not be used any more then.
std::vector<NodeIndex> InlineFunctionNode(Graph& graph, NodeIndex index,
                                          const FunctionBody& function,
                                          const InferenceRegistry* inference = nullptr);

// SequenceMap as a Loop: its own body, which sees the graph around it, becomes part of the Loop's.
// Nothing: element types are not known.
std::optional<std::vector<NodeIndex>> InlineSequenceMap(
    Graph& graph, NodeIndex index, const OpSchemaRegistry& schemas,
    const InferenceRegistry* inference = nullptr);

// FlexAttention, whose modifier graphs see the graph around it. Nothing: types are not known.
std::optional<std::vector<NodeIndex>> InlineFlexAttention(
    Graph& graph, NodeIndex index, const OpSchemaRegistry& schemas,
    const InferenceRegistry* inference = nullptr);

// Any of these: FindFunction, then the standard's. Nothing: the node is no function.
std::optional<std::vector<NodeIndex>> InlineNode(Graph& graph, NodeIndex index,
                                                 const OpSchemaRegistry& schemas,
                                                 const InferenceRegistry* inference = nullptr);

}  // namespace switchyard
