#pragma once
// The names that providers written for ONNX Runtime use, on Switchyard's own interface.

#include "switchyard/ep/execution_provider.h"

namespace onnxruntime {
using namespace switchyard;  // NOLINT: the point of this header
}  // namespace onnxruntime

// Unqualified in existing samples.
using switchyard::OrtDevice;
using switchyard::OrtEpDevice;
using switchyard::OrtMemoryInfo;
