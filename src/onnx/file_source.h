#pragma once
// A file that stays open and is read by position. Never mapped: a file that is cut while it is used
// gives an Error, not a signal.

#include <cstdint>
#include <memory>
#include <string>

#include "switchyard/tensor/constant.h"

namespace switchyard::onnx {

class FileSource final : public ByteSource {
 public:
  // Throws NoSuchFile when it is not there, Fail when it is not a readable regular file.
  // follow_last_link: whether the last component may be a symbolic link.
  static std::shared_ptr<const FileSource> Open(const std::string& path, bool follow_last_link);
  ~FileSource() override;

  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override;
  const std::string& path() const { return path_; }

 private:
  FileSource(std::string path, int descriptor, std::uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

}  // namespace switchyard::onnx
