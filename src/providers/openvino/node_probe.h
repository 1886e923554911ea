#pragma once
// Asks OpenVINO about single nodes: its ONNX front end whether it converts them, its device whether
// it runs what comes out. Nodes that differ in names only are asked once. Thread-safe.

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "providers/openvino/blob_cache.h"
#include "providers/openvino/library.h"
#include "switchyard/ir/model_writer.h"

namespace switchyard::openvino {

class NodeProbe {
 public:
  NodeProbe(std::shared_ptr<Library> library, std::shared_ptr<const ModelWriter> writer,
            const Options& options, const BlobCache& cache);

  // Per node "" or the reason why not.
  std::vector<std::string> Ask(const GraphViewer& graph, std::span<const NodeIndex> nodes);

 private:
  struct Question {
    const Node* node;
    std::string signature;
    std::string answer;
  };
  void AskSet(const GraphViewer& graph, std::span<Question> questions);
  void AskLibrary(const GraphViewer& graph, std::span<Question> questions);
  std::vector<std::string> QueryDevices() const;
  bool Recall(const std::string& key, std::span<Question> questions) const;
  void Keep(const std::string& key, std::span<const Question> questions) const;

  std::shared_ptr<Library> library_;
  std::shared_ptr<const ModelWriter> writer_;
  const Options& options_;
  const BlobCache& cache_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> answers_;  // by signature
};

}  // namespace switchyard::openvino
