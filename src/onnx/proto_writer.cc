#include "onnx/proto_writer.h"

#include <algorithm>
#include <cstring>

namespace switchyard::onnx {
namespace {

// Smaller constants are copied into the literal.
constexpr std::size_t kCopied = 4096;
constexpr std::size_t kChunk = std::size_t{1} << 20;

std::size_t VarintSize(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

}  // namespace

void WriteConstant(const Constant& constant, ByteSink sink) {
  std::vector<std::byte> buffer(std::min(constant.bytes(), kChunk));
  for (std::size_t at = 0; at < constant.bytes(); at += buffer.size()) {
    const std::span<std::byte> part(buffer.data(), std::min(buffer.size(), constant.bytes() - at));
    constant.Read(at, part);
    sink(part);
  }
}

void ProtoWriter::Append(std::string_view literal) {
  tail_.append(literal);
  size_ += literal.size();
}

void ProtoWriter::Varint(std::uint64_t value) {
  char bytes[10];
  std::size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>((value & 0x7f) | 0x80);
  bytes[count++] = static_cast<char>(value);
  Append({bytes, count});
}

void ProtoWriter::Tag(FieldNumber field, int wire) {
  Varint((std::uint64_t{field} << 3) | static_cast<std::uint64_t>(wire));
}

void ProtoWriter::Int(FieldNumber field, std::int64_t value) {
  Tag(field, 0);
  Varint(static_cast<std::uint64_t>(value));
}

void ProtoWriter::Float(FieldNumber field, float value) {
  Tag(field, 5);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  Append({bytes, sizeof bytes});
}

void ProtoWriter::Bytes(FieldNumber field, std::string_view value) {
  Tag(field, 2);
  Varint(value.size());
  Append(value);
}

void ProtoWriter::Text(FieldNumber field, std::string_view value) {
  if (!value.empty()) Bytes(field, value);
}

void ProtoWriter::PackedInts(FieldNumber field, std::span<const std::int64_t> values) {
  if (values.empty()) return;
  std::size_t size = 0;
  for (const std::int64_t value : values) size += VarintSize(static_cast<std::uint64_t>(value));
  Tag(field, 2);
  Varint(size);
  for (const std::int64_t value : values) Varint(static_cast<std::uint64_t>(value));
}

void ProtoWriter::PackedFloats(FieldNumber field, std::span<const float> values) {
  if (values.empty()) return;
  Bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void ProtoWriter::Message(FieldNumber field, ProtoWriter&& message) {
  Tag(field, 2);
  Varint(message.size_);
  size_ += message.size_;
  for (Piece& piece : message.pieces_) {
    tail_ += piece.literal;
    pieces_.push_back({std::move(tail_), std::move(piece.constant)});
    tail_.clear();
  }
  tail_ += message.tail_;
  message = ProtoWriter();
}

void ProtoWriter::Data(FieldNumber field, ConstantPtr constant) {
  Tag(field, 2);
  Varint(constant->bytes());
  if (constant->bytes() <= kCopied) {
    WriteConstant(*constant, [&](std::span<const std::byte> bytes) {
      Append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
    return;
  }
  size_ += constant->bytes();
  pieces_.push_back({std::move(tail_), std::move(constant)});
  tail_.clear();
}

void ProtoWriter::Write(ByteSink sink) const {
  for (const Piece& piece : pieces_) {
    sink(std::as_bytes(std::span(piece.literal)));
    WriteConstant(*piece.constant, sink);
  }
  sink(std::as_bytes(std::span(tail_)));
}

}  // namespace switchyard::onnx
