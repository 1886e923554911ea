#pragma once
// A constant tensor of a graph: bytes in memory or a range of a file, read on demand.
// Immutable and shared; strings are held as values.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "switchyard/tensor/ort_value.h"

namespace switchyard {

// Random access to bytes that outlive every Constant over them. Thread-safe.
class SWITCHYARD_API ByteSource {
 public:
  virtual ~ByteSource();
  virtual std::uint64_t size() const = 0;
  // Throws Fail when the range cannot be read any more (the file was cut).
  virtual void Read(std::uint64_t offset, std::span<std::byte> destination) const = 0;
  // The bytes in memory when they are there for the source's life, else nullptr.
  virtual const std::byte* memory() const { return nullptr; }
  // Not empty: the whole source is these bytes, repeated.
  virtual std::span<const std::byte> repeated() const { return {}; }
};

class SWITCHYARD_API Constant {
 public:
  // Little-endian dense elements at [offset, offset + BytesOf(type, count)) of `source`.
  // Throws InvalidGraph when the range is not inside the source.
  Constant(DataType type, Dims dims, std::shared_ptr<const ByteSource> source,
           std::uint64_t offset);
  // Takes a dense host tensor.
  explicit Constant(Tensor tensor);

  DataType type() const { return type_; }
  std::span<const std::int64_t> dims() const { return dims_; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return BytesOf(type_, size_); }
  // Where the bytes come from: equal (source, offset) is the same data.
  const void* source_id() const;
  std::uint64_t source_offset() const { return offset_; }

  // The bytes of the one element that all elements equal, where that is known without reading.
  std::span<const std::byte> repeated() const;

  // Copies bytes [begin, begin + destination.size()). Not for strings.
  void Read(std::uint64_t begin, std::span<std::byte> destination) const;
  // The dense host tensor; read on first use and kept until Release. Thread-safe.
  const Tensor& tensor() const;
  // Whether tensor() would read nothing.
  bool is_loaded() const;
  // Drops the dense copy if it can be read again.
  void Release() const;

 private:
  DataType type_;
  Dims dims_;
  std::int64_t size_ = 0;
  std::shared_ptr<const ByteSource> source_;
  std::uint64_t offset_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Tensor> dense_;
};
using ConstantPtr = std::shared_ptr<const Constant>;

}  // namespace switchyard
