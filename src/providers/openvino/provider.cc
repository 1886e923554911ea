#include "providers/openvino/provider.h"

#include <atomic>
#include <sstream>

#include <openvino/runtime/properties.hpp>

#include "base/format.h"
#include "providers/openvino/acceptance.h"
#include "providers/openvino/claims.h"
#include "providers/openvino/conversion.h"
#include "providers/openvino/entry.h"
#include "providers/openvino/kernel.h"
#include "switchyard/base/version.h"

namespace switchyard::openvino {
namespace {

OrtDevice::DeviceType KindOf(const std::string& device) {
  if (device.starts_with("GPU")) return OrtDevice::GPU;
  return device.starts_with("NPU") ? OrtDevice::NPU : OrtDevice::CPU;
}

std::vector<OrtEpDevice> ListDevices(Library& library) {
  std::vector<OrtEpDevice> devices;
  for (const std::string& name : library.core().get_available_devices()) {
    OrtEpDevice device;
    device.ep_name = kName;
    device.ep_vendor = "Intel";
    device.device.type = KindOf(name);
    device.device.vendor = library.DeviceName(name);
    device.ep_metadata = {{"name", name + ": " + device.device.vendor}};
    device.ep_options = {{"device_type", name}};
    devices.push_back(std::move(device));
  }
  return devices;
}

Options CheckedOptions(Library& library, const ProviderOptions& given, int team_size) {
  Options options = ParseOptions(given, team_size);
  library.CheckDevices(options);
  return options;
}

bool HasOpenDims(const Node& node) {
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (value != nullptr && !value->type().shape.is_concrete()) return true;
    }
  }
  return false;
}

}  // namespace

OpenVinoProvider::OpenVinoProvider(std::shared_ptr<Library> library, const ProviderOptions& options,
                                   const ProviderEnvironment& environment)
    : IExecutionProvider(kName),
      library_(std::move(library)),
      writer_(environment.writer),
      options_(CheckedOptions(*library_, options, environment.team_size)),
      properties_(library_->Properties(options_)),
      logger_(environment.logger),
      cache_(options_.cache_dir, Scope(), logger_),
      probe_(library_, writer_, options_, cache_) {
  if (!writer_) Throw(ErrorCode::kInvalidArgument, "{}: its environment has no writer", kName);
}

// Whatever changes what is compiled, beside the graph.
std::string OpenVinoProvider::Scope() const {
  std::string scope = fmt::format("{} | {} | {}", Version(), library_->Version(), options_.device);
  for (const auto& device : library_->core().get_available_devices())
    scope += " | " + device + " " + library_->DeviceName(device);
  for (const auto& [key, value] : options_.effective) {
    if (key != "cache_dir" && key != "load_config" && key != "claim_all")
      scope += " | " + key + "=" + value;
  }
  for (const auto& [device, properties] : options_.load_config) {
    for (const auto& [key, value] : properties) scope += " | " + device + "." + key + "=" + value;
  }
  return scope;
}

std::string OpenVinoProvider::WhyNotByRule(const Node& node, const GraphViewer& graph) const {
  if (std::string reason = WhyNotExact(node, graph, schemas_); !reason.empty()) return reason;
  if (!options_.dynamic_shapes && HasOpenDims(node))
    return "enable_dynamic_shapes=0, and its dims are known at run time only";
  return {};
}

std::vector<std::unique_ptr<ComputeCapability>> OpenVinoProvider::GetCapability(
    const GraphViewer& graph, const IKernelLookup& lookup) const {
  std::vector<NodeIndex> candidates, accepted;
  for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
    const Node& node = *graph.GetNode(index);
    if (std::string reason = WhyNotByRule(node, graph); !reason.empty()) {
      lookup.Decline(node, std::move(reason));
    } else {
      candidates.push_back(index);
    }
  }
  const std::vector<std::string> answers = probe_.Ask(graph, candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (answers[i].empty()) {
      accepted.push_back(candidates[i]);
    } else {
      lookup.Decline(*graph.GetNode(candidates[i]), answers[i]);
    }
  }
  std::vector<std::unique_ptr<ComputeCapability>> claims;
  for (Island& island : FindIslands(graph, accepted)) {
    if (!options_.claim_all && !island.worth()) {
      for (NodeIndex index : island.nodes)
        lookup.Decline(*graph.GetNode(index), WhyNotWorth(island));
      continue;
    }
    const std::string name = "openvino_" + std::to_string(island.nodes.front());
    claims.push_back(std::make_unique<ComputeCapability>(
        MakeFusedSubGraph(graph, std::move(island.nodes), name, "sy.openvino")));
  }
  return claims;
}

