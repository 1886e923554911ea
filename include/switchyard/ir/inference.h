#pragma once
// Type and shape inference of one node. One function per operator serves load (symbolic dims) and
// run (all inputs concrete; nothing may allocate then when ranks are small).

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/base/error.h"
#include "switchyard/base/function_ref.h"
#include "switchyard/ir/graph.h"

namespace switchyard {

// Inputs and outputs of one node while its function runs. An output that the function does not set
// keeps an unknown type; a dim that only the data can tell stays Dim().
class SWITCHYARD_API InferenceContext {
 public:
  // Called with a body, the types of its inputs; answers those of its outputs.
  using InferBody =
      FunctionRef<std::vector<ValueInfo>(Graph& body, std::span<const ValueInfo> inputs)>;

  InferenceContext(const Node& node, const Graph& graph, std::span<const ValueInfo* const> inputs,
                   std::span<ValueInfo> outputs, const InferBody* infer_body = nullptr)
      : node_(node), graph_(graph), inputs_(inputs), outputs_(outputs), infer_body_(infer_body) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes(); }
  int since_version() const { return node_.SinceVersion(); }
  SymbolTable& symbols() const { return graph_.symbols(); }

  std::size_t num_inputs() const { return inputs_.size(); }
  std::size_t num_outputs() const { return outputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  bool has_output(std::size_t i) const {
    return i < node_.outputs().size() && node_.outputs()[i] != nullptr;
  }
  // Absent inputs give an unknown type.
  const ValueType& input_type(std::size_t i) const;
  const Shape& input_shape(std::size_t i) const { return input_type(i).shape; }
  DataType input_elem(std::size_t i) const { return input_type(i).elem; }

  // The integers (or bools) in input i, if all can be had, numbers or expressions; remembers that
  // the outcome depends on that input's contents. Rank 0 and 1 alike.
  bool ReadInts(std::size_t i, InlineVector<Dim, 8>* out);
  // The same for floating point contents (Resize scales, Range); float, double, half.
  bool ReadFloats(std::size_t i, InlineVector<double, 8>* out);
  // Like ReadInts but only when the integers are followed or small; never marks the input: for
  // value propagation, where failing costs nothing.
  bool PeekInts(std::size_t i, InlineVector<Dim, 8>* out) const;
  // Bit i: ReadInts or ReadFloats was asked of input i (>= 63 share the last bit).
  std::uint64_t value_reads() const { return value_reads_; }

  void SetType(std::size_t output, ValueType type);
  void SetTensor(std::size_t output, DataType elem, Shape shape);
  // Integers of an output; ignored when longer than ValueInfo::kMaxFollowed.
  void SetInts(std::size_t output, std::span<const Dim> values);

  std::vector<ValueInfo> InferBodyOutputs(Graph& body, std::span<const ValueInfo> inputs);

  // Throws InvalidGraph: "Conv 'x' (opset 13): <text>".
  [[noreturn]] void Fail(std::string_view text) const;
  // A negative axis counts from the end. Fails when out of range.
  std::int64_t Axis(std::int64_t axis, std::size_t rank, std::string_view attribute = "axis") const;

 private:
  const Node& node_;
  const Graph& graph_;
  std::span<const ValueInfo* const> inputs_;
  std::span<ValueInfo> outputs_;
  const InferBody* infer_body_;
  std::uint64_t value_reads_ = 0;
};

using InferenceFn = void (*)(InferenceContext&);

// domain, operator and opset range -> function. Register until a session takes it, then read-only.
class SWITCHYARD_API InferenceRegistry {
 public:
  InferenceRegistry();
  ~InferenceRegistry();
  // Serves versions first..last of the schema (since_version), last 0: open.
  void Register(std::string_view domain, std::string_view op_type, int first, int last,
                InferenceFn fn);
  void Register(std::string_view op_type, InferenceFn fn) { Register("", op_type, 1, 0, fn); }
  // nullptr: none.
  InferenceFn Find(const Node& node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Infers a whole graph in topological order, bodies included, and stores what it finds in the
// graph's values. Declared shapes are hints and may be wrong: outputs of operators with a function
// have the shape that it finds, no more; a contradiction gives a text in *warnings. What is still
// unknown of a shape outside bodies gets a fresh symbol per dim. Operators without a function leave
// their outputs as declared. Another run keeps what an earlier one found and it cannot tell.
SWITCHYARD_API void InferGraph(Graph& graph, const InferenceRegistry& registry,
                               std::vector<std::string>* warnings = nullptr);
// One node; used after an edit.
SWITCHYARD_API void InferNode(Graph& graph, Node& node, const InferenceRegistry& registry);
// What InferNode would find, without storing it (types in bodies of the node are stored).
SWITCHYARD_API std::vector<ValueInfo> InferOutputs(const Graph& graph, const Node& node,
                                                   const InferenceRegistry& registry);

}  // namespace switchyard
