#include "switchyard/ir/schema.h"

#include <algorithm>
#include <climits>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

#include "ops/schemas.inc"

// The element of a sorted-by-version range that fits `opset` best, or nullptr.
const OpSchema* FindBuiltIn(std::string_view domain, std::string_view op_type, int opset) {
  const auto key = std::make_pair(domain, op_type);
  const auto* it = std::lower_bound(
      std::begin(kSchemas), std::end(kSchemas), key,
      [](const OpSchema& s, const auto& k) { return std::make_pair(s.domain, s.name) < k; });
  for (; it != std::end(kSchemas) && it->domain == domain && it->name == op_type; ++it) {
    if (it->since_version <= opset) return it;
  }
  return nullptr;
}

std::string_view CanonicalDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

const FormalParameter* ParameterAt(std::span<const FormalParameter> formal, std::size_t index) {
  if (formal.empty()) return nullptr;
  if (index < formal.size()) return &formal[index];
  return formal.back().option == FormalParameter::Option::kVariadic ? &formal.back() : nullptr;
}

// The least count of arguments that supplies every required parameter.
int MinArity(std::span<const FormalParameter> formal, int min_variadic) {
  int least = 0;
  for (std::size_t i = 0; i < formal.size(); ++i) {
    const int before = static_cast<int>(i);
    if (formal[i].option == FormalParameter::Option::kSingle) least = before + 1;
    if (formal[i].option == FormalParameter::Option::kVariadic && min_variadic > 0) {
      least = before + min_variadic;
    }
  }
  return least;
}

int MaxArity(std::span<const FormalParameter> formal) {
  const bool open = !formal.empty() && formal.back().option == FormalParameter::Option::kVariadic;
  return open ? INT_MAX : static_cast<int>(formal.size());
}

}  // namespace

const FormalParameter* OpSchema::Input(std::size_t index) const {
  return ParameterAt(inputs, index);
}

const FormalParameter* OpSchema::Output(std::size_t index) const {
  return ParameterAt(outputs, index);
}

const AttributeDef* OpSchema::Attribute(std::string_view attribute_name) const {
  const auto it = std::lower_bound(
      attributes.begin(), attributes.end(), attribute_name,
      [](const AttributeDef& a, std::string_view wanted) { return a.name < wanted; });
  return it != attributes.end() && it->name == attribute_name ? &*it : nullptr;
}

const FunctionTemplate* OpSchema::Body(int opset) const {
  const FunctionTemplate* best = nullptr;
  for (const FunctionTemplate& body : bodies) {
    if (best == nullptr || body.opset <= opset) best = &body;
  }
  return best;
}

// A user's schema with the storage that its views point into.
struct OpSchemaRegistry::Owned {
  OpSchemaDefinition definition;
  std::deque<ValueTypeSet> types;
  std::vector<FormalParameter> inputs;
  std::vector<FormalParameter> outputs;
  std::vector<TypeConstraint> constraints;
  std::vector<AttributeDef> attributes;
  std::deque<std::vector<std::string_view>> strings;
  OpSchema schema{};

