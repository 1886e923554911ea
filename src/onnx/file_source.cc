#include "onnx/file_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/time_limit.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 20;

}  // namespace

std::shared_ptr<const FileSource> FileSource::Open(const std::string& path, bool follow_last_link) {
  // Not to wait for the other end, should it be a pipe.
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (!follow_last_link) flags |= O_NOFOLLOW;
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) {
    const int reason = errno;
    const bool missing = reason == ENOENT || reason == ENOTDIR;
    throw Error(missing ? ErrorCode::kNoSuchFile : ErrorCode::kFail,
                fmt::format("can't open '{}': {}", path, std::strerror(reason)));
  }
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw Error(ErrorCode::kFail, fmt::format("'{}' is not a regular file", path));
  }
  return std::shared_ptr<const FileSource>(
      new FileSource(path, descriptor, static_cast<std::uint64_t>(status.st_size)));
}

FileSource::~FileSource() { ::close(descriptor_); }

void FileSource::Read(std::uint64_t offset, std::span<std::byte> destination) const {
  std::size_t done = 0;
  while (done < destination.size()) {
    const std::size_t want = std::min(destination.size() - done, kChunk);
    CheckTimeLimit();
    const ssize_t got =
        ::pread(descriptor_, destination.data() + done, want, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorCode::kFail,
                  fmt::format("'{}': can't read {} bytes at {}: {}", path_, destination.size(),
                              offset, got == 0 ? "the file ends before" : std::strerror(errno)));
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace switchyard::onnx
