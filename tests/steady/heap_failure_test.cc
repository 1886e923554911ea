// Whatever request of the heap fails while a session is made or runs: an Error or the right result,
// and the session that failed to run still runs.

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "steady/heap_count.h"
#include "support/model_bytes.h"
#include "support/model_runs.h"

namespace switchyard::test {
namespace {

constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

struct Subject {
  const char* name;
  const char* text;  // nullptr: a model of ModelPath
  int every;         // of so many requests one is refused
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

// All that a test needs of a subject, made before requests are refused.
struct Prepared {
  std::shared_ptr<Environment> environment = std::make_shared<Environment>();
  SessionOptions options = OptionsWith({"cpu"});
  std::string path, bytes;
  Feeds feeds;

  explicit Prepared(const Subject& subject) {
    options.intra_op_num_threads = 2;
    if (subject.text) {
      bytes = ModelBytes(subject.text);
      feeds.Add("x", Floats({2, 4}, 1));
    } else {
      path = ModelPath(subject.name);
      feeds = ModelFeeds(subject.name);
    }
  }
  void Make(std::optional<InferenceSession>& session) const {
    if (path.empty()) {
      session.emplace(environment, std::as_bytes(std::span(bytes)), options);
    } else {
      session.emplace(environment, path, options);
    }
  }
};

class HeapFailure : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (!HeapCountingWorks()) GTEST_SKIP() << "the heap belongs to a sanitizer";
  }
};

// Calls `work` with requests first..last refused; "" or what was wrong. Requests of the heap:
// `used`.
template <typename Work>
std::string Refusing(std::uint64_t first, std::uint64_t last, std::uint64_t* used, Work work) {
  std::string problem;
  StartHeapFailures(first, last);
  try {
    work();
    *used = StopHeapCount();
  } catch (const Error&) {
    *used = StopHeapCount();
  } catch (const std::exception& other) {
    *used = StopHeapCount();
    problem = std::string("no Error: ") + other.what();
  }
  return problem;
}

TEST_P(HeapFailure, CreationFailsCleanly) {
  const Prepared prepared(GetParam());
  for (const bool once : {true, false}) {
    // A call that asked less often than `at` met no refusal: all were tried.
    std::uint64_t at = 1;
    for (std::uint64_t used = kForever / 2; used + GetParam().every >= at; at += GetParam().every) {
      std::optional<InferenceSession> session;
      ASSERT_EQ(Refusing(at, once ? at : kForever, &used, [&] { prepared.Make(session); }), "")
          << "request " << at << (once ? "" : " and all later ones");
    }
    EXPECT_GT(at, 1000u);
  }
}

TEST_P(HeapFailure, RunFailsCleanlyAndTheNextOneWorks) {
  const Prepared prepared(GetParam());
  const Feeds& feeds = prepared.feeds;
  std::optional<InferenceSession> session;
  prepared.Make(session);
  const auto expected = RunAll(*session, feeds);
  const RunOptions options;
  for (const bool once : {true, false}) {
    std::uint64_t used = kForever / 2;
    for (std::uint64_t at = 1; used + GetParam().every >= at; at += GetParam().every) {
      prepared.Make(session);
      std::vector<OrtValue> outputs;
      ASSERT_EQ(Refusing(at, once ? at : kForever, &used,
                         [&] { outputs = session->Run(options, feeds.names, feeds.values, {}); }),
                "")
          << "request " << at << (once ? "" : " and all later ones");
      outputs = RunAll(*session, feeds);
      ASSERT_EQ(Difference(outputs, expected, 0, 0), "") << "after request " << at;
    }
  }
}

constexpr const char* kBranchesAndLoops = R"(opset 17
graph g (float[2, 4] x) => (float[2, 4] y, float[n, 2, 4] all) {
  float[4, 4] w = {1.0, 0.5, 0.25, 2.0, 1.0, 0.5, 0.25, 2.0, 1.0, 0.5, 0.25, 2.0, 1.0, 0.5, 0.25, 2.0}
  int64[] count = {3}
  bool[] go = {1}
  float[] zero = {0.0}
  m = MatMul(x, w)
  s = ReduceSum<keepdims=0>(m)
  positive = Greater(s, zero)
  y, all = Loop<body=graph b (int64[] i, bool[] c, float[2, 4] h) => (bool[] d, float[2, 4] g, float[2, 4] o) {
    d = Identity(c)
    g = If<then_branch=graph t () => (float[2, 4] p) { p = Softmax(h) }, else_branch=graph e () => (float[2, 4] q) {
      r = Sigmoid(h)
      q = Add(r, m)
    }>(positive)
    o = Mul(g, m)
  }>(count, go, x)
}
)";

INSTANTIATE_TEST_SUITE_P(Models, HeapFailure,
                         testing::Values(Subject{"loops", kBranchesAndLoops, 7},
                                         Subject{"silero_vad", nullptr, 997},
                                         Subject{"fastestdet", nullptr, 1999}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace switchyard::test
