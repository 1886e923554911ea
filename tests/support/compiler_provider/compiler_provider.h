#pragma once
// A provider for tests without kernels: it claims the fewest groups of nodes that make no cycle,
// and compiles each to a session of its own on the CPU. It works in host memory.
// Options: "ops" (comma list of the operators it takes, empty: all), "refuse" (an operator whose
// groups it claims and then does not compile).

#include <atomic>
#include <string>

#include "switchyard/session/environment.h"

namespace switchyard::test {

inline constexpr const char* kCompilerExecutionProvider = "CompilerExecutionProvider";

class CompilerProvider final : public IExecutionProvider {
 public:
  explicit CompilerProvider(const ProviderOptions& options = {});

  using IExecutionProvider::GetCapability;
  std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& lookup) const override;
  std::vector<std::unique_ptr<OpKernel>> Compile(const std::vector<FusedNodeAndGraph>& groups,
                                                 CompileContext& context) override;
  ProviderOptions GetProviderOptions() const override { return options_; }
  int compiled_groups() const { return compiled_; }

 private:
  bool Takes(const Node& node, std::string* why_not) const;

  ProviderOptions options_;
  std::string operators_, refused_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<IExecutionProvider> cpu_;
  std::atomic<int> compiled_{0};
};

}  // namespace switchyard::test
