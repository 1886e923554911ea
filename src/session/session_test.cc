// Sessions over small models, with the built-in provider.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "onnx/export.h"
#include "session/profiler.h"
#include "switchyard/ir/text.h"
#include "switchyard/session/inference_session.h"
#include "switchyard/session/io_binding.h"

namespace switchyard {
namespace {

std::shared_ptr<Environment> TestEnvironment() {
  static const auto environment = [] {
    EnvironmentOptions options;
    options.log_severity = Severity::kError;
    return std::make_shared<Environment>(options);
  }();
  return environment;
}

std::unique_ptr<InferenceSession> Open(const std::string& text, SessionOptions options = {}) {
  const std::string bytes = WriteModelBytes(*ParseGraph("ir 10\nopset 21\ngraph main " + text));
  options.intra_op_num_threads = 2;
  return std::make_unique<InferenceSession>(
      TestEnvironment(), std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

template <typename T = float>
OrtValue Value(std::initializer_list<std::int64_t> dims, std::vector<T> values) {
  return OrtValue::FromData<T>(std::vector<std::int64_t>(dims), std::span<const T>(values));
}

template <typename T = float>
std::vector<T> Contents(const OrtValue& value) {
  const auto values = value.tensor().values<T>();
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> DimsOf(const OrtValue& value) {
  return {value.tensor().dims().begin(), value.tensor().dims().end()};
}

using Feeds = std::vector<std::pair<std::string, OrtValue>>;

std::vector<OrtValue> Fetch(InferenceSession& session, const Feeds& feeds,
                            const std::vector<std::string>& outputs = {},
                            const RunOptions& options = {}) {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
  for (const auto& [name, value] : feeds) {
    names.push_back(name);
    values.push_back(value);
  }
  return session.Run(options, names, values, outputs);
}

template <typename Body>
void ExpectError(ErrorCode code, std::initializer_list<const char*> words, Body body) {
  try {
    body();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    for (const char* word : words)
      EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
  }
}

constexpr const char* kAdd = "(float[N,2] x, float[2] b) => (float[N,2] y) { y = Add(x, b) }";

TEST(Session, BadFeedsAreNamed) {
  const auto session = Open(kAdd);
  const OrtValue x = Value({1, 2}, {1, 2}), b = Value({2}, {10, 20});
  const auto bad = [&](const Feeds& feeds, std::initializer_list<const char*> words,
                       const std::vector<std::string>& outputs = {}) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Fetch(*session, feeds, outputs); });
  };
  bad({{"x", x}, {"b", b}, {"z", b}}, {"name: z", "'x'", "'b'"});
  bad({{"x", x}}, {"missing", "'b'"});
  bad({{"x", x}, {"b", Value<std::int32_t>({2}, {1, 2})}}, {"'b'", "float", "int32"});
  bad({{"x", x}, {"b", Value({1, 2}, {1, 2})}}, {"input: b", "rank", "[1,2]"});
  bad({{"x", x}, {"b", Value({3}, {1, 2, 3})}}, {"input: b", "[2]", "[3]"});
  bad({{"x", x}, {"b", OrtValue()}}, {"'b'"});
  bad({{"x", x}, {"b", OrtValue::Sequence(ValueType::Tensor(DataType::kFloat), {})}}, {"'b'"});
  bad({{"x", x}, {"b", b}}, {"name:q", "'y'"}, {"q"});
  ExpectError(ErrorCode::kInvalidArgument, {"1", "2"}, [&] {
    session->Run({}, std::vector<std::string>{"x"}, std::vector<OrtValue>{x, b}, {});
  });
  EXPECT_EQ(Contents(Fetch(*session, {{"x", x}, {"b", b}})[0]), (std::vector<float>{11, 22}));
}

TEST(Session, ZeroDimsAndManyShapes) {
  const auto session = Open(kAdd);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t n : {0, 1, 7, 3, 100, 2, 0, 5}) {
      std::vector<float> x(static_cast<std::size_t>(n) * 2, 1);
      const auto y = Fetch(*session, {{"x", Value({n, 2}, x)}, {"b", Value({2}, {1, 2})}})[0];
      EXPECT_EQ(DimsOf(y), (std::vector<std::int64_t>{n, 2}));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(Contents(y)[i], i % 2 == 0 ? 2.0f : 3.0f);
    }
  }
}

