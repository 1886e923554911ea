#include "onnx/tensor_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "onnx/fields.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

// Larger ones stay in the file.
constexpr std::uint64_t kCopied = 4096;

// A TensorProto taken apart.
struct Fields {
  std::string_view name;
  std::vector<std::int64_t> dims;
  DataType type = DataType::kUndefined;
  std::optional<std::string_view> raw;
  std::vector<std::string_view> floats;  // little-endian runs
  std::vector<std::string_view> doubles;
  std::vector<std::int64_t> int32s, int64s, uint64s;
  std::vector<std::string_view> strings;
  std::vector<float> loose_floats;  // given one by one
  std::vector<double> loose_doubles;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_entries;
};

std::pair<std::string_view, std::string_view> ReadEntry(std::string_view proto) {
  std::pair<std::string_view, std::string_view> pair;
  Reader reader(proto);
  while (reader.Next()) {
    if (reader.key() == BytesKey(entry::kKey)) pair.first = reader.bytes();
    if (reader.key() == BytesKey(entry::kValue)) pair.second = reader.bytes();
  }
  return pair;
}

void ReadDataField(const Reader& reader, Fields* fields) {
  switch (reader.key()) {
    case BytesKey(tensor::kFloatData):
      fields->floats.push_back(reader.bytes());
      break;
    case Key(tensor::kFloatData, Wire::kFixed32):
      fields->loose_floats.push_back(reader.float32());
      break;
    case BytesKey(tensor::kDoubleData):
      fields->doubles.push_back(reader.bytes());
      break;
    case Key(tensor::kDoubleData, Wire::kFixed64):
      fields->loose_doubles.push_back(std::bit_cast<double>(reader.number()));
      break;
    case BytesKey(tensor::kInt32Data):
      AppendPacked(reader.bytes(), &fields->int32s);
      break;
    case IntKey(tensor::kInt32Data):
      fields->int32s.push_back(reader.int64());
      break;
    case BytesKey(tensor::kInt64Data):
      AppendPacked(reader.bytes(), &fields->int64s);
      break;
    case IntKey(tensor::kInt64Data):
      fields->int64s.push_back(reader.int64());
      break;
    case BytesKey(tensor::kUint64Data):
      AppendPacked(reader.bytes(), &fields->uint64s);
      break;
    case IntKey(tensor::kUint64Data):
      fields->uint64s.push_back(reader.int64());
      break;
    case BytesKey(tensor::kStringData):
      fields->strings.push_back(reader.bytes());
      break;
    default:
      break;
  }
}

void ReadHeadField(const Reader& reader, Fields* fields) {
  switch (reader.key()) {
    case IntKey(tensor::kDims):
      fields->dims.push_back(reader.int64());
      break;
    case BytesKey(tensor::kDims):
      AppendPacked(reader.bytes(), &fields->dims);
      break;
    case IntKey(tensor::kDataType):
      fields->type = ToDataType(reader.int32());
      break;
    case BytesKey(tensor::kSegment):
      ThrowNotImplemented("tensors stored in segments");
    case BytesKey(tensor::kRawData):
      fields->raw = reader.bytes();
      break;
    case BytesKey(tensor::kExternalData):
      fields->external_entries.push_back(ReadEntry(reader.bytes()));
      break;
    case IntKey(tensor::kDataLocation):
      if (reader.number() > 1) {
        ThrowInvalid(fmt::format("unknown data location {}", reader.number()));
      }
      fields->external = reader.number() == 1;
      break;
    default:
      ReadDataField(reader, fields);
      break;
  }
}

// What Dims and sizes a tensor has, checked for sign and overflow.
struct Extent {
  Dims dims;
  std::int64_t count = 1;
  std::uint64_t bytes = 0;  // 0 for strings
};

