#include "switchyard/ir/inference.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/time_limit.h"
#include "ir/constant_info.h"
#include "ir/in_node.h"

namespace switchyard {
namespace {

// Constants up to this size are read for inference; larger ones are never what a shape depends on.
constexpr std::size_t kMaxReadBytes = 64 << 10;

void MarkRead(std::uint64_t* reads, std::size_t i) {
  *reads |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
}

template <typename T>
void AppendFloats(const Tensor& tensor, InlineVector<double, 8>* out) {
  for (const T& element : tensor.values<T>()) {
    out->push_back(static_cast<double>(static_cast<float>(element)));
  }
}

}  // namespace

const ValueType& InferenceContext::input_type(std::size_t i) const {
  static const ValueType kUnknown{};
  return has_input(i) ? inputs_[i]->type : kUnknown;
}

bool InferenceContext::PeekInts(std::size_t i, InlineVector<Dim, 8>* out) const {
  if (!has_input(i)) return false;
  if (inputs_[i]->has_value) {
    *out = inputs_[i]->value;
    return true;
  }
  return inputs_[i]->tensor != nullptr && FollowedInts(*inputs_[i]->tensor, out);
}

bool InferenceContext::ReadInts(std::size_t i, InlineVector<Dim, 8>* out) {
  if (!has_input(i)) return false;
  MarkRead(&value_reads_, i);
  if (PeekInts(i, out)) return true;
  const Tensor* tensor = inputs_[i]->tensor;
  if (tensor == nullptr) return false;
  out->clear();
  if (tensor->type() == DataType::kInt64) {
    for (std::int64_t element : tensor->values<std::int64_t>()) out->push_back(Dim(element));
  } else if (tensor->type() == DataType::kInt32) {
    for (std::int32_t element : tensor->values<std::int32_t>()) out->push_back(Dim(element));
  } else {
    return false;
  }
  return true;
}

bool InferenceContext::ReadFloats(std::size_t i, InlineVector<double, 8>* out) {
  if (!has_input(i)) return false;
  MarkRead(&value_reads_, i);
  const Tensor* tensor = inputs_[i]->tensor;
  if (tensor == nullptr) return false;
  out->clear();
  switch (tensor->type()) {
    case DataType::kFloat:
      AppendFloats<float>(*tensor, out);
      return true;
    case DataType::kFloat16:
      AppendFloats<Float16>(*tensor, out);
      return true;
    case DataType::kBFloat16:
      AppendFloats<BFloat16>(*tensor, out);
      return true;
    case DataType::kDouble:
      for (double element : tensor->values<double>()) out->push_back(element);
      return true;
    default:
      return false;
  }
}

void InferenceContext::SetType(std::size_t output, ValueType type) {
  if (output < outputs_.size()) outputs_[output].type = std::move(type);
}

void InferenceContext::SetTensor(std::size_t output, DataType elem, Shape shape) {
  if (output >= outputs_.size()) return;
  ValueType& type = outputs_[output].type;
  type.kind = ValueType::Kind::kTensor;
  type.elem = elem;
  type.shape = std::move(shape);
}

void InferenceContext::SetInts(std::size_t output, std::span<const Dim> values) {
  if (output >= outputs_.size() || values.size() > ValueInfo::kMaxFollowed) return;
  outputs_[output].has_value = true;
  outputs_[output].value.assign(values.begin(), values.end());
}

std::vector<ValueInfo> InferenceContext::InferBodyOutputs(Graph& body,
                                                          std::span<const ValueInfo> inputs) {
  if (infer_body_ == nullptr) Fail("bodies can't be inferred here");
  return (*infer_body_)(body, inputs);
}

void InferenceContext::Fail(std::string_view text) const {
  throw Error(ErrorCode::kInvalidGraph, node_.Describe() + ": " + std::string(text));
}

std::int64_t InferenceContext::Axis(std::int64_t axis, std::size_t rank,
                                    std::string_view attribute) const {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    Fail(std::string(attribute) + " " + std::to_string(axis) + " is out of range for rank " +
         std::to_string(rank));
  }
  return axis < 0 ? axis + limit : axis;
}

struct InferenceRegistry::Impl {
  struct Entry {
    int first, last;
    InferenceFn fn;
  };
  std::unordered_map<std::string, std::vector<Entry>> by_operator;
};

