#include "switchyard/ir/attribute.h"

#include <algorithm>

#include "switchyard/base/error.h"
#include "switchyard/ir/graph.h"

namespace switchyard {
namespace {

template <typename T>
const T* Get(const Attributes& attributes, std::string_view name, const char* expected) {
  const Attribute* attribute = attributes.Find(name);
  if (attribute == nullptr) return nullptr;
  if (const T* value = std::get_if<T>(&attribute->value)) return value;
  throw Error(ErrorCode::kInvalidGraph,
              "attribute '" + std::string(name) + "' is not of type " + expected + " (type code " +
                  std::to_string(static_cast<int>(attribute->type())) + ")");
}

// An empty list has no type of its own in some files: floats and ints are then the same.
bool IsEmptyList(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) {
        if constexpr (requires { value.empty(); }) {
          return value.empty();
        } else {
          return false;
        }
      },
      attribute.value);
}

template <typename T>
std::span<const T> GetList(const Attributes& attributes, std::string_view name,
                           const char* expected) {
  const Attribute* attribute = attributes.Find(name);
  if (attribute == nullptr || IsEmptyList(*attribute)) return {};
  return *Get<std::vector<T>>(attributes, name, expected);
}

}  // namespace

AttributeType Attribute::type() const {
  static constexpr AttributeType kByIndex[] = {
      AttributeType::kUndefined, AttributeType::kFloat,  AttributeType::kInt,
      AttributeType::kString,    AttributeType::kTensor, AttributeType::kGraph,
      AttributeType::kFloats,    AttributeType::kInts,   AttributeType::kStrings,
      AttributeType::kTensors,   AttributeType::kGraphs, AttributeType::kTypeProto,
      AttributeType::kTypeProtos};
  if (const auto* reference = std::get_if<AttributeReference>(&value)) return reference->type;
  return kByIndex[value.index()];
}

const Attribute* Attributes::Find(std::string_view name) const {
  const auto at = std::lower_bound(
      items_.begin(), items_.end(), name,
      [](const Attribute& item, std::string_view wanted) { return item.name < wanted; });
  return at != items_.end() && at->name == name ? &*at : nullptr;
}

void Attributes::Set(Attribute attribute) {
  const auto at = std::lower_bound(
      items_.begin(), items_.end(), attribute.name,
      [](const Attribute& item, const std::string& wanted) { return item.name < wanted; });
  if (at != items_.end() && at->name == attribute.name) {
    *at = std::move(attribute);
  } else {
    items_.insert(at, std::move(attribute));
  }
}

void Attributes::Erase(std::string_view name) {
  std::erase_if(items_, [&](const Attribute& item) { return item.name == name; });
}

std::int64_t Attributes::Int(std::string_view name, std::int64_t absent) const {
  const auto* value = Get<std::int64_t>(*this, name, "int");
  return value != nullptr ? *value : absent;
}

float Attributes::Float(std::string_view name, float absent) const {
  const auto* value = Get<float>(*this, name, "float");
  return value != nullptr ? *value : absent;
}

std::string Attributes::String(std::string_view name, std::string_view absent) const {
  const auto* value = Get<std::string>(*this, name, "string");
  return value != nullptr ? *value : std::string(absent);
}

std::span<const std::int64_t> Attributes::Ints(std::string_view name) const {
  return GetList<std::int64_t>(*this, name, "ints");
}

std::span<const float> Attributes::Floats(std::string_view name) const {
  return GetList<float>(*this, name, "floats");
}

std::span<const std::string> Attributes::Strings(std::string_view name) const {
  return GetList<std::string>(*this, name, "strings");
}

ConstantPtr Attributes::Tensor(std::string_view name) const {
  const auto* value = Get<ConstantPtr>(*this, name, "tensor");
  return value != nullptr ? *value : nullptr;
}

std::shared_ptr<Graph> Attributes::Subgraph(std::string_view name) const {
  const auto* value = Get<std::shared_ptr<Graph>>(*this, name, "graph");
  return value != nullptr ? *value : nullptr;
}

}  // namespace switchyard
