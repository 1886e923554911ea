// What sessions tell: the report in its three forms, the plan of memory, times per node.

#include "switchyard/session/session_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "onnx/export.h"
#include "switchyard/ir/text.h"
#include "switchyard/session/verify.h"

namespace switchyard {
namespace {

std::unique_ptr<InferenceSession> Open(const std::string& text, SessionOptions options = {}) {
  EnvironmentOptions quiet;
  quiet.log_severity = Severity::kError;
  static const auto environment = std::make_shared<Environment>(quiet);
  const std::string bytes = WriteModelBytes(*ParseGraph("ir 10\nopset 21\ngraph main " + text));
  options.intra_op_num_threads = 1;
  return std::make_unique<InferenceSession>(
      environment, std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

constexpr const char* kChain =
    "(float[N,64] x) => (float[N,64] y) { int64[] axis = {1} i = Identity(x) a = Softmax(i) "
    "b = CumSum(a, axis) c = Softmax(b) d = CumSum(c, axis) y = Softmax(d) }";

void RunOnce(InferenceSession& session, std::int64_t n) {
  SampleOptions sample;
  sample.dims["N"] = n;
  const NamedValues feeds = SampleInputs(session.inputs(), sample);
  session.Run({}, feeds.names, feeds.values, {});
}

TEST(Report, JsonHoldsNodesPartitionsAndPatches) {
  const auto session = Open(kChain);
  const auto report = nlohmann::json::parse(session->Explain(ReportFormat::kJson));
  EXPECT_EQ(report["schema_version"], 1);
  ASSERT_EQ(report["partitions"].size(), 1u);
  EXPECT_EQ(report["partitions"][0]["nodes"], report["nodes"].size());
  EXPECT_EQ(report["inputs"][0]["type"], "float[N,64]");
  ASSERT_GE(report["patches"].size(), 1u);
  std::size_t applied = 0;
  for (const auto& pass : report["passes"]) applied += pass["applied"].get<std::size_t>();
  EXPECT_EQ(applied, report["patches"].size());
  const auto& node = report["nodes"][0];
  EXPECT_EQ(node["op"], "Softmax");
  EXPECT_EQ(node["inputs"], nlohmann::json::array({"x"}));
  EXPECT_EQ(node["outputs"][0]["type"], "float[N,64]");
  EXPECT_FALSE(node["cause"].get<std::string>().empty());
}

TEST(Report, MemoryIsKnownAfterARunAndNeverShared) {
  const auto session = Open(kChain);
  EXPECT_TRUE(session->memory_report().arenas.empty());
  EXPECT_NE(session->Explain(ReportFormat::kText).find("not planned"), std::string::npos);
  RunOnce(*session, 3);
  const MemoryReport memory = session->memory_report();
  ASSERT_EQ(memory.arenas.size(), 1u);
  const MemoryReport::Arena& arena = memory.arenas[0];
  std::size_t values = 0;
  for (const auto& a : arena.rows) {
    values += !a.scratch;
    EXPECT_LE(a.offset + a.bytes, arena.bytes);
    EXPECT_LE(a.first, a.last);
    for (const auto& b : arena.rows) {
      if (&a == &b || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.name << " and " << b.name;
    }
  }
  EXPECT_GE(values, 1u);
  EXPECT_NE(session->Explain(ReportFormat::kText).find("arena on"), std::string::npos);
  const auto report = nlohmann::json::parse(session->Explain(ReportFormat::kJson));
  EXPECT_EQ(report["memory"][0]["rows"].size(), arena.rows.size());
}

TEST(Report, BodiesHaveTheirPathAndPartitions) {
  const auto session = Open(
      "(bool[] c, float[2] x) => (float[2] y) { y = If<then_branch=graph t () => (a) { a = Exp(x) "
      "}, else_branch=graph e () => (b) { b = Log(x) }>(c) }");
  const SessionReport& report = session->report();
  ASSERT_EQ(report.nodes.size(), 3u);
  EXPECT_EQ(report.nodes[0].provider, "executor");
  EXPECT_NE(report.nodes[1].graph.find("_branch"), std::string::npos);
  EXPECT_EQ(report.partitions.size(), 3u);
}

TEST(Report, ThePageIsOneFileWhateverNamesSay) {
  auto graph =
      ParseGraph("ir 10\nopset 21\ngraph main (float[2] x) => (float[2] y) { y = Exp(x) }");
  graph->RenameValue(graph->FindValue("y"), "</script><b>&y");
  const std::string bytes = WriteModelBytes(*graph);
  const InferenceSession session(std::make_shared<Environment>(),
                                 std::as_bytes(std::span(bytes.data(), bytes.size())));
  const std::string page = session.Explain(ReportFormat::kHtml);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>&y"), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST(Report, KernelsSayWhatTheyChose) {
  const auto session = Open(
      "(float[1,2,8,8] x) => (float[1,4,8,8] y) { float[4,2,1,1] w = random(3) y = Conv(x, w) }");
  EXPECT_EQ(session->report().nodes[0].variant, "weights packed at load");
  const NamedValues feeds = SampleInputs(session->inputs(), {});
  session->Run({}, feeds.names, feeds.values, {});
  EXPECT_NE(session->Explain(ReportFormat::kText).find("the kernel is 1x1"), std::string::npos);
}

TEST(Report, NodeTimesCountWhereAskedFor) {
  SessionOptions options;
  EXPECT_TRUE(Open(kChain)->node_times().empty());
  options.AddConfigEntry("switchyard.node_times", "1");
  const auto session = Open(kChain, options);
  for (int i = 0; i < 4; ++i) RunOnce(*session, 2);
  ASSERT_EQ(session->node_times().size(), 5u);
  for (const NodeTime& row : session->node_times()) {
    EXPECT_EQ(row.runs, 4u) << row.name;
    EXPECT_GE(row.milliseconds, 0) << row.name;
    EXPECT_FALSE(row.provider.empty());
  }
}

TEST(Report, ExposedValuesAreOutputs) {
  SessionOptions options;
  options.optimization_level = GraphOptimizationLevel::kDisableAll;
  options.AddConfigEntry("switchyard.expose_values", "1");
  const auto session = Open(kChain, options);
  std::vector<std::string> names;
  for (const SessionArg& output : session->outputs()) names.push_back(output.name);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "i", "a", "b", "c", "d"}));
  RunOnce(*session, 2);
}

TEST(Compare, ErrorsAreRelativeToTheLargestValue) {
  const auto value = [](std::vector<float> v) {
    return OrtValue::FromData<float>(std::vector<std::int64_t>{static_cast<std::int64_t>(v.size())},
                                     std::span<const float>(v));
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const OutputError same = CompareValues("x", value({1, kNan, kInf}), value({1, kNan, kInf}), 0);
  EXPECT_TRUE(same.within);
  EXPECT_EQ(same.differing, 0);
  const OutputError off = CompareValues("x", value({100, 1}), value({100, 1.5f}), 1e-2);
  EXPECT_TRUE(off.within);
  EXPECT_EQ(off.differing, 1);
  EXPECT_DOUBLE_EQ(off.error, 0.5);
  EXPECT_DOUBLE_EQ(off.relative, 0.005);
  EXPECT_FALSE(CompareValues("x", value({100, 1}), value({100, 1.5f}), 1e-3).within);
  EXPECT_FALSE(CompareValues("x", value({1, 2}), value({1, kNan}), 1).within);
  EXPECT_FALSE(CompareValues("x", value({1, kInf}), value({1, -kInf}), 1).within);
  EXPECT_NE(CompareValues("x", value({1}), value({1, 2}), 1).fault, "");
  EXPECT_NE(CompareValues("x", value({1}), OrtValue(), 1).fault, "");
}

TEST(Compare, WholeNumbersAreEqualBytesMayRound) {
  const std::vector<std::int64_t> dims = {2};
  const auto ints = [&](std::vector<std::int64_t> v) {
    return OrtValue::FromData<std::int64_t>(dims, std::span<const std::int64_t>(v));
  };
  const auto bytes = [&](std::vector<std::uint8_t> v) {
    return OrtValue::FromData<std::uint8_t>(dims, std::span<const std::uint8_t>(v));
  };
  EXPECT_FALSE(CompareValues("x", ints({1000, 2}), ints({1001, 2}), 1).within);
  EXPECT_TRUE(CompareValues("x", bytes({7, 2}), bytes({8, 2}), 0).within);
  EXPECT_FALSE(CompareValues("x", bytes({7, 2}), bytes({9, 2}), 0).within);
}

TEST(Compare, SequencesAndMapsAreWalked) {
  const auto map = [](float value) {
    return OrtValue::Map({std::map<std::int64_t, float>{{1, value}, {2, 0.5f}}});
  };
  EXPECT_TRUE(CompareValues("x", map(1), map(1.0005f), 1e-3).within);
  EXPECT_FALSE(CompareValues("x", map(1), map(1.1f), 1e-3).within);
  const auto list = [&](std::vector<OrtValue> items) {
    return OrtValue::Sequence(ValueType::Map(DataType::kInt64, ValueType::Tensor(DataType::kFloat)),
                              std::move(items));
  };
  EXPECT_TRUE(CompareValues("x", list({map(1)}), list({map(1)}), 0).within);
  EXPECT_NE(CompareValues("x", list({map(1)}), list({}), 0).fault, "");
}

TEST(SampleInputs, DependOnSeedAndNameOnly) {
  const auto session =
      Open("(float[N] x, float[N] y, int64[2] k) => (float[N] z) { z = Add(x, y) }");
  SampleOptions options;
  options.dims["N"] = 16;
  const NamedValues a = SampleInputs(session->inputs(), options);
  const NamedValues b = SampleInputs(session->inputs(), options);
  ASSERT_EQ(a.names, (std::vector<std::string>{"x", "y", "k"}));
  EXPECT_TRUE(CompareValues("x", a.values[0], b.values[0], 0).within);
  EXPECT_FALSE(CompareValues("x", a.values[0], a.values[1], 0).within);
  EXPECT_TRUE(
      CompareValues("y", a.values[1], SampleInput(session->inputs()[1], options), 0).within);
  options.seed = 2;
  EXPECT_FALSE(
      CompareValues("x", a.values[0], SampleInput(session->inputs()[0], options), 0).within);
}

}  // namespace
}  // namespace switchyard
