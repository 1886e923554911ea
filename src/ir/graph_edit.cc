// The editing half.
#include "switchyard/ir/graph.h"

#include <algorithm>

#include "ir/constant_info.h"
#include "switchyard/base/error.h"

namespace switchyard {

NodeArg* Graph::NewValue(std::string name) {
  if (name.empty()) name = UniqueName("v");
  auto value = std::make_unique<NodeArg>();
  value->id_ = static_cast<ValueId>(values_.size());
  value->name_ = std::move(name);
  if (!by_name_.emplace(value->name_, value.get()).second) {
    throw Error(ErrorCode::kInvalidGraph,
                "the value '" + value->name_ + "' is defined twice in one graph");
  }
  values_.push_back(std::move(value));
  return values_.back().get();
}

NodeArg* Graph::AddInput(std::string name, ValueType type) {
  NodeArg* value = NewValue(std::move(name));
  value->is_input_ = true;
  value->info_.type = std::move(type);
  inputs_.push_back(value);
  return value;
}

NodeArg* Graph::AddConstant(std::string name, ConstantPtr constant) {
  SY_CHECK(constant != nullptr);
  ValueInfo info = InfoOf(*constant);
  NodeArg* value = NewValue(std::move(name));
  value->info_ = std::move(info);
  value->constant_ = std::move(constant);
  return value;
}

NodeArg* Graph::AddValue(std::string name, ValueType type) {
  NodeArg* value = NewValue(std::move(name));
  value->info_.type = std::move(type);
  return value;
}

NodeArg* Graph::Capture(std::string_view outer_name) {
  if (NodeArg* known = FindValue(outer_name)) {
    if (known->is_captured_) return known;
    throw Error(ErrorCode::kInvalidGraph, "the captured value '" + std::string(outer_name) +
                                              "' is defined inside the body too");
  }
  if (parent_ == nullptr) {
    throw Error(ErrorCode::kInvalidGraph,
                "the value '" + std::string(outer_name) + "' is not defined");
  }
  NodeArg* outer = parent_->FindValue(outer_name);
  if (outer == nullptr) outer = parent_->Capture(outer_name);
  NodeArg* value = NewValue(std::string(outer_name));
  value->is_captured_ = true;
  value->info_ = outer->info_;
  if (outer->is_constant()) value->constant_ = outer->constant_;
  return value;
}

void Graph::SetConstant(NodeArg* value, ConstantPtr constant) {
  if (constant != nullptr && value->producer_ != kNoNode) {
    throw Error(ErrorCode::kInvalidGraph, "'" + value->name_ +
                                              "' is both a constant and the output of " +
                                              nodes_[value->producer_]->Describe());
  }
  value->constant_ = std::move(constant);
  if (value->constant_ == nullptr) return;
  ValueInfo info = InfoOf(*value->constant_);
  if (value->is_input_) {
    // A Run may feed other dims and contents than the default has.
    if (!value->info_.type.known()) {
      value->info_.type = info.type;
    } else if (!value->info_.type.SameAs(info.type)) {
      throw Error(ErrorCode::kInvalidGraph, "the default of input '" + value->name_ + "' is " +
                                                info.type.ToString() + ", the input is " +
                                                value->info_.type.ToString());
    }
  } else {
    value->info_ = std::move(info);
  }
}

void Graph::MarkOutput(NodeArg* value) {
  ++value->output_uses_;
  outputs_.push_back(value);
}

void Graph::ReplaceOutput(std::size_t index, NodeArg* value) {
  --outputs_[index]->output_uses_;
  outputs_[index] = value;
  ++value->output_uses_;
}

Node* Graph::AddNode(std::string op_type, std::string domain, std::string name,
                     std::span<NodeArg* const> inputs, std::span<NodeArg* const> outputs,
                     Attributes attributes, int since_version) {
  if (domain == "ai.onnx") domain.clear();
  for (NodeArg* output : outputs) {
    if (output == nullptr) continue;
    if (output->producer_ != kNoNode || output->is_input_ || output->constant_ ||
        output->is_captured_) {
      throw Error(ErrorCode::kInvalidGraph, "the value '" + output->name_ +
                                                "' is defined twice: once by " + op_type + " '" +
                                                name + "'");
    }
  }
  auto made = std::make_unique<Node>();
  made->index_ = nodes_.size();
  made->since_version_ = since_version != 0 ? since_version : opset(domain);
  made->op_type_ = std::move(op_type);
  made->domain_ = std::move(domain);
  made->name_ = std::move(name);
  made->attributes_ = std::move(attributes);
  made->inputs_.assign(inputs.begin(), inputs.end());
  made->outputs_.assign(outputs.begin(), outputs.end());
  Node* node = made.get();
  nodes_.push_back(std::move(made));
  ++live_nodes_;
  order_valid_ = rank_valid_ = false;
  for (NodeArg* input : inputs) AddUse(input, node->index_);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    if (outputs[i]->producer_ != kNoNode) {
      throw Error(ErrorCode::kInvalidGraph,
                  node->Describe() + " has the output '" + outputs[i]->name_ + "' twice");
    }
    outputs[i]->producer_ = node->index_;
    outputs[i]->producer_slot_ = static_cast<int>(i);
  }
  if (node->has_body()) UpdateImplicitInputs(node);
  return node;
}

