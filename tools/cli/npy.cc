#include "cli/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <vector>

#include "switchyard/tensor/shape.h"

namespace switchyard::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64, kMaxHeader = std::size_t{1} << 20;

struct Header {
  char order = '|', kind = 0;  // '<' '>' '|' '=', 'f' 'i' 'u' 'b' 'S' 'U'
  std::size_t item = 0;        // bytes of an element
  bool fortran = false;
  Dims dims;
};

[[noreturn]] void Bad(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "'" + path + "': " + why);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kNoSuchFile, "'" + path + "' can't be opened");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Dims ParseShape(const std::string& path, const std::string& text) {
  Dims dims;
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    if (it->length() > 18) Bad(path, "shape (" + text + ") is out of range");
    dims.push_back(std::stoll(it->str()));
  }
  return dims;
}

Header ParseHeader(const std::string& path, const std::string& text) {
  static const std::regex descr("'descr': *'([<>|=]?)([a-zA-Z])([0-9]*)'");
  static const std::regex order("'fortran_order': *(True|False)");
  static const std::regex shape("'shape': *\\(([0-9, ]*)\\)");
  std::smatch match;
  Header header;
  if (!std::regex_search(text, match, descr))
    Bad(path, "its element type is no plain one: " + text);
  if (match.length(1) != 0) header.order = *match[1].first;
  header.kind = *match[2].first;
  if (match.length(3) > 9) Bad(path, "its element type is no plain one: " + text);
  header.item = match.length(3) != 0 ? std::stoul(match[3].str()) : 0;
  if (header.kind == 'U') header.item *= 4;
  if (!std::regex_search(text, match, order)) Bad(path, "its header has no fortran_order");
  header.fortran = match[1] == "True";
  if (!std::regex_search(text, match, shape)) Bad(path, "its header has no shape");
  header.dims = ParseShape(path, match[1].str());
  return header;
}

std::optional<DataType> TypeOf(const Header& header) {
  const auto sized = [&](DataType one, DataType two, DataType four, DataType eight) {
    switch (header.item) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return DataType::kUndefined;
    }
  };
  DataType type = DataType::kUndefined;
  switch (header.kind) {
    case 'b':
      type = header.item == 1 ? DataType::kBool : DataType::kUndefined;
      break;
    case 'i':
      type = sized(DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64);
      break;
    case 'u':
      type = sized(DataType::kUint8, DataType::kUint16, DataType::kUint32, DataType::kUint64);
      break;
    case 'f':
      type = sized(DataType::kUndefined, DataType::kFloat16, DataType::kFloat, DataType::kDouble);
      break;
    case 'S':
    case 'U':
      type = DataType::kString;
      break;
    default:
      break;
  }
  return type == DataType::kUndefined ? std::nullopt : std::optional(type);
}

void AppendUtf8(std::string& text, std::uint32_t code) {
  const auto byte = [&text](std::uint32_t value) { text.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)), byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18 & 7)), byte(0x80 | (code >> 12 & 0x3f)),
        byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

// Text of fixed width ends at its last character that is not NUL.
std::string TextOf(const Header& header, const char* element) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(element, header.item);
  } else {
    for (std::size_t at = 0; at < header.item; at += 4) {
      std::uint32_t code = 0;
      std::memcpy(&code, element + at, 4);
      AppendUtf8(text, header.order == '>' ? __builtin_bswap32(code) : code);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

// Source index of element `index` of a row-major walk.
std::size_t SourceIndex(const Header& header, std::size_t index) {
  if (!header.fortran) return index;
  std::size_t source = 0, stride = 1;
  std::vector<std::size_t> at(header.dims.size());
  for (std::size_t d = header.dims.size(); d-- > 0;) {
    const auto dim = static_cast<std::size_t>(header.dims[d]);
    at[d] = index % dim;
    index /= dim;
  }
  for (std::size_t d = 0; d < header.dims.size(); ++d) {
    source += at[d] * stride;
    stride *= static_cast<std::size_t>(header.dims[d]);
  }
  return source;
}

void CopyElements(const Header& header, const char* source, Tensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.size());
  if (tensor.type() == DataType::kString) {
    std::string* strings = tensor.data_mutable<std::string>();
    for (std::size_t i = 0; i < count; ++i) {
      strings[i] = TextOf(header, source + SourceIndex(header, i) * header.item);
    }
    return;
  }
  auto* target = static_cast<char*>(tensor.raw_mutable());
  if (!header.fortran && count != 0) {
    std::memcpy(target, source, count * header.item);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(target + i * header.item, source + SourceIndex(header, i) * header.item,
                  header.item);
    }
  }
  if (header.order != '>') return;
  for (std::size_t i = 0; i < count; ++i)
    std::reverse(target + i * header.item, target + (i + 1) * header.item);
}

// What NumPy calls an element of this type.
std::string DescrOf(DataType type) {
  const std::string bytes = std::to_string(std::max(BitsOf(type) / 8, 1));
  if (type == DataType::kBool) return "|b1";
  if (type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16)
    return "<f" + bytes;
  if (types::kSigned.Contains(type)) return (bytes == "1" ? "|i" : "<i") + bytes;
  if (types::kComplex.Contains(type)) return "<c" + bytes;
  return (bytes == "1" ? "|u" : "<u") + bytes;
}

std::string HeaderText(const std::string& descr, std::span<const std::int64_t> dims) {
  std::string shape;
  for (const std::int64_t dim : dims) shape += std::to_string(dim) + ", ";
  if (dims.size() > 1) shape.resize(shape.size() - 2);
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t fixed = kMagic.size() + 4;
  text.append(kAlignment - (fixed + text.size() + 1) % kAlignment, ' ');
  text.push_back('\n');
  return text;
}

// Strings as code points of the widest one.
std::string StringBytes(const Tensor& tensor, std::string* descr) {
  std::vector<std::vector<std::uint32_t>> texts;
  std::size_t widest = 1;
  for (const std::string& text : tensor.values<std::string>()) {
    std::vector<std::uint32_t> codes;
    for (std::size_t i = 0; i < text.size();) {
      const auto lead = static_cast<unsigned char>(text[i]);
      const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      std::uint32_t code = length == 1 ? lead : lead & (0xffu >> (length + 1));
      for (std::size_t k = 1; k < length && i + k < text.size(); ++k) {
        code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
      }
      codes.push_back(code);
      i += length;
    }
    widest = std::max(widest, codes.size());
    texts.push_back(std::move(codes));
  }
  *descr = "<U" + std::to_string(widest);
  std::string bytes(texts.size() * widest * 4, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    std::memcpy(bytes.data() + i * widest * 4, texts[i].data(), texts[i].size() * 4);
  }
  return bytes;
}

}  // namespace

Tensor ReadNpy(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  const std::string file = ReadFile(path);
  if (file.size() < 10 || file.compare(0, kMagic.size(), kMagic) != 0) Bad(path, "is no .npy file");
  const auto byte = [&file](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(file[at]));
  };
  const bool wide = byte(6) >= 2;
  if (wide && file.size() < 12) Bad(path, "is cut short");
  const std::size_t start = wide ? 12 : 10;
  const std::size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > kMaxHeader || file.size() - start < length) Bad(path, "is cut short");
  const Header header = ParseHeader(path, file.substr(start, length));
  const std::optional<DataType> type = TypeOf(header);
  if (!type) Bad(path, "no tensor has its element type: " + file.substr(start, length));
  const auto count = static_cast<std::uint64_t>(ElementCount(header.dims));
  const std::size_t have = file.size() - start - length;
  if (header.item != 0 && count > have / header.item)
    Bad(path, "holds fewer elements than its shape says");
  Tensor tensor(*type, header.dims, MakeHostAllocator());
  CopyElements(header, file.data() + start + length, tensor);
  return tensor;
}

void WriteNpy(const std::string& path, const Tensor& tensor) {
  std::string descr = DescrOf(tensor.type()), bytes;
  Dims dims(tensor.dims());
  if (tensor.type() == DataType::kString) {
    bytes = StringBytes(tensor, &descr);
  } else if (tensor.size() != 0) {
    bytes.assign(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  if (IsPacked(tensor.type())) dims = Dims{static_cast<std::int64_t>(tensor.bytes())};
  const std::string header = HeaderText(descr, dims);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header << bytes;
  file.close();
  if (!file) throw Error(ErrorCode::kFail, "'" + path + "' can't be written");
}

}  // namespace switchyard::cli
