#pragma once
// Memory for outputs whose size OpenVINO knows first. It asks an ov::Allocator; a tensor of its own
// that is not exactly of the right shape it would silently leave unwritten.

#include <memory>

#include <openvino/runtime/tensor.hpp>

namespace switchyard::openvino {

// One output of one request. The block in `target` is given out when exactly `bytes` are asked for;
// anything else comes from the heap.
struct OutputTarget {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// A tensor of no elements that OpenVINO grows into the target, or into a block of its own when
// target is nullptr or does not fit.
ov::Tensor MakeGrowingTensor(const ov::element::Type& type, std::size_t rank,
                             std::shared_ptr<const OutputTarget> target);

}  // namespace switchyard::openvino
