#pragma once
// Types and constants to TypeProto and TensorProto.

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/proto_writer.h"
#include "switchyard/tensor/value_type.h"

namespace switchyard::onnx {

// Constants from `min_bytes` on go to a file of their own: at which offset of which file. Or they
// stay in memory, and the offset is an address.
class ExternalPlan {
 public:
  using AddressOf = std::function<const void*(const Constant&)>;
  ExternalPlan() = default;
  ExternalPlan(std::string file, std::uint64_t min_bytes, AddressOf address = nullptr)
      : file_(std::move(file)), min_bytes_(min_bytes), address_(std::move(address)) {}
  bool Takes(const Constant& constant) const;
  const std::string& file() const { return file_; }
  // The same constant keeps its place.
  std::uint64_t Place(const ConstantPtr& constant);
  // All placed constants with zeros between them, in order of offset.
  void Write(ByteSink sink) const;
  bool empty() const { return placed_.empty(); }

 private:
  std::string file_;
  std::uint64_t min_bytes_ = 0;
  AddressOf address_;
  std::uint64_t end_ = 0;
  std::vector<std::pair<std::uint64_t, ConstantPtr>> placed_;
  std::unordered_map<const Constant*, std::uint64_t> offsets_;
};

// Dims that are compound expressions or made up by inference are left open: a reader's own
// inference finds them again.
ProtoWriter WriteType(const ValueType& type, SymbolTable& symbols,
                      const std::vector<std::pair<std::size_t, std::string>>& denotations = {});
ProtoWriter WriteTensor(std::string_view name, const ConstantPtr& constant, ExternalPlan* external);

}  // namespace switchyard::onnx
