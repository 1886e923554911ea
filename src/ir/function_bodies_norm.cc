// Normalisations: statistics are taken in the stash type, deviations before squares, so that half
// precision neither overflows nor cancels.
#include "ir/function_bodies.h"

namespace switchyard::bodies {

using Value = BodyBuilder::Value;

namespace {

// The type of the statistics: what stash_type says, but never narrower than double input.
DataType StashType(const BodyBuilder& b, DataType input) {
  if (input == DataType::kDouble) return DataType::kDouble;
  return static_cast<DataType>(
      b.attributes().Int("stash_type", static_cast<std::int64_t>(DataType::kFloat)));
}

Value As(BodyBuilder& b, Value value, DataType have, DataType want) {
  return have == want ? value : b.Cast(value, want);
}

// The axes from `axis` to the last; false when that takes a rank which is not known.
bool TrailingAxes(const BodyBuilder& b, std::vector<std::int64_t>* axes) {
  std::int64_t axis = b.attributes().Int("axis", -1);
  if (axis >= 0) {
    const auto rank = b.Rank(0);
    if (!rank) return false;
    axis -= *rank;
  }
  for (; axis < 0; ++axis) axes->push_back(axis);
  return !axes->empty();
}

struct Statistics {
  Value mean, deviation, spread;  // spread: sqrt(variance + epsilon)
};

Statistics Measure(BodyBuilder& b, Value x, std::span<const std::int64_t> axes, DataType type) {
  const Value epsilon = b.Scalar(b.attributes().Float("epsilon", 1e-5f), type);
  Statistics result;
  result.mean = b.Reduce("ReduceMean", x, axes, true);
  result.deviation = b.Op("Sub", {x, result.mean});
  const Value square = b.Op("Mul", {result.deviation, result.deviation});
  const Value variance = b.Reduce("ReduceMean", square, axes, true);
  result.spread = b.Op("Sqrt", {b.Op("Add", {variance, epsilon})});
  return result;
}

}  // namespace

bool LayerNormalization(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  std::vector<std::int64_t> axes;
  if (type == DataType::kUndefined || !TrailingAxes(b, &axes)) return false;
  const DataType work = StashType(b, type);
  const auto declared = static_cast<DataType>(
      b.attributes().Int("stash_type", static_cast<std::int64_t>(DataType::kFloat)));
  const Statistics s = Measure(b, As(b, b.Input(0), type, work), axes, work);
  Value y = As(b, b.Op("Div", {s.deviation, s.spread}), work, type);
  y = b.Op("Mul", {y, b.Input(1)});
  if (b.Has(2)) y = b.Op("Add", {y, b.Input(2)});
  b.SetOutput(0, y);
  if (b.Wants(1)) b.SetOutput(1, As(b, s.mean, work, declared));
  if (b.Wants(2)) b.SetOutput(2, As(b, b.Op("Reciprocal", {s.spread}), work, declared));
  return true;
}

bool RMSNormalization(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  const DataType scale_type = b.Elem(1);
  std::vector<std::int64_t> axes;
  if (type == DataType::kUndefined || scale_type == DataType::kUndefined ||
      !TrailingAxes(b, &axes)) {
    return false;
  }
  const DataType work = StashType(b, type);
  const Value x = As(b, b.Input(0), type, work);
  const Value mean = b.Reduce("ReduceMean", b.Op("Mul", {x, x}), axes, true);
  const Value epsilon = b.Scalar(b.attributes().Float("epsilon", 1e-5f), work);
  const Value root = b.Op("Sqrt", {b.Op("Add", {mean, epsilon})});
  // The output has the scale's type.
  const Value y = As(b, b.Op("Div", {x, root}), work, scale_type);
  b.SetOutput(0, b.Op("Mul", {y, b.Input(1)}));
  return true;
}

// Up to opset 20 there is one scale per group, from 21 on one per channel.
bool GroupNormalization(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  if (type == DataType::kUndefined) return false;
  const DataType work = StashType(b, type);
  const Value x = b.Input(0);
  const Value shape = b.Op("Shape", {x});
  const Value groups = b.Ints({0, b.attributes().Int("num_groups", 1), -1});
  const std::int64_t axes[] = {2};
  const Value grouped = b.Reshape(As(b, x, type, work), groups);
  const Statistics s = Measure(b, grouped, axes, work);
  Value y = As(b, b.Op("Div", {s.deviation, s.spread}), work, type);
  if (b.node().SinceVersion() >= 21) {
    y = b.Reshape(y, b.Concat(0, {b.Dims(x, 0, 2), b.Ints({-1})}));
  }
  const Value column = b.Ints({1, -1, 1});
  y = b.Op("Mul", {y, b.Reshape(b.Input(1), column)});
  y = b.Op("Add", {y, b.Reshape(b.Input(2), column)});
  b.SetOutput(0, b.Reshape(y, shape));
  return true;
}

}  // namespace switchyard::bodies
