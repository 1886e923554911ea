#include "ir/body_builder.h"

#include <algorithm>
#include <limits>

#include "ir/constant_node.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

template <typename T>
void Store(double value, Tensor* tensor) {
  *tensor->data_mutable<T>() = static_cast<T>(value);
}

}  // namespace

ConstantPtr ScalarConstant(double value, DataType type) {
  Tensor tensor(type, {}, MakeHostAllocator());
  switch (type) {
    case DataType::kFloat:
      Store<float>(value, &tensor);
      break;
    case DataType::kDouble:
      Store<double>(value, &tensor);
      break;
    case DataType::kFloat16:
      *tensor.data_mutable<Float16>() = Float16(static_cast<float>(value));
      break;
    case DataType::kBFloat16:
      *tensor.data_mutable<BFloat16>() = BFloat16(static_cast<float>(value));
      break;
    case DataType::kInt8:
      Store<std::int8_t>(value, &tensor);
      break;
    case DataType::kUint8:
      Store<std::uint8_t>(value, &tensor);
      break;
    case DataType::kInt16:
      Store<std::int16_t>(value, &tensor);
      break;
    case DataType::kUint16:
      Store<std::uint16_t>(value, &tensor);
      break;
    case DataType::kInt32:
      Store<std::int32_t>(value, &tensor);
      break;
    case DataType::kUint32:
      Store<std::uint32_t>(value, &tensor);
      break;
    case DataType::kInt64:
      Store<std::int64_t>(value, &tensor);
      break;
    case DataType::kUint64:
      Store<std::uint64_t>(value, &tensor);
      break;
    case DataType::kBool:
      *tensor.data_mutable<bool>() = value != 0;
      break;
    default:
      throw Error(ErrorCode::kNotImplemented,
                  "function bodies with constants of type " + std::string(DataTypeName(type)));
  }
  return std::make_shared<Constant>(std::move(tensor));
}

BodyBuilder::BodyBuilder(const Graph& graph, const Node& node, const OpSchemaRegistry& schemas)
    : caller_(&graph),
      node_(&node),
      schemas_(&schemas),
      opset_(std::max(graph.opset(""), node.SinceVersion())) {
  auto context = std::make_shared<ModelContext>();
  context->ir_version = graph.context().ir_version;
  context->opset_imports[""] = opset_;
  graph_ = std::make_shared<Graph>(std::move(context));
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    Value formal = graph_->AddInput("in" + std::to_string(i), {});
    inputs_.push_back(node.inputs()[i] != nullptr ? formal : nullptr);
  }
  outputs_.resize(node.outputs().size());
}

BodyBuilder::BodyBuilder(BodyBuilder& outer, std::string)
    : caller_(outer.caller_),
      node_(outer.node_),
      schemas_(outer.schemas_),
      opset_(outer.opset_),
      graph_(std::make_shared<Graph>(outer.graph_->shared_context(), outer.graph_.get())) {}

bool BodyBuilder::Wants(std::size_t output) const {
  return output < node_->outputs().size() && node_->outputs()[output] != nullptr;
}

DataType BodyBuilder::Elem(std::size_t i) const {
  if (i >= node_->inputs().size() || node_->inputs()[i] == nullptr) return DataType::kUndefined;
  const ValueType& type = node_->inputs()[i]->type();
  return type.is_tensor() ? type.elem : DataType::kUndefined;
}

std::optional<std::int64_t> BodyBuilder::Rank(std::size_t i) const {
  if (i >= node_->inputs().size() || node_->inputs()[i] == nullptr) return std::nullopt;
  const ValueType& type = node_->inputs()[i]->type();
  if (!type.is_tensor() || !type.shape.ranked()) return std::nullopt;
  return static_cast<std::int64_t>(type.shape.rank());
}

std::vector<NodeArg*> BodyBuilder::Many(std::string_view op_type, std::span<const Value> inputs,
                                        std::size_t outputs, std::vector<Attribute> attributes) {
  std::vector<Value> trimmed(inputs.begin(), inputs.end());
  while (!trimmed.empty() && trimmed.back() == nullptr) trimmed.pop_back();
  std::vector<Value> made;
  for (std::size_t i = 0; i < outputs; ++i) {
    made.push_back(graph_->AddValue(graph_->UniqueName(op_type)));
  }
  Attributes set;
  for (Attribute& attribute : attributes) set.Set(std::move(attribute));
  const OpSchema* schema = schemas_->Find("", op_type, opset_);
  graph_->AddNode(std::string(op_type), "", made[0]->Name(), trimmed, made, std::move(set),
                  schema != nullptr ? schema->since_version : opset_);
  return made;
}