namespace {

std::string OperatorKey(std::string_view domain, std::string_view op_type) {
  std::string key(domain == "ai.onnx" ? "" : domain);
  key += ':';
  key += op_type;
  return key;
}

}  // namespace

InferenceRegistry::InferenceRegistry() : impl_(std::make_unique<Impl>()) {}
InferenceRegistry::~InferenceRegistry() = default;

void InferenceRegistry::Register(std::string_view domain, std::string_view op_type, int first,
                                 int last, InferenceFn fn) {
  impl_->by_operator[OperatorKey(domain, op_type)].push_back({first, last, fn});
}

InferenceFn InferenceRegistry::Find(const Node& node) const {
  const auto at = impl_->by_operator.find(OperatorKey(node.Domain(), node.OpType()));
  if (at == impl_->by_operator.end()) return nullptr;
  for (const Impl::Entry& entry : at->second) {
    if (node.SinceVersion() >= entry.first &&
        (entry.last == 0 || node.SinceVersion() <= entry.last)) {
      return entry.fn;
    }
  }
  return nullptr;
}

namespace {

class Inference {
 public:
  Inference(const InferenceRegistry& registry, std::vector<std::string>* warnings)
      : registry_(registry), warnings_(warnings) {}

  void Run(Graph& graph) {
    for (NodeArg* input : graph.inputs()) NameUnknownDims(graph, input);
    for (NodeIndex index : graph.TopologicalOrder()) RunNode(graph, *graph.node(index));
    graph.set_inferred();
  }

  void RunNode(Graph& graph, Node& node) {
    CheckTimeLimit();
    const InferenceFn fn = registry_.Find(node);
    for (const auto& [name, body] : node.bodies()) {
      UpdateCaptures(graph, *body);
      if (fn == nullptr) Run(*body);
    }
    if (fn == nullptr) return;
    std::vector<ValueInfo> outputs = Infer(graph, node, fn);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (NodeArg* output = node.outputs()[i]) Store(graph, node, output, std::move(outputs[i]));
    }
  }

  std::vector<ValueInfo> Infer(const Graph& graph, const Node& node, InferenceFn fn) {
    std::vector<ValueInfo> with_contents(node.inputs().size());
    std::vector<const ValueInfo*> inputs(node.inputs().size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeArg* input = node.inputs()[i];
      if (input == nullptr) continue;
      inputs[i] = &input->info();
      if (!input->is_constant()) continue;
      const Constant& constant = *input->constant();
      if (constant.type() == DataType::kString || constant.bytes() > kMaxReadBytes) continue;
      with_contents[i] = input->info();
      with_contents[i].tensor = &constant.tensor();
      inputs[i] = &with_contents[i];
    }
    std::vector<ValueInfo> outputs(node.outputs().size());
    const auto run_body = [&](Graph& body, std::span<const ValueInfo> body_inputs) {
      return InferBody(body, body_inputs);
    };
    const InferenceContext::InferBody infer_body = run_body;
    InferenceContext context(node, graph, inputs, outputs, &infer_body);
    InNode(node, [&] { fn(context); });
    return outputs;
  }

 private:
  static void UpdateCaptures(const Graph& graph, Graph& body) {
    for (ValueId id = 0; id < body.value_limit(); ++id) {
      NodeArg* inner = body.value(id);
      if (inner == nullptr || !inner->is_captured()) continue;
      const NodeArg* outer = graph.FindValue(inner->Name());
      if (outer != nullptr) body.SetInfo(inner, outer->info());
    }
  }

  std::vector<ValueInfo> InferBody(Graph& body, std::span<const ValueInfo> inputs) {
    const std::size_t count = std::min(inputs.size(), body.inputs().size());
    for (std::size_t i = 0; i < count; ++i) {
      NodeArg* input = body.inputs()[i];
      if (!inputs[i].type.known()) continue;
      if (input->type().known() && !KindsFit(inputs[i].type, input->type())) {
        throw Error(ErrorCode::kInvalidGraph, "the body's input '" + input->Name() +
                                                  "' is declared as " + input->type().ToString() +
                                                  " and gets " + inputs[i].type.ToString());
      }
      body.SetInfo(input, inputs[i]);
    }
    // What an earlier call with other inputs found must not survive in this one.
    if (body.inferred()) Forget(body);
    Run(body);
    std::vector<ValueInfo> outputs;
    for (const NodeArg* output : body.outputs()) outputs.push_back(output->info());
    return outputs;
  }

