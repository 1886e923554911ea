#include <gtest/gtest.h>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;

OrtValue Floats(std::initializer_list<std::int64_t> dims, std::vector<float> values) {
  return OrtValue::FromData<float>(Dims(dims), std::span<const float>(values));
}
ValueType Element() { return ValueType::Tensor(DataType::kFloat); }
OrtValue Three() {
  return OrtValue::Sequence(Element(), {Floats({1}, {1}), Floats({2}, {2, 3}), Floats({1}, {4})});
}
std::vector<float> ValuesOf(const OrtValue& value) {
  const auto values = value.tensor().values<float>();
  return {values.begin(), values.end()};
}

TEST(Sequences, PositionsCountFromBothEnds) {
  for (const auto& [position, expected] :
       std::vector<std::pair<std::int64_t, float>>{{0, 1}, {-1, 4}, {-3, 1}}) {
    NodeHarness node("SequenceAt", 11);
    node.In(Three()).In<std::int64_t>({}, {position}).Out(DataType::kFloat);
    EXPECT_EQ(ValuesOf(node.Run()[0])[0], expected);
  }
  for (const std::int64_t position : {std::int64_t{3}, std::int64_t{-4}, INT64_MIN}) {
    NodeHarness node("SequenceAt", 11);
    node.In(Three()).In<std::int64_t>({}, {position}).Out(DataType::kFloat);
    EXPECT_THROW(node.Run(), Error);
  }
}

TEST(Sequences, InsertCopiesAndErasesLeaveTheInput) {
  NodeHarness insert("SequenceInsert", 11);
  insert.In(Three()).In(Floats({1}, {9})).In<std::int64_t>({}, {-1});
  insert.Out(ValueType::Sequence(Element()));
  const OrtValue longer = insert.Run()[0];
  ASSERT_EQ(longer.sequence().items.size(), 4u);
  EXPECT_EQ(ValuesOf(longer.sequence().items[2])[0], 9);
  NodeHarness erase("SequenceErase", 11);
  erase.In(longer).Out(ValueType::Sequence(Element()));
  const OrtValue shorter = erase.Run()[0];
  EXPECT_EQ(shorter.sequence().items.size(), 3u);
  EXPECT_EQ(longer.sequence().items.size(), 4u);
}

TEST(Sequences, ConcatAndStack) {
  NodeHarness concat("ConcatFromSequence", 11);
  concat.Set("axis", std::int64_t{0}).In(Three()).Out(DataType::kFloat);
  EXPECT_EQ(ValuesOf(concat.Run()[0]), (std::vector<float>{1, 2, 3, 4}));
  NodeHarness stack("ConcatFromSequence", 11);
  stack.Set("axis", std::int64_t{-1}).Set("new_axis", std::int64_t{1});
  stack.In(OrtValue::Sequence(Element(), {Floats({2}, {1, 2}), Floats({2}, {3, 4})}));
  stack.Out(DataType::kFloat);
  EXPECT_EQ(ValuesOf(stack.Run()[0]), (std::vector<float>{1, 3, 2, 4}));
  NodeHarness uneven("ConcatFromSequence", 11);
  uneven.Set("axis", std::int64_t{0}).Set("new_axis", std::int64_t{1});
  uneven.In(Three()).Out(DataType::kFloat);
  EXPECT_THROW(uneven.Run(), Error);
}

TEST(Sequences, SplitSizes) {
  const auto split = [](OrtValue sizes) {
    NodeHarness node("SplitToSequence", 11);
    node.In(Floats({5}, {0, 1, 2, 3, 4})).In(std::move(sizes));
    node.Out(ValueType::Sequence(Element()));
    return node.Run()[0].sequence().items.size();
  };
  const auto ints = [](std::initializer_list<std::int64_t> dims, std::vector<std::int64_t> values) {
    return OrtValue::FromData<std::int64_t>(Dims(dims), std::span<const std::int64_t>(values));
  };
  EXPECT_EQ(split(ints({}, {2})), 3u);
  EXPECT_EQ(split(ints({3}, {1, 0, 4})), 3u);
  EXPECT_THROW(split(ints({}, {0})), Error);
  EXPECT_THROW(split(ints({2}, {1, 3})), Error);
  EXPECT_THROW(split(ints({2}, {-1, 6})), Error);
  EXPECT_THROW(split(ints({2}, {INT64_MAX, INT64_MAX})), Error);
}

TEST(Sequences, EmptyOptionalHasNoElement) {
  NodeHarness has("OptionalHasElement", 18);
  has.In(OrtValue()).Out(DataType::kBool);
  EXPECT_FALSE(*has.Run()[0].tensor().data<bool>());
  NodeHarness get("OptionalGetElement", 18);
  get.In(OrtValue()).Out(DataType::kFloat);
  EXPECT_THROW(get.Run(), Error);
}

}  // namespace
}  // namespace switchyard::cpu