NodeArg* BodyBuilder::Op(std::string_view op_type, std::initializer_list<Value> inputs,
                         std::vector<Attribute> attributes) {
  return Many(op_type, {inputs.begin(), inputs.size()}, 1, std::move(attributes))[0];
}

NodeArg* BodyBuilder::Cast(Value value, DataType to) {
  return Op("Cast", {value}, {{"to", static_cast<std::int64_t>(to)}});
}

NodeArg* BodyBuilder::Reduce(std::string_view op_type, Value value,
                             std::span<const std::int64_t> axes, bool keep_dims) {
  std::vector<Attribute> attributes{{"keepdims", std::int64_t{keep_dims ? 1 : 0}}};
  const std::vector<std::int64_t> list(axes.begin(), axes.end());
  if (list.empty()) return Op(op_type, {value}, std::move(attributes));
  if (opset_ >= (op_type == "ReduceSum" ? 13 : 18)) {
    const std::int64_t dims[] = {static_cast<std::int64_t>(list.size())};
    return Op(op_type, {value, Constant(MakeConstant(dims, list))}, std::move(attributes));
  }
  attributes.push_back({"axes", list});
  return Op(op_type, {value}, std::move(attributes));
}

NodeArg* BodyBuilder::Unsqueeze(Value value, std::int64_t axis) {
  if (opset_ >= 13) return Op("Unsqueeze", {value, Ints({axis})});
  return Op("Unsqueeze", {value}, {{"axes", std::vector<std::int64_t>{axis}}});
}

NodeArg* BodyBuilder::Squeeze(Value value, std::int64_t axis) {
  if (opset_ >= 13) return Op("Squeeze", {value, Ints({axis})});
  return Op("Squeeze", {value}, {{"axes", std::vector<std::int64_t>{axis}}});
}

NodeArg* BodyBuilder::Transpose(Value value, std::initializer_list<std::int64_t> perm) {
  return Op("Transpose", {value}, {{"perm", std::vector<std::int64_t>(perm)}});
}

NodeArg* BodyBuilder::Concat(std::int64_t axis, std::initializer_list<Value> values) {
  return Op("Concat", values, {{"axis", axis}});
}

NodeArg* BodyBuilder::Dims(Value value, std::int64_t begin, std::int64_t end) {
  if (opset_ >= 15) {
    std::vector<Attribute> attributes{{"start", begin}};
    if (end != 0) attributes.push_back({"end", end});
    return Op("Shape", {value}, std::move(attributes));
  }
  return Elements(Op("Shape", {value}), begin,
                  end != 0 ? end : std::numeric_limits<std::int64_t>::max());
}

NodeArg* BodyBuilder::Elements(Value vector, std::int64_t begin, std::int64_t end) {
  return Op("Slice", {vector, Ints({begin}), Ints({end}), Ints({0})});
}

NodeArg* BodyBuilder::Ints(std::initializer_list<std::int64_t> values) {
  const std::int64_t dims[] = {static_cast<std::int64_t>(values.size())};
  return Constant(MakeConstant(dims, std::span<const std::int64_t>(values.begin(), values.size())));
}

NodeArg* BodyBuilder::Int(std::int64_t value) {
  return Constant(MakeConstant({}, std::span<const std::int64_t>(&value, 1)));
}

NodeArg* BodyBuilder::Bool(bool value) { return Scalar(value ? 1 : 0, DataType::kBool); }

NodeArg* BodyBuilder::Scalar(double value, DataType type) {
  return Constant(ScalarConstant(value, type));
}

NodeArg* BodyBuilder::BodyInput(std::string_view name, ValueType type) {
  return graph_->AddInput(graph_->UniqueName(name), std::move(type));
}

void BodyBuilder::SetOutput(std::size_t i, Value value) {
  if (i < outputs_.size()) outputs_[i] = value;
}

FunctionBody BodyBuilder::Finish() {
  FunctionBody result;
  result.domain = node_->Domain();
  result.name = node_->OpType();
  // Places of outputs that the call leaves out hold any value.
  const auto any =
      std::find_if(outputs_.begin(), outputs_.end(), [](Value v) { return v != nullptr; });
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == nullptr && Wants(i)) {
      throw Error(ErrorCode::kNotImplemented,
                  node_->Describe() + ": its body does not make output " + std::to_string(i));
    }
    graph_->MarkOutput(outputs_[i] != nullptr ? outputs_[i] : *any);
  }
  result.body = std::move(graph_);
  return result;
}

}  // namespace switchyard
