// Optimisers and gradients of ai.onnx.preview.training.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::training {
namespace {

// Inputs R, T, then per tensor: value, gradient and `kept` kinds of state, kind by kind; outputs
// are the new values, then the new states.
template <std::size_t kept>
void InferOptimizer(InferenceContext& ctx) {
  constexpr std::size_t kKinds = 2 + kept;
  if (ctx.num_inputs() < 2 || (ctx.num_inputs() - 2) % kKinds != 0) {
    ctx.Fail("has " + std::to_string(ctx.num_inputs()) + " inputs, expected 2 and a multiple of " +
             std::to_string(kKinds));
  }
  const std::size_t count = (ctx.num_inputs() - 2) / kKinds;
  for (std::size_t i = 0; i < count; ++i) CopyType(ctx, 2 + i, i);
  for (std::size_t i = count; i < count * (1 + kept) && i < ctx.num_outputs(); ++i) {
    CopyType(ctx, 2 + count + i, i);
  }
}

void InferGradient(InferenceContext& ctx) {
  for (std::size_t i = 0; i < ctx.num_outputs() && i < ctx.num_inputs(); ++i) CopyType(ctx, i, i);
}

}  // namespace

void Register(InferenceRegistry& registry) {
  constexpr std::string_view kDomain = "ai.onnx.preview.training";
  registry.Register(kDomain, "Adagrad", 1, 0, InferOptimizer<1>);
  registry.Register(kDomain, "Momentum", 1, 0, InferOptimizer<1>);
  registry.Register(kDomain, "Adam", 1, 0, InferOptimizer<2>);
  registry.Register(kDomain, "Gradient", 1, 0, InferGradient);
}

}  // namespace switchyard::ir::ops::training
