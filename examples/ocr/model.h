#pragma once
// One ONNX model with one float input and one float output: all that the example needs of the
// runtime.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ocr {

struct FloatTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

class Model {
 public:
  // Providers in order of preference; threads 0: as many as the machine has cores.
  Model(const std::string& path, const std::vector<std::string>& providers, int threads);
  ~Model();

  FloatTensor Run(const FloatTensor& input);

  // One line: how many nodes each provider runs.
  std::string Placement() const;

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace ocr
