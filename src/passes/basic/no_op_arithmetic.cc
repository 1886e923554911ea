// x*1, x/1, x-0, x+(-0) and the like, where every bit stays: -0 + 0 is +0, so that adding a
// positive zero is not among them.
#include <bit>
#include <cstring>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::no_op_arithmetic {
namespace {

// Neutral elements are scalars or small; larger constants are not read for this.
constexpr std::size_t kMaxBytes = 64 << 10;

// Whether all elements are `wanted` to the bit.
bool AllAre(const Tensor& tensor, double wanted) {
  if (tensor.size() == 0) return false;
  const auto check = [&]<typename T>(T element) {
    for (const T& value : tensor.values<T>()) {
      if (std::memcmp(&value, &element, sizeof(T)) != 0) return false;
    }
    return true;
  };
  switch (tensor.type()) {
    case DataType::kFloat:
      return check(static_cast<float>(wanted));
    case DataType::kDouble:
      return check(wanted);
    case DataType::kFloat16:
      return check(Float16(static_cast<float>(wanted)));
    case DataType::kBFloat16:
      return check(BFloat16(static_cast<float>(wanted)));
    case DataType::kInt64:
      return check(static_cast<std::int64_t>(wanted));
    case DataType::kInt32:
      return check(static_cast<std::int32_t>(wanted));
    case DataType::kInt16:
      return check(static_cast<std::int16_t>(wanted));
    case DataType::kInt8:
      return check(static_cast<std::int8_t>(wanted));
    case DataType::kUint64:
      return check(static_cast<std::uint64_t>(wanted));
    case DataType::kUint32:
      return check(static_cast<std::uint32_t>(wanted));
    case DataType::kUint16:
      return check(static_cast<std::uint16_t>(wanted));
    case DataType::kUint8:
      return check(static_cast<std::uint8_t>(wanted));
    default:
      return false;
  }
}

struct Neutral {
  std::string_view op;
  double element;
  bool either_side;
};
constexpr Neutral kNeutrals[] = {
    {"Mul", 1.0, true}, {"Div", 1.0, false}, {"Sub", 0.0, false}, {"Add", -0.0, true}};

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (!node.Domain().empty() || node.inputs().size() != 2) return std::nullopt;
  for (const Neutral& neutral : kNeutrals) {
    if (node.OpType() != neutral.op) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      if (side == 0 && !neutral.either_side) continue;
      const NodeArg* constant = InputOf(node, side);
      const NodeArg* other = InputOf(node, 1 - side);
      if (constant == nullptr || !constant->is_constant() ||
          constant->constant()->bytes() > kMaxBytes ||
          !SameTypeAndShape(other, node.outputs()[0])) {
        continue;
      }
      const Tensor* tensor = ConstantTensor(constant);
      if (AllAre(*tensor, neutral.element)) return ReplaceBy(graph, node, other);
    }
  }
  return std::nullopt;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"no_op_arithmetic", {"Mul", "Div", "Sub", "Add"}, Propose}));
}

}  // namespace switchyard::passes::basic::no_op_arithmetic