void Graph::RemoveNode(NodeIndex index) {
  Node* node = this->node(index);
  SY_CHECK(node != nullptr);
  for (auto* list : {&node->inputs_, &node->implicit_inputs_}) {
    for (NodeArg* value : *list) RemoveUse(value, index);
  }
  for (NodeArg* output : node->outputs_) {
    if (output != nullptr) output->producer_ = kNoNode;
  }
  nodes_[index].reset();
  --live_nodes_;
  order_valid_ = false;
}

void Graph::SetInput(Node* node, std::size_t slot, NodeArg* value) {
  if (slot >= node->inputs_.size()) node->inputs_.resize(slot + 1);
  RemoveUse(node->inputs_[slot], node->index_);
  node->inputs_[slot] = value;
  AddUse(value, node->index_);
  while (!node->inputs_.empty() && node->inputs_.back() == nullptr) node->inputs_.pop_back();
  order_valid_ = rank_valid_ = false;
}

void Graph::SetOutput(Node* node, std::size_t slot, NodeArg* value) {
  if (slot >= node->outputs_.size()) node->outputs_.resize(slot + 1);
  SY_CHECK(value == nullptr || value->producer_ == kNoNode);
  if (NodeArg* old = node->outputs_[slot]) old->producer_ = kNoNode;
  node->outputs_[slot] = value;
  if (value != nullptr) {
    value->producer_ = node->index_;
    value->producer_slot_ = static_cast<int>(slot);
  }
  order_valid_ = rank_valid_ = false;
}

void Graph::SetAttribute(Node* node, Attribute attribute) {
  const bool body = attribute.type() == AttributeType::kGraph ||
                    attribute.type() == AttributeType::kGraphs || node->has_body();
  node->attributes_.Set(std::move(attribute));
  if (body) UpdateImplicitInputs(node);
}

void Graph::EraseAttribute(Node* node, std::string_view name) {
  const bool body = node->has_body();
  node->attributes_.Erase(name);
  if (body) UpdateImplicitInputs(node);
}

void Graph::SetInfo(NodeArg* value, ValueInfo info) {
  info.tensor = nullptr;  // its life is not ours
  value->info_ = std::move(info);
}

void Graph::RenameValue(NodeArg* value, std::string name) {
  if (value->name_ == name) return;
  if (by_name_.contains(name)) {
    throw Error(ErrorCode::kInvalidGraph,
                "'" + value->name_ + "' can't be renamed: the name '" + name + "' is taken");
  }
  const std::string old_name = value->name_;
  by_name_.erase(old_name);
  value->name_ = name;
  by_name_.emplace(name, value);
  for (NodeIndex user : value->consumers_) {
    for (const auto& [attribute, body] : nodes_[user]->bodies()) {
      body->RenameCapture(old_name, name);
    }
  }
}

