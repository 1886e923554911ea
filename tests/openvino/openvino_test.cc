// What this provider promises beyond the contract suite: memory, shapes, requests, caches, reasons.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/format.h"
#include "switchyard/session/session_report.h"
#include "support/model_runs.h"
#include "switchyard/session/io_binding.h"

namespace switchyard::test {
namespace {

const std::vector<std::string> kAll = {"openvino?claim_all=1"};

std::size_t FusedNodes(const InferenceSession& session) {
  std::size_t count = 0;
  for (const auto& row : session.report().nodes) count += row.inside.empty() ? 0 : 1;
  return count;
}

std::string ReasonFor(const InferenceSession& session, const std::string& op) {
  for (const auto& row : session.report().nodes) {
    if (row.op != op) continue;
    for (const auto& [provider, reason] : row.refusals) {
      if (provider == "OpenVINOExecutionProvider") return reason;
    }
  }
  return {};
}

void EqualsTheCpu(std::string_view text, const Feeds& feeds, std::size_t groups) {
  const auto alone = RunAll(*LoadText(text, OptionsWith({"cpu"})), feeds);
  const auto session = LoadText(text, OptionsWith(kAll));
  EXPECT_EQ(FusedNodes(*session), groups) << session->Explain(false);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 1e-5, 1e-5), "") << text;
}

TEST(OpenVino, AWholeModelIsOneGroupWithoutCopies) {
  const auto session = Load(ModelPath("fastestdet"), OptionsWith({"openvino", "cpu"}));
  EXPECT_EQ(session->report().nodes.size(), 1u) << session->Explain(false);
  RunAll(*session, ModelFeeds("fastestdet"));
  EXPECT_EQ(session->counters().copies, 0u);
}

TEST(OpenVino, ShapesChangeFromRunToRun) {
  constexpr const char* kText = R"(opset 13
graph g (float[N,M] x) => (float[N,M] y, float[M,N] z, float[?] w) {
  y = Sigmoid(x)
  z = Transpose<perm=[1, 0]>(y)
  int64[1] s = {-1}
  w = Reshape(y, s)
})";
  const auto cpu = LoadText(kText, OptionsWith({"cpu"}));
  const auto session = LoadText(kText, OptionsWith(kAll));
  EXPECT_EQ(FusedNodes(*session), 1u) << session->Explain(false);
  const std::vector<std::vector<std::int64_t>> shapes = {{2, 3}, {5, 1}, {2, 3}, {64, 33}, {0, 4},
                                                         {1, 1}, {2, 3}, {0, 4}, {7, 7}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& shape : shapes) {
      Feeds feeds;
      feeds.Add("x", Floats(shape, 7));
      EXPECT_EQ(Difference(RunAll(*session, feeds), RunAll(*cpu, feeds), 1e-6, 1e-6), "")
          << shape[0] << "x" << shape[1];
    }
  }
}

TEST(OpenVino, OutputsWhoseShapeTheDataTells) {
  constexpr const char* kText =
      "opset 13\ngraph g (float[N] x) => (int64[1,?] y) { y = NonZero(x) }";
  const auto cpu = LoadText(kText, OptionsWith({"cpu"}));
  const auto session = LoadText(kText, OptionsWith(kAll));
  EXPECT_EQ(FusedNodes(*session), 1u);
  for (int ones : {3, 3, 0, 8, 1, 1, 5}) {
    std::vector<float> values(8, 0);
    std::fill_n(values.begin(), ones, 1.0f);
    Feeds feeds;
    feeds.Add("x", OrtValue::FromData<float>(std::vector<std::int64_t>{8}, values));
    EXPECT_EQ(Difference(RunAll(*session, feeds), RunAll(*cpu, feeds), 0, 0), "") << ones;
  }
}

TEST(OpenVino, ScalarsAndEmptyTensors) {
  Feeds scalar;
  scalar.Add("x", Floats({}, 3));
  EqualsTheCpu("opset 13\ngraph g (float[] x) => (float[] y) { y = Exp(x) }", scalar, 1);
  Feeds empty;
  empty.Add("x", Floats({3, 0}, 3));
  EqualsTheCpu("opset 13\ngraph g (float[3,M] x) => (float[3,M] y) { y = Exp(x) }", empty, 1);
}

TEST(OpenVino, BuffersOfTheCallerAreWrittenInPlace) {
  const auto session =
      LoadText("opset 13\ngraph g (float[N,4] x) => (float[N,4] y) {\n t = Exp(x)\n y = Neg(t) }",
               OptionsWith(kAll));
  for (std::int64_t rows : {3, 3, 5, 3}) {
    const OrtValue x = Floats({rows, 4}, 9);
    const OrtValue y = Floats({rows, 4}, 10);
    const void* buffer = y.tensor().raw();
    IOBinding binding(*session);
    binding.BindInput("x", x);
    binding.BindOutput("y", y);
    session->Run({}, binding);
    for (std::int64_t i = 0; i < rows * 4; ++i) {
      EXPECT_FLOAT_EQ(static_cast<const float*>(buffer)[i], -std::exp(x.tensor().data<float>()[i]));
    }
  }
}

