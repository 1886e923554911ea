#include "onnx/external_data.h"

#include <fmt/format.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

// Empty when it does not exist.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : std::string();
}

std::string Folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool Inside(const std::string& path, const std::string& root) {
  if (root == "/") return true;
  return path.size() > root.size() + 1 && path.starts_with(root) && path[root.size()] == '/';
}

// Empty when the text may be looked up.
std::string_view WhyRefused(std::string_view location) {
  if (location.empty()) return "it is empty";
  if (location.size() >= PATH_MAX) return "it is too long";
  if (location.find('\0') != location.npos) return "it holds a zero byte";
  if (location.find('\\') != location.npos) return "it holds a backslash";
  if (location.front() == '/') return "it is absolute";
  for (std::size_t begin = 0; begin <= location.size();) {
    std::size_t end = location.find('/', begin);
    if (end == location.npos) end = location.size();
    if (location.substr(begin, end - begin) == "..") return "it holds '..'";
    begin = end + 1;
  }
  return {};
}

[[noreturn]] void Refuse(std::string_view location, std::string_view reason) {
  throw Error(ErrorCode::kFail,
              fmt::format("external data location '{}' is refused: {}", location, reason));
}

}  // namespace

ExternalFiles ExternalFiles::BesideModel(const std::string& model_path) {
  ExternalFiles files = InFolder(Folder(model_path));
  const std::string real_model = RealPath(model_path);
  if (!real_model.empty()) files.roots_.push_back(Folder(real_model));
  return files;
}

ExternalFiles ExternalFiles::InFolder(const std::string& folder) {
  ExternalFiles files;
  files.base_ = folder;
  const std::string real = RealPath(folder);
  if (!real.empty()) files.roots_.push_back(real);
  return files;
}

std::shared_ptr<const FileSource> ExternalFiles::Open(std::string_view location) {
  if (const std::string_view reason = WhyRefused(location); !reason.empty()) {
    Refuse(location, reason);
  }
  if (base_.empty()) Refuse(location, "the model was given as bytes, without a folder");
  const std::string path = base_ + "/" + std::string(location);
  const std::string real = RealPath(path);
  if (real.empty()) {
    throw Error(ErrorCode::kNoSuchFile,
                fmt::format("external data '{}': {}", path, std::strerror(errno)));
  }
  const auto known = opened_.find(real);
  if (known != opened_.end()) return known->second;
  bool inside = false;
  for (const std::string& root : roots_) inside = inside || Inside(real, root);
  if (!inside) Refuse(location, "it leaves the model's folder");
  auto file = FileSource::Open(real, false);
  opened_.emplace(real, file);
  return file;
}

}  // namespace switchyard::onnx
