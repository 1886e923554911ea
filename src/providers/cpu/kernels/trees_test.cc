// Tree ensembles: what the models of the acceptance set do not reach.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

std::vector<float> ValuesOf(const OrtValue& value) {
  const auto values = value.tensor().values<float>();
  return {values.begin(), values.end()};
}

// One node of `mode` against 1, the true leaf gives 10, the false leaf 20.
struct Stump {
  NodeHarness node{"TreeEnsembleRegressor", 3, "ai.onnx.ml"};
  explicit Stump(const std::string& mode, Ints missing = {}) {
    node.Set("nodes_treeids", Ints{0, 0, 0})
        .Set("nodes_nodeids", Ints{0, 1, 2})
        .Set("nodes_featureids", Ints{0, 0, 0})
        .Set("nodes_modes", Strings{mode, "LEAF", "LEAF"})
        .Set("nodes_truenodeids", Ints{1, 0, 0})
        .Set("nodes_falsenodeids", Ints{2, 0, 0})
        .Set("nodes_values", Floats{1, 0, 0})
        .Set("target_treeids", Ints{0, 0})
        .Set("target_nodeids", Ints{1, 2})
        .Set("target_ids", Ints{0, 0})
        .Set("target_weights", Floats{10, 20});
    if (!missing.empty()) node.Set("nodes_missing_value_tracks_true", std::move(missing));
  }
};

std::vector<float> RunStump(Stump&& stump, std::vector<float> x) {
  stump.node.In<float>({static_cast<std::int64_t>(x.size()), 1}, x).Out(DataType::kFloat);
  return ValuesOf(stump.node.Run()[0]);
}

TEST(Trees, EveryComparison) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* mode;
    std::vector<float> below_equal_above;
  } cases[] = {{"BRANCH_LEQ", {10, 10, 20}}, {"BRANCH_LT", {10, 20, 20}},
               {"BRANCH_GTE", {20, 10, 10}}, {"BRANCH_GT", {20, 20, 10}},
               {"BRANCH_EQ", {20, 10, 20}},  {"BRANCH_NEQ", {10, 20, 10}}};
  for (const auto& c : cases) {
    std::vector<float> expected = c.below_equal_above;
    expected.push_back(20);
    EXPECT_EQ(RunStump(Stump(c.mode), {0, 1, 2, nan}), expected) << c.mode;
    expected.back() = 10;
    EXPECT_EQ(RunStump(Stump(c.mode, {1, 0, 0}), {0, 1, 2, nan}), expected) << c.mode;
  }
}

TEST(Trees, BlocksOfRowsAreAsSingleRows) {
  std::vector<float> x, expected;
  for (int i = 0; i < 203; ++i) {
    x.push_back(static_cast<float>(i % 3));
    expected.push_back(i % 3 <= 1 ? 10 : 20);
  }
  EXPECT_EQ(RunStump(Stump("BRANCH_LEQ"), x), expected);
}

