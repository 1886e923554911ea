// The attention operators in forms that give the same result by definition, and against the
// formula.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;

constexpr std::int64_t kBatch = 2, kLength = 3, kPast = 4, kHeads = 4, kSize = 8;
constexpr std::int64_t kWidth = kHeads * kSize;

std::vector<float> Noise(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = uniform(engine);
  return values;
}

float At(const std::vector<float>& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; }

// q [B,S,N,H]; key(b, n, t, i) and value likewise; seen(b, s) keys count.
template <typename Key, typename Value, typename Seen>
std::vector<float> ByFormula(const std::vector<float>& q, Key key, Value value, Seen seen) {
  std::vector<float> out;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t s = 0; s < kLength; ++s) {
      for (std::int64_t n = 0; n < kHeads; ++n) {
        std::vector<double> weights;
        double sum = 0;
        for (std::int64_t t = 0; t < seen(b, s); ++t) {
          double score = 0;
          for (std::int64_t i = 0; i < kSize; ++i)
            score += At(q, ((b * kLength + s) * kHeads + n) * kSize + i) * key(b, n, t, i);
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kSize))));
          sum += weights.back();
        }
        for (std::int64_t i = 0; i < kSize; ++i) {
          double v = 0;
          for (std::size_t t = 0; t < weights.size(); ++t)
            v += weights[t] / sum * value(b, n, static_cast<std::int64_t>(t), i);
          out.push_back(static_cast<float>(v));
        }
      }
    }
  }
  return out;
}

void ExpectNear(const OrtValue& got, const std::vector<float>& wanted) {
  const auto values = got.tensor().values<float>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-5) << i;
}

TEST(Attention, PackedHeadsEqualTheFormula) {
  const auto packed = Noise(kBatch * kLength * kHeads * 3 * kSize, 1);
  const auto part = [&](std::int64_t which) {
    std::vector<float> out;
    for (std::int64_t r = 0; r < kBatch * kLength * kHeads; ++r) {
      for (std::int64_t i = 0; i < kSize; ++i)
        out.push_back(At(packed, (r * 3 + which) * kSize + i));
    }
    return out;
  };
  const auto q = part(0), k = part(1), v = part(2);
  const auto from = [](const std::vector<float>& x) {
    return [&x](std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t i) {
      return At(x, ((b * kLength + t) * kHeads + n) * kSize + i);
    };
  };
  const auto wanted = ByFormula(q, from(k), from(v), [](auto, auto) { return kLength; });
  NodeHarness one("MultiHeadAttention", 1, "com.microsoft");
  one.Set<std::int64_t>("num_heads", kHeads);
  one.In<float>({kBatch, kLength, kHeads, 3, kSize}, packed).Out(DataType::kFloat);
  ExpectNear(one.Run()[0], wanted);
  NodeHarness separate("MultiHeadAttention", 1, "com.microsoft");
  separate.Set<std::int64_t>("num_heads", kHeads);
  separate.In<float>({kBatch, kLength, kWidth}, q)
      .In<float>({kBatch, kLength, kWidth}, k)
      .In<float>({kBatch, kLength, kWidth}, v)
      .Out(DataType::kFloat);
  ExpectNear(separate.Run()[0], wanted);
}