Extent CheckDims(const std::vector<std::int64_t>& dims, DataType type, const ImportState& state) {
  if (dims.size() > static_cast<std::size_t>(state.limits().rank)) {
    ThrowInvalid(fmt::format("rank {}, the limit is {}", dims.size(), state.limits().rank));
  }
  Extent extent;
  extent.dims.assign(dims.begin(), dims.end());
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0)
      ThrowInvalid(fmt::format("dims {} hold a negative number", DimsToString(extent.dims)));
    empty = empty || dim == 0;
    overflow = overflow || __builtin_mul_overflow(extent.count, dim, &extent.count);
  }
  if (empty) extent.count = 0;
  std::int64_t bits = 0;
  const std::int64_t per_element = type == DataType::kString ? 8 : BitsOf(type);
  if ((overflow && !empty) || __builtin_mul_overflow(extent.count, per_element, &bits)) {
    ThrowInvalid(fmt::format("dims {} overflow", DimsToString(extent.dims)));
  }
  if (type != DataType::kString) extent.bytes = (static_cast<std::uint64_t>(bits) + 7) / 8;
  return extent;
}

std::string DescribeExtent(DataType type, const Extent& extent) {
  return fmt::format("{}{}", DataTypeName(type), DimsToString(extent.dims));
}

[[noreturn]] void WrongCount(DataType type, const Extent& extent, std::string_view field,
                             std::uint64_t expected, std::uint64_t got, std::string_view unit) {
  ThrowInvalid(fmt::format("{} needs {} {} in {}, got {}", DescribeExtent(type, extent), expected,
                           unit, field, got));
}