TEST(Trees, HostileListsAreErrors) {
  const auto refuses = [](const char* attribute, auto value) {
    Stump stump("BRANCH_LEQ");
    stump.node.Set(attribute, value);
    stump.node.In<float>({1, 1}, {0}).Out(DataType::kFloat);
    EXPECT_THROW(stump.node.Run(), Error) << attribute;
  };
  refuses("nodes_truenodeids", Ints{0, 0, 0});                       // itself
  refuses("nodes_truenodeids", Ints{7, 0, 0});                       // not there
  refuses("nodes_truenodeids", Ints{1, 0});                          // too short
  refuses("nodes_values", Floats{1});                                // too short
  refuses("nodes_nodeids", Ints{0, 1, 1});                           // twice
  refuses("nodes_featureids", Ints{-1, 0, 0});                       // before the first
  refuses("nodes_featureids", Ints{5, 0, 0});                        // behind the last
  refuses("nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "BLOSSOM"});  // unknown
  refuses("target_ids", Ints{0, 1});                                 // one target only
  refuses("target_ids", Ints{0, -1});
  refuses("target_nodeids", Ints{1, 9});
  refuses("base_values", Floats{1, 2});
  refuses("n_targets", std::int64_t{0});
  refuses("n_targets", std::int64_t{1} << 60);
}

TEST(Trees, LongCycleIsAnError) {
  NodeHarness node("TreeEnsembleRegressor", 1, "ai.onnx.ml");
  node.Set("nodes_treeids", Ints{0, 0, 0, 0})
      .Set("nodes_nodeids", Ints{0, 1, 2, 3})
      .Set("nodes_featureids", Ints{0, 0, 0, 0})
      .Set("nodes_modes", Strings{"BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF"})
      .Set("nodes_truenodeids", Ints{1, 2, 1, 0})
      .Set("nodes_falsenodeids", Ints{3, 3, 3, 0})
      .Set("nodes_values", Floats{1, 1, 1, 0})
      .Set("target_treeids", Ints{0})
      .Set("target_nodeids", Ints{3})
      .Set("target_ids", Ints{0})
      .Set("target_weights", Floats{1})
      .In<float>({1, 1}, {0})
      .Out(DataType::kFloat);
  EXPECT_THROW(node.Run(), Error);
}

// 60 levels whose nodes share both children: as a tree they would be 2^60 nodes.
TEST(Trees, SharedChildrenStaySmall) {
  constexpr int kLevels = 60;
  Ints trees, ids, features, next;
  Strings modes;
  Floats splits;
  for (int i = 0; i <= kLevels; ++i) {
    trees.push_back(0);
    ids.push_back(i);
    features.push_back(0);
    next.push_back(i == kLevels ? 0 : i + 1);
    modes.push_back(i == kLevels ? "LEAF" : "BRANCH_LEQ");
    splits.push_back(static_cast<float>(i));
  }
  NodeHarness node("TreeEnsembleRegressor", 1, "ai.onnx.ml");
  node.Set("nodes_treeids", trees)
      .Set("nodes_nodeids", ids)
      .Set("nodes_featureids", features)
      .Set("nodes_modes", modes)
      .Set("nodes_truenodeids", next)
      .Set("nodes_falsenodeids", next)
      .Set("nodes_values", splits)
      .Set("target_treeids", Ints{0})
      .Set("target_nodeids", Ints{kLevels})
      .Set("target_ids", Ints{0})
      .Set("target_weights", Floats{3})
      .In<float>({2, 1}, {0, 30})
      .Out(DataType::kFloat);
  EXPECT_EQ(ValuesOf(node.Run()[0]), (std::vector<float>{3, 3}));
}

TEST(Trees, AggregatesOfManyTrees) {
  constexpr int kTrees = 70;
  const struct {
    const char* name;
    float expected;
  } cases[] = {{"SUM", 2415 + 1}, {"AVERAGE", 34.5f + 1}, {"MIN", 0 + 1}, {"MAX", 69 + 1}};
  for (const auto& c : cases) {
    for (const int threads : {1, 3}) {
      NodeHarness node("TreeEnsembleRegressor", 1, "ai.onnx.ml");
      Ints tree, zero;
      Floats weight, split;
      Strings modes;
      for (int t = 0; t < kTrees; ++t) {
        tree.push_back(t);
        zero.push_back(0);
        weight.push_back(static_cast<float>(t));
        split.push_back(0);
        modes.push_back("LEAF");
      }
      node.Set("nodes_treeids", tree)
          .Set("nodes_nodeids", zero)
          .Set("nodes_featureids", zero)
          .Set("nodes_modes", modes)
          .Set("nodes_truenodeids", zero)
          .Set("nodes_falsenodeids", zero)
          .Set("nodes_values", split)
          .Set("target_treeids", tree)
          .Set("target_nodeids", zero)
          .Set("target_ids", zero)
          .Set("target_weights", weight)
          .Set("base_values", Floats{1})
          .Set("aggregate_function", std::string(c.name))
          .In<float>({1, 1}, {0})
          .Out(DataType::kFloat);
      EXPECT_FLOAT_EQ(ValuesOf(node.Run("", threads)[0])[0], c.expected) << c.name;
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu
