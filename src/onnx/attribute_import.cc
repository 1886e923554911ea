#include "onnx/attribute_import.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <vector>

#include "onnx/fields.h"
#include "onnx/tensor_import.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

// An AttributeProto taken apart. `seen` has bit t set when a field of AttributeType t came.
struct Fields {
  std::string_view name;
  std::string_view reference;
  std::int32_t type = 0;
  std::uint32_t seen = 0;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::string_view message;  // the single message, whatever it is
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> many;  // strings or messages

  void Saw(AttributeType what) { seen |= 1u << static_cast<int>(what); }
};

void AppendFloats(std::string_view packed, std::vector<float>* out) {
  if (packed.size() % sizeof(float) != 0) {
    throw Error(ErrorCode::kInvalidProtobuf,
                fmt::format("floats of {} bytes are not whole numbers", packed.size()));
  }
  const std::size_t before = out->size();
  out->resize(before + packed.size() / sizeof(float));
  if (!packed.empty()) std::memcpy(out->data() + before, packed.data(), packed.size());
}

std::optional<AttributeType> SingleMessage(FieldNumber field) {
  switch (field) {
    case attribute::kT:
      return AttributeType::kTensor;
    case attribute::kG:
      return AttributeType::kGraph;
    case attribute::kTp:
      return AttributeType::kTypeProto;
    case attribute::kSparseTensor:
      return AttributeType::kSparseTensor;
    default:
      return std::nullopt;
  }
}

std::optional<AttributeType> RepeatedBytes(FieldNumber field) {
  switch (field) {
    case attribute::kStrings:
      return AttributeType::kStrings;
    case attribute::kTensors:
      return AttributeType::kTensors;
    case attribute::kGraphs:
      return AttributeType::kGraphs;
    case attribute::kTypeProtos:
      return AttributeType::kTypeProtos;
    case attribute::kSparseTensors:
      return AttributeType::kSparseTensors;
    default:
      return std::nullopt;
  }
}

void ReadBytesField(const Reader& reader, Fields* fields) {
  if (const auto single = SingleMessage(reader.field())) {
    fields->message = reader.bytes();
    fields->Saw(*single);
  } else if (const auto repeated = RepeatedBytes(reader.field())) {
    fields->many.push_back(reader.bytes());
    fields->Saw(*repeated);
  }
}

void ReadField(const Reader& reader, const ImportState& state, Fields* fields) {
  switch (reader.key()) {
    case BytesKey(attribute::kName):
      fields->name = state.CheckName(reader.bytes(), "attribute name");
      break;
    case BytesKey(attribute::kRefAttrName):
      fields->reference = state.CheckName(reader.bytes(), "attribute reference");
      break;
    case IntKey(attribute::kType):
      fields->type = reader.int32();
      break;
    case Key(attribute::kF, Wire::kFixed32):
      fields->f = reader.float32();
      fields->Saw(AttributeType::kFloat);
      break;
    case IntKey(attribute::kI):
      fields->i = reader.int64();
      fields->Saw(AttributeType::kInt);
      break;
    case BytesKey(attribute::kS):
      fields->s = reader.bytes();
      fields->Saw(AttributeType::kString);
      break;
    case BytesKey(attribute::kFloats):
      AppendFloats(reader.bytes(), &fields->floats);
      fields->Saw(AttributeType::kFloats);
      break;
    case Key(attribute::kFloats, Wire::kFixed32):
      fields->floats.push_back(reader.float32());
      fields->Saw(AttributeType::kFloats);
      break;
    case BytesKey(attribute::kInts):
      AppendPacked(reader.bytes(), &fields->ints);
      fields->Saw(AttributeType::kInts);
      break;
    case IntKey(attribute::kInts):
      fields->ints.push_back(reader.int64());
      fields->Saw(AttributeType::kInts);
      break;
    default:
      if (reader.wire() == Wire::kBytes) ReadBytesField(reader, fields);
      break;
  }
}