void Graph::RenameCapture(const std::string& old_name, const std::string& name) {
  NodeArg* captured = FindValue(old_name);
  if (captured == nullptr || !captured->is_captured_) return;
  if (NodeArg* holder = FindValue(name)) {
    if (holder->is_captured_) {
      Rewire(captured, holder, true);
      RemoveValue(captured);
      return;
    }
    RenameValue(holder, UniqueName(name));
  }
  RenameValue(captured, name);
}

// Every reader of `from` in this graph, bodies included, reads `to`; graph outputs on request.
void Graph::Rewire(NodeArg* from, NodeArg* to, bool outputs) {
  const std::vector<NodeIndex> users = from->consumers_;
  for (NodeIndex user : users) {
    Node* node = nodes_[user].get();
    for (NodeArg*& input : node->inputs_) {
      if (input != from) continue;
      RemoveUse(from, user);
      input = to;
      AddUse(to, user);
    }
    if (node->implicit_inputs_.empty()) continue;
    if (std::find(node->implicit_inputs_.begin(), node->implicit_inputs_.end(), from) ==
        node->implicit_inputs_.end()) {
      continue;
    }
    for (const auto& [attribute, body] : node->bodies()) {
      body->RenameCapture(from->name_, to->name_);
    }
    UpdateImplicitInputs(node);
  }
  if (outputs) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] == from) ReplaceOutput(i, to);
    }
  }
  order_valid_ = false;
}

void Graph::RemoveValue(NodeArg* value) {
  SY_CHECK(value->producer_ == kNoNode && value->consumers_.empty() && value->output_uses_ == 0);
  std::erase(inputs_, value);
  by_name_.erase(value->name_);
  values_[value->id_].reset();
}

void Graph::DropInput(NodeArg* value) {
  std::erase(inputs_, value);
  value->is_input_ = false;
  if (value->constant_) value->info_ = InfoOf(*value->constant_);
}

void Graph::RemoveUnusedValues() {
  for (const auto& node : nodes_) {
    if (!node || !node->has_body()) continue;
    for (const auto& [attribute, body] : node->bodies()) body->RemoveUnusedValues();
    UpdateImplicitInputs(node.get());
  }
  for (const auto& value : values_) {
    if (value && !value->is_input_ && value->producer_ == kNoNode && value->consumers_.empty() &&
        value->output_uses_ == 0) {
      RemoveValue(value.get());
    }
  }
}

std::string Graph::UniqueName(std::string_view stem) {
  Graph* root = this;
  while (root->parent_ != nullptr) root = root->parent_;
  const auto taken = [this](const std::string& name) {
    for (const Graph* at = this; at != nullptr; at = at->parent_) {
      if (at->by_name_.contains(name)) return true;
    }
    return false;
  };
  std::string name;
  do {
    name = std::string(stem) + "_" + std::to_string(root->next_fresh_++);
  } while (taken(name));
  return name;
}

void Graph::AddUse(NodeArg* value, NodeIndex user) {
  if (value != nullptr) value->consumers_.push_back(user);
}

void Graph::RemoveUse(NodeArg* value, NodeIndex user) {
  if (value == nullptr) return;
  auto& users = value->consumers_;
  const auto at = std::find(users.begin(), users.end(), user);
  SY_CHECK(at != users.end());
  *at = users.back();
  users.pop_back();
}

void Graph::UpdateImplicitInputs(Node* node) {
  for (NodeArg* value : node->implicit_inputs_) RemoveUse(value, node->index_);
  node->implicit_inputs_.clear();
  for (const auto& [attribute, body] : node->bodies()) {
    for (const auto& inner : body->values_) {
      if (!inner || !inner->is_captured_) continue;
      NodeArg* outer = FindValue(inner->name_);
      if (outer == nullptr) outer = Capture(inner->name_);
      inner->info_ = outer->info_;
      inner->constant_ = outer->is_constant() ? outer->constant_ : nullptr;
      auto& list = node->implicit_inputs_;
      if (std::find(list.begin(), list.end(), outer) == list.end()) {
        list.push_back(outer);
        AddUse(outer, node->index_);
      }
    }
  }
  order_valid_ = false;
}

}  // namespace switchyard
