#pragma once
// Builds protobuf messages whose large tensors are not copied in: a message is literal bytes with
// constants in between, and knows its size, so that it can be nested and then written in one go.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/fields.h"
#include "switchyard/base/function_ref.h"
#include "switchyard/tensor/constant.h"

namespace switchyard::onnx {

using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

// Reads a constant's bytes piece by piece, so that a large one is never in memory whole.
void WriteConstant(const Constant& constant, ByteSink sink);

class ProtoWriter {
 public:
  void Int(FieldNumber field, std::int64_t value);
  void Float(FieldNumber field, float value);
  void Bytes(FieldNumber field, std::string_view value);
  // Leaves out empty texts.
  void Text(FieldNumber field, std::string_view value);
  void PackedInts(FieldNumber field, std::span<const std::int64_t> values);
  void PackedFloats(FieldNumber field, std::span<const float> values);
  void Message(FieldNumber field, ProtoWriter&& message);
  // A bytes field with the constant's dense little-endian elements; not for strings.
  void Data(FieldNumber field, ConstantPtr constant);

  std::uint64_t size() const { return size_; }
  void Write(ByteSink sink) const;

 private:
  // Literal bytes, and the constant that follows them.
  struct Piece {
    std::string literal;
    ConstantPtr constant;
  };
  void Tag(FieldNumber field, int wire);
  void Varint(std::uint64_t value);
  void Append(std::string_view literal);

  std::vector<Piece> pieces_;
  std::string tail_;
  std::uint64_t size_ = 0;
};

}  // namespace switchyard::onnx
