// Nothing grows: sessions that come and go, Runs whose shapes keep changing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "support/model_runs.h"

namespace switchyard::test {
namespace {

constexpr double kGrowth = 1.02;
constexpr double kHeapSlack =
    2 << 20;  // pages that malloc keeps for its threads; the process is small

std::size_t ResidentBytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasures = false;  // freed memory is kept aside
constexpr int kShare = 20;
#else
constexpr bool kMeasures = true;
constexpr int kShare = 1;
#endif

// `step(i)` for i below `count`; the first quarter warms up.
template <typename Step>
void ExpectNoGrowth(int count, Step step) {
  const int warm = count / 4;
  for (int i = 0; i < warm; ++i) step(i);
  const std::size_t before = ResidentBytes();
  for (int i = warm; i < count; ++i) step(i);
  const std::size_t after = ResidentBytes();
  if (!kMeasures) return;
  EXPECT_LE(static_cast<double>(after), kGrowth * static_cast<double>(before) + kHeapSlack)
      << before << " bytes before, " << after << " after";
}

constexpr const char* kNetwork = R"(opset 17
graph net (float[N, T, 16] x) => (float[N, T, 16] y, float[N, 16] z) {
  float[16, 16] w = fill(0.25)
  float[16] one = fill(1.0)
  a = MatMul(x, w)
  n = LayerNormalization<axis=-1>(a, one)
  s = Softmax<axis=1>(n)
  y = Add(s, x)
  z = ReduceMean<axes=[1], keepdims=0>(y)
})";

TEST(Soak, SessionsComeAndGo) {
  Feeds feeds;
  feeds.Add("x", Floats({2, 7, 16}, 1));
  ExpectNoGrowth(1000 / kShare,
                 [&](int) { RunAll(*LoadText(kNetwork, OptionsWith({"cpu"})), feeds); });
}

TEST(Soak, RealSessionsComeAndGo) {
  const Feeds feeds = ModelFeeds("silero_vad");
  ExpectNoGrowth(200 / kShare,
                 [&](int) { RunAll(*Load(ModelPath("silero_vad"), OptionsWith({"cpu"})), feeds); });
}

TEST(Soak, ShapesKeepChanging) {
  const auto session = LoadText(kNetwork, OptionsWith({"cpu"}));
  std::uint32_t state = 1;
  const auto next = [&](std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::int64_t>((state >> 8) % below) + 1;
  };
  ExpectNoGrowth(10000 / kShare, [&](int i) {
    Feeds feeds;
    feeds.Add("x", Floats({next(4), next(200), 16}, static_cast<unsigned>(i)));
    RunAll(*session, feeds);
  });
}

TEST(Soak, FailedRunsLeaveNothing) {
  const auto session = LoadText(kNetwork, OptionsWith({"cpu"}));
  Feeds good, bad;
  good.Add("x", Floats({1, 5, 16}, 1));
  bad.Add("x", Floats({1, 5, 15}, 1));
  ExpectNoGrowth(2000 / kShare, [&](int) {
    EXPECT_THROW(RunAll(*session, bad), Error);
    RunAll(*session, good);
  });
}

TEST(Soak, ThreadsRunOneSession) {
  const auto session = LoadText(kNetwork, OptionsWith({"cpu"}));
  ExpectNoGrowth(60 / kShare + 4, [&](int i) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int k = 1; k <= 20; ++k) {
          Feeds feeds;
          feeds.Add("x", Floats({1 + t % 2, 1 + (7 * k + i) % 90, 16}, 1));
          RunAll(*session, feeds);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace switchyard::test
