// A Run whose shapes were seen before and whose outputs are bound takes nothing from the heap,
// plans nothing and copies nothing; results do not depend on the number of threads.

#include <gtest/gtest.h>

#include <cstdlib>

#include "steady/heap_count.h"
#include "support/model_runs.h"
#include "switchyard/session/io_binding.h"

namespace switchyard::test {
namespace {

constexpr int kWarmUp = 3, kRuns = 5;

SessionOptions Threads(int threads) {
  SessionOptions options = OptionsWith({"cpu"});
  options.intra_op_num_threads = threads;
  return options;
}

TEST(HeapCount, SeesNewAndMalloc) {
  if (!HeapCountingWorks()) GTEST_SKIP() << "the heap belongs to a sanitizer";
  StartHeapCount();
  const auto owned = std::make_unique<std::string>(100, 'x');
  void* volatile block = std::malloc(10);
  EXPECT_GE(StopHeapCount(), 3u) << *owned;
  std::free(block);
}

class Steady : public testing::TestWithParam<const char*> {};

TEST_P(Steady, BoundRunsLeaveTheHeapAlone) {
  if (!HeapCountingWorks()) GTEST_SKIP() << "the heap belongs to a sanitizer";
  const Feeds feeds = ModelFeeds(GetParam());
  for (int threads : {1, 2}) {
    const auto session = Load(ModelPath(GetParam()), Threads(threads));
    const std::vector<OrtValue> expected = RunAll(*session, feeds);
    IOBinding binding(*session);
    for (std::size_t i = 0; i < feeds.names.size(); ++i) {
      binding.BindInput(feeds.names[i], feeds.values[i]);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor& tensor = expected[i].tensor();
      binding.BindOutput(session->outputs()[i].name,
                         Tensor(tensor.type(), tensor.dims(), MakeHostAllocator()));
    }
    const RunOptions options;
    for (int i = 0; i < kWarmUp; ++i) session->Run(options, binding);
    const SessionCounters before = session->counters();
    StartHeapCount();
    for (int i = 0; i < kRuns; ++i) session->Run(options, binding);
    const std::uint64_t requests = StopHeapCount();
    const SessionCounters after = session->counters();
    EXPECT_EQ(requests, 0u) << threads << " threads, " << kRuns << " runs";
    EXPECT_EQ(after.plannings, before.plannings);
    EXPECT_EQ(after.bindings, before.bindings);
    EXPECT_EQ(after.copies, 0u);
    EXPECT_EQ(Difference(binding.outputs(), expected, 0, 0), "");
  }
}

TEST_P(Steady, ThreadsChangeNoBit) {
  const Feeds feeds = ModelFeeds(GetParam());
  const auto one = RunAll(*Load(ModelPath(GetParam()), Threads(1)), feeds);
  for (int threads : {2, 4}) {
    const auto more = RunAll(*Load(ModelPath(GetParam()), Threads(threads)), feeds);
    EXPECT_EQ(Difference(more, one, 0, 0), "") << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Steady, testing::Values("fastestdet", "bert_mlm", "silero_vad"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Threads, ChangeNoBitOfRecognition) {
  const Feeds feeds = ModelFeeds("ppocr_rec");
  const auto one = RunAll(*Load(ModelPath("ppocr_rec"), Threads(1)), feeds);
  for (int threads : {2, 4}) {
    const auto more = RunAll(*Load(ModelPath("ppocr_rec"), Threads(threads)), feeds);
    EXPECT_EQ(Difference(more, one, 0, 0), "") << threads << " threads";
  }
}

// A decoder whose past grows by one each step, in buffers made once.
TEST(GrowingPast, PlansRarelyAndTakesNothingBetween) {
  if (!HeapCountingWorks()) GTEST_SKIP() << "the heap belongs to a sanitizer";
  constexpr std::int64_t kLongest = 512;
  constexpr int kLayers = 5, kFrames = 8;
  const auto session =
      Load(std::string(SWITCHYARD_SOURCE_DIR) + "/models/gpt2_tiny/past.onnx", Threads(1));
  std::vector<OrtValue> past, present;
  for (int i = 0; i < kLayers; ++i) {
    past.push_back(Floats({2, 1, 4, kLongest, 8}, static_cast<unsigned>(i)));
    present.push_back(Floats({2, 1, 4, kLongest, 8}, 0));
  }
  OrtValue logits = Floats({1, 1, 1000}, 0);
  std::vector<std::int32_t> ones(kLongest, 1), token = {17}, position = {0};
  const auto window = [](OrtValue& of, std::vector<std::int64_t> dims) {
    return OrtValue(Tensor(DataType::kFloat, dims, of.tensor().raw_mutable()));
  };
  const auto ints = [](std::vector<std::int32_t>& of, std::int64_t count) {
    const std::int64_t dims[] = {1, count};
    return OrtValue(Tensor(DataType::kInt32, dims, of.data()));
  };
  const RunOptions options;
  std::uint64_t requests_between = 0;
  IOBinding binding(*session);
  for (std::int64_t length = 1; length < kLongest; ++length) {
    position[0] = static_cast<std::int32_t>(length);
    binding.BindInput("input_ids", ints(token, 1));
    binding.BindInput("position_ids", ints(position, 1));
    binding.BindInput("attention_mask", ints(ones, length + 1));
    for (int i = 0; i < kLayers; ++i) {
      const auto k = static_cast<std::size_t>(i);
      binding.BindInput("past_" + std::to_string(i), window(past[k], {2, 1, 4, length, 8}));
      binding.BindOutput("present_" + std::to_string(i),
                         window(present[k], {2, 1, 4, length + 1, 8}));
    }
    binding.BindOutput("logits", window(logits, {1, 1, 1000}));
    const std::uint64_t plannings = session->counters().plannings;
    StartHeapCount();
    session->Run(options, binding);
    const std::uint64_t requests = StopHeapCount();
    if (length > kFrames && session->counters().plannings == plannings) {
      requests_between += requests;
    }
    std::swap(past, present);
  }
  EXPECT_LE(session->counters().plannings, 64u);
  EXPECT_EQ(requests_between, 0u);
}

}  // namespace
}  // namespace switchyard::test