TEST(OpenVino, ReasonsAreKept) {
  constexpr const char* kText = R"(opset 13
graph g (float[4,4] x, string[2] s, int64[3] i, double[2] d) =>
    (float[] a, string[2] b, int64[3] c, double[2] e, float[4,4] f) {
  a = Det(x)
  b = Identity(s)
  c = Add(i, i)
  e = Exp(d)
  f = Relu(x)
})";
  const auto all = LoadText(kText, OptionsWith(kAll));
  EXPECT_NE(ReasonFor(*all, "Det").find("front end"), std::string::npos) << all->Explain(false);
  EXPECT_NE(ReasonFor(*all, "Add").find("cuts to 32 bits"), std::string::npos);
  EXPECT_NE(ReasonFor(*all, "Exp").find("double"), std::string::npos);
  const auto choosy = LoadText(kText, OptionsWith({"openvino"}));
  EXPECT_NE(ReasonFor(*choosy, "Relu").find("island of 1 node"), std::string::npos)
      << choosy->Explain(false);
}

TEST(OpenVino, ConcurrentRunsOfChangingShapes) {
  const auto session = Load(ModelPath("ppocr_rec"), OptionsWith({"openvino", "cpu"}));
  const auto cpu = Load(ModelPath("ppocr_rec"), OptionsWith({"cpu"}));
  std::vector<Feeds> feeds(4);
  std::vector<std::vector<OrtValue>> expected;
  for (unsigned t = 0; t < feeds.size(); ++t) {
    feeds[t].Add("x", Floats({1, 3, 48, 48 + 32 * static_cast<std::int64_t>(t)}, t));
    expected.push_back(RunAll(*cpu, feeds[t]));
  }
  std::vector<std::string> problems(feeds.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < feeds.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3 && problems[t].empty(); ++i)
        problems[t] = Difference(RunAll(*session, feeds[t]), expected[t], 1e-4, 1e-3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

TEST(OpenVino, ALongRunIsCancelledWhileItRuns) {
  std::string text = "opset 13\ngraph g (float[1024,1024] x) => (float[1024,1024] y) {\n";
  text += "  float[1024,1024] w = fill(0.001)\n  h0 = MatMul(x, w)\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("  h{} = MatMul(h{}, x)\n", i, i - 1);
  text += "  y = Abs(h39)\n}";
  const auto session = LoadText(text, OptionsWith({"openvino"}));
  Feeds feeds;
  feeds.Add("x", Floats({1024, 1024}, 1, 0, 0.001f));
  RunAll(*session, feeds);  // long, and now known to be
  RunOptions options;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    options.SetTerminate();
  });
  std::string message;
  try {
    session->Run(options, feeds.names, feeds.values, {});
  } catch (const Error& error) {
    message = error.message();
  }
  stopper.join();
  EXPECT_NE(message.find("terminated"), std::string::npos);
  EXPECT_EQ(RunAll(*session, feeds).size(), 1u);
}

std::size_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t value = 0;
    if (word == "VmRSS:" && status >> value) return value;
  }
  return 0;
}

TEST(OpenVino, CreatedAndDestroyedTwoHundredTimesWithoutGrowth) {
  constexpr const char* kText =
      "opset 13\ngraph g (float[N,16] x) => (float[N,16] y) {\n float[16,16] w = fill(0.5)\n"
      " h = MatMul(x, w)\n y = Relu(h) }";
  Feeds feeds;
  feeds.Add("x", Floats({2, 16}, 5));
  std::size_t after_some = 0;
  for (int i = 0; i < 200; ++i) {
    const auto session = LoadText(kText, OptionsWith(kAll));
    EXPECT_EQ(RunAll(*session, feeds).size(), 1u);
    if (i == 99) after_some = ResidentKilobytes();
  }
  EXPECT_LT(ResidentKilobytes(), after_some + 8 * 1024);
}

TEST(OpenVino, ACacheGivesTheSameAndSurvivesDamage) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("switchyard_openvino_" + std::to_string(::getpid()));
  const std::string provider = "openvino?cache_dir=" + folder.string();
  const Feeds feeds = ModelFeeds("fastestdet");
  const auto expected = RunAll(*Load(ModelPath("fastestdet"), OptionsWith({"openvino"})), feeds);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  std::ptrdiff_t count = 0;
  for (int i = 0; i < 4; ++i) {
    const auto session = Load(ModelPath("fastestdet"), OptionsWith({provider}));
    EXPECT_EQ(Difference(RunAll(*session, feeds), expected, 1e-5, 1e-5), "") << i;
    if (i == 0) count = files();
    EXPECT_EQ(files(), count);
    if (i != 1) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  }
  EXPECT_GE(count, 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace switchyard::test