// bool elements other than 0 and 1 would be undefined behaviour.
void NormaliseBools(Tensor* tensor) {
  auto* bytes = static_cast<unsigned char*>(tensor->raw_mutable());
  for (std::int64_t i = 0; i < tensor->size(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

ConstantPtr FromLittleEndian(std::string_view data, DataType type, const Extent& extent,
                             ImportState& state) {
  const ModelBytes& bytes = state.bytes();
  if (bytes.file() != nullptr && data.size() > kCopied && type != DataType::kBool) {
    return std::make_shared<Constant>(type, extent.dims, bytes.file(), bytes.OffsetOf(data));
  }
  Tensor tensor(type, extent.dims, state.allocator());
  bytes.Copy(data, tensor.raw_mutable());
  if (type == DataType::kBool) NormaliseBools(&tensor);
  return std::make_shared<Constant>(std::move(tensor));
}

// `parts` and then `loose`, elements of type T, `per_element` of them an element of the tensor.
template <typename T>
ConstantPtr FromFloats(const std::vector<std::string_view>& parts, const std::vector<T>& loose,
                       std::string_view field, DataType type, const Extent& extent,
                       ImportState& state) {
  std::uint64_t total = loose.size() * sizeof(T);
  for (const std::string_view part : parts) {
    if (part.size() % sizeof(T) != 0) {
      throw Error(
          ErrorCode::kInvalidProtobuf,
          fmt::format("{} of {} bytes is not a whole number of elements", field, part.size()));
    }
    total += part.size();
  }
  if (total != extent.bytes) {
    WrongCount(type, extent, field, extent.bytes / sizeof(T), total / sizeof(T), "values");
  }
  if (parts.size() == 1 && loose.empty()) return FromLittleEndian(parts[0], type, extent, state);
  Tensor tensor(type, extent.dims, state.allocator());
  auto* out = static_cast<char*>(tensor.raw_mutable());
  for (const std::string_view part : parts) {
    state.bytes().Copy(part, out);
    out += part.size();
  }
  if (!loose.empty()) std::memcpy(out, loose.data(), loose.size() * sizeof(T));
  return std::make_shared<Constant>(std::move(tensor));
}

// Integers of a wider field into elements of `T`'s width; they must fit as signed or as unsigned.
template <typename T>
void Narrow(const std::vector<std::int64_t>& values, Tensor* tensor) {
  auto* out = static_cast<T*>(tensor->raw_mutable());
  constexpr std::int64_t kLow = std::numeric_limits<std::make_signed_t<T>>::min();
  constexpr std::uint64_t kHigh = std::numeric_limits<T>::max();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (sizeof(T) < 8 && (values[i] < kLow || values[i] > static_cast<std::int64_t>(kHigh))) {
      ThrowInvalid(fmt::format("element {} is {}, outside of {}", i, values[i],
                               DataTypeName(tensor->type())));
    }
    out[i] = static_cast<T>(values[i]);
  }
}

ConstantPtr FromIntegers(const std::vector<std::int64_t>& values, std::string_view field,
                         DataType type, const Extent& extent, ImportState& state) {
  // Packed types: one integer holds a byte of them.
  const std::uint64_t expected =
      IsPacked(type) ? extent.bytes : static_cast<std::uint64_t>(extent.count);
  if (values.size() != expected) {
    WrongCount(type, extent, field, expected, values.size(), "values");
  }
  Tensor tensor(type, extent.dims, state.allocator());
  switch (IsPacked(type) ? 8 : BitsOf(type)) {
    case 8:
      Narrow<std::uint8_t>(values, &tensor);
      break;
    case 16:
      Narrow<std::uint16_t>(values, &tensor);
      break;
    case 32:
      Narrow<std::uint32_t>(values, &tensor);
      break;
    default:
      Narrow<std::uint64_t>(values, &tensor);
      break;
  }
  if (type == DataType::kBool) NormaliseBools(&tensor);
  return std::make_shared<Constant>(std::move(tensor));
}

ConstantPtr FromStrings(const Fields& fields, const Extent& extent, ImportState& state) {
  if (fields.raw && !fields.raw->empty()) ThrowInvalid("string tensors can't have raw_data");
  if (fields.strings.size() != static_cast<std::uint64_t>(extent.count)) {
    WrongCount(fields.type, extent, "string_data", static_cast<std::uint64_t>(extent.count),
               fields.strings.size(), "values");
  }
  Tensor tensor(DataType::kString, extent.dims, state.allocator());
  auto* out = extent.count != 0 ? tensor.data_mutable<std::string>() : nullptr;
  for (std::size_t i = 0; i < fields.strings.size(); ++i) out[i] = fields.strings[i];
  return std::make_shared<Constant>(std::move(tensor));
}

std::uint64_t Decimal(std::string_view text, std::string_view key) {
  std::uint64_t value = 0;
  bool good = !text.empty() && text.size() <= 19;
  for (const char c : text) {
    good = good && c >= '0' && c <= '9';
    if (good) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!good || value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    ThrowInvalid(fmt::format("external data {} '{}' is not a plain decimal number", key, text));
  }
  return value;
}

// What the caller gave for this tensor, or nullptr.
ConstantPtr FromCaller(const Fields& fields, const Extent& extent, const ImportOptions& options) {
  if (options.external_tensors == nullptr) return nullptr;
  const auto given = options.external_tensors->find(std::string(fields.name));
  if (given == options.external_tensors->end()) return nullptr;
  const Tensor& tensor = given->second.tensor();
  if (tensor.type() != fields.type || !std::ranges::equal(tensor.dims(), extent.dims)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("expected {}, got {}", DescribeExtent(fields.type, extent), tensor.Describe()));
  }
  return std::make_shared<Constant>(tensor);
}

std::shared_ptr<const ByteSource> OpenExternal(std::string_view location, ImportState& state) {
  if (const auto* files = state.options().external_files) {
    const auto given = files->find(std::string(location));
    if (given != files->end()) return given->second;
  }
  return state.files().Open(location);
}

ConstantPtr FromExternal(const Fields& fields, const Extent& extent, ImportState& state) {
  if (ConstantPtr given = FromCaller(fields, extent, state.options())) return given;
  if (fields.type == DataType::kString) ThrowInvalid("string tensors can't have external data");
  std::optional<std::string_view> location, offset_text, length_text;
  for (const auto& [key, value] : fields.external_entries) {
    std::optional<std::string_view>* slot = key == "location" ? &location
                                            : key == "offset" ? &offset_text
                                            : key == "length" ? &length_text
                                                              : nullptr;
    if (slot == nullptr) continue;
    if (slot->has_value()) ThrowInvalid(fmt::format("external data has two entries '{}'", key));
    *slot = value;
  }
  if (!location) ThrowInvalid("external data without a location");
  state.CheckName(*location, "external data location");
  const std::uint64_t offset = offset_text ? Decimal(*offset_text, "offset") : 0;
  if (length_text && Decimal(*length_text, "length") != extent.bytes) {
    WrongCount(fields.type, extent, "external data", extent.bytes, Decimal(*length_text, "length"),
               "bytes");
  }
  const std::shared_ptr<const ByteSource> file = OpenExternal(*location, state);
  if (offset > file->size() || extent.bytes > file->size() - offset) {
    ThrowInvalid(fmt::format(
        "external data '{}' of {} bytes ends before offset {} + {} bytes of {}", *location,
        file->size(), offset, extent.bytes, DescribeExtent(fields.type, extent)));
  }
  if (extent.bytes > kCopied && fields.type != DataType::kBool) {
    return std::make_shared<Constant>(fields.type, extent.dims, file, offset);
  }
  Tensor tensor(fields.type, extent.dims, state.allocator());
  if (extent.bytes != 0) {
    file->Read(offset, {static_cast<std::byte*>(tensor.raw_mutable()), extent.bytes});
  }
  if (fields.type == DataType::kBool) NormaliseBools(&tensor);
  return std::make_shared<Constant>(std::move(tensor));
}

bool HasTypedData(const Fields& f) {
  return !f.floats.empty() || !f.doubles.empty() || !f.int32s.empty() || !f.int64s.empty() ||
         !f.uint64s.empty() || !f.strings.empty() || !f.loose_floats.empty() ||
         !f.loose_doubles.empty();
}

ConstantPtr FromTyped(const Fields& fields, const Extent& extent, ImportState& state) {
  const std::size_t used = (fields.floats.empty() && fields.loose_floats.empty() ? 0 : 1) +
                           (fields.doubles.empty() && fields.loose_doubles.empty() ? 0 : 1) +
                           (fields.int32s.empty() ? 0 : 1) + (fields.int64s.empty() ? 0 : 1) +
                           (fields.uint64s.empty() ? 0 : 1);
  if (used > 1) ThrowInvalid("data in more than one field");
  switch (fields.type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return FromFloats(fields.floats, fields.loose_floats, "float_data", fields.type, extent,
                        state);
    case DataType::kDouble:
    case DataType::kComplex128:
      return FromFloats(fields.doubles, fields.loose_doubles, "double_data", fields.type, extent,
                        state);
    case DataType::kInt64:
      return FromIntegers(fields.int64s, "int64_data", fields.type, extent, state);
    case DataType::kUint32:
    case DataType::kUint64:
      return FromIntegers(fields.uint64s, "uint64_data", fields.type, extent, state);
    default:
      return FromIntegers(fields.int32s, "int32_data", fields.type, extent, state);
  }
}

ConstantPtr MakeConstant(const Fields& fields, ImportState& state) {
  if (fields.type == DataType::kUndefined) ThrowInvalid("tensor without a data type");
  const Extent extent = CheckDims(fields.dims, fields.type, state);
  state.CountConstant(extent.bytes);
  if (fields.external) {
    if (fields.raw || HasTypedData(fields)) ThrowInvalid("data both external and in the model");
    return FromExternal(fields, extent, state);
  }
  if (fields.type == DataType::kString) return FromStrings(fields, extent, state);
  if (!fields.strings.empty()) {
    ThrowInvalid(fmt::format("string_data in a tensor of {}", DataTypeName(fields.type)));
  }
  if (!fields.raw || (fields.raw->empty() && HasTypedData(fields))) {
    return FromTyped(fields, extent, state);
  }
  if (HasTypedData(fields)) ThrowInvalid("data in more than one field");
  if (fields.raw->size() != extent.bytes) {
    WrongCount(fields.type, extent, "raw_data", extent.bytes, fields.raw->size(), "bytes");
  }
  return FromLittleEndian(*fields.raw, fields.type, extent, state);
}

struct Sparse {
  NamedConstant values, indices;
  std::vector<std::int64_t> dims;
};

Sparse ReadSparseFields(std::string_view proto, ImportState& state) {
  Sparse sparse;
  Reader reader(proto);
  while (reader.Next()) {
    switch (reader.key()) {
      case BytesKey(sparse_tensor::kValues):
        sparse.values = ReadTensor(reader.bytes(), state);
        break;
      case BytesKey(sparse_tensor::kIndices):
        sparse.indices = ReadTensor(reader.bytes(), state);
        break;
      case IntKey(sparse_tensor::kDims):
        sparse.dims.push_back(reader.int64());
        break;
      case BytesKey(sparse_tensor::kDims):
        AppendPacked(reader.bytes(), &sparse.dims);
        break;
      default:
        break;
    }
  }
  return sparse;
}

// Positions of the values in the dense tensor, checked to be inside and ascending.
std::vector<std::int64_t> LinearIndices(const Constant& indices, std::int64_t count,
                                        const Extent& extent) {
  const std::size_t rank = extent.dims.size();
  const bool linear = indices.dims().size() == 1 && indices.dims()[0] == count;
  const bool tuples = indices.dims().size() == 2 && indices.dims()[0] == count &&
                      indices.dims()[1] == static_cast<std::int64_t>(rank);
  if (indices.type() != DataType::kInt64 || !(linear || tuples)) {
    ThrowInvalid(fmt::format("sparse indices are {}{}, expected int64[{}] or int64[{},{}]",
                             DataTypeName(indices.type()), DimsToString(indices.dims()), count,
                             count, rank));
  }
  const std::int64_t* at = count != 0 ? indices.tensor().data<std::int64_t>() : nullptr;
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::int64_t previous = -1;
  for (std::int64_t& position : result) {
    position = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      const std::int64_t index = *at++;
      const std::int64_t size = linear ? extent.count : extent.dims[axis];
      inside = inside && index >= 0 && index < size;
      position = inside ? position * (linear ? 1 : size) + index : 0;
    }
    if (!inside || position <= previous) {
      ThrowInvalid(fmt::format("sparse index {} is {}", &position - result.data(),
                               inside ? "not above the one before" : "out of range"));
    }
    previous = position;
  }
  return result;
}

}  // namespace

