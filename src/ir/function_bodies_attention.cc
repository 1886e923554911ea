#include <cmath>
#include <limits>

#include "ir/function_bodies.h"

namespace switchyard::bodies {

using Value = BodyBuilder::Value;

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [B, S, H * D] as [B, H, S, D].
Value SplitHeads(BodyBuilder& b, Value x, std::int64_t heads) {
  return b.Transpose(b.Reshape(x, b.Ints({0, 0, heads, -1})), {0, 2, 1, 3});
}

class AttentionWriter {
 public:
  explicit AttentionWriter(BodyBuilder& b) : b_(b), type_(b.Elem(0)) {}

  bool Write() {
    const auto rank = b_.Rank(0);
    if (type_ == DataType::kUndefined || b_.Elem(2) == DataType::kUndefined || !rank ||
        (b_.Has(3) && b_.Elem(3) == DataType::kUndefined)) {
      return false;
    }
    packed_ = *rank == 3;
    q_ = b_.Input(0);
    k_ = b_.Input(1);
    v_ = b_.Input(2);
    if (packed_) {
      q_ = SplitHeads(b_, q_, b_.attributes().Int("q_num_heads", 1));
      k_ = SplitHeads(b_, k_, b_.attributes().Int("kv_num_heads", 1));
      v_ = SplitHeads(b_, v_, b_.attributes().Int("kv_num_heads", 1));
    }
    if (b_.Has(4)) k_ = b_.Concat(2, {b_.Input(4), k_});
    if (b_.Has(5)) v_ = b_.Concat(2, {b_.Input(5), v_});
    if (b_.Wants(1)) b_.SetOutput(1, b_.Op("Identity", {k_}));
    if (b_.Wants(2)) b_.SetOutput(2, b_.Op("Identity", {v_}));
    WriteScores();
    return true;
  }

 private:
  // [B, Hq, S, D] as [B, Hkv, Hq / Hkv, S, D], so that keys and values broadcast over the groups.
  Value Grouped(Value x) {
    const Value shape =
        b_.Concat(0, {b_.Dims(x, 0, 1), b_.Dims(k_, 1, 2), b_.Ints({-1}), b_.Dims(x, 2, 4)});
    return b_.Reshape(x, shape);
  }
  Value Ungrouped(Value x, Value width) {
    return b_.Reshape(x, b_.Concat(0, {b_.Dims(q_, 0, 3), width}));
  }

  // Query and key each take the root of the scale, against overflow.
  void Scale() {
    Value factor;
    if (b_.attributes().Has("scale")) {
      const double scale = b_.attributes().Float("scale", 1);
      if (scale < 0) {
        q_scaled_ = b_.Op("Mul", {q_, b_.Scalar(scale, type_)});
        k_scaled_ = k_;
        return;
      }
      factor = b_.Scalar(std::sqrt(scale), type_);
    } else {
      const Value size = b_.Cast(b_.Dims(q_, 3, 4), DataType::kFloat);
      const Value root = b_.Op("Sqrt", {b_.Op("Reciprocal", {b_.Op("Sqrt", {size})})});
      factor = type_ == DataType::kFloat ? root : b_.Cast(root, type_);
    }
    q_scaled_ = b_.Op("Mul", {q_, factor});
    k_scaled_ = b_.Op("Mul", {k_, factor});
  }

