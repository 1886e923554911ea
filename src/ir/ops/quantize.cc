// Quantising and dequantising, of the standard and of com.microsoft.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::quantize {
namespace {

void CheckScale(const InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Shape& scale = ctx.input_shape(1);
  if (!x.ranked() || !scale.ranked()) return;
  const std::int64_t block = ctx.attributes().Int("block_size", 0);
  if (block < 0) ctx.Fail("block_size is " + std::to_string(block));
  const bool single = scale.rank() == 0 || (scale.rank() == 1 && IsValue(scale[0], 1));
  if (single) return;
  const std::int64_t axis = ctx.Axis(ctx.attributes().Int("axis", 1), x.rank());
  const Dim& size = x[static_cast<std::size_t>(axis)];
  if (block == 0 && scale.rank() == 1 && scale[0].is_value() && size.is_value() &&
      scale[0].value() != size.value()) {
    FailInput(ctx, 1, "scale",
              "one number or " + size.ToString() + ", as axis " + std::to_string(axis) +
                  " of shape " + x.ToString(),
              scale.ToString());
  }
}

void InferQuantize(InferenceContext& ctx) {
  CheckScale(ctx);
  DataType elem = ctx.input_elem(2);
  if (elem == DataType::kUndefined) {
    elem = ctx.attributes().Int("output_dtype", 0) != 0
               ? DataTypeAttribute(ctx, "output_dtype", DataType::kUint8)
               : DataType::kUint8;
  }
  CopyShape(ctx, 0, 0, elem);
}

void InferDequantize(InferenceContext& ctx) {
  CheckScale(ctx);
  DataType elem = DataType::kFloat;
  if (ctx.since_version() >= 19 || !ctx.node().Domain().empty()) elem = ctx.input_elem(1);
  if (ctx.attributes().Int("output_dtype", 0) != 0) {
    elem = DataTypeAttribute(ctx, "output_dtype", elem);
  }
  CopyShape(ctx, 0, 0, elem);
}

void InferDynamicQuantize(InferenceContext& ctx) {
  CopyShape(ctx, 0, 0, DataType::kUint8);
  ctx.SetTensor(1, DataType::kFloat, Shape::Scalar());
  ctx.SetTensor(2, DataType::kUint8, Shape::Scalar());
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("QuantizeLinear", InferQuantize);
  registry.Register("DequantizeLinear", InferDequantize);
  registry.Register("DynamicQuantizeLinear", InferDynamicQuantize);
  registry.Register("com.microsoft", "QuantizeLinear", 1, 0, InferQuantize);
  registry.Register("com.microsoft", "DequantizeLinear", 1, 0, InferDequantize);
}

}  // namespace switchyard::ir::ops::quantize
