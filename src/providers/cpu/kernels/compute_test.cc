#include <gtest/gtest.h>

#include <cmath>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;

template <typename T>
std::vector<T> Values(const OrtValue& value) {
  const auto values = value.tensor().values<T>();
  return {values.begin(), values.end()};
}

std::vector<float> Wave(std::int64_t count, float step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * step);
  return values;
}

TEST(Compute, OldAddAlignsAtAnAxis) {
  NodeHarness node("Add", 6);
  node.Set("broadcast", std::int64_t{1}).Set("axis", std::int64_t{0});
  node.In<float>({2, 2}, {1, 2, 3, 4}).In<float>({2}, {10, 20}).Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{11, 12, 23, 24}));
}

TEST(Compute, IntegerDivisionByZeroIsAnError) {
  NodeHarness node("Div", 14);
  node.In<std::int32_t>({2}, {4, 5}).In<std::int32_t>({2}, {2, 0}).Out(DataType::kInt32);
  EXPECT_THROW(node.Run(), Error);
}

TEST(Compute, ShapesThatDoNotBroadcastAreAnError) {
  NodeHarness node("Add", 14);
  node.In<float>({2}, {1, 2}).In<float>({3}, {1, 2, 3}).Out(DataType::kFloat);
  EXPECT_THROW(node.Run(), Error);
}

// Larger than the buffer that constants are packed through: blocks of rows, of columns, of parts of
// columns; and the half types.
TEST(Compute, PackedInBlocksEqualsUnpacked) {
  struct {
    std::int64_t k, n;
    bool transposed;
  } const shapes[] = {{300, 700, false}, {700, 300, true}, {9001, 19, true}, {20, 70001, false}};
  for (const auto& s : shapes) {
    const Dims dims = s.transposed ? Dims{s.n, s.k} : Dims{s.k, s.n};
    const auto b = Wave(s.k * s.n, 0.013f);
    std::vector<std::vector<float>> results;
    for (const bool constant : {false, true}) {
      NodeHarness node("Gemm", 13);
      node.Set("transB", std::int64_t{s.transposed});
      node.In<float>({20, s.k}, Wave(20 * s.k, 0.37f))
          .In(OrtValue::FromData<float>(dims, b), constant)
          .Out(DataType::kFloat);
      results.push_back(Values<float>(node.Run()[0]));
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size(); ++i)
      ASSERT_NEAR(results[0][i], results[1][i], 1e-2f) << s.k << "x" << s.n;
    std::vector<Float16> half;
    for (const float v : b) half.push_back(Float16(v));
    const std::vector<float> wave = Wave(20 * s.k, 0.37f);
    std::vector<Float16> a;
    for (const float v : wave) a.push_back(Float16(v));
    std::vector<std::vector<Float16>> halves;
    for (const bool constant : {false, true}) {
      NodeHarness node("Gemm", 13);
      node.Set("transB", std::int64_t{s.transposed});
      node.In<Float16>({20, s.k}, a)
          .In(OrtValue::FromData<Float16>(dims, half), constant)
          .Out(DataType::kFloat16);
      halves.push_back(Values<Float16>(node.Run()[0]));
    }
    for (std::size_t i = 0; i < halves[0].size(); ++i) {
      ASSERT_NEAR(static_cast<float>(halves[0][i]), static_cast<float>(halves[1][i]), 0.05f)
          << s.k << "x" << s.n;
    }
  }
}

TEST(Compute, MatMulPackedEqualsUnpackedAndThreadsDoNotMatter) {
  const std::int64_t m = 37, k = 65, n = 83;
  std::vector<std::vector<float>> results;
  for (const bool constant : {false, true}) {
    for (const int threads : {1, 3}) {
      NodeHarness node("MatMul", 13);
      node.In<float>({m, k}, Wave(m * k, 0.37f))
          .In<float>({k, n}, Wave(k * n, 0.11f), constant)
          .Out(DataType::kFloat);
      results.push_back(Values<float>(node.Run("", threads)[0]));
    }
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[2], results[3]);
  const auto a = Wave(m * k, 0.37f), b = Wave(k * n, 0.11f);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + p)]) *
               static_cast<double>(b[static_cast<std::size_t>(p * n + j)]);
      EXPECT_NEAR(results[0][static_cast<std::size_t>(i * n + j)], sum, 1e-4);
      EXPECT_NEAR(results[2][static_cast<std::size_t>(i * n + j)], sum, 1e-4);
    }
  }
}

TEST(Compute, MatMulBroadcastsBatches) {
  NodeHarness node("MatMul", 13);
  node.In<float>({2, 1, 1, 2}, {1, 2, 3, 4})
      .In<float>({3, 2, 1}, {1, 1, 2, 2, 3, 3})
      .Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{3, 6, 9, 7, 14, 21}));
}

