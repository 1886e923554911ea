#include "support/model_bytes.h"

#include <cstring>

#include "switchyard/base/error.h"
#include "switchyard/ir/text.h"

namespace switchyard::test {
namespace {

// Messages of the protobuf wire format.
class Message {
 public:
  void Int(int field, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(field) << 3);
    Varint(static_cast<std::uint64_t>(value));
  }
  void Float(int field, float value) {
    Varint((static_cast<std::uint64_t>(field) << 3) | 5);
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    bytes_.append(bytes, 4);
  }
  void Bytes(int field, std::string_view value) {
    Varint((static_cast<std::uint64_t>(field) << 3) | 2);
    Varint(value.size());
    bytes_ += value;
  }
  void Add(int field, const Message& message) { Bytes(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message TensorMessage(const Constant& constant, const std::string& name) {
  Message message;
  for (std::int64_t dim : constant.dims()) message.Int(1, dim);
  message.Int(2, static_cast<int>(constant.type()));
  const Tensor& tensor = constant.tensor();
  if (constant.type() == DataType::kString) {
    for (const std::string& text : tensor.values<std::string>()) message.Bytes(6, text);
  } else {
    message.Bytes(9, {static_cast<const char*>(tensor.raw()), tensor.bytes()});
  }
  message.Bytes(8, name);
  return message;
}

Message ValueMessage(const NodeArg& value) {
  const ValueType& type = value.type();
  Message info;
  info.Bytes(1, value.Name());
  if (!type.known()) return info;
  if (!type.is_tensor()) {
    throw Error(ErrorCode::kNotImplemented, "ModelBytes: '" + value.Name() + "' is no tensor");
  }
  Message tensor;
  tensor.Int(1, static_cast<int>(type.elem));
  if (type.shape.ranked()) {
    Message shape;
    for (const Dim& dim : type.shape) {
      Message entry;
      if (dim.is_value()) entry.Int(1, dim.value());
      if (dim.is_symbolic()) entry.Bytes(2, dim.ToString());
      shape.Add(1, entry);
    }
    tensor.Add(2, shape);
  }
  Message outer;
  outer.Add(1, tensor);
  info.Add(2, outer);
  return info;
}

Message GraphMessage(const GraphViewer& part, const std::string& name);

Message AttributeMessage(const Attribute& attribute) {
  Message message;
  message.Bytes(1, attribute.name);
  const auto& value = attribute.value;
  if (const auto* f = std::get_if<float>(&value)) message.Float(2, *f);
  if (const auto* i = std::get_if<std::int64_t>(&value)) message.Int(3, *i);
  if (const auto* s = std::get_if<std::string>(&value)) message.Bytes(4, *s);
  if (const auto* t = std::get_if<ConstantPtr>(&value)) message.Add(5, TensorMessage(**t, ""));
  if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&value)) {
    message.Add(6, GraphMessage(GraphViewer(**g), attribute.name));
  }
  if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    for (float f : *list) message.Float(7, f);
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    for (std::int64_t i : *list) message.Int(8, i);
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& s : *list) message.Bytes(9, s);
  }
  message.Int(20, static_cast<int>(attribute.type()));
  return message;
}

Message NodeMessage(const Node& node) {
  Message message;
  const auto name_of = [](const NodeArg* value) {
    return value == nullptr ? std::string() : value->Name();
  };
  for (const NodeArg* value : node.inputs()) message.Bytes(1, name_of(value));
  for (const NodeArg* value : node.outputs()) message.Bytes(2, name_of(value));
  message.Bytes(3, node.Name());
  message.Bytes(4, node.OpType());
  for (const Attribute& attribute : node.attributes()) message.Add(5, AttributeMessage(attribute));
  message.Bytes(7, node.Domain());
  return message;
}

Message GraphMessage(const GraphViewer& part, const std::string& name) {
  Message message;
  for (NodeIndex index : part.GetNodesInTopologicalOrder()) {
    message.Add(1, NodeMessage(*part.GetNode(index)));
  }
  message.Bytes(2, name);
  for (const NodeArg* value : part.GetConstants()) {
    message.Add(5, TensorMessage(*value->constant(), value->Name()));
  }
  for (const NodeArg* value : part.GetInputs()) message.Add(11, ValueMessage(*value));
  for (const NodeArg* value : part.GetOutputs()) message.Add(12, ValueMessage(*value));
  return message;
}

}  // namespace

std::string ModelBytes(const GraphViewer& part) {
  Message model;
  model.Int(1, 10);
  model.Add(7, GraphMessage(part, "part"));
  for (const auto& [domain, version] : part.DomainToVersionMap()) {
    Message import;
    import.Bytes(1, domain);
    import.Int(2, version);
    model.Add(8, import);
  }
  return model.bytes();
}

std::string ModelBytes(std::string_view text) { return ModelBytes(GraphViewer(*ParseGraph(text))); }

}  // namespace switchyard::test