TEST(Session, OutputsMayBeInputsConstantsAndTheSame) {
  const auto session = Open(
      "(float[2] x) => (x, float[2] c, float[2] y, y, float[] s) { float[2] c = {7,8} "
      "float[] s = {5} y = Neg(x) }");
  for (float v : {1.0f, 2.0f}) {
    const auto out = Fetch(*session, {{"x", Value({2}, {v, 3})}});
    ASSERT_EQ(out.size(), 5u);
    EXPECT_EQ(Contents(out[0]), (std::vector<float>{v, 3}));
    EXPECT_EQ(Contents(out[1]), (std::vector<float>{7, 8}));
    EXPECT_EQ(Contents(out[2]), (std::vector<float>{-v, -3}));
    EXPECT_EQ(Contents(out[3]), (std::vector<float>{-v, -3}));
    EXPECT_EQ(Contents(out[4]), (std::vector<float>{5}));
    EXPECT_TRUE(DimsOf(out[4]).empty());
  }
}

TEST(Session, ResultsAreTheCallersOwn) {
  const auto session = Open(kAdd);
  const OrtValue b = Value({2}, {0, 0});
  const OrtValue x1 = Value({1, 2}, {1, 2}), x2 = Value({1, 2}, {3, 4});
  auto first = Fetch(*session, {{"x", x1}, {"b", b}});
  const auto second = Fetch(*session, {{"x", x2}, {"b", b}});
  EXPECT_EQ(Contents(first[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(Contents(second[0]), (std::vector<float>{3, 4}));
}

TEST(Session, OverridableInitializersServeUntilFed) {
  const auto session = Open("(float[2] x, float[2] w = {1,2}) => (float[2] y) { y = Mul(x, w) }");
  ASSERT_EQ(session->overridable_initializers().size(), 1u);
  EXPECT_EQ(session->inputs().size(), 1u);
  const OrtValue x = Value({2}, {10, 10});
  EXPECT_EQ(Contents(Fetch(*session, {{"x", x}})[0]), (std::vector<float>{10, 20}));
  EXPECT_EQ(Contents(Fetch(*session, {{"x", x}, {"w", Value({2}, {3, 4})}})[0]),
            (std::vector<float>{30, 40}));
  EXPECT_EQ(Contents(Fetch(*session, {{"x", x}})[0]), (std::vector<float>{10, 20}));
}

// Whatever is passed on by a branch or by a loop that does not run must not be written over.
TEST(Session, PassedOnValuesAreNotWrittenInPlace) {
  const auto session = Open(
      "(bool[] c, int64[] n, float[2] x) => (float[2] y, float[2] z, float[2] h) {"
      " float[2] k = {1,2} h = Abs(x)"
      " float[2] a = If<then_branch=graph t () => (float[2] k1) { float[2] k1 = {1,2} },"
      " else_branch=graph e () => (float[2] e1) { e1 = Identity(h) }>(c)"
      " y = Neg(a)"
      " float[2] l = Loop<body=graph b (int64[] i, bool[] p, float[2] s) => (bool[] q, float[2] "
      "s2) { q = Identity(p) s2 = Add(s, s) }>(n, , x)"
      " z = Neg(l) }");
  const OrtValue x = Value({2}, {-3, 4});
  for (int round = 0; round < 3; ++round) {
    for (const bool taken : {true, false}) {
      OrtValue condition = Value<std::int64_t>({}, {0});
      const bool flag = taken;
      condition = OrtValue(Tensor(DataType::kBool, {}, const_cast<bool*>(&flag)));
      for (std::int64_t trips : {0, 1, 3}) {
        const auto out =
            Fetch(*session, {{"c", condition}, {"n", Value<std::int64_t>({}, {trips})}, {"x", x}});
        const float scale = static_cast<float>(1 << trips);
        EXPECT_EQ(Contents(out[0]),
                  taken ? (std::vector<float>{-1, -2}) : (std::vector<float>{-3, -4}));
        EXPECT_EQ(Contents(out[1]), (std::vector<float>{3 * scale, -4 * scale}));
        EXPECT_EQ(Contents(out[2]), (std::vector<float>{3, 4}));
        EXPECT_EQ(Contents(x), (std::vector<float>{-3, 4}));
      }
    }
  }
}

// State: swapped, passed through, doubled; a scan output beside them; an early exit.
TEST(Session, LoopStateAndEarlyExit) {
  const auto session = Open(
      "(int64[] n, float[] stop, float[1] a, float[1] b) => (float[1] p, float[1] q, float[1] r, "
      "float[T,1] all) {"
      " float[1] one = {1}"
      " p, q, r, all = Loop<body=graph g (int64[] i, bool[] c, float[1] u, float[1] v, float[1] w)"
      " => (bool[] go, v, u, float[1] w2, w2) { w2 = Add(w, one) d = Less(w2, stop)"
      " bool[1] e = Identity(d) int64[0] none = {} go = Reshape(e, none) }>(n, , a, b, one) }");
  for (int round = 0; round < 2; ++round) {
    for (const auto& [trips, stop, expected] :
         {std::tuple{0, 100.0f, 0}, {1, 100.0f, 1}, {4, 100.0f, 4}, {9, 4.0f, 3}, {3, 100.0f, 3}}) {
      const auto out = Fetch(*session, {{"n", Value<std::int64_t>({}, {trips})},
                                        {"stop", Value({}, {stop})},
                                        {"a", Value({1}, {10})},
                                        {"b", Value({1}, {20})}});
      EXPECT_EQ(Contents(out[0])[0], expected % 2 == 0 ? 10 : 20);
      EXPECT_EQ(Contents(out[1])[0], expected % 2 == 0 ? 20 : 10);
      EXPECT_EQ(Contents(out[2])[0], static_cast<float>(1 + expected));
      ASSERT_EQ(DimsOf(out[3]), (std::vector<std::int64_t>{expected, 1}));
      for (int t = 0; t < expected; ++t)
        EXPECT_EQ(Contents(out[3])[static_cast<std::size_t>(t)], static_cast<float>(t + 2));
    }
  }
}

// A model may give one name to dims that differ.
TEST(Session, DimsOfOneNameMayDiffer) {
  for (const auto level : {GraphOptimizationLevel::kDisableAll, GraphOptimizationLevel::kAll}) {
    SessionOptions options;
    options.optimization_level = level;
    options.AddConfigEntry("session.strict_shape_type_inference", "0");
    const auto session = Open(
        "(float[N] x, float[N] b) => (float[...] y, float[...] z) { h = Neg(x) s = Add(h, b) "
        "r = Abs(s) y = Neg(r) i = Mul(r, b) z = Neg(i) }",
        options);
    std::vector<float> b(1000), expected, product;
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = static_cast<float>(i + 5);
      expected.push_back(-(b[i] - 2));
      product.push_back(-(b[i] - 2) * b[i]);
    }
    for (int round = 0; round < 2; ++round) {
      const auto out = Fetch(*session, {{"x", Value({1}, {2})}, {"b", Value({1000}, b)}});
      EXPECT_EQ(Contents(out[0]), expected);
      EXPECT_EQ(Contents(out[1]), product);
      const auto small = Fetch(*session, {{"x", Value({2}, {2, 3})}, {"b", Value({2}, {5, 5})}});
      EXPECT_EQ(Contents(small[0]), (std::vector<float>{-3, -2}));
    }
  }
}

TEST(Session, ShapesThatDoNotFitInMemoryAreErrors) {
  const auto session = Open(
      "(float[] x, int64[2] s) => (float[2] y) { e = Expand(x, s) n = Neg(e) int64[1] axis = {0} "
      "m = ReduceMax<keepdims=0>(n, axis) int64[1] f = {0} int64[1] t = {2} y = Slice(m, f, t) }");
  const auto run = [&](std::int64_t rows, std::int64_t columns) {
    return Fetch(*session,
                 {{"x", Value({}, {3})}, {"s", Value<std::int64_t>({2}, {rows, columns})}});
  };
  const std::int64_t big = std::int64_t{1} << 32;
  for (const auto& [rows, columns] :
       {std::pair{big, big}, {big * 2, big * 2}, {big, big / 2}, {big * 1024, std::int64_t{256}}}) {
    EXPECT_THROW(run(rows, columns), Error);
    EXPECT_EQ(Contents(run(4, 3)[0]), (std::vector<float>{-3, -3}));
    EXPECT_EQ(Contents(run(2, 6)[0]), (std::vector<float>{-3, -3}));
  }
}

TEST(Session, AFailedRunLeavesItUsable) {
  const auto session = Open(
      "(float[N] x, int64[1] s) => (float[...] y) { h = Neg(x) r = Reshape(h, s) y = Abs(r) }");
  const OrtValue x = Value({4}, {1, 2, 3, 4});
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(Fetch(*session, {{"x", x}, {"s", Value<std::int64_t>({1}, {3})}}), Error);
    EXPECT_EQ(Contents(Fetch(*session, {{"x", x}, {"s", Value<std::int64_t>({1}, {4})}})[0]),
              (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST(Session, Terminate) {
  const auto session = Open(kAdd);
  const Feeds feeds = {{"x", Value({1, 2}, {1, 2})}, {"b", Value({2}, {1, 1})}};
  RunOptions options;
  options.SetTerminate();
  ExpectError(ErrorCode::kFail, {"terminate"}, [&] { Fetch(*session, feeds, {}, options); });
  options.UnsetTerminate();
  EXPECT_EQ(Contents(Fetch(*session, feeds, {}, options)[0]), (std::vector<float>{2, 3}));
}

TEST(Session, TerminateEndsAnEndlessLoop) {
  const auto session = Open(
      "(float[1] a) => (float[1] p) { bool[] yes = {1} p = Loop<body=graph g (int64[] i, bool[] c, "
      "float[1] u) => (bool[] go, float[1] v) { go = Identity(c) v = Neg(u) }>(, yes, a) }");
  RunOptions options;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    options.SetTerminate();
  });
  ExpectError(ErrorCode::kFail, {"terminate"}, [&] {
    Fetch(*session, {{"a", Value({1}, {1})}}, {}, options);
  });
  stopper.join();
}

TEST(Session, ConcurrentRunsWithDifferentShapes) {
  const auto session = Open(
      "(float[N,4] x) => (float[N,4] y, float[4] m) { float[4,4] w = random(3) h = MatMul(x, w) "
      "a = Relu(h) y = Softmax(a) int64[1] axis = {0} m = ReduceSum<keepdims=0>(y, axis) }");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 40; ++round) {
        const std::int64_t n = 1 + (t * 7 + round) % 9;
        std::vector<float> x(static_cast<std::size_t>(n) * 4);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 1;
        const auto out = Fetch(*session, {{"x", Value({n, 4}, x)}});
        float sum = 0;
        for (float v : Contents(out[1])) sum += v;
        if (std::abs(sum - static_cast<float>(n)) > 1e-4f) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(session->counters().runs, 160u);
}

TEST(Session, ASteadyStateBindsAndPlansNothing) {
  const auto session =
      Open("(float[N,2] x) => (float[N,2] y) { h = Exp(x) s = Softmax(h) y = Neg(s) }");
  const Feeds feeds = {{"x", Value({3, 2}, {1, 2, 3, 4, 5, 6})}};
  Fetch(*session, feeds);
  const SessionCounters before = session->counters();
  for (int i = 0; i < 5; ++i) Fetch(*session, feeds);
  const SessionCounters after = session->counters();
  EXPECT_EQ(after.runs, before.runs + 5);
  EXPECT_EQ(after.bindings, before.bindings);
  EXPECT_EQ(after.plannings, before.plannings);
  EXPECT_EQ(after.copies, 0u);
}

TEST(Binding, WritesIntoTheGivenBuffer) {
  const auto session = Open(kAdd);
  IOBinding binding(*session);
  binding.BindInput("x", Value({1, 2}, {1, 2}));
  binding.BindInput("b", Value({2}, {10, 20}));
  const OrtValue y = Value({1, 2}, {0, 0});
  binding.BindOutput("y", y);
  session->Run({}, binding);
  EXPECT_EQ(Contents(y), (std::vector<float>{11, 22}));
  EXPECT_EQ(binding.outputs()[0].tensor().raw(), y.tensor().raw());
  EXPECT_EQ(binding.output_names(), std::vector<std::string>{"y"});
  binding.BindOutput("y", OrtDevice());
  session->Run({}, binding);
  EXPECT_NE(binding.outputs()[0].tensor().raw(), y.tensor().raw());
}

TEST(Binding, AWrongBufferIsLeftAlone) {
  const auto session = Open(kAdd);
  IOBinding binding(*session);
  EXPECT_THROW(binding.BindInput("nobody", Value({1}, {1})), Error);
  EXPECT_THROW(binding.BindInput("b", Value({3}, {1, 2, 3})), Error);
  EXPECT_THROW(binding.BindOutput("y", Value<std::int64_t>({1, 2}, {1, 2})), Error);
  binding.BindInput("x", Value({2, 2}, {1, 2, 3, 4}));
  binding.BindInput("b", Value({2}, {10, 20}));
  const OrtValue y = Value({1, 2}, {-1, -1});
  binding.BindOutput("y", y);
  ExpectError(ErrorCode::kInvalidArgument, {"'y'", "[2,2]", "[1,2]"},
              [&] { session->Run({}, binding); });
  EXPECT_EQ(Contents(y), (std::vector<float>{-1, -1}));
  const auto other = Open(kAdd);
  EXPECT_THROW(other->Run({}, binding), Error);
}

TEST(Binding, StringsArriveInTheGivenBuffer) {
  const auto session = Open("(string[2] x) => (string[2] y) { y = Identity(x) }");
  IOBinding binding(*session);
  const std::vector<std::string> words = {"one", std::string(50, 'z')};
  binding.BindInput("x", Value<std::string>({2}, words));
  const OrtValue y = Value<std::string>({2}, {"", ""});
  binding.BindOutput("y", y);
  session->Run({}, binding);
  EXPECT_EQ(Contents<std::string>(y), words);
}

TEST(Options, BadOnesAreErrors) {
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"switchyard.accuracy", "sloppy"},
           {"switchyard.max_copies", "many"},
           {"session.disable_cpu_ep_fallback", "perhaps"},
           {"session.intra_op.allow_spinning", "2"}}) {
    SessionOptions options;
    options.AddConfigEntry(key, value);
    ExpectError(ErrorCode::kInvalidArgument, {key, value}, [&, o = options] { Open(kAdd, o); });
  }
  SessionOptions options;
  EXPECT_THROW(options.AddConfigEntry("", "1"), Error);
  options.AppendExecutionProvider("NoSuchExecutionProvider");
  ExpectError(ErrorCode::kInvalidArgument, {"NoSuch", kCpuExecutionProvider},
              [&] { Open(kAdd, options); });
  EXPECT_THROW(InferenceSession(nullptr, "x.onnx"), Error);
  ExpectError(ErrorCode::kNoSuchFile, {"missing.onnx"},
              [] { InferenceSession(TestEnvironment(), "missing.onnx"); });
}