  void Forget(Graph& body) {
    for (NodeIndex index : body.TopologicalOrder()) {
      const Node& node = *body.node(index);
      if (registry_.Find(node) == nullptr) continue;
      for (NodeArg* output : node.outputs()) {
        if (output == nullptr) continue;
        ValueInfo info;
        info.type = output->type();
        info.type.shape = Shape();
        body.SetInfo(output, std::move(info));
      }
    }
  }

  // Sizes that only the run will tell get a symbol of their own, so that shape arithmetic can
  // follow them. Not in bodies, where a size may differ from one iteration to the next.
  static void NameUnknownDims(Graph& graph, NodeArg* value) {
    if (graph.parent() != nullptr || !value->type().is_tensor() || !value->type().shape.ranked()) {
      return;
    }
    ValueInfo info = value->info();
    if (!NameUnknownDims(graph, &info.type.shape)) return;
    graph.SetInfo(value, std::move(info));
  }

  static bool NameUnknownDims(Graph& graph, Shape* shape) {
    bool any = false;
    for (std::size_t i = 0; i < shape->rank(); ++i) {
      if (!(*shape)[i].is_unknown()) continue;
      (*shape)[i] = graph.symbols().Fresh();
      any = true;
    }
    return any;
  }

  static bool KindsFit(const ValueType& a, const ValueType& b) {
    if (a.SameAs(b) || !a.known() || !b.known()) return true;
    if (a.kind != b.kind) return false;
    if (a.is_tensor() && (a.elem == DataType::kUndefined || b.elem == DataType::kUndefined)) {
      return true;
    }
    return a.element && b.element && KindsFit(*a.element, *b.element);
  }

  void Store(Graph& graph, const Node& node, NodeArg* output, ValueInfo found) {
    const ValueType& known = output->type();
    if (!found.type.known()) {
      if (!known.is_tensor() || graph.inferred()) return;
      found.type = known;
      found.type.shape = Shape();
    } else if (known.known()) {
      if (!KindsFit(found.type, known)) {
        throw Error(ErrorCode::kInvalidGraph, node.Describe() + ": output '" + output->Name() +
                                                  "' is declared as " + known.ToString() +
                                                  ", the operator gives " + found.type.ToString());
      }
      if (found.type.is_tensor() && found.type.elem == DataType::kUndefined) {
        found.type.elem = known.elem;
      }
      MergeShape(graph, node, *output, &found.type.shape);
      if (!found.has_value && output->info().has_value && graph.inferred()) {
        found.has_value = true;
        found.value = output->info().value;
      }
    }
    if (graph.parent() == nullptr && found.type.is_tensor() && found.type.shape.ranked()) {
      NameUnknownDims(graph, &found.type.shape);
    }
    graph.SetInfo(output, std::move(found));
  }

  // A declared shape may be wrong, so what inference can't tell stays unknown however it is
  // declared; what an earlier inference found holds on.
  void MergeShape(const Graph& graph, const Node& node, const NodeArg& output, Shape* found) {
    const Shape& known = output.type().shape;
    if (!known.ranked()) return;
    const auto merged = MergeShapes(*found, known);
    if (!merged) {
      if (warnings_ != nullptr && !graph.inferred()) {
        warnings_->push_back(node.Describe() + ": output '" + output.Name() +
                             "' is declared with shape " + known.ToString() +
                             ", the operator gives " + found->ToString());
      }
      return;
    }
    if (!graph.inferred()) return;
    if (!found->ranked()) {
      *found = known;
      return;
    }
    for (std::size_t i = 0; i < found->rank(); ++i) {
      if ((*found)[i].is_unknown() || known[i].is_value()) (*found)[i] = known[i];
    }
  }

  const InferenceRegistry& registry_;
  std::vector<std::string>* warnings_;
};

}  // namespace

void InferGraph(Graph& graph, const InferenceRegistry& registry,
                std::vector<std::string>* warnings) {
  Inference(registry, warnings).Run(graph);
}

void InferNode(Graph& graph, Node& node, const InferenceRegistry& registry) {
  Inference(registry, nullptr).RunNode(graph, node);
}

std::vector<ValueInfo> InferOutputs(const Graph& graph, const Node& node,
                                    const InferenceRegistry& registry) {
  const InferenceFn fn = registry.Find(node);
  if (fn == nullptr) return std::vector<ValueInfo>(node.outputs().size());
  return Inference(registry, nullptr).Infer(graph, node, fn);
}

}  // namespace switchyard
