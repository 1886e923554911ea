#include <climits>
#include <string>
#include <vector>

#include "switchyard/ir/graph.h"
#include "switchyard/ir/schema.h"

namespace switchyard {
namespace {

using Option = FormalParameter::Option;
using Args = std::span<NodeArg* const>;

// Trailing arguments left out do not count.
std::size_t CountPresent(Args args) {
  std::size_t count = args.size();
  while (count > 0 && args[count - 1] == nullptr) --count;
  return count;
}

std::string ArgLabel(std::string_view role, std::size_t index, const FormalParameter& formal) {
  return std::string(role) + " " + std::to_string(index) + " '" + std::string(formal.name) + "'";
}

std::string TypeName(AttributeType type) {
  constexpr std::string_view kNamesByCode[] = {
      "unknown", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
      "strings", "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};
  const auto code = static_cast<std::size_t>(type);
  return std::string(kNamesByCode[code < std::size(kNamesByCode) ? code : 0]);
}

// What a type variable was bound to, and by which argument.
struct Binding {
  const ValueType* type = nullptr;
  std::string by;
};

// Messages without the node's name: the caller puts it in front.
class Check {
 public:
  explicit Check(const OpSchema& schema)
      : schema_(schema), bindings_(schema.type_constraints.size()) {}

  std::string Run(const Node& node) {
    if (schema_.deprecated) {
      return "the operator is deprecated since opset " + std::to_string(schema_.since_version);
    }
    std::string error = Arity("input", node.inputs(), schema_.min_inputs, schema_.max_inputs);
    if (error.empty()) {
      error = Arity("output", node.outputs(), schema_.min_outputs, schema_.max_outputs);
    }
    if (error.empty()) error = CheckAttributes(node.attributes());
    if (error.empty()) error = CheckArgs("input", schema_.inputs, node.inputs());
    if (error.empty()) error = CheckArgs("output", schema_.outputs, node.outputs());
    return error;
  }

 private:
  static std::string Arity(std::string_view role, Args args, int min, int max) {
    const std::size_t count = CountPresent(args);
    // An output may be left out wherever it stands; only too many are wrong.
    const bool few = role == "input" && count < static_cast<std::size_t>(min);
    if (!few && (max == INT_MAX || count <= static_cast<std::size_t>(max))) return {};
    std::string expected = std::to_string(min);
    if (max == INT_MAX) {
      expected = "at least " + expected;
    } else if (max != min) {
      expected += " to " + std::to_string(max);
    }
    return "has " + std::to_string(count) + " " + std::string(role) + (count == 1 ? "" : "s") +
           ", expected " + expected;
  }

  std::string CheckAttributes(const Attributes& attributes) const {
    for (const Attribute& attribute : attributes) {
      const AttributeDef* def = schema_.Attribute(attribute.name);
      if (def == nullptr) return "attribute '" + attribute.name + "' is not known";
      const AttributeType type = attribute.type();
      const bool dense_for_sparse =
          type == AttributeType::kTensor && def->type == AttributeType::kSparseTensor;
      if (type != def->type && type != AttributeType::kUndefined && !dense_for_sparse) {
        return "attribute '" + attribute.name + "' is of type " + TypeName(type) + ", expected " +
               TypeName(def->type);
      }
    }
    for (const AttributeDef& def : schema_.attributes) {
      if (def.required && !attributes.Has(def.name)) {
        return "attribute '" + std::string(def.name) + "' of type " + TypeName(def.type) +
               " is missing";
      }
    }
    return {};
  }

  std::string CheckArgs(std::string_view role, std::span<const FormalParameter> formals,
                        Args args) {
    const std::size_t count = CountPresent(args);
    for (std::size_t i = 0; i < count; ++i) {
      const FormalParameter& formal = i < formals.size() ? formals[i] : formals.back();
      if (args[i] == nullptr) {
        if (formal.option == Option::kOptional || role == "output") continue;
        return ArgLabel(role, i, formal) + " is missing";
      }
      if (std::string error = CheckType(role, i, formal, args[i]->type()); !error.empty()) {
        return error;
      }
    }
    return {};
  }

  std::string CheckType(std::string_view role, std::size_t index, const FormalParameter& formal,
                        const ValueType& type) {
    if (!type.known()) return {};
    if (!formal.types->Contains(type)) {
      std::string expected = formal.types->ToString();
      if (formal.constraint >= 0) expected = std::string(formal.type) + ", one of " + expected;
      return ArgLabel(role, index, formal) + " is " + type.ToString() + ", expected " + expected;
    }
    const bool free = formal.option == Option::kVariadic && !formal.homogeneous;
    if (formal.constraint < 0 || free) return {};
    Binding& bound = bindings_[static_cast<std::size_t>(formal.constraint)];
    if (bound.type == nullptr) {
      bound = {&type, ArgLabel(role, index, formal)};
    } else if (!bound.type->SameAs(type)) {
      return ArgLabel(role, index, formal) + " is " + type.ToString() + ", expected " +
             bound.type->ToString() + " as " + bound.by + " (both are " + std::string(formal.type) +
             ")";
    }
    return {};
  }

  const OpSchema& schema_;
  std::vector<Binding> bindings_;
};

}  // namespace

std::string VerifyAgainstSchema(const OpSchema& schema, const Node& node) {
  const std::string error = Check(schema).Run(node);
  return error.empty() ? error : node.Describe() + ": " + error;
}

}  // namespace switchyard
