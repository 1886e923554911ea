// Operators of the domain "sy", which provider passes make and saved models never hold.
#include "switchyard/ir/inference.h"

namespace switchyard::ir::ops::internal {
namespace {

// Elementwise over float inputs under NumPy's broadcasting.
void InferMap(InferenceContext& context) {
  Shape shape = context.input_shape(0);
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    auto next = BroadcastShapes(shape, context.input_shape(i));
    if (!next) {
      context.Fail("inputs of shapes " + shape.ToString() + " and " +
                   context.input_shape(i).ToString() + " do not broadcast");
    }
    shape = std::move(*next);
  }
  context.SetTensor(0, DataType::kFloat, std::move(shape));
}

}  // namespace

void Register(InferenceRegistry& registry) { registry.Register("sy", "Map", 1, 0, InferMap); }

}  // namespace switchyard::ir::ops::internal