TEST(Options, UnknownKeysWarn) {
  std::string log;
  EnvironmentOptions environment;
  environment.log_sink = [&](Severity, std::string_view, std::string_view, std::string_view text) {
    log += text;
  };
  const std::string bytes =
      WriteModelBytes(*ParseGraph(std::string("ir 10\nopset 21\ngraph main ") + kAdd));
  SessionOptions options;
  options.AddConfigEntry("session.no_such_key", "1");
  const InferenceSession session(std::make_shared<Environment>(environment),
                                 std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  EXPECT_NE(log.find("session.no_such_key"), std::string::npos) << log;
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("session_test_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Files, TheProfileIsJsonWhateverNodesAreCalled) {
  SessionOptions options;
  options.enable_profiling = true;
  options.profile_file_prefix = (folder_ / "profile").string();
  options.optimization_level = GraphOptimizationLevel::kDisableAll;
  const auto graph = ParseGraph(
      "ir 10\nopset 21\ngraph main (float[2] x) => (float[2] y) { h = \"a \\\"b\\\" \\\\ "
      "c\": Neg(x) y = Abs(h) }");
  const std::string bytes = WriteModelBytes(*graph);
  std::string name;
  {
    InferenceSession session(TestEnvironment(),
                             std::as_bytes(std::span(bytes.data(), bytes.size())), options);
    Fetch(session, {{"x", Value({2}, {1, 2})}});
    EXPECT_GT(session.profiling_start_time_ns(), 0);
    name = session.EndProfiling();
    EXPECT_EQ(session.EndProfiling(), name);
  }
  std::ifstream file(name);
  const auto events = nlohmann::json::parse(file);
  int nodes = 0;
  for (const auto& event : events) {
    if (event["cat"] != "Node") continue;
    ++nodes;
    EXPECT_TRUE(event["args"]["op_name"] == "Neg" || event["args"]["op_name"] == "Abs");
    EXPECT_EQ(event["args"]["provider"], kCpuExecutionProvider);
  }
  EXPECT_EQ(nodes, 2);
}

TEST_F(Files, TextOfAnyKindIsQuoted) {
  Profiler profiler((folder_ / "profile").string());
  const std::string odd = "a\"b\\c\n\xff";
  profiler.Add(odd, "Node", 1000, 3000, {{"op_name", odd}});
  std::ifstream file(profiler.Finish());
  const auto events = nlohmann::json::parse(file);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["dur"], 2);
  EXPECT_EQ(events[0]["args"]["op_name"].get<std::string>().substr(0, 5), "a\"b\\c");
}

TEST_F(Files, AProfileThatNobodyEndsIsWritten) {
  SessionOptions options;
  options.enable_profiling = true;
  options.profile_file_prefix = (folder_ / "profile").string();
  Open(kAdd, options);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::ifstream file(entry.path());
    EXPECT_TRUE(nlohmann::json::parse(file).is_array());
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(Files, TheOptimizedModelLoadsAndGivesTheSame) {
  SessionOptions options;
  options.optimized_model_filepath = (folder_ / "optimized.onnx").string();
  const auto session = Open(
      "(float[N,4] x) => (float[N,4] y) { float[4,4] w = random(3) i = Identity(x) h = MatMul(i, "
      "w) y = Relu(h) }",
      options);
  InferenceSession again(TestEnvironment(), options.optimized_model_filepath);
  const Feeds feeds = {{"x", Value({1, 4}, {1, -2, 3, 4})}};
  EXPECT_EQ(Contents(Fetch(*session, feeds)[0]), Contents(Fetch(again, feeds)[0]));
}

}  // namespace
}  // namespace switchyard
