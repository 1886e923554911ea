#include <algorithm>

#include "ir/body_copier.h"
#include "ir/functions.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

class SequenceMapInliner {
 public:
  SequenceMapInliner(Graph& graph, const Node& node, const OpSchemaRegistry& schemas)
      : graph_(graph),
        schemas_(schemas),
        opset_(std::max(graph.opset(""), node.SinceVersion())),
        prefix_((node.Name().empty() ? node.OpType() : node.Name()) + "/"),
        where_(node.Describe()),
        body_(node.attributes().Subgraph("body")),
        inputs_(node.inputs().begin(), node.inputs().end()),
        outputs_(node.outputs().begin(), node.outputs().end()) {
    if (body_ == nullptr || body_->inputs().size() != inputs_.size() ||
        body_->outputs().size() < outputs_.size() || inputs_.empty()) {
      throw Error(ErrorCode::kInvalidGraph, where_ + ": its body does not fit it");
    }
  }

  // Whether everything that the Loop's shape depends on is known.
  bool Ready() {
    for (const NodeArg* input : inputs_) {
      if (input == nullptr || !input->type().known()) return false;
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      elements_.push_back(ElementOf(i));
      if (elements_.back() == DataType::kUndefined) return false;
    }
    return inputs_[0]->type().kind == ValueType::Kind::kSequence;
  }

  std::vector<Node*> Inline() {
    std::vector<NodeArg*> loop_inputs{Add(graph_, "SequenceLength", {inputs_[0]}), nullptr};
    for (const DataType element : elements_) {
      Attributes attributes;
      attributes.Set({"dtype", static_cast<std::int64_t>(element)});
      loop_inputs.push_back(Add(graph_, "SequenceEmpty", {}, std::move(attributes)));
    }
    Attributes attributes;
    attributes.Set({"body", LoopBody()});
    made_.push_back(graph_.AddNode("Loop", "", prefix_ + "Loop", loop_inputs, outputs_,
                                   std::move(attributes), Since("Loop")));
    return made_;
  }

 private:
  DataType ElementOf(std::size_t output) const {
    const auto of = [](const ValueType& type) {
      return type.is_tensor() ? type.elem : DataType::kUndefined;
    };
    const DataType inside = of(body_->outputs()[output]->type());
    if (inside != DataType::kUndefined || outputs_[output] == nullptr) return inside;
    const ValueType& outside = outputs_[output]->type();
    return outside.element ? of(*outside.element) : DataType::kUndefined;
  }

  int Since(std::string_view op_type) const {
    const OpSchema* schema = schemas_.Find("", op_type, opset_);
    return schema != nullptr ? schema->since_version : opset_;
  }

  NodeArg* Add(Graph& where, const std::string& op_type, std::vector<NodeArg*> inputs,
               Attributes attributes = {}) {
    NodeArg* const outputs[] = {where.AddValue(where.UniqueName(prefix_ + op_type))};
    Node* node = where.AddNode(op_type, "", outputs[0]->Name(), inputs, outputs,
                               std::move(attributes), Since(op_type));
    if (&where == &graph_) made_.push_back(node);
    return outputs[0];
  }

  std::shared_ptr<Graph> LoopBody() {
    auto loop = std::make_shared<Graph>(graph_.shared_context(), &graph_);
    const auto input = [&](const char* name, ValueType type) {
      return loop->AddInput(loop->UniqueName(prefix_ + name), std::move(type));
    };
    NodeArg* step = input("step", ValueType::Tensor(DataType::kInt64, Shape::Scalar()));
    NodeArg* proceed = input("proceed", ValueType::Tensor(DataType::kBool, Shape::Scalar()));
    std::vector<NodeArg*> collected;
    for (const DataType element : elements_) {
      collected.push_back(input("collected", ValueType::Sequence(ValueType::Tensor(element))));
    }
    const FunctionBody none;
    const Attributes no_attributes;
    const FunctionCall call{none, no_attributes, prefix_, where_};
    BodyCopier copier(call, *body_, *loop, nullptr);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      NodeArg* outer = loop->Capture(inputs_[i]->Name());
      const bool sequence = inputs_[i]->type().kind == ValueType::Kind::kSequence;
      copier.Bind(body_->inputs()[i], sequence ? Add(*loop, "SequenceAt", {outer, step}) : outer);
    }
    copier.CopyConstants();
    copier.CopyNodes();
    loop->MarkOutput(Add(*loop, "Identity", {proceed}));
    for (std::size_t i = 0; i < collected.size(); ++i) {
      NodeArg* item = copier.Copy(body_->outputs()[i]);
      loop->MarkOutput(Add(*loop, "SequenceInsert", {collected[i], item}));
    }
    return loop;
  }

  Graph& graph_;
  const OpSchemaRegistry& schemas_;
  int opset_;
  std::string prefix_, where_;
  std::shared_ptr<Graph> body_;
  std::vector<NodeArg*> inputs_, outputs_;
  std::vector<DataType> elements_;
  std::vector<Node*> made_;
};

}  // namespace

std::optional<std::vector<NodeIndex>> InlineSequenceMap(Graph& graph, NodeIndex index,
                                                        const OpSchemaRegistry& schemas,
                                                        const InferenceRegistry* inference) {
  SequenceMapInliner inliner(graph, *graph.node(index), schemas);
  if (!inliner.Ready()) return std::nullopt;
  graph.RemoveNode(index);
  std::vector<NodeIndex> result;
  for (Node* node : inliner.Inline()) {
    if (inference != nullptr) InferNode(graph, *node, *inference);
    result.push_back(node->Index());
  }
  return result;
}

}  // namespace switchyard