ov::CompiledModel OpenVinoProvider::CompileOne(const FusedNodeAndGraph& group,
                                               CompileContext& context,
                                               std::shared_ptr<const void>* keep) {
  std::string key;
  if (cache_.enabled()) {
    key = KeyOfGroup(*writer_, group.graph, cache_, context.team);
    if (const std::shared_ptr<const MappedFile> blob = cache_.ReadBlob(key)) {
      try {
        const ov::Tensor bytes(ov::element::u8, ov::Shape{blob->bytes().size()},
                               blob->bytes().data());
        ov::CompiledModel model =
            library_->core().import_model(bytes, options_.device, properties_);
        *keep = blob;
        return model;
      } catch (const std::exception& error) {
        logger_.Log(
            Severity::kWarning, "openvino",
            fmt::format("a cached group can't be read and is compiled anew: {}", Reason(error)));
        cache_.DropBlob(key);
      }
    }
  }
  const std::shared_ptr<ov::Model> model = ConvertGroup(*library_, *writer_, group.graph);
  ov::CompiledModel compiled;
  try {
    compiled = library_->core().compile_model(model, options_.device, properties_);
  } catch (const std::exception& error) {
    Throw(ErrorCode::kNotImplemented, "OpenVINO's {}: {}", options_.device, Reason(error));
  }
  if (!cache_.enabled()) return compiled;
  try {
    std::ostringstream blob;
    compiled.export_model(blob);
    cache_.WriteBlob(key, std::move(blob).str());
  } catch (const std::exception& error) {
    logger_.Log(
        Severity::kWarning, "openvino",
        fmt::format("{} does not export what it compiled: {}", options_.device, Reason(error)));
  }
  return compiled;
}

std::vector<std::unique_ptr<OpKernel>> OpenVinoProvider::Compile(
    const std::vector<FusedNodeAndGraph>& groups, CompileContext& context) {
  std::vector<std::unique_ptr<OpKernel>> kernels;
  for (const FusedNodeAndGraph& group : groups) {
    std::shared_ptr<const void> keep = library_;
    std::shared_ptr<const void> blob;
    ov::CompiledModel model = CompileOne(group, context, &blob);
    kernels.push_back(MakeKernel(std::move(model), group, {std::move(keep), std::move(blob)}));
  }
  return kernels;
}

ProviderFactory MakeFactory() {
  ProviderFactory factory = Entry();
  factory.version = std::string(Version());
  // Made when first needed, kept for the catalog's life: loading a device's plug-in takes a while.
  struct Shared {
    std::mutex mutex;
    std::shared_ptr<Library> library;
    std::shared_ptr<Library> Get() {
      const std::lock_guard lock(mutex);
      if (!library) library = std::make_shared<Library>();
      return library;
    }
  };
  const auto shared = std::make_shared<Shared>();
  factory.unavailable = [shared]() -> std::optional<std::string> {
    try {
      shared->Get();
      return std::nullopt;
    } catch (const std::exception& error) {
      return "OpenVINO can't be started: " + Reason(error);
    }
  };
  factory.devices = [shared] { return ListDevices(*shared->Get()); };
  factory.create = [shared](const ProviderOptions& options,
                            const ProviderEnvironment& environment) {
    try {
      return std::make_shared<OpenVinoProvider>(shared->Get(), options, environment);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      Throw(ErrorCode::kFail, "{}: {}", kName, Reason(error));
    }
  };
  return factory;
}

}  // namespace switchyard::openvino
