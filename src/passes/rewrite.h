#pragma once
// What passes are made of: a function with its name and roots, and questions about values and nodes
// that come up in many patterns.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "switchyard/ir/rewrite/pass.h"

namespace switchyard::passes {

using ProposeFn = std::optional<Patch> (*)(const Graph& graph, const Node& node,
                                           PassContext& context);

struct Rewrite {
  std::string_view name;
  // Empty: every node. A node of these has its first output when `propose` is called.
  std::vector<std::string_view> roots;
  ProposeFn propose;
  Exactness exactness = Exactness::kExact;
  PassStage stage = PassStage::kBasic;
  std::vector<std::string_view> after = {};
};
std::unique_ptr<Pass> MakePass(Rewrite rewrite);

bool IsOp(const Node& node, std::string_view op_type, std::string_view domain = "");
// The node that makes `value` if it is that operator, else nullptr.
const Node* ProducerOf(const Graph& graph, const NodeArg* value, std::string_view op_type,
                       std::string_view domain = "");
// Whether anything reads it, graph outputs included.
bool IsRead(const Graph& graph, const NodeArg* value);
// Whether exactly one use is left, by a node's explicit input.
bool HasOneReader(const Graph& graph, const NodeArg* value);
const NodeArg* InputOf(const Node& node, std::size_t i);  // nullptr: absent
const NodeArg* OutputOf(const Node& node, std::size_t i);

// The dense tensor of a value that is the same in every Run, else nullptr.
const Tensor* ConstantTensor(const NodeArg* value);
// The integers of a value as far as they are all known to be numbers.
std::optional<std::vector<std::int64_t>> KnownInts(const NodeArg* value);
// Attribute `name`, or input `slot` where the operator takes it as an input; nullopt: not known.
std::optional<std::vector<std::int64_t>> IntsOf(const Node& node, std::string_view name,
                                                std::size_t slot);
// Provably the same type and shape.
bool SameTypeAndShape(const NodeArg* a, const NodeArg* b);
// Whether equal inputs give equal outputs, as the schema says.
bool IsDeterministic(const Node& node);

// The floating point elements of a constant as doubles; nullopt for other types. A constant that
// can be read again is not kept in memory.
std::optional<std::vector<double>> Reals(const NodeArg* value);
// The one floating point element of a constant; nullopt for others, which are not read.
std::optional<double> OneReal(const NodeArg* value);
// A constant of type float, double, float16 or bfloat16 from doubles.
ConstantPtr MakeReals(DataType type, std::span<const std::int64_t> dims,
                      std::span<const double> values);

// ReplaceUses of one output.
std::optional<Patch> ReplaceBy(const Graph& graph, const Node& node, const NodeArg* with);

// The IR's values are changed by patches only; a patch wants them without const.
inline NodeArg* Mutable(const NodeArg* value) { return const_cast<NodeArg*>(value); }

}  // namespace switchyard::passes
