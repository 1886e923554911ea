#pragma once
// Runs one node on constant inputs with a provider's kernels: constant folding uses it.

#include "switchyard/ep/execution_provider.h"
#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {

// The node takes the same path as a whole model: partition, plan, run. The evaluator answers
// nullopt when the provider has no kernel or the node fails on these inputs. `provider` and the
// rest must outlive it.
NodeEvaluator MakeNodeEvaluator(std::shared_ptr<IExecutionProvider> provider,
                                std::vector<std::shared_ptr<KernelRegistry>> custom_kernels,
                                const InferenceRegistry& inference, ThreadTeam& team,
                                AllocatorPtr host);

}  // namespace switchyard
