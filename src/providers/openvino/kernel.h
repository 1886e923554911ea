#pragma once
// A compiled group as a kernel: infer requests over the memory of the run.

#include <memory>
#include <vector>

#include <openvino/runtime/compiled_model.hpp>

#include "switchyard/ep/execution_provider.h"

namespace switchyard::openvino {

// `keep` outlives the model. Throws NotImplemented when the model's ports are not the group's.
std::unique_ptr<OpKernel> MakeKernel(ov::CompiledModel model, const FusedNodeAndGraph& group,
                                     std::vector<std::shared_ptr<const void>> keep);

}  // namespace switchyard::openvino
