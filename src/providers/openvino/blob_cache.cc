#include "providers/openvino/blob_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/format.h"

namespace switchyard::openvino {
namespace {

// Behind the content: a mark and a sum, so that a cut or mixed-up file shows. The sum is of the
// length and both ends: files appear when they are complete, and reading all of a large one would
// take as long as using it.
constexpr std::string_view kMark = "switchyard-ov-1:";
constexpr std::size_t kSummed = 65536;
constexpr std::size_t kFooter = kMark.size() + 48;

std::string FooterOf(std::string_view content) {
  ContentHash hash;
  hash.Add(content.substr(0, kSummed));
  hash.Add(content.substr(content.size() - std::min(content.size(), kSummed)));
  hash.Add(std::to_string(content.size()));
  return std::string(kMark) + hash.Hex();
}

std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

void ContentHash::Add(std::span<const std::byte> bytes) {
  length_ += bytes.size();
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t words[4];
  for (; left >= sizeof(words); left -= sizeof(words), at += sizeof(words)) {
    std::memcpy(words, at, sizeof(words));
    a_ = Mix(a_ ^ words[0], words[1] ^ 0xa0761d6478bd642f);
    b_ = Mix(b_ ^ words[2], words[3] ^ 0xe7037ed1a0b428db);
  }
  if (left == 0) return;
  std::memset(words, 0, sizeof(words));
  std::memcpy(words, at, left);
  a_ = Mix(a_ ^ words[0] ^ left, words[1] ^ 0xa0761d6478bd642f);
  b_ = Mix(b_ ^ words[2], words[3] ^ 0xe7037ed1a0b428db);
}

std::string ContentHash::Hex() const {
  return fmt::format("{:016x}{:016x}{:016x}", Mix(a_, b_ ^ length_),
                     Mix(b_ ^ 0x8ebc6af09c88c6e3, a_ ^ length_), length_);
}

MappedFile::~MappedFile() { ::munmap(const_cast<void*>(data_), size_); }

BlobCache::BlobCache(std::string folder, std::string scope, Logger logger)
    : folder_(std::move(folder)), scope_(std::move(scope)), logger_(std::move(logger)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    Throw(ErrorCode::kInvalidArgument, "option cache_dir='{}': {}", folder_, error.message());
  }
}

std::string BlobCache::KeyOf(std::string_view content) const {
  ContentHash hash;
  hash.Add(scope_);
  hash.Add(content);
  return hash.Hex();
}

std::string BlobCache::PathOf(const std::string& key, std::string_view kind) const {
  return fmt::format("{}/openvino-{}.{}", folder_, key, kind);
}

std::shared_ptr<const MappedFile> BlobCache::ReadBlob(const std::string& key) const {
  if (!enabled()) return nullptr;
  const int file = ::open(PathOf(key, "blob").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat info {};
  void* data = MAP_FAILED;
  if (::fstat(file, &info) == 0 && info.st_size > static_cast<off_t>(kFooter)) {
    data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  ::close(file);
  if (data == MAP_FAILED) return nullptr;
  const auto size = static_cast<std::size_t>(info.st_size);
  auto mapped = std::make_shared<MappedFile>(data, size);
  mapped->set_content(size - kFooter);
  const std::string_view whole(static_cast<const char*>(data), size);
  if (FooterOf(whole.substr(0, size - kFooter)) != whole.substr(size - kFooter)) {
    logger_.Log(Severity::kWarning, "openvino",
                fmt::format("'{}' is damaged and made anew", PathOf(key, "blob")));
    return nullptr;
  }
  return mapped;
}

void BlobCache::Write(const std::string& path, std::string_view content) const {
  if (!enabled()) return;
  const std::string partial = fmt::format("{}.{}.partial", path, ::getpid());
  {
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file << FooterOf(content);
    file.flush();
    if (file && std::rename(partial.c_str(), path.c_str()) == 0) return;
  }
  std::remove(partial.c_str());
  logger_.Log(Severity::kWarning, "openvino", fmt::format("can't write '{}'", path));
}

void BlobCache::WriteBlob(const std::string& key, std::string_view blob) const {
  Write(PathOf(key, "blob"), blob);
}

void BlobCache::DropBlob(const std::string& key) const { std::remove(PathOf(key, "blob").c_str()); }

bool BlobCache::ReadText(const std::string& key, std::string* text) const {
  if (!enabled()) return false;
  std::ifstream file(PathOf(key, "nodes"), std::ios::binary);
  if (!file) return false;
  std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (whole.size() < kFooter) return false;
  const std::string footer = whole.substr(whole.size() - kFooter);
  whole.resize(whole.size() - kFooter);
  if (FooterOf(whole) != footer) return false;
  *text = std::move(whole);
  return true;
}

void BlobCache::WriteText(const std::string& key, std::string_view text) const {
  Write(PathOf(key, "nodes"), text);
}

}  // namespace switchyard::openvino
