#include "passes/rewrite.h"

#include <algorithm>

#include "switchyard/ir/schema.h"

namespace switchyard::passes {
namespace {

class FunctionPass final : public Pass {
 public:
  explicit FunctionPass(Rewrite rewrite) : rewrite_(std::move(rewrite)) {}
  std::string_view name() const override { return rewrite_.name; }
  PassStage stage() const override { return rewrite_.stage; }
  Exactness exactness() const override { return rewrite_.exactness; }
  std::vector<std::string_view> after() const override { return rewrite_.after; }
  std::vector<std::string_view> roots() const override { return rewrite_.roots; }
  std::optional<Patch> Propose(const Graph& graph, const Node& node,
                               PassContext& context) const override {
    const bool has_result = !node.outputs().empty() && node.outputs()[0] != nullptr;
    if (!has_result && !rewrite_.roots.empty()) return std::nullopt;
    return rewrite_.propose(graph, node, context);
  }

 private:
  Rewrite rewrite_;
};

}  // namespace

std::unique_ptr<Pass> MakePass(Rewrite rewrite) {
  return std::make_unique<FunctionPass>(std::move(rewrite));
}

bool IsOp(const Node& node, std::string_view op_type, std::string_view domain) {
  return node.OpType() == op_type && node.Domain() == domain;
}

const Node* ProducerOf(const Graph& graph, const NodeArg* value, std::string_view op_type,
                       std::string_view domain) {
  if (value == nullptr || value->producer() == kNoNode) return nullptr;
  const Node* node = graph.node(value->producer());
  return IsOp(*node, op_type, domain) ? node : nullptr;
}

bool IsRead(const Graph& graph, const NodeArg* value) {
  return value != nullptr && (!value->consumers().empty() || graph.is_output(value));
}

bool HasOneReader(const Graph& graph, const NodeArg* value) {
  if (value->consumers().size() != 1 || graph.is_output(value)) return false;
  const auto implicit = graph.node(value->consumers()[0])->implicit_inputs();
  return std::find(implicit.begin(), implicit.end(), value) == implicit.end();
}

const NodeArg* InputOf(const Node& node, std::size_t i) {
  return i < node.inputs().size() ? node.inputs()[i] : nullptr;
}

const NodeArg* OutputOf(const Node& node, std::size_t i) {
  return i < node.outputs().size() ? node.outputs()[i] : nullptr;
}

const Tensor* ConstantTensor(const NodeArg* value) {
  return value != nullptr && value->is_constant() ? &value->constant()->tensor() : nullptr;
}

std::optional<std::vector<std::int64_t>> KnownInts(const NodeArg* value) {
  if (value == nullptr) return std::nullopt;
  std::vector<std::int64_t> result;
  if (value->info().has_value) {
    for (const Dim& dim : value->info().value) {
      if (!dim.is_value()) return std::nullopt;
      result.push_back(dim.value());
    }
    return result;
  }
  constexpr std::int64_t kFew = 4096;
  if (!value->is_constant() || value->constant()->size() > kFew) return std::nullopt;
  const Tensor* tensor = ConstantTensor(value);
  if (tensor->type() == DataType::kInt64) {
    const auto values = tensor->values<std::int64_t>();
    result.assign(values.begin(), values.end());
    return result;
  }
  if (tensor->type() == DataType::kInt32) {
    const auto values = tensor->values<std::int32_t>();
    result.assign(values.begin(), values.end());
    return result;
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> IntsOf(const Node& node, std::string_view name,
                                                std::size_t slot) {
  if (node.attributes().Has(name)) {
    const auto values = node.attributes().Ints(name);
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return KnownInts(InputOf(node, slot));
}

bool SameTypeAndShape(const NodeArg* a, const NodeArg* b) {
  return a != nullptr && b != nullptr && a->type().is_tensor() && b->type().is_tensor() &&
         a->type().elem == b->type().elem && a->type().elem != DataType::kUndefined &&
         a->type().shape == b->type().shape;
}

bool IsDeterministic(const Node& node) {
  const OpSchema* schema =
      OpSchemaRegistry().Find(node.Domain(), node.OpType(), node.SinceVersion());
  return schema != nullptr && schema->determinism == Determinism::kDeterministic;
}

namespace {

template <typename T>
std::vector<double> ToDoubles(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(tensor.size()));
  for (const T& element : tensor.values<T>()) {
    if constexpr (std::is_same_v<T, double>) {
      result.push_back(element);
    } else {
      result.push_back(static_cast<double>(static_cast<float>(element)));
    }
  }
  return result;
}

}  // namespace

std::optional<std::vector<double>> Reals(const NodeArg* value) {
  const Tensor* tensor = ConstantTensor(value);
  if (tensor == nullptr) return std::nullopt;
  std::optional<std::vector<double>> result;
  switch (tensor->type()) {
    case DataType::kFloat:
      result = ToDoubles<float>(*tensor);
      break;
    case DataType::kDouble:
      result = ToDoubles<double>(*tensor);
      break;
    case DataType::kFloat16:
      result = ToDoubles<Float16>(*tensor);
      break;
    case DataType::kBFloat16:
      result = ToDoubles<BFloat16>(*tensor);
      break;
    default:
      break;
  }
  value->constant()->Release();
  return result;
}

std::optional<double> OneReal(const NodeArg* value) {
  if (value == nullptr || !value->is_constant() || value->constant()->size() != 1) {
    return std::nullopt;
  }
  const auto elements = Reals(value);
  return elements ? std::make_optional((*elements)[0]) : std::nullopt;
}

ConstantPtr MakeReals(DataType type, std::span<const std::int64_t> dims,
                      std::span<const double> values) {
  Tensor tensor(type, dims, MakeHostAllocator());
  SY_CHECK(static_cast<std::size_t>(tensor.size()) == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto single = static_cast<float>(values[i]);
    switch (type) {
      case DataType::kFloat:
        tensor.data_mutable<float>()[i] = single;
        break;
      case DataType::kDouble:
        tensor.data_mutable<double>()[i] = values[i];
        break;
      case DataType::kFloat16:
        tensor.data_mutable<Float16>()[i] = Float16(single);
        break;
      case DataType::kBFloat16:
        tensor.data_mutable<BFloat16>()[i] = BFloat16(single);
        break;
      default:
        SY_CHECK(false);
    }
  }
  return std::make_shared<const Constant>(std::move(tensor));
}

std::optional<Patch> ReplaceBy(const Graph& graph, const Node& node, const NodeArg* with) {
  NodeArg* old = Mutable(OutputOf(node, 0));
  if (!IsRead(graph, old)) return std::nullopt;
  Patch patch(graph);
  patch.ReplaceUses(old, Mutable(with));
  return patch;
}

}  // namespace switchyard::passes
