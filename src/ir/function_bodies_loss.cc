#include "ir/function_bodies.h"

namespace switchyard::bodies {

using Value = BodyBuilder::Value;

namespace {

// The loss of log-probabilities [N, C, d...] for classes [N, d...]; weight [C] may be nullptr.
// Classes equal to ignore_index cost nothing and count for nothing in the mean.
Value WriteLoss(BodyBuilder& b, Value log_prob, DataType type, Value target, DataType target_type,
                Value weight) {
  const Attribute* ignore = b.attributes().Find("ignore_index");
  const Value zero = b.Scalar(0, type);
  Value ignored = nullptr;
  if (ignore != nullptr) {
    const Value index =
        b.Scalar(static_cast<double>(b.attributes().Int("ignore_index", 0)), target_type);
    ignored = b.Op("Equal", {target, index});
    target = b.Op("Where", {ignored, b.Scalar(0, target_type), target});
  }
  const Value picked =
      b.Op("GatherElements", {log_prob, b.Unsqueeze(target, 1)}, {{"axis", std::int64_t{1}}});
  Value loss = b.Op("Neg", {b.Squeeze(picked, 1)});
  Value share = weight != nullptr ? b.Op("Gather", {weight, target}) : nullptr;
  if (share != nullptr) loss = b.Op("Mul", {loss, share});
  if (ignored != nullptr) {
    loss = b.Op("Where", {ignored, zero, loss});
    share = b.Op("Where", {ignored, zero, share != nullptr ? share : b.Scalar(1, type)});
  }
  const std::string reduction = b.attributes().String("reduction", "mean");
  if (reduction == "none") return loss;
  const Value sum = b.Reduce("ReduceSum", loss, {}, false);
  if (reduction == "sum") return sum;
  if (share == nullptr) return b.Reduce("ReduceMean", loss, {}, false);
  return b.Op("Div", {sum, b.Reduce("ReduceSum", share, {}, false)});
}

}  // namespace

bool NegativeLogLikelihoodLoss(BodyBuilder& b) {
  if (b.Elem(0) == DataType::kUndefined || b.Elem(1) == DataType::kUndefined) return false;
  b.SetOutput(0, WriteLoss(b, b.Input(0), b.Elem(0), b.Input(1), b.Elem(1), b.Input(2)));
  return true;
}

bool SoftmaxCrossEntropyLoss(BodyBuilder& b) {
  if (b.Elem(0) == DataType::kUndefined || b.Elem(1) == DataType::kUndefined) return false;
  // Below opset 13 the operator LogSoftmax flattens what is behind its axis.
  const Value log_prob = b.opset() >= 13
                             ? b.Op("LogSoftmax", {b.Input(0)}, {{"axis", std::int64_t{1}}})
                             : WriteLogSoftmax(b, b.Input(0), 1);
  b.SetOutput(0, WriteLoss(b, log_prob, b.Elem(0), b.Input(1), b.Elem(1), b.Input(2)));
  if (b.Wants(1)) b.SetOutput(1, log_prob);
  return true;
}

}  // namespace switchyard::bodies
