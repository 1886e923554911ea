// Values that lie inside others (Split, Slice, Gather, Concat): the same bits as with every value
// in memory of its own, whatever the shapes, the order of Runs and the buffers of the caller.

#include <gtest/gtest.h>

#include <random>

#include "support/model_runs.h"
#include "switchyard/session/io_binding.h"

namespace switchyard::test {
namespace {

SessionOptions Options(bool reuse, GraphOptimizationLevel level) {
  SessionOptions options = OptionsWith({"cpu"});
  options.intra_op_num_threads = 1;
  options.optimization_level = level;
  options.enable_mem_reuse = reuse;
  return options;
}

// Operators that move parts, between ones that compute, some in place. All values are [N, c, 3].
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    values_.push_back({"x", 6});
    used_.push_back(false);
    const int steps = 4 + Below(16);
    for (int i = 0; i < steps; ++i) AddStep();
    std::string outputs;
    for (std::size_t i = 1; i < values_.size(); ++i) {
      if (used_[i] && Below(6) != 0) continue;
      outputs += (outputs.empty() ? "" : ", ") + Type(values_[i].channels) + values_[i].name;
    }
    text_ = "ir 10\nopset 17\ngraph main (float[N,6,3] x) => (" + outputs + ") {\n" + body_ + "}";
  }
  const std::string& text() const { return text_; }

 private:
  struct Value {
    std::string name;
    int channels;
  };
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  static std::string Type(int channels) { return "float[N," + std::to_string(channels) + ",3] "; }
  std::string Make(int channels) {
    values_.push_back({"v" + std::to_string(values_.size()), channels});
    used_.push_back(false);
    return values_.back().name;
  }
  std::string Ints(std::initializer_list<int> list) {
    const std::string name = "c" + std::to_string(constants_++);
    std::string all;
    for (int i : list) all += (all.empty() ? "" : ",") + std::to_string(i);
    body_ += "int64[" + std::to_string(list.size()) + "] " + name + " = {" + all + "}\n";
    return name;
  }
  std::size_t Pick() {
    // Late values more often than early ones.
    const auto count = static_cast<int>(values_.size());
    const auto at = static_cast<std::size_t>(std::max(Below(count), Below(count)));
    used_[at] = true;
    return at;
  }

  void AddStep() {
    const Value from = values_[Pick()];
    switch (Below(8)) {
      case 0:
        return Split(from);
      case 1: {
        if (from.channels < 2) return Unary(from);
        const int begin = Below(from.channels), end = begin + 1 + Below(from.channels - begin);
        const std::string starts = Ints({begin}), ends = Ints({end}), axes = Ints({1});
        body_ += Make(end - begin) + " = Slice(" + from.name + ", " + starts + ", " + ends + ", " +
                 axes + ")\n";
        return;
      }
      case 2: {
        const int first = Below(from.channels);
        const int count = Below(2) == 0 || first + 2 > from.channels ? 1 : 2;
        const std::string rows = count == 1 ? Ints({first}) : Ints({first, first + 1});
        body_ += Make(count) + " = Gather<axis=1>(" + from.name + ", " + rows + ")\n";
        return;
      }
      case 3:
      case 4:
        return Concat(from);
      case 5: {
        const std::string shape = Ints({0, 0, 3});
        body_ += Make(from.channels) + " = Reshape(" + from.name + ", " + shape + ")\n";
        return;
      }
      case 6:
        for (std::size_t i = values_.size(); i-- > 0;) {
          if (values_[i].channels != from.channels || Below(2) == 0) continue;
          used_[i] = true;
          const std::string other = values_[i].name;
          body_ += Make(from.channels) + " = Add(" + from.name + ", " + other + ")\n";
          return;
        }
        return Unary(from);
      default:
        return Unary(from);
    }
  }
  void Unary(const Value& from) {
    static constexpr const char* kOps[] = {"Relu", "Neg", "Softmax<axis=2>", "Abs"};
    body_ += Make(from.channels) + " = " + kOps[Below(4)] + "(" + from.name + ")\n";
  }
  void Split(const Value& from) {
    if (from.channels < 2) return Unary(from);
    const int first = 1 + Below(from.channels - 1);
    const std::string sizes = Ints({first, from.channels - first});
    const std::string a = Make(first), b = Make(from.channels - first);
    body_ += a + ", " + b + " = Split<axis=1>(" + from.name + ", " + sizes + ")\n";
  }
  void Concat(const Value& from) {
    std::string inputs = from.name;
    int channels = from.channels;
    for (int i = 1 + Below(2); i > 0; --i) {
      const Value& other = values_[Pick()];
      if (channels + other.channels > 64) continue;
      inputs += ", " + other.name;
      channels += other.channels;
    }
    body_ += Make(channels) + " = Concat<axis=1>(" + inputs + ")\n";
  }

  std::mt19937 random_;
  std::vector<Value> values_;
  std::vector<bool> used_;
  std::string body_, text_;
  int constants_ = 0;
};

