#include "switchyard/ir/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

Dim CopyDim(const Dim& dim, SymbolTable& symbols) {
  return dim.is_symbolic() ? symbols.Parse(dim.ToString()) : dim;
}

ValueType CopyType(const ValueType& type, SymbolTable& symbols) {
  ValueType copy = type;
  if (copy.shape.ranked()) {
    for (std::size_t i = 0; i < copy.shape.rank(); ++i) {
      copy.shape[i] = CopyDim(copy.shape[i], symbols);
    }
  }
  if (type.element) {
    copy.element = std::make_shared<const ValueType>(CopyType(*type.element, symbols));
  }
  return copy;
}

void AppendBodies(const Attribute& attribute, std::vector<std::pair<std::string, Graph*>>* out) {
  if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
    if (*graph) out->emplace_back(attribute.name, graph->get());
  } else if (const auto* graphs = std::get_if<Attribute::Graphs>(&attribute.value)) {
    for (const auto& item : *graphs) out->emplace_back(attribute.name, item.get());
  }
}

}  // namespace

bool Node::has_body() const {
  return std::any_of(attributes_.begin(), attributes_.end(), [](const Attribute& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.value) ||
           std::holds_alternative<Attribute::Graphs>(attribute.value);
  });
}

std::vector<std::pair<std::string, Graph*>> Node::bodies() const {
  std::vector<std::pair<std::string, Graph*>> result;
  for (const Attribute& attribute : attributes_) AppendBodies(attribute, &result);
  return result;
}

std::string Node::Describe() const {
  std::string text = domain_.empty() ? op_type_ : domain_ + "." + op_type_;
  if (!name_.empty()) {
    text += " '" + name_ + "'";
  } else {
    for (const NodeArg* output : outputs_) {
      if (output == nullptr) continue;
      text += " making '" + output->Name() + "'";
      break;
    }
  }
  return text + " (opset " + std::to_string(since_version_) + ")";
}

Graph::Graph(std::shared_ptr<ModelContext> context, Graph* parent)
    : context_(std::move(context)), parent_(parent) {
  SY_CHECK(context_ != nullptr);
}

Graph::~Graph() = default;

std::unique_ptr<Graph> Graph::Clone() const { return CloneInto(context_, parent_); }

std::unique_ptr<Graph> Graph::CloneInto(std::shared_ptr<ModelContext> context,
                                        Graph* parent) const {
  auto copy = std::make_unique<Graph>(context, parent);
  const bool other_symbols = context != context_;
  copy->values_.reserve(values_.size());
  for (const auto& value : values_) {
    copy->values_.push_back(value ? std::make_unique<NodeArg>(*value) : nullptr);
    if (!value) continue;
    NodeArg* made = copy->values_.back().get();
    copy->by_name_.emplace(made->name_, made);
    if (!other_symbols) continue;
    made->info_.type = CopyType(made->info_.type, context->symbols);
    for (Dim& dim : made->info_.value) dim = CopyDim(dim, context->symbols);
  }
  const auto same = [&](NodeArg* value) -> NodeArg* {
    return value != nullptr ? copy->values_[value->id_].get() : nullptr;
  };
  const auto copy_body = [&](std::shared_ptr<Graph>& body) {
    if (body) body = body->CloneInto(context, copy.get());
  };
  copy->nodes_.reserve(nodes_.size());
  for (const auto& node : nodes_) {
    copy->nodes_.push_back(node ? std::make_unique<Node>(*node) : nullptr);
    if (!node) continue;
    Node& made = *copy->nodes_.back();
    for (auto* list : {&made.inputs_, &made.outputs_, &made.implicit_inputs_}) {
      for (NodeArg*& value : *list) value = same(value);
    }
    if (!node->has_body()) continue;
    for (const Attribute& attribute : node->attributes_) {
      Attribute own = attribute;
      if (auto* body = std::get_if<std::shared_ptr<Graph>>(&own.value)) {
        copy_body(*body);
      } else if (auto* bodies = std::get_if<Attribute::Graphs>(&own.value)) {
        for (auto& item : *bodies) copy_body(item);
      } else {
        continue;
      }
      made.attributes_.Set(std::move(own));
    }
  }
  for (NodeArg* value : inputs_) copy->inputs_.push_back(same(value));
  for (NodeArg* value : outputs_) copy->outputs_.push_back(same(value));
  copy->live_nodes_ = live_nodes_;
  copy->next_fresh_ = next_fresh_;
  copy->inferred_ = inferred_;
  return copy;
}

int Graph::opset(std::string_view domain) const {
  const auto& imports = context_->opset_imports;
  const auto at = imports.find(std::string(domain == "ai.onnx" ? "" : domain));
  return at != imports.end() ? at->second : 0;
}

Node* Graph::node(NodeIndex index) const {
  return index < nodes_.size() ? nodes_[index].get() : nullptr;
}

NodeArg* Graph::value(ValueId id) const {
  return id < values_.size() ? values_[id].get() : nullptr;
}

NodeArg* Graph::FindValue(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at != by_name_.end() ? at->second : nullptr;
}

namespace {

// Producers of what the node reads, each once per use.
template <typename Visit>
void ForEachProducer(const Node& node, Visit visit) {
  for (const auto& list : {node.inputs(), node.implicit_inputs()}) {
    for (const NodeArg* value : list) {
      if (value != nullptr && value->producer() != kNoNode) visit(value->producer());
    }
  }
}

[[noreturn]] void ThrowCycle(const Graph& graph, const std::vector<std::size_t>& waiting) {
  NodeIndex at = 0;
  while (graph.node(at) == nullptr || waiting[at] == 0) ++at;
  std::vector<bool> seen(graph.node_limit());
  while (!seen[at]) {
    seen[at] = true;
    NodeIndex next = kNoNode;
    ForEachProducer(*graph.node(at), [&](NodeIndex producer) {
      if (next == kNoNode && waiting[producer] != 0) next = producer;
    });
    SY_CHECK(next != kNoNode);
    at = next;
  }
  throw Error(ErrorCode::kInvalidGraph,
              graph.node(at)->Describe() + " is part of a cycle: it needs its own result");
}

}  // namespace

std::span<const NodeIndex> Graph::TopologicalOrder() const {
  if (order_valid_) return order_;
  order_.clear();
  order_.reserve(live_nodes_);
  std::vector<std::size_t> waiting(nodes_.size());
  bool in_order = true;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i]) continue;
    order_.push_back(i);
    ForEachProducer(*nodes_[i], [&](NodeIndex producer) {
      ++waiting[i];
      in_order = in_order && producer < i;
    });
  }
  if (!in_order) {
    order_.clear();
    std::priority_queue<NodeIndex, std::vector<NodeIndex>, std::greater<>> ready;
    for (NodeIndex i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i] && waiting[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const NodeIndex at = ready.top();
      ready.pop();
      order_.push_back(at);
      for (const NodeArg* output : nodes_[at]->outputs_) {
        if (output == nullptr) continue;
        for (NodeIndex user : output->consumers_) {
          if (--waiting[user] == 0) ready.push(user);
        }
      }
    }
    if (order_.size() != live_nodes_) ThrowCycle(*this, waiting);
  }
  order_valid_ = true;
  return order_;
}

void Graph::RankNodes() const {
  if (rank_valid_) return;
  rank_.assign(nodes_.size(), 0);
  std::uint64_t rank = 0;
  for (NodeIndex index : TopologicalOrder()) rank_[index] = ++rank << 32;
  rank_valid_ = true;
}

}  // namespace switchyard
