#pragma once
// An attribute of a node, and the ordered set of them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "switchyard/base/export.h"
#include "switchyard/tensor/constant.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard {

class Graph;

// The values equal AttributeProto.AttributeType.
enum class AttributeType : int {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

// Reference to an attribute of the surrounding function (only inside function bodies).
struct AttributeReference {
  std::string name;
  AttributeType type = AttributeType::kUndefined;
};

// Sparse tensors are densified on import and held as kTensor.
struct SWITCHYARD_API Attribute {
  using Graphs = std::vector<std::shared_ptr<Graph>>;
  std::string name;
  std::variant<std::monostate, float, std::int64_t, std::string, ConstantPtr,
               std::shared_ptr<Graph>, std::vector<float>, std::vector<std::int64_t>,
               std::vector<std::string>, std::vector<ConstantPtr>, Graphs, ValueType,
               std::vector<ValueType>, AttributeReference>
      value;

  AttributeType type() const;
};

// A node has few attributes: a sorted vector.
class SWITCHYARD_API Attributes {
 public:
  const Attribute* Find(std::string_view name) const;
  void Set(Attribute attribute);  // replaces one of the same name
  void Erase(std::string_view name);
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  // Absent: the given default. Of another type: InvalidGraph naming the attribute.
  std::int64_t Int(std::string_view name, std::int64_t absent) const;
  float Float(std::string_view name, float absent) const;
  std::string String(std::string_view name, std::string_view absent) const;
  std::span<const std::int64_t> Ints(std::string_view name) const;  // absent: empty
  std::span<const float> Floats(std::string_view name) const;
  std::span<const std::string> Strings(std::string_view name) const;
  ConstantPtr Tensor(std::string_view name) const;               // absent: nullptr
  std::shared_ptr<Graph> Subgraph(std::string_view name) const;  // absent: nullptr
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

 private:
  std::vector<Attribute> items_;
};

}  // namespace switchyard