TEST(Parts, RandomGraphsGiveTheBitsOfPlainRuns) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomGraph graph(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.text());
    const auto level =
        seed % 2 == 0 ? GraphOptimizationLevel::kDisableAll : GraphOptimizationLevel::kAll;
    const auto nested = LoadText(graph.text(), Options(true, level));
    const auto plain = LoadText(graph.text(), Options(false, level));
    IOBinding binding(*nested);
    for (const std::int64_t batch : {1, 2, 1, 3, 1}) {
      Feeds feeds;
      feeds.Add("x", Floats({batch, 6, 3}, seed + static_cast<unsigned>(batch)));
      const auto expected = RunAll(*plain, feeds);
      ASSERT_EQ(Difference(RunAll(*nested, feeds), expected, 0, 0), "") << "batch " << batch;
      binding.BindInput("x", feeds.values[0]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        binding.BindOutput(nested->outputs()[i].name,
                           OrtValue(expected[i].tensor().Clone(MakeHostAllocator())));
      }
      nested->Run({}, binding);
      ASSERT_EQ(Difference(binding.outputs(), expected, 0, 0), "") << "bound, batch " << batch;
    }
    const std::uint64_t plannings = nested->counters().plannings;
    Feeds feeds;
    for (const std::int64_t batch : {1, 2, 3, 2, 1}) {
      feeds = Feeds();
      feeds.Add("x", Floats({batch, 6, 3}, seed));
      RunAll(*nested, feeds);
    }
    EXPECT_EQ(nested->counters().plannings, plannings) << "shapes seen before";
  }
}

TEST(Parts, AChainOfConcatsNeedsTheMemoryOfTheLast) {
  std::string body = "v0 = Relu(x)\n";
  for (int i = 1; i <= 8; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    body += "s" + n + " = ReduceSum<keepdims=1>(v" + before + ", one)\n";
    body += "v" + n + " = Concat<axis=1>(v" + before + ", s" + n + ")\n";
  }
  const std::string text =
      "ir 10\nopset 17\ngraph main (float[1,4,1024] x) => (float[1,12] y) {\nint64[1] one = "
      "{1}\nint64[1] two = {2}\n" +
      body + "y = ReduceMax<keepdims=0, axes=[2]>(v8)\n}";
  Feeds feeds;
  feeds.Add("x", Floats({1, 4, 1024}, 3));
  const auto nested = LoadText(text, Options(true, GraphOptimizationLevel::kDisableAll));
  const auto plain = LoadText(text, Options(false, GraphOptimizationLevel::kDisableAll));
  EXPECT_EQ(Difference(RunAll(*nested, feeds), RunAll(*plain, feeds), 0, 0), "");
  EXPECT_LE(nested->counters().arena_bytes, 12u * 4096u + 65536u);
  EXPECT_LT(nested->counters().arena_bytes, plain->counters().arena_bytes);
}

// Parts of loop state, of values from outside the body, and of what a step tells the shape of.
TEST(Parts, InLoopsAndAfterUnknownShapes) {
  const char* text = R"(ir 10
opset 17
graph main (float[1,4,3] x, int64[] count, bool[] go) => (float[1,4,3] last, float[K,1,4,3] all, float[...] z) {
  int64[1] zero = {0}
  int64[1] one = {1}
  int64[2] halves = {2,2}
  w = Abs(x)
  last, all = Loop<body=graph body (int64[] i, bool[] c, float[1,4,3] s) => (c2, next, seen) {
    c2 = Identity(c)
    a, b = Split<axis=1>(s, halves)
    d = Gather<axis=1>(w, one)
    e = Gather<axis=1>(w, zero)
    de = Concat<axis=1>(d, e)
    f = Add(b, de)
    g = Relu(a)
    next = Concat<axis=1>(f, g)
    h = Neg(f)
    seen = Concat<axis=1>(h, g)
  }>(count, go, x)
  nz = NonZero(w)
  p, q = Split<axis=0>(nz, sizes)
  int64[2] sizes = {1,2}
  m = Neg(p)
  n = Neg(q)
  z2 = Concat<axis=0>(n, m)
  z = Cast<to=1>(z2)
})";
  for (const std::int64_t count : {0, 1, 5}) {
    Feeds feeds;
    feeds.Add("x", Floats({1, 4, 3}, 5));
    feeds.Add("count", Filled({}, count));
    const bool go = true;
    feeds.Add("go", OrtValue::FromData<bool>(std::vector<std::int64_t>{}, std::span(&go, 1)));
    const auto plain = LoadText(text, Options(false, GraphOptimizationLevel::kDisableAll));
    const auto nested = LoadText(text, Options(true, GraphOptimizationLevel::kDisableAll));
    const auto expected = RunAll(*plain, feeds);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(Difference(RunAll(*nested, feeds), expected, 0, 0), "") << count;
  }
}

// The caller's buffer is input and output at once: parts must not be written into it early.
TEST(Parts, AnOutputInTheInputsBuffer) {
  const char* text =
      "ir 10\nopset 17\ngraph main (float[1,2,4] x) => (float[1,2,4] y) {\nint64[1] zero = {0}\n"
      "int64[1] one = {1}\na = Gather<axis=1>(x, one)\nb = Neg(a)\n"
      "c = Gather<axis=1>(x, zero)\nd = Abs(c)\ny = Concat<axis=1>(b, d)\n}";
  Feeds feeds;
  feeds.Add("x", Floats({1, 2, 4}, 5));
  const auto plain = LoadText(text, Options(false, GraphOptimizationLevel::kDisableAll));
  const auto expected = RunAll(*plain, feeds);
  const auto nested = LoadText(text, Options(true, GraphOptimizationLevel::kDisableAll));
  IOBinding binding(*nested);
  for (int round = 0; round < 3; ++round) {
    const OrtValue both(feeds.values[0].tensor().Clone(MakeHostAllocator()));
    binding.BindInput("x", both);
    binding.BindOutput("y", both);
    nested->Run({}, binding);
    EXPECT_EQ(Difference(binding.outputs(), expected, 0, 0), "");
    EXPECT_EQ(binding.outputs()[0].tensor().raw(), both.tensor().raw());
  }
}

}  // namespace
}  // namespace switchyard::test