// The type it says, or for files older than that field, the one its value has.
AttributeType DecideType(const Fields& fields) {
  if (fields.type < 0 || fields.type > static_cast<int>(AttributeType::kTypeProtos)) {
    ThrowInvalid(fmt::format("unknown attribute type {}", fields.type));
  }
  if (fields.type == 0) {
    if (!std::has_single_bit(fields.seen)) {
      ThrowInvalid(fields.seen == 0 ? "it has neither type nor value"
                                    : "it has no type and values of several");
    }
    return static_cast<AttributeType>(std::countr_zero(fields.seen));
  }
  // Writers of the proto3 kind leave zeros out and some write unused scalars as zeros.
  std::uint32_t others = fields.seen & ~(1u << fields.type);
  if (fields.f == 0) others &= ~(1u << static_cast<int>(AttributeType::kFloat));
  if (fields.i == 0) others &= ~(1u << static_cast<int>(AttributeType::kInt));
  if (fields.s.empty()) others &= ~(1u << static_cast<int>(AttributeType::kString));
  if (others != 0) {
    ThrowInvalid(fmt::format("its type is {}, its value is of type {}", fields.type,
                             std::countr_zero(others)));
  }
  return static_cast<AttributeType>(fields.type);
}

void ReadMessages(AttributeType kind, const Fields& fields, const AttributeReading& reading,
                  Attribute* result) {
  std::vector<ConstantPtr> tensors;
  Attribute::Graphs graphs;
  std::vector<ValueType> types;
  for (const std::string_view message : fields.many) {
    switch (kind) {
      case AttributeType::kTensors:
        tensors.push_back(ReadTensor(message, reading.state).constant);
        break;
      case AttributeType::kSparseTensors:
        tensors.push_back(ReadSparseTensor(message, reading.state).constant);
        break;
      case AttributeType::kGraphs:
        graphs.push_back(reading.read_body(message));
        break;
      default:
        types.push_back(ReadType(message, reading.types, reading.state));
        break;
    }
  }
  if (kind == AttributeType::kGraphs) {
    result->value = std::move(graphs);
  } else if (kind == AttributeType::kTypeProtos) {
    result->value = std::move(types);
  } else {
    result->value = std::move(tensors);
  }
}

void ReadValue(AttributeType kind, const Fields& fields, const AttributeReading& reading,
               Attribute* result) {
  const bool single = kind == AttributeType::kTensor || kind == AttributeType::kGraph ||
                      kind == AttributeType::kSparseTensor || kind == AttributeType::kTypeProto;
  if (single && (fields.seen & (1u << static_cast<int>(kind))) == 0)
    ThrowInvalid("it has no value");
  switch (kind) {
    case AttributeType::kFloat:
      result->value = fields.f;
      break;
    case AttributeType::kInt:
      result->value = fields.i;
      break;
    case AttributeType::kString:
      result->value = std::string(fields.s);
      break;
    case AttributeType::kTensor:
      result->value = ReadTensor(fields.message, reading.state).constant;
      break;
    case AttributeType::kSparseTensor:
      result->value = ReadSparseTensor(fields.message, reading.state).constant;
      break;
    case AttributeType::kGraph:
      result->value = reading.read_body(fields.message);
      break;
    case AttributeType::kTypeProto:
      result->value = ReadType(fields.message, reading.types, reading.state);
      break;
    case AttributeType::kFloats:
      result->value = fields.floats;
      break;
    case AttributeType::kInts:
      result->value = fields.ints;
      break;
    case AttributeType::kStrings:
      result->value = std::vector<std::string>(fields.many.begin(), fields.many.end());
      break;
    default:
      ReadMessages(kind, fields, reading, result);
      break;
  }
}

}  // namespace

std::string_view ReadAttributeName(std::string_view proto) {
  std::string_view name;
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() == BytesKey(attribute::kName)) name = reader.bytes();
  }
  return name;
}

Attribute ReadAttributeProto(std::string_view proto, const AttributeReading& reading) {
  Fields fields;
  return InContext(
      [&] { return fmt::format("attribute '{}'", fields.name); },
      [&] {
        Reader reader(proto);
        while (reader.Next()) ReadField(reader, reading.state, &fields);
        if (fields.name.empty()) ThrowInvalid("it has no name");
        Attribute result;
        result.name = std::string(fields.name);
        if (!fields.reference.empty()) {
          if (!reading.allow_references) {
            ThrowInvalid(fmt::format(
                "it refers to the attribute '{}' of a function, outside of one", fields.reference));
          }
          if (fields.type <= 0 || fields.type > static_cast<int>(AttributeType::kTypeProtos)) {
            ThrowInvalid(fmt::format("unknown attribute type {}", fields.type));
          }
          if (fields.seen != 0) ThrowInvalid("it has both a value and a reference");
          result.value = AttributeReference{std::string(fields.reference),
                                            static_cast<AttributeType>(fields.type)};
          return result;
        }
        ReadValue(DecideType(fields), fields, reading, &result);
        return result;
      });
}

}  // namespace switchyard::onnx
