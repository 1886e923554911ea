#include "support/compiler_provider/compiler_provider.h"

#include <cstring>
#include <span>

#include "base/format.h"
#include "support/model_bytes.h"
#include "support/vault_provider/vault_provider.h"
#include "switchyard/session/inference_session.h"

namespace switchyard::test {
namespace {

class CompiledGroup final : public OpKernel {
 public:
  CompiledGroup(std::shared_ptr<Environment> environment, const FusedNodeAndGraph& group)
      : inputs_(group.meta.inputs), outputs_(group.meta.outputs) {
    const std::string bytes = ModelBytes(group.graph);
    SessionOptions options;
    options.intra_op_num_threads = 1;
    session_ = std::make_unique<InferenceSession>(
        std::move(environment), std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  }

  void Compute(OpKernelContext& context) const override {
    std::vector<OrtValue> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) values.push_back(context.InputValue(i));
    const auto results = session_->Run(context.run_options(), inputs_, values, outputs_);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!context.has_output(i)) continue;
      if (i % 2 == 0 || !results[i].is_tensor() ||
          results[i].tensor().type() == DataType::kString) {
        context.SetOutput(i, results[i]);  // a buffer of the provider's
        continue;
      }
      const Tensor& made = results[i].tensor();
      Tensor& target = context.Output(i, made.dims());
      if (made.size() != 0) std::memcpy(target.raw_mutable(), made.raw(), made.bytes());
    }
  }

 private:
  std::vector<std::string> inputs_, outputs_;
  std::unique_ptr<InferenceSession> session_;
};

bool IsTensorOrUnknown(const NodeArg* value) {
  return value == nullptr || value->type().is_tensor();
}

}  // namespace

CompilerProvider::CompilerProvider(const ProviderOptions& options)
    : IExecutionProvider(kCompilerExecutionProvider),
      options_(options),
      environment_(std::make_shared<Environment>()),
      cpu_(MakeFallbackProvider()) {
  for (const auto& [key, value] : options) {
    if (key != "ops" && key != "refuse") {
      Throw(ErrorCode::kInvalidArgument, "{}: unknown option '{}'; known: ops, refuse",
            kCompilerExecutionProvider, key);
    }
  }
  if (const auto found = options.find("ops"); found != options.end()) operators_ = found->second;
  if (const auto found = options.find("refuse"); found != options.end()) refused_ = found->second;
}

bool CompilerProvider::Takes(const Node& node, std::string* why_not) const {
  const std::string listed = "," + operators_ + ",";
  if (!operators_.empty() && listed.find("," + node.OpType() + ",") == std::string::npos) {
    *why_not = "not in the option ops";
    return false;
  }
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (IsTensorOrUnknown(value)) continue;
      *why_not = "'" + value->Name() + "' is no tensor";
      return false;
    }
  }
  return !node.has_body() && cpu_->GetKernelRegistry()->Find(node, why_not) != nullptr;
}

std::vector<std::unique_ptr<ComputeCapability>> CompilerProvider::GetCapability(
    const GraphViewer& graph, const IKernelLookup& lookup) const {
  std::vector<NodeIndex> taken;
  for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
    std::string why_not = "a node with a body";
    const Node& node = *graph.GetNode(index);
    if (Takes(node, &why_not)) {
      taken.push_back(index);
    } else {
      lookup.Decline(node, why_not);
    }
  }
  std::vector<std::unique_ptr<ComputeCapability>> claims;
  for (std::vector<NodeIndex>& group : graph.ConvexGroups(taken)) {
    if (group.empty()) continue;
    const std::string name = "group_" + std::to_string(group.front());
    claims.push_back(std::make_unique<ComputeCapability>(
        MakeFusedSubGraph(graph, std::move(group), name, "test.compiler")));
  }
  return claims;
}

std::vector<std::unique_ptr<OpKernel>> CompilerProvider::Compile(
    const std::vector<FusedNodeAndGraph>& groups, CompileContext&) {
  std::vector<std::unique_ptr<OpKernel>> kernels;
  for (const FusedNodeAndGraph& group : groups) {
    for (NodeIndex index : group.graph.GetNodesInTopologicalOrder()) {
      if (!refused_.empty() && group.graph.GetNode(index)->OpType() == refused_) {
        Throw(ErrorCode::kNotImplemented, "{} is not compiled here", refused_);
      }
    }
    kernels.push_back(std::make_unique<CompiledGroup>(environment_, group));
    ++compiled_;
  }
  return kernels;
}

}  // namespace switchyard::test
