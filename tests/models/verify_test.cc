// What has to find faults finds them: a pass and a kernel that are wrong on purpose.

#include "switchyard/session/verify.h"

#include <gtest/gtest.h>

#include "onnx/export.h"
#include "support/model_runs.h"
#include "support/wrong_provider/wrong_provider.h"
#include "switchyard/ir/text.h"

namespace switchyard::test {
namespace {

// The basic passes have three patches (two Identities, one twin), neg_of_neg one, sub_to_add two.
constexpr const char* kModel =
    "ir 10\nopset 21\ngraph main (float[N,4] a, float[N,4] b) => (float[N,4] y, float[N,4] z) {\n"
    "  i = Identity(a) j = Identity(b) n = Neg(i) p = Neg(n) s = Sub(p, j) t = Mul(s, s)\n"
    "  u = Add(t, a) v = Add(t, a) y = Mul(u, v) w = Sub(u, b) z = Exp(w) }";

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() : bytes_(WriteModelBytes(*ParseGraph(kModel))) {
    EnvironmentOptions quiet;
    quiet.log_severity = Severity::kError;
    setup_.environment = std::make_shared<Environment>(quiet);
    setup_.model.bytes = std::as_bytes(std::span(bytes_.data(), bytes_.size()));
    setup_.sample.dims["N"] = 5;
  }

  static VerifyCandidate With(ProviderOptions options,
                              GraphOptimizationLevel level = GraphOptimizationLevel::kAll) {
    VerifyCandidate candidate;
    candidate.label = "wrong";
    candidate.options.AppendExecutionProvider(std::make_shared<WrongProvider>(options));
    candidate.options.optimization_level = level;
    candidate.options.intra_op_num_threads = 1;
    return candidate;
  }

  std::string bytes_;
  VerifySetup setup_;
};

TEST_F(VerifyTest, ARightProviderAgrees) {
  const std::vector<VerifyCandidate> candidates = {
      With({}), With({}, GraphOptimizationLevel::kDisableAll), {"cpu", {}, ""}};
  const auto rows = Verify(setup_, candidates);
  ASSERT_EQ(rows.size(), 3u);
  for (const VerifyRow& row : rows) {
    EXPECT_TRUE(row.ok()) << row.label << row.error;
    ASSERT_EQ(row.outputs.size(), 2u);
    EXPECT_EQ(row.outputs[0].name, "y");
    EXPECT_EQ(row.outputs[0].type, "float[5,4]");
    EXPECT_EQ(row.outputs[0].elements, 20);
  }
  EXPECT_EQ(Bisect(setup_, candidates[0]).culprit, Bisection::Culprit::kNone);
}

TEST_F(VerifyTest, TheErrorIsStatedPerOutput) {
  const std::vector<VerifyCandidate> candidates = {With({{"kernel", "Mul"}})};
  const auto rows = Verify(setup_, candidates);
  EXPECT_FALSE(rows[0].ok());
  for (const OutputError& output : rows[0].outputs) {
    EXPECT_FALSE(output.within);
    EXPECT_GT(output.error, 0.1);
    EXPECT_EQ(output.differing, 20);
  }
}

TEST_F(VerifyTest, BisectNamesTheWrongPass) {
  const Bisection found = Bisect(setup_, With({{"pass", "1"}}));
  ASSERT_EQ(found.culprit, Bisection::Culprit::kPass) << found.text;
  EXPECT_EQ(found.pass, "sub_to_add") << found.text;
  EXPECT_NE(found.node.find("Sub"), std::string::npos) << found.text;
  EXPECT_EQ(found.patch, found.patches - 1) << found.text;
  EXPECT_GE(found.patches, 5) << found.text;
  EXPECT_FALSE(found.error.within);
}

TEST_F(VerifyTest, BisectNamesTheWrongKernel) {
  const Bisection found = Bisect(setup_, With({{"kernel", "Mul"}}));
  ASSERT_EQ(found.culprit, Bisection::Culprit::kKernel) << found.text;
  EXPECT_NE(found.node.find("Mul"), std::string::npos) << found.text;
  EXPECT_EQ(found.error.name, "t") << found.text;
  EXPECT_EQ(found.provider, kWrongExecutionProvider);
  EXPECT_EQ(found.variant, "wrong on purpose");
}

TEST_F(VerifyTest, WhatCantRunIsARowAndNoCrash) {
  VerifyCandidate candidate{"none", {}, ""};
  candidate.options.AppendExecutionProvider("NoSuchExecutionProvider");
  const auto rows = Verify(setup_, std::vector<VerifyCandidate>{candidate});
  EXPECT_NE(rows[0].error.find("NoSuchExecutionProvider"), std::string::npos);
  EXPECT_FALSE(rows[0].ok());
  EXPECT_EQ(Bisect(setup_, candidate).culprit, Bisection::Culprit::kUnknown);
}

}  // namespace
}  // namespace switchyard::test
