#pragma once
// Reads the protobuf wire format: fields one after the other, with 64-bit lengths. Knows nothing of
// ONNX. The primitives are protozero's; its pbf_reader is not used because it cuts lengths to 32
// bits and asserts, rather than throws, on wire types.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

static_assert(std::endian::native == std::endian::little);

namespace switchyard::onnx {

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// What a switch over fields compares: a field with an unexpected wire type falls through to
// default and is ignored, as protobuf does.
constexpr std::uint64_t Key(std::uint32_t field, Wire wire) {
  return (std::uint64_t{field} << 3) | static_cast<std::uint64_t>(wire);
}
constexpr std::uint64_t BytesKey(std::uint32_t field) { return Key(field, Wire::kBytes); }
constexpr std::uint64_t IntKey(std::uint32_t field) { return Key(field, Wire::kVarint); }

class Reader {
 public:
  explicit Reader(std::string_view message)
      : begin_(message.data()), at_(begin_), end_(begin_ + message.size()) {}

  // Advances to the next field and decodes it; false at the end. Throws InvalidProtobuf.
  bool Next();

  std::uint64_t key() const { return key_; }
  std::uint32_t field() const { return static_cast<std::uint32_t>(key_ >> 3); }
  Wire wire() const { return static_cast<Wire>(key_ & 7); }
  // Varint, fixed64 and fixed32 values.
  std::uint64_t number() const { return number_; }
  std::int64_t int64() const { return static_cast<std::int64_t>(number_); }
  // int32 and enum fields: protobuf keeps the low 32 bits.
  std::int32_t int32() const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(number_));
  }
  float float32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number_)); }
  std::string_view bytes() const { return bytes_; }

 private:
  [[noreturn]] void Fail(const char* what) const;
  const char* begin_;
  const char* at_;
  const char* end_;
  const char* field_at_ = nullptr;
  std::uint64_t key_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

// Decodes the varints of a packed field and appends them.
void AppendPacked(std::string_view packed, std::vector<std::int64_t>* out);

}  // namespace switchyard::onnx