TEST(Compute, GemmAddsInEveryForm) {
  const auto run = [](std::initializer_list<std::int64_t> dims, std::vector<float> c) {
    NodeHarness node("Gemm", 13);
    node.Set("beta", 2.0f).Set("transB", std::int64_t{1});
    node.In<float>({2, 2}, {1, 2, 3, 4})
        .In<float>({2, 2}, {1, 0, 0, 1}, true)
        .In<float>(dims, c)
        .Out(DataType::kFloat);
    return Values<float>(node.Run()[0]);
  };
  EXPECT_EQ(run({}, {1}), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(run({2}, {1, 2}), (std::vector<float>{3, 6, 5, 8}));
  EXPECT_EQ(run({2, 1}, {1, 2}), (std::vector<float>{3, 4, 7, 8}));
  EXPECT_EQ(run({2, 2}, {1, 2, 3, 4}), (std::vector<float>{3, 6, 9, 12}));
}

TEST(Compute, ConvPackedEqualsUnpackedOnEveryLevel) {
  for (const std::int64_t groups : {1, 4}) {
    std::vector<float> first;
    for (const char* isa : {"baseline", "avx2"}) {
      for (const bool constant : {false, true}) {
        NodeHarness node("Conv", 11);
        node.Set("group", groups)
            .Set("pads", std::vector<std::int64_t>{1, 1, 1, 1})
            .Set("strides", std::vector<std::int64_t>{2, 1});
        node.In<float>({2, 4, 9, 11}, Wave(2 * 4 * 99, 0.3f))
            .In<float>({8, 4 / groups, 3, 3}, Wave(8 * 4 / groups * 9, 0.7f), constant);
        node.In<float>({8}, Wave(8, 1.0f)).Out(DataType::kFloat);
        const auto got = Values<float>(node.Run(isa, 2)[0]);
        if (first.empty()) first = got;
        ASSERT_EQ(got.size(), first.size());
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], first[i], 1e-5);
      }
    }
  }
}

TEST(Compute, WrongChannelCountIsNamed) {
  NodeHarness node("Conv", 11);
  node.In<float>({1, 3, 4, 4}, Wave(48, 1))
      .In<float>({2, 4, 1, 1}, Wave(8, 1))
      .Out(DataType::kFloat);
  try {
    node.Run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("weight has 4 input channels, input has 3"), std::string::npos)
        << error.message();
  }
}

TEST(Compute, MaxPoolIndicesInBothOrders) {
  for (const std::int64_t order : {0, 1}) {
    NodeHarness node("MaxPool", 12);
    node.Set("kernel_shape", std::vector<std::int64_t>{2, 2}).Set("storage_order", order);
    node.In<float>({1, 1, 2, 3}, {1, 9, 2, 3, 4, 5}).Out(DataType::kFloat).Out(DataType::kInt64);
    const auto out = node.Run();
    EXPECT_EQ(Values<float>(out[0]), (std::vector<float>{9, 9}));
    const std::int64_t at = order == 0 ? 1 : 2;
    EXPECT_EQ(Values<std::int64_t>(out[1]), (std::vector<std::int64_t>{at, at}));
  }
}

TEST(Compute, RandomNumbersRepeatWithASeed) {
  const auto run = [] {
    NodeHarness node("RandomNormal", 1);
    node.Set("seed", 7.0f).Set("shape", std::vector<std::int64_t>{1000}).Out(DataType::kFloat);
    return Values<float>(node.Run()[0]);
  };
  const auto a = run();
  EXPECT_EQ(a, run());
  double sum = 0, squares = 0;
  for (const float v : a) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(sum / 1000, 0.0, 0.15);
  EXPECT_NEAR(squares / 1000, 1.0, 0.2);
}

TEST(Compute, BatchNormTrainsAndInfers) {
  NodeHarness node("BatchNormalization", 15);
  node.Set("training_mode", std::int64_t{1}).Set("epsilon", 0.0f);
  node.In<float>({2, 1, 2}, {1, 2, 3, 6})
      .In<float>({1}, {2})
      .In<float>({1}, {1})
      .In<float>({1}, {0})
      .In<float>({1}, {1});
  node.Out(DataType::kFloat).Out(DataType::kFloat).Out(DataType::kFloat);
  const auto out = node.Run();
  EXPECT_FLOAT_EQ(Values<float>(out[1])[0], 0.3f);
  EXPECT_FLOAT_EQ(Values<float>(out[2])[0], 0.9f + 0.35f);
  EXPECT_NEAR(Values<float>(out[0])[0], 1 - 2 * 2 / std::sqrt(3.5), 1e-5);
}

}  // namespace
}  // namespace switchyard::cpu