  explicit Owned(const OpSchemaDefinition& d) : definition(d) {
    AddConstraints();
    AddParameters(definition.inputs, inputs);
    AddParameters(definition.outputs, outputs);
    AddAttributes();
    schema.domain = CanonicalDomain(definition.domain);
    schema.name = definition.name;
    schema.since_version = definition.since_version;
    schema.inputs = inputs;
    schema.outputs = outputs;
    schema.type_constraints = constraints;
    schema.attributes = attributes;
    schema.min_inputs = MinArity(inputs, definition.min_variadic_inputs);
    schema.max_inputs = MaxArity(inputs);
    schema.min_outputs = MinArity(outputs, definition.min_variadic_outputs);
    schema.max_outputs = MaxArity(outputs);
    schema.determinism = definition.determinism;
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument,
                "schema of " + definition.domain + ":" + definition.name + ": " + why);
  }

  const ValueTypeSet* StoreTypes(std::span<const std::string> texts) {
    ValueTypeSet set;
    for (const std::string& text : texts) {
      const ValueTypeSet one = ValueTypeSet::Parse(text);
      if (one.empty()) Refuse("'" + text + "' is neither a type constraint nor an ONNX type");
      set |= one;
    }
    types.push_back(set);
    return &types.back();
  }

  void AddConstraints() {
    for (const auto& c : definition.constraints) {
      if (c.types.empty()) Refuse("type constraint '" + c.name + "' has no types");
      constraints.push_back({c.name, StoreTypes(c.types)});
    }
  }

  void AddParameters(std::span<const OpSchemaDefinition::Parameter> from,
                     std::vector<FormalParameter>& to) {
    for (const auto& p : from) {
      if (!to.empty() && to.back().option == FormalParameter::Option::kVariadic) {
        Refuse("'" + p.name + "' follows a variadic parameter");
      }
      FormalParameter formal{p.name, p.type, nullptr, -1, p.option, p.homogeneous};
      for (std::size_t i = 0; i < constraints.size(); ++i) {
        if (constraints[i].name != p.type) continue;
        formal.constraint = static_cast<std::int8_t>(i);
        formal.types = constraints[i].types;
      }
      if (formal.types == nullptr) formal.types = StoreTypes(std::span(&p.type, 1));
      to.push_back(formal);
    }
  }

  void AddAttributes() {
    std::sort(definition.attributes.begin(), definition.attributes.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const auto& a : definition.attributes) {
      if (!attributes.empty() && attributes.back().name == a.name) {
        Refuse("attribute '" + a.name + "' is there twice");
      }
      const auto& texts = strings.emplace_back(a.strings.begin(), a.strings.end());
      attributes.push_back(
          {a.name, a.type, a.required, a.has_default, a.f, a.i, a.s, a.ints, a.floats, texts});
    }
  }
};

OpSchemaRegistry::OpSchemaRegistry() = default;
OpSchemaRegistry::~OpSchemaRegistry() = default;
OpSchemaRegistry::OpSchemaRegistry(OpSchemaRegistry&&) noexcept = default;
OpSchemaRegistry& OpSchemaRegistry::operator=(OpSchemaRegistry&&) noexcept = default;

const OpSchema& OpSchemaRegistry::Add(const OpSchemaDefinition& definition) {
  auto owned = std::make_unique<Owned>(definition);
  const OpSchema& s = owned->schema;
  if (s.name.empty()) owned->Refuse("the operator has no name");
  if (s.since_version < 1) owned->Refuse("since_version is less than 1");
  for (const auto& other : added_) {
    const OpSchema& o = other->schema;
    if (std::tie(o.domain, o.name, o.since_version) ==
        std::tie(s.domain, s.name, s.since_version)) {
      owned->Refuse("version " + std::to_string(s.since_version) + " was added before");
    }
  }
  added_.push_back(std::move(owned));
  return added_.back()->schema;
}

const OpSchema* OpSchemaRegistry::Find(std::string_view domain, std::string_view op_type,
                                       int opset) const {
  domain = CanonicalDomain(domain);
  const OpSchema* best = nullptr;
  for (const auto& owned : added_) {
    const OpSchema& s = owned->schema;
    if (s.domain != domain || s.name != op_type || s.since_version > opset) continue;
    if (best == nullptr || s.since_version > best->since_version) best = &s;
  }
  return best != nullptr ? best : FindBuiltIn(domain, op_type, opset);
}

int OpSchemaRegistry::NewestOpset(std::string_view domain) const {
  domain = CanonicalDomain(domain);
  int newest = 0;
  for (const DomainVersion& d : kNewestOpset) {
    if (d.domain == domain) newest = d.version;
  }
  for (const auto& owned : added_) {
    if (owned->schema.domain == domain) newest = std::max(newest, owned->schema.since_version);
  }
  return newest;
}

std::vector<std::string_view> OpSchemaRegistry::Domains() const {
  std::vector<std::string_view> domains;
  for (const DomainVersion& d : kNewestOpset) domains.push_back(d.domain);
  for (const auto& owned : added_) domains.push_back(owned->schema.domain);
  std::sort(domains.begin(), domains.end());
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  return domains;
}

std::vector<const OpSchema*> OpSchemaRegistry::Added() const {
  std::vector<const OpSchema*> schemas;
  for (const auto& owned : added_) schemas.push_back(&owned->schema);
  return schemas;
}

std::span<const OpSchema> OpSchemaRegistry::BuiltIn() { return kSchemas; }

}  // namespace switchyard
