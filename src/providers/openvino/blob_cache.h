#pragma once
// Files of one cache_dir: compiled groups, and what the library said of single nodes. Without a
// folder nothing is found and nothing kept. A file appears under its name when it is complete;
// one that was cut or altered is not taken.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "switchyard/base/logging.h"

namespace switchyard::openvino {

// Two independent 64-bit sums over bytes, for names of files: not against forgery.
class ContentHash {
 public:
  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text) { Add(std::as_bytes(std::span(text.data(), text.size()))); }
  std::string Hex() const;

 private:
  std::uint64_t a_ = 0x9e3779b97f4a7c15, b_ = 0xd1b54a32d192ed03, length_ = 0;
};

// A file in memory, mapped: pages are shared by all who read it.
class MappedFile {
 public:
  MappedFile(const void* data, std::size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), content_};
  }
  std::span<const std::byte> all() const { return {static_cast<const std::byte*>(data_), size_}; }
  void set_content(std::size_t bytes) { content_ = bytes; }

 private:
  const void* data_;
  std::size_t size_, content_ = 0;
};

class BlobCache {
 public:
  // `scope`: whatever changes what is compiled beside the graph (versions, device, options).
  BlobCache(std::string folder, std::string scope, Logger logger);

  bool enabled() const { return !folder_.empty(); }
  // A name for what `content` stands for, within the scope.
  std::string KeyOf(std::string_view content) const;

  // nullptr: not there, or not whole.
  std::shared_ptr<const MappedFile> ReadBlob(const std::string& key) const;
  // A full disk or a read-only folder is a warning.
  void WriteBlob(const std::string& key, std::string_view blob) const;
  void DropBlob(const std::string& key) const;
  bool ReadText(const std::string& key, std::string* text) const;
  void WriteText(const std::string& key, std::string_view text) const;

 private:
  std::string PathOf(const std::string& key, std::string_view kind) const;
  void Write(const std::string& path, std::string_view content) const;

  std::string folder_, scope_;
  Logger logger_;
};

}  // namespace switchyard::openvino
