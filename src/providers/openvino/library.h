#pragma once
// OpenVINO as this provider uses it: its core, its ONNX front end, and the properties that a set of
// options comes to. One per catalog, shared by all providers made from it. Thread-safe.

#include <memory>
#include <mutex>
#include <string>

#include <openvino/frontend/manager.hpp>
#include <openvino/runtime/core.hpp>

#include "providers/openvino/options.h"

namespace switchyard::openvino {

class Library {
 public:
  ov::Core& core() { return core_; }
  // OpenVINO's own version: a cached blob of another one is not read.
  std::string Version() const;
  // Throws InvalidArgument naming the devices there are when one that is asked for is not.
  void CheckDevices(const Options& options);
  // "AMD EPYC ...": what the device calls itself; "" if it has no name.
  std::string DeviceName(const std::string& device);
  // For compile_model. Throws InvalidArgument for a property of load_config that the device has
  // not, naming those it has.
  ov::AnyMap Properties(const Options& options);

  // From ONNX bytes. `partially`: what can't be converted stays as ov::op::util::FrameworkNode;
  // otherwise throws an exception of OpenVINO's.
  std::shared_ptr<ov::Model> Convert(const std::string& onnx, bool partially);

 private:
  ov::AnyMap DeviceProperties(const std::string& device, const Options& options);

  ov::Core core_;
  std::mutex mutex_;
  ov::frontend::FrontEndManager manager_;
  ov::frontend::FrontEnd::Ptr onnx_;
};

// The first line of what OpenVINO's exceptions say that tells something.
std::string Reason(const std::exception& error);

}  // namespace switchyard::openvino
