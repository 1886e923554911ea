#pragma once
// Files beside the model that hold tensor data. Only those inside the model's folder, links
// resolved, are ever opened: inside the folder of the path that was given, or inside the folder
// where the model file itself really lies (a download cache links both into one).

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/file_source.h"

namespace switchyard::onnx {

class ExternalFiles {
 public:
  // No folder: Open refuses everything.
  ExternalFiles() = default;
  static ExternalFiles BesideModel(const std::string& model_path);
  static ExternalFiles InFolder(const std::string& folder);

  // Throws NoSuchFile, or Fail naming the location and why it is refused. Opened once each.
  std::shared_ptr<const FileSource> Open(std::string_view location);

 private:
  std::string base_;                // what locations are relative to
  std::vector<std::string> roots_;  // real directories
  std::map<std::string, std::shared_ptr<const FileSource>> opened_;  // by real path
};

}  // namespace switchyard::onnx
