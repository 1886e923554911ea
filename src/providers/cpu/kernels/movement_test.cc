#include <gtest/gtest.h>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;

template <typename T>
std::vector<T> Values(const OrtValue& value) {
  const auto values = value.tensor().values<T>();
  return {values.begin(), values.end()};
}
Dims DimsOf(const OrtValue& value) { return Dims(value.tensor().dims()); }

TEST(Movement, SliceWithNegativeStep) {
  NodeHarness node("Slice", 13);
  node.In<float>({2, 3}, {0, 1, 2, 3, 4, 5})
      .In<std::int64_t>({1}, {-1})
      .In<std::int64_t>({1}, {-1000});
  node.In<std::int64_t>({1}, {1}).In<std::int64_t>({1}, {-2}).Out(DataType::kFloat);
  const auto out = node.Run();
  EXPECT_EQ(DimsOf(out[0]), (Dims{2, 2}));
  EXPECT_EQ(Values<float>(out[0]), (std::vector<float>{2, 0, 5, 3}));
}

TEST(Movement, SliceOfStrings) {
  NodeHarness node("Slice", 13);
  node.In<std::string>({3}, {"a", "b", "c"})
      .In<std::int64_t>({1}, {1})
      .In<std::int64_t>({1}, {9})
      .Out(DataType::kString);
  EXPECT_EQ(Values<std::string>(node.Run()[0]), (std::vector<std::string>{"b", "c"}));
}

TEST(Movement, TransposeOfPackedElements) {
  NodeHarness node("Transpose", 21);
  // 2 x 3 of int4: 1 2 3 / 4 5 6, low nibble first.
  Tensor packed(DataType::kInt4, Dims{2, 3}, MakeHostAllocator());
  const std::uint8_t bytes[3] = {0x21, 0x43, 0x65};
  std::memcpy(packed.raw_mutable(), bytes, 3);
  node.In(OrtValue(packed)).Out(DataType::kInt4);
  const auto out = node.Run();
  EXPECT_EQ(DimsOf(out[0]), (Dims{3, 2}));
  const auto* got = static_cast<const std::uint8_t*>(out[0].tensor().raw());
  EXPECT_EQ(got[0], 0x41);
  EXPECT_EQ(got[1], 0x52);
  EXPECT_EQ(got[2], 0x63);
}

TEST(Movement, PadReflectsFurtherThanTheInput) {
  NodeHarness node("Pad", 19);
  node.Set("mode", std::string("reflect"));
  node.In<float>({3}, {1, 2, 3}).In<std::int64_t>({2}, {5, 2}).Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{2, 1, 2, 3, 2, 1, 2, 3, 2, 1}));
}

TEST(Movement, NegativePadsCrop) {
  NodeHarness node("Pad", 19);
  node.In<float>({4}, {1, 2, 3, 4}).In<std::int64_t>({2}, {-1, 1}).Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{2, 3, 4, 0}));
}

TEST(Movement, GatherRefusesIndexOutOfRange) {
  NodeHarness node("Gather", 13);
  node.In<float>({2, 2}, {1, 2, 3, 4}).In<std::int64_t>({1}, {2}).Out(DataType::kFloat);
  EXPECT_THROW(node.Run(), Error);
}

TEST(Movement, ScatterElementsAddsInIndexOrder) {
  NodeHarness node("ScatterElements", 18);
  node.Set("reduction", std::string("add"));
  node.In<float>({3}, {0, 0, 0})
      .In<std::int64_t>({4}, {1, 1, -1, 1})
      .In<float>({4}, {1, 2, 5, 4})
      .Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{0, 7, 5}));
}

TEST(Movement, ReshapeChecksTheCount) {
  NodeHarness good("Reshape", 14);
  good.In<float>({2, 3}, {0, 1, 2, 3, 4, 5}).In<std::int64_t>({2}, {-1, 0}).Out(DataType::kFloat);
  EXPECT_EQ(DimsOf(good.Run()[0]), (Dims{2, 3}));
  NodeHarness bad("Reshape", 14);
  bad.In<float>({2, 3}, {0, 1, 2, 3, 4, 5}).In<std::int64_t>({2}, {4, -1}).Out(DataType::kFloat);
  EXPECT_THROW(bad.Run(), Error);
}

TEST(Movement, OldSplitAndConcatDefaults) {
  NodeHarness split("Split", 2);
  split.In<float>({4}, {1, 2, 3, 4}).Out(DataType::kFloat).Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(split.Run()[1]), (std::vector<float>{3, 4}));
  NodeHarness concat("Concat", 1);
  concat.In<float>({1, 1}, {1}).In<float>({1, 2}, {2, 3}).Out(DataType::kFloat);
  EXPECT_EQ(DimsOf(concat.Run()[0]), (Dims{1, 3}));
}

TEST(Movement, ResizeNearestTies) {
  NodeHarness node("Resize", 19);
  node.Set("mode", std::string("nearest")).Set("nearest_mode", std::string("round_prefer_ceil"));
  std::vector<float> x(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  node.In<float>({1, 1, 1, 20}, x)
      .NoInput()
      .NoInput()
      .In<std::int64_t>({4}, {1, 1, 1, 6})
      .Out(DataType::kFloat);
  EXPECT_EQ(Values<float>(node.Run()[0]), (std::vector<float>{1, 5, 8, 11, 15, 18}));
}

TEST(Movement, TopKPrefersTheLowerIndex) {
  NodeHarness node("TopK", 11);
  node.In<float>({5}, {1, 3, 3, 2, 3})
      .In<std::int64_t>({1}, {2})
      .Out(DataType::kFloat)
      .Out(DataType::kInt64);
  EXPECT_EQ(Values<std::int64_t>(node.Run()[1]), (std::vector<std::int64_t>{1, 2}));
}

}  // namespace
}  // namespace switchyard::cpu