  void WriteScores() {
    Scale();
    const std::int64_t mode = b_.attributes().Int("qk_matmul_output_mode", 0);
    const Value keys = b_.Transpose(b_.Unsqueeze(k_scaled_, 2), {0, 1, 2, 4, 3});
    const Value total = b_.Dims(k_, 2, 3);
    Value scores = Ungrouped(b_.Op("MatMul", {Grouped(q_scaled_), keys}), total);
    Show(0, mode, scores);
    const double cap = b_.attributes().Float("softcap", 0);
    if (cap != 0) {
      const Value limit = b_.Scalar(cap, type_);
      scores = b_.Op("Mul", {b_.Op("Tanh", {b_.Op("Div", {scores, limit})}), limit});
    }
    Show(1, mode, scores);
    const Value bias = Bias(total);
    if (bias != nullptr) scores = b_.Op("Add", {scores, bias});
    Show(2, mode, scores);
    const Value weights = Weights(scores, bias);
    Show(3, mode, weights);
    Value values = b_.Unsqueeze(v_, 2);
    if (b_.Elem(2) != type_) values = b_.Cast(values, type_);
    Value y = Ungrouped(b_.Op("MatMul", {Grouped(weights), values}), b_.Dims(v_, 3, 4));
    if (packed_) y = b_.Reshape(b_.Transpose(y, {0, 2, 1, 3}), b_.Ints({0, 0, -1}));
    b_.SetOutput(0, y);
  }

  void Show(std::int64_t stage, std::int64_t mode, Value value) {
    if (stage == mode && b_.Wants(3)) b_.SetOutput(3, b_.Op("Identity", {value}));
  }

