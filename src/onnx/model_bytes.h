#pragma once
// The bytes of a model while it is imported: the caller's, or a file's. Of a large file only what
// is not tensor data is read, into an address range as long as the file; the tensor data stays out
// and is read by position. So views into it tell their place in the file.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "onnx/file_source.h"

namespace switchyard::onnx {

class ModelBytes {
 public:
  // Throws like FileSource::Open, Fail above `limit` bytes or when address space is exhausted, and
  // InvalidProtobuf when the outer structure of a large file is broken.
  ModelBytes(const std::string& path, std::uint64_t limit);
  explicit ModelBytes(std::span<const std::byte> bytes);
  ~ModelBytes();
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  // Data fields of tensors may be holes: use Copy for them, never the characters.
  std::string_view view() const { return view_; }
  // nullptr: the bytes are the caller's.
  const std::shared_ptr<const FileSource>& file() const { return file_; }
  // Of a part of view() in the file.
  std::uint64_t OffsetOf(std::string_view part) const {
    return static_cast<std::uint64_t>(part.data() - view_.data());
  }
  // Copies a part of view(), holes too; destination is as long as the part.
  void Copy(std::string_view part, void* destination) const;

 private:
  std::shared_ptr<const FileSource> file_;
  std::string_view view_;
  char* mapped_ = nullptr;
};

}  // namespace switchyard::onnx
