#pragma once
// Inputs and outputs fixed to buffers or devices for repeated Runs: nothing is copied that need not
// be, and names are looked up once. One thread at a time.

#include <memory>
#include <string_view>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace switchyard {

class SWITCHYARD_API IOBinding {
 public:
  // The session must outlive the binding.
  explicit IOBinding(InferenceSession& session);
  ~IOBinding();

  // Unknown names, wrong types or ranks: InvalidArgument.
  void BindInput(std::string_view name, OrtValue value);
  // Results are written into this tensor: its dims must be those of the result.
  void BindOutput(std::string_view name, OrtValue value);
  // Results are allocated on that device by each Run.
  void BindOutput(std::string_view name, const OrtDevice& device);
  void ClearInputs();
  void ClearOutputs();
  // Waits until the devices of the bound inputs (outputs) are idle.
  void SynchronizeInputs();
  void SynchronizeOutputs();
  // In the order they were bound; after a Run.
  const std::vector<OrtValue>& outputs() const;
  std::vector<std::string> output_names() const;

 private:
  friend class InferenceSession;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