  // Rows in which every key is masked become zeros instead of NaN.
  Value Weights(Value scores, Value bias) {
    const auto precision = static_cast<DataType>(
        b_.attributes().Int("softmax_precision", static_cast<std::int64_t>(type_)));
    if (precision != type_) scores = b_.Cast(scores, precision);
    Value weights = b_.Op("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    if (precision != type_) weights = b_.Cast(weights, type_);
    if (bias == nullptr) return weights;
    const std::int64_t last[] = {-1};
    const Value highest = b_.Reduce("ReduceMax", bias, last, true);
    const Value masked = b_.Op("Equal", {highest, b_.Scalar(kMinusInfinity, type_)});
    return b_.Op("Where", {masked, b_.Scalar(0, type_), weights});
  }

  Value Penalty(Value allowed) {
    return b_.Op("Where", {allowed, b_.Scalar(0, type_), b_.Scalar(kMinusInfinity, type_)});
  }

  Value Bias(Value total) {
    Value bias = nullptr;
    if (b_.Has(3)) {
      bias = b_.Elem(3) == DataType::kBool ? Penalty(b_.Input(3)) : b_.Input(3);
      if (b_.Elem(3) != DataType::kBool && b_.Elem(3) != type_) bias = b_.Cast(bias, type_);
      if (b_.node().SinceVersion() >= 24) {
        // From there on a mask may end early; what it leaves out is masked.
        const Value missing = b_.Op("Sub", {total, b_.Dims(b_.Input(3), -1)});
        bias = b_.Op("Pad", {bias, b_.Concat(0, {b_.Ints({0}), missing}),
                             b_.Scalar(kMinusInfinity, type_), b_.Ints({-1})});
      }
    }
    if (const Value allowed = Allowed(total)) {
      const Value penalty = Penalty(allowed);
      bias = bias != nullptr ? b_.Op("Add", {bias, penalty}) : penalty;
    }
    return bias;
  }

  // Which keys the positions alone allow: [Sq, S] or [B, 1, Sq, S]; nullptr: all.
  Value Allowed(Value total) {
    const bool causal = b_.attributes().Int("is_causal", 0) != 0;
    const std::int64_t left = b_.attributes().Int("left_window_size", -1);
    const std::int64_t right = b_.attributes().Int("right_window_size", -1);
    const Value valid = b_.Input(6);
    if (!causal && left < 0 && right < 0 && valid == nullptr) return nullptr;
    const auto count = [&](Value size) {
      return b_.Op("Range", {b_.Int(0), b_.Squeeze(size, 0), b_.Int(1)});
    };
    const Value column = count(total);
    Value allowed = nullptr;
    const auto also = [&](Value condition) {
      allowed = allowed != nullptr ? b_.Op("And", {allowed, condition}) : condition;
    };
    Value per_sample = nullptr;  // [B, 1, 1, 1]
    if (valid != nullptr) {
      per_sample = b_.Reshape(valid, b_.Ints({-1, 1, 1, 1}));
      also(b_.Op("Less", {column, per_sample}));
    }
    if (!causal && left < 0 && right < 0) return allowed;
    const Value queries = b_.Dims(q_, 2, 3);
    Value row = b_.Unsqueeze(count(queries), 1);
    if (b_.Has(4)) {
      row = b_.Op("Add", {row, b_.Dims(b_.Input(4), 2, 3)});
    } else if (per_sample != nullptr) {
      row = b_.Op("Add", {row, b_.Op("Sub", {per_sample, queries})});
    }
    if (causal) also(b_.Op("LessOrEqual", {column, row}));
    if (left >= 0) {
      also(b_.Op("GreaterOrEqual", {column, b_.Op("Sub", {row, b_.Int(left)})}));
    }
    if (right >= 0) also(b_.Op("LessOrEqual", {column, b_.Op("Add", {row, b_.Int(right)})}));
    return allowed;
  }

  BodyBuilder& b_;
  DataType type_;
  bool packed_ = false;
  Value q_ = nullptr, k_ = nullptr, v_ = nullptr;
  Value q_scaled_ = nullptr, k_scaled_ = nullptr;
};

}  // namespace

bool Attention(BodyBuilder& b) { return AttentionWriter(b).Write(); }

bool RotaryEmbedding(BodyBuilder& b) {
  const auto rank = b.Rank(0);
  if (!rank) return false;
  const std::int64_t rotated = b.attributes().Int("rotary_embedding_dim", 0);
  const bool interleaved = b.attributes().Int("interleaved", 0) != 0;
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const auto slice = [&](Value value, std::int64_t begin, std::int64_t end, std::int64_t step) {
    return b.Op("Slice", {value, b.Ints({begin}), b.Ints({end}), b.Ints({3}), b.Ints({step})});
  };
  // [B, S, H, D] for packed input, [B, H, S, D] otherwise: the caches get the heads' axis there.
  const std::int64_t heads_axis = *rank == 3 ? 2 : 1;
  Value x = b.Input(0);
  if (*rank == 3) x = b.Reshape(x, b.Ints({0, 0, b.attributes().Int("num_heads", 0), -1}));
  const Value turned = rotated != 0 ? slice(x, 0, rotated, 1) : x;
  const auto cache = [&](std::size_t input) {
    const Value whole = b.Input(input);
    const Value rows = b.Has(3) ? b.Op("Gather", {whole, b.Input(3)}) : whole;
    return b.Unsqueeze(rows, heads_axis);
  };
  const Value cosine = cache(1);
  const Value sine = cache(2);
  Value first, second;
  if (interleaved) {
    first = slice(turned, 0, kEnd, 2);
    second = slice(turned, 1, kEnd, 2);
  } else {
    const Value inputs[] = {turned};
    const auto halves =
        b.Many("Split", inputs, 2, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{2}}});
    first = halves[0];
    second = halves[1];
  }
  const Value real = b.Op("Sub", {b.Op("Mul", {cosine, first}), b.Op("Mul", {sine, second})});
  const Value imaginary = b.Op("Add", {b.Op("Mul", {sine, first}), b.Op("Mul", {cosine, second})});
  Value y;
  if (interleaved) {
    y = b.Concat(-1, {b.Unsqueeze(real, -1), b.Unsqueeze(imaginary, -1)});
    y = b.Reshape(y, b.Op("Shape", {turned}));
  } else {
    y = b.Concat(-1, {real, imaginary});
  }
  if (rotated != 0) y = b.Concat(-1, {y, slice(x, rotated, kEnd, 1)});
  if (*rank == 3) y = b.Reshape(y, b.Op("Shape", {b.Input(0)}));
  b.SetOutput(0, y);
  return true;
}

}  // namespace switchyard::bodies