DataType ToDataType(std::int32_t code) {
  if (code == 27 || code == 28) ThrowNotImplemented("element types float6e2m3 and float6e3m2");
  if (code < 0 || code >= kDataTypeCount)
    ThrowInvalid(fmt::format("unknown element type {}", code));
  return static_cast<DataType>(code);
}

NamedConstant ReadTensor(std::string_view proto, ImportState& state) {
  Fields fields;
  return InContext([&] { return fmt::format("tensor '{}'", fields.name); },
                   [&] {
                     Reader reader(proto);
                     while (reader.Next()) {
                       if (reader.key() == BytesKey(tensor::kName)) {
                         fields.name = state.CheckName(reader.bytes(), "tensor name");
                       } else {
                         ReadHeadField(reader, &fields);
                       }
                     }
                     return NamedConstant{fields.name, MakeConstant(fields, state)};
                   });
}

NamedConstant ReadSparseTensor(std::string_view proto, ImportState& state) {
  Sparse sparse = ReadSparseFields(proto, state);
  return InContext(
      [&] { return fmt::format("sparse tensor '{}'", sparse.values.name); },
      [&] {
        if (!sparse.values.constant || !sparse.indices.constant) {
          ThrowInvalid("it lacks values or indices");
        }
        const Constant& values = *sparse.values.constant;
        if (values.dims().size() != 1) ThrowInvalid("its values are not one-dimensional");
        const DataType type = values.type();
        if (IsPacked(type) || type == DataType::kString) {
          ThrowNotImplemented(fmt::format("sparse tensors of {}", DataTypeName(type)));
        }
        const Extent extent = CheckDims(sparse.dims, type, state);
        const std::vector<std::int64_t> positions =
            LinearIndices(*sparse.indices.constant, values.size(), extent);
        state.CountSparse(extent.bytes);
        Tensor dense(type, extent.dims, state.allocator());
        if (extent.bytes != 0) std::memset(dense.raw_mutable(), 0, extent.bytes);
        const std::size_t width = static_cast<std::size_t>(BitsOf(type)) / 8;
        auto* out = static_cast<char*>(dense.raw_mutable());
        const auto* in =
            positions.empty() ? nullptr : static_cast<const char*>(values.tensor().raw());
        for (std::size_t i = 0; i < positions.size(); ++i) {
          std::memcpy(out + static_cast<std::size_t>(positions[i]) * width, in + i * width, width);
        }
        return NamedConstant{sparse.values.name, std::make_shared<Constant>(std::move(dense))};
      });
}

}  // namespace switchyard::onnx
