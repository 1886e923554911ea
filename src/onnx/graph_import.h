#pragma once
// GraphProto and FunctionProto bodies to Graphs: names to values, wiring, bodies inside bodies.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "onnx/import_state.h"
#include "switchyard/ir/graph.h"

namespace switchyard::onnx {

// (domain, name, overload) of a model-local function.
using FunctionKey = std::tuple<std::string, std::string, std::string>;

// What a graph holds, bodies included: nodes, how deep bodies go, and calls of functions.
struct CallCount {
  struct Calls {
    std::size_t nodes = 0;  // that call it
    int depth = 0;          // of the deepest of them
  };
  std::size_t nodes = 0;
  int depth = 0;
  std::map<std::size_t, Calls> calls;  // by index of the function
};

struct ModelFacts {
  std::map<FunctionKey, std::size_t> functions;  // -> index in ModelContext::functions
  std::vector<std::size_t> function_inputs, function_outputs;  // formal counts, by that index
};

class GraphImporter {
 public:
  // in_function: attribute references are allowed.
  GraphImporter(ImportState& state, const ModelFacts& facts, std::shared_ptr<ModelContext> context,
                bool in_function)
      : state_(state), facts_(facts), context_(std::move(context)), in_function_(in_function) {}

  // The main graph of a model.
  std::unique_ptr<Graph> ReadMain(std::string_view proto);
  // Formal names, nodes and value_info of a function.
  std::unique_ptr<Graph> ReadFunction(std::span<const std::string_view> inputs,
                                      std::span<const std::string_view> outputs,
                                      std::span<const std::string_view> nodes,
                                      std::span<const std::string_view> value_infos);
  Attribute ReadAttribute(std::string_view proto, Graph* graph, int depth);

  const CallCount& calls() const { return calls_; }

 private:
  struct Parts;
  struct NodeParts;
  std::unique_ptr<Graph> ReadBody(std::string_view proto, Graph* parent, int depth);
  static Parts Split(std::string_view proto);
  void AddConstants(const Parts& parts, bool main, Graph* graph);
  void AddInputs(const Parts& parts, bool main, Graph* graph);
  void AddConstantAsInput(NodeArg* value, ConstantPtr constant, Graph* graph);
  std::vector<NodeParts> DefineValues(std::span<const std::string_view> nodes, Graph* graph,
                                      int depth);
  NodeParts ReadNodeParts(std::string_view proto, std::size_t index);
  bool DefineConstantNode(const NodeParts& node, Graph* graph, int depth);
  void AddHints(std::span<const std::string_view> infos, Graph* graph);
  void AddNodes(const std::vector<NodeParts>& nodes, Graph* graph, int depth);
  void AddNode(const NodeParts& node, Graph* graph, int depth);
  void CheckCall(const NodeParts& node, int depth);
  void AddOutputs(std::span<const std::string_view> infos, Graph* graph);
  NodeArg* Resolve(std::string_view name, Graph* graph);
  void KeepAnnotations(std::span<const std::string_view> protos);

  ImportState& state_;
  const ModelFacts& facts_;
  std::shared_ptr<ModelContext> context_;
  bool in_function_;
  CallCount calls_;
};

}  // namespace switchyard::onnx