// Recognised attention hands over masks of other sizes than the operator's text asks for.
TEST(Attention, BiasesBroadcastOverQueriesAndKeys) {
  constexpr std::int64_t kAll = kLength * kLength;
  const auto q = Noise(kBatch * kLength * kWidth, 7);
  const auto k = Noise(kBatch * kLength * kWidth, 8);
  const auto v = Noise(kBatch * kLength * kWidth, 9);
  const auto run = [&](std::initializer_list<std::int64_t> dims, std::vector<float> bias) {
    NodeHarness node("MultiHeadAttention", 1, "com.microsoft");
    node.Set<std::int64_t>("num_heads", kHeads);
    node.In<float>({kBatch, kLength, kWidth}, q)
        .In<float>({kBatch, kLength, kWidth}, k)
        .In<float>({kBatch, kLength, kWidth}, v)
        .NoInput()
        .NoInput()
        .In<float>(dims, std::move(bias))
        .Out(DataType::kFloat);
    const std::vector<OrtValue> out = node.Run();
    const auto values = out[0].tensor().values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  for (const bool per_query : {false, true}) {
    const auto few = Noise(kBatch * kLength, 10);
    std::vector<float> all;
    for (std::int64_t i = 0; i < kBatch * kAll; ++i) {
      const std::int64_t b = i / kAll, query = i % kAll / kLength, key = i % kLength;
      all.push_back(At(few, b * kLength + (per_query ? query : key)));
    }
    const auto wanted = run({kBatch, 1, kLength, kLength}, all);
    if (per_query) {
      EXPECT_EQ(run({kBatch, 1, kLength, 1}, few), wanted);
    } else {
      EXPECT_EQ(run({kBatch, 1, 1, kLength}, few), wanted);
    }
  }
  EXPECT_THROW(run({kBatch, 1, 2, kLength}, Noise(kBatch * 2 * kLength, 1)), Error);
}

TEST(Attention, GroupedHeadsSeeTheirOwnPast) {
  constexpr std::int64_t kGroups = 2;
  const auto q = Noise(kBatch * kLength * kWidth, 2);
  const auto k = Noise(kBatch * kLength * kGroups * kSize, 3);
  const auto v = Noise(kBatch * kLength * kGroups * kSize, 4);
  const auto past_k = Noise(kBatch * kGroups * kPast * kSize, 5);
  const auto past_v = Noise(kBatch * kGroups * kPast * kSize, 6);
  const std::int64_t before[] = {4, 2};  // the second sequence is shorter
  const auto from = [&](const std::vector<float>& past, const std::vector<float>& fresh) {
    return [&](std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t i) {
      const std::int64_t g = n / (kHeads / kGroups);
      return t < before[b] ? At(past, ((b * kGroups + g) * kPast + t) * kSize + i)
                           : At(fresh, ((b * kLength + t - before[b]) * kGroups + g) * kSize + i);
    };
  };
  const auto wanted = ByFormula(q, from(past_k, k), from(past_v, v),
                                [&](std::int64_t b, std::int64_t s) { return before[b] + s + 1; });
  NodeHarness node("GroupQueryAttention", 1, "com.microsoft");
  node.Set<std::int64_t>("num_heads", kHeads).Set<std::int64_t>("kv_num_heads", kGroups);
  node.In<float>({kBatch, kLength, kWidth}, q)
      .In<float>({kBatch, kLength, kGroups * kSize}, k)
      .In<float>({kBatch, kLength, kGroups * kSize}, v)
      .In<float>({kBatch, kGroups, kPast, kSize}, past_k)
      .In<float>({kBatch, kGroups, kPast, kSize}, past_v)
      .In<std::int32_t>({kBatch}, {6, 4})
      .In<std::int32_t>({}, {7})
      .Out(DataType::kFloat)
      .Out(DataType::kFloat)
      .Out(DataType::kFloat);
  for (const int threads : {1, 2}) {
    const auto out = node.Run("", threads);
    ExpectNear(out[0], wanted);
    const auto present = out[1].tensor().values<float>();
    EXPECT_EQ(out[1].tensor().dim(2), kPast + kLength);
    // Behind the shorter sequence there are zeros.
    EXPECT_EQ(present[static_cast<std::size_t>((kGroups * (kPast + kLength) + 6) * kSize)], 0.0f);
  }
}

TEST(Attention, RefusesPositionsBeyondThePast) {
  NodeHarness node("GroupQueryAttention", 1, "com.microsoft");
  node.Set<std::int64_t>("num_heads", 1).Set<std::int64_t>("kv_num_heads", 1);
  const std::vector<float> row(kSize, 0.5f);
  node.In<float>({1, 1, kSize}, row).In<float>({1, 1, kSize}, row).In<float>({1, 1, kSize}, row);
  node.In<float>({1, 1, 1, kSize}, row).In<float>({1, 1, 1, kSize}, row);
  node.In<std::int32_t>({1}, {5}).In<std::int32_t>({}, {6});
  node.Out(DataType::kFloat).Out(DataType::kFloat).Out(DataType::kFloat);
  EXPECT_THROW(node.Run(), Error);
}

}  // namespace
}  // namespace switchyard::cpu
