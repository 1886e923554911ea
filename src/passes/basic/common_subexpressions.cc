// A node that computes what an older one has computed from the same inputs.
#include <algorithm>
#include <cstring>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::common_subexpressions {
namespace {

constexpr std::size_t kFewReaders = 64;
constexpr std::size_t kComparedBytes = 1024;

bool SameConstant(const Constant& a, const Constant& b) {
  if (&a == &b) return true;
  if (a.type() != b.type() || !std::ranges::equal(a.dims(), b.dims())) return false;
  if (a.type() == DataType::kString) return false;
  if (a.source_id() == b.source_id() && a.source_offset() == b.source_offset()) return true;
  if (a.bytes() > kComparedBytes) return false;
  return a.bytes() == 0 || std::memcmp(a.tensor().raw(), b.tensor().raw(), a.bytes()) == 0;
}

bool SameValue(const NodeArg* a, const NodeArg* b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && a->is_constant() && b->is_constant() &&
         SameConstant(*a->constant(), *b->constant());
}

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = std::get<T>(b.value);
        if constexpr (std::is_same_v<T, float>) {
          return std::memcmp(&value, &other, sizeof(float)) == 0;
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          return value.size() == other.size() &&
                 (value.empty() ||
                  std::memcmp(value.data(), other.data(), value.size() * sizeof(float)) == 0);
        } else if constexpr (std::is_same_v<T, ConstantPtr>) {
          return value && other && SameConstant(*value, *other);
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, std::vector<std::int64_t>> ||
                             std::is_same_v<T, std::vector<std::string>>) {
          return value == other;
        } else {
          return false;
        }
      },
      a.value);
}

bool ComputesTheSame(const Node& a, const Node& b) {
  return a.OpType() == b.OpType() && a.Domain() == b.Domain() &&
         a.SinceVersion() == b.SinceVersion() && a.Overload() == b.Overload() &&
         std::ranges::equal(a.inputs(), b.inputs(), SameValue) &&
         std::equal(a.attributes().begin(), a.attributes().end(), b.attributes().begin(),
                    b.attributes().end(), SameAttribute);
}

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  if (node.has_body()) return std::nullopt;
  const NodeArg* narrowest = nullptr;
  for (const NodeArg* input : node.inputs()) {
    if (input == nullptr || input->is_constant()) continue;
    if (narrowest == nullptr || input->consumers().size() < narrowest->consumers().size()) {
      narrowest = input;
    }
  }
  if (narrowest == nullptr || narrowest->consumers().size() < 2 ||
      narrowest->consumers().size() > kFewReaders || !IsDeterministic(node)) {
    return std::nullopt;
  }
  const Node* twin = nullptr;
  for (NodeIndex user : narrowest->consumers()) {
    if (user >= node.Index() || (twin != nullptr && user > twin->Index())) continue;
    if (ComputesTheSame(*graph.node(user), node)) twin = graph.node(user);
  }
  if (twin == nullptr) return std::nullopt;
  Patch patch(graph);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    NodeArg* output = node.outputs()[i];
    if (!IsRead(graph, output)) continue;
    if (OutputOf(*twin, i) == nullptr) return std::nullopt;
    patch.ReplaceUses(output, Mutable(twin->outputs()[i]));
  }
  return patch;
}

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) {
  registry.Register(MakePass({"common_subexpressions", {}, Propose}));
}

}  // namespace switchyard::passes::basic::common_subexpressions
