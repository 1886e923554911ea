// RNN, GRU, LSTM.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::recurrent {
namespace {

template <int gates>
void InferRecurrent(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& w = ctx.input_shape(1);
  const Shape& r = ctx.input_shape(2);
  CheckRank(ctx, 0, "X", 3, 3);
  CheckRank(ctx, 1, "W", 3, 3);
  CheckRank(ctx, 2, "R", 3, 3);
  const std::string_view direction = Text(ctx, "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    ctx.Fail("attribute 'direction' is '" + std::string(direction) +
             "', expected forward, reverse or bidirectional");
  }
  const Dim directions(direction == "bidirectional" ? 2 : 1);
  Dim hidden =
      ctx.attributes().Has("hidden_size") ? Dim(ctx.attributes().Int("hidden_size", 0)) : Dim();
  if (r.ranked()) hidden = Same(ctx, hidden, r[2], "hidden_size and the last dim of R");
  if (w.ranked()) {
    Same(ctx, directions, w[0], "the number of directions and the first dim of W");
    Same(ctx, hidden * Dim(gates), w[1], "the rows that hidden_size asks for and those of W");
    if (x.ranked()) Same(ctx, x[2], w[2], "the input sizes of X and W");
  }
  const bool batch_first = ctx.attributes().Int("layout", 0) != 0;
  const Dim steps = x.ranked() ? x[batch_first ? 1 : 0] : Dim();
  const Dim batch = x.ranked() ? x[batch_first ? 0 : 1] : Dim();
  const DataType elem = ctx.input_elem(0);
  ctx.SetTensor(0, elem,
                batch_first ? Shape{batch, steps, directions, hidden}
                            : Shape{steps, directions, batch, hidden});
  for (std::size_t i = 1; i < ctx.num_outputs(); ++i) {
    ctx.SetTensor(
        i, elem, batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
  }
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("RNN", InferRecurrent<1>);
  registry.Register("GRU", InferRecurrent<3>);
  registry.Register("LSTM", InferRecurrent<4>);
}

}  // namespace switchyard::ir::ops::recurrent
