// The providers that programs for ONNX Runtime name and that this build may lack: known, so that
// falling back from them is a warning and not an error. A provider that is there replaces its
// entry.

#include <optional>
#include <string>

#include "switchyard/ep/provider_factory.h"

namespace switchyard::absent {
namespace {

struct KnownProvider {
  const char* name;
  const char* alias;
  const char* device_kind;
};

// The order in which they are listed: that of ONNX Runtime, most special first.
constexpr KnownProvider kProviders[] = {
    {"NvTensorRTRTXExecutionProvider", "nvtensorrtrtx", "gpu"},
    {"TensorrtExecutionProvider", "tensorrt", "gpu"},
    {"CUDAExecutionProvider", "cuda", "gpu"},
    {"MIGraphXExecutionProvider", "migraphx", "gpu"},
    {"ROCMExecutionProvider", "rocm", "gpu"},
    {"OpenVINOExecutionProvider", "openvino", "cpu"},
    {"DnnlExecutionProvider", "dnnl", "cpu"},
    {"VitisAIExecutionProvider", "vitisai", "npu"},
    {"QNNExecutionProvider", "qnn", "npu"},
    {"NnapiExecutionProvider", "nnapi", "npu"},
    {"VSINPUExecutionProvider", "vsinpu", "npu"},
    {"JsExecutionProvider", "js", "gpu"},
    {"CoreMLExecutionProvider", "coreml", "npu"},
    {"ACLExecutionProvider", "acl", "cpu"},
    {"DmlExecutionProvider", "dml", "gpu"},
    {"RknpuExecutionProvider", "rknpu", "npu"},
    {"WebNNExecutionProvider", "webnn", "gpu"},
    {"WebGpuExecutionProvider", "webgpu", "gpu"},
    {"XnnpackExecutionProvider", "xnnpack", "cpu"},
    {"CANNExecutionProvider", "cann", "npu"},
    {"AzureExecutionProvider", "azure", "cpu"},
};

std::string Reason(const std::string& name) {
  return "this build of Switchyard has no " + name + " and no provider module for it was loaded";
}

}  // namespace

void Register(ProviderCatalog& catalog) {
  for (const KnownProvider& known : kProviders) {
    ProviderFactory factory;
    factory.name = known.name;
    factory.aliases = {known.alias};
    factory.device_kind = known.device_kind;
    factory.built = false;
    factory.unavailable = [name = factory.name] { return std::optional(Reason(name)); };
    factory.create = [name = factory.name](const ProviderOptions&, const ProviderEnvironment&)
        -> std::shared_ptr<IExecutionProvider> { throw Error(ErrorCode::kFail, Reason(name)); };
    catalog.Add(std::move(factory));
  }
}

}  // namespace switchyard::absent
