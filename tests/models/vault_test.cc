// What the core owes a provider with memory of its own, on small graphs.

#include <gtest/gtest.h>

#include "switchyard/session/session_report.h"
#include "support/model_runs.h"
#include "support/vault_provider/vault_provider.h"
#include "switchyard/session/io_binding.h"

namespace switchyard::test {
namespace {

// Whatever the order of the two branches: a goes to the host once, s comes back once.
constexpr const char* kOrders[] = {
    R"(opset 13
graph order1 (float[4] x) => (float[4] y) {
  a = "Relu_a": Relu(x)
  s = "Sigmoid_s": Sigmoid(a)
  b = "Neg_b": Neg(a)
  y = "Add_y": Add(b, s)
})",
    R"(opset 13
graph order2 (float[4] x) => (float[4] y) {
  a = "Relu_a": Relu(x)
  b = "Neg_b": Neg(a)
  s = "Sigmoid_s": Sigmoid(a)
  y = "Add_y": Add(b, s)
})"};
constexpr const char* kClaims = "vault?ops=Relu,Neg,Add";

std::string ErrorOf(std::string_view text, const SessionOptions& options) {
  try {
    LoadText(text, options);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(TwoOrders, FourCopies) {
  for (const char* text : kOrders) {
    const auto session = LoadText(text, OptionsWith({kClaims, "cpu"}));
    Feeds feeds;
    feeds.Add("x", Floats({4}, 7));
    const auto alone = RunAll(*LoadText(text, OptionsWith({"cpu"})), feeds);
    EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 1e-6, 1e-6), "");
    EXPECT_EQ(session->counters().copies, 4u);
    EXPECT_EQ(session->counters().copied_bytes, 64u);
    for (const auto& row : session->report().nodes) {
      EXPECT_EQ(row.provider == kCpuExecutionProvider, row.op == "Sigmoid") << row.name;
    }
    std::multiset<std::string> copies;
    for (const auto& copy : session->report().copies) {
      EXPECT_EQ(copy.bytes, 16);
      copies.insert(copy.value + (copy.to == "cpu" ? " to host" : " to device"));
    }
    EXPECT_EQ(copies,
              (std::multiset<std::string>{"x to device", "s to device", "a to host", "y to host"}));
  }
}

TEST(TwoOrders, FallbackCanBeForbidden) {
  for (const char* text : kOrders) {
    SessionOptions options = OptionsWith({kClaims, "cpu"});
    options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    const std::string error = ErrorOf(text, options);
    EXPECT_NE(error.find("'Sigmoid_s'"), error.npos) << error;
    EXPECT_EQ(error.find("'Relu_a'"), error.npos) << error;
  }
}

TEST(TwoOrders, CopiesCanBeLimited) {
  for (const char* text : kOrders) {
    SessionOptions options = OptionsWith({kClaims, "cpu"});
    options.AddConfigEntry("switchyard.max_copies", "3");
    const std::string error = ErrorOf(text, options);
    for (const char* row :
         {"\n  x cpu -> device16", "\n  a device16", "\n  s cpu -> device16", "\n  y device16"}) {
      EXPECT_NE(error.find(row), error.npos) << error;
    }
    options.AddConfigEntry("switchyard.max_copies", "4");
    EXPECT_EQ(ErrorOf(text, options), "");
  }
}

constexpr const char* kLoop = R"(opset 13
graph loop (int64[] n, float[3] start, float[3] step) => (float[3] last, float[M,3] trace) {
  bool[] go = {1}
  last, trace = "loop": Loop<body=graph body (int64[] i, bool[] c, float[3] v) => (bool[] c2, float[3] w, float[3] t) {
    c2 = Identity(c)
    w = "body_add": Add(v, step)
    t = "body_mul": Mul(w, step)
  }>(n, go, start)
})";

TEST(LoopBody, RunsOnTheVault) {
  Feeds feeds;
  feeds.Add("n", Filled({}, 5));
  feeds.Add("start", Floats({3}, 1));
  feeds.Add("step", Floats({3}, 2));
  const auto alone = RunAll(*LoadText(kLoop, OptionsWith({"cpu"})), feeds);
  const auto session = LoadText(kLoop, OptionsWith({"vault?ops=Add,Mul", "cpu"}));
  EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 0, 0), "");
  // start and step go in once, before the loop; the carried value stays; each slice comes out.
  EXPECT_EQ(session->counters().copies, 2u + 5u + 1u) << session->Explain(false);
  for (const auto& row : session->report().nodes) {
    if (row.op == "Add" || row.op == "Mul") {
      EXPECT_EQ(row.provider, kVaultExecutionProvider);
    }
  }
}

TEST(LoopBody, QueuesAreWaitedFor) {
  Feeds feeds;
  feeds.Add("n", Filled({}, 5));
  feeds.Add("start", Floats({3}, 1));
  feeds.Add("step", Floats({3}, 2));
  const auto alone = RunAll(*LoadText(kLoop, OptionsWith({"cpu"})), feeds);
  for (const char* vault : {"vault?async=1&ops=Add,Mul", "vault?async=1&ops=Add",
                            "vault?async=1&ops=Mul", "vault?async=1"}) {
    const auto session = LoadText(kLoop, OptionsWith({vault, "cpu"}));
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 0, 0), "") << vault;
  }
}

// Buffers of the state and the arena are replaced while work on them is queued.
constexpr const char* kGrowing = R"(opset 13
graph growing (int64[] n, float[K] start) => (float[?] last) {
  bool[] go = {1}
  float[1] one = {1}
  last = "loop": Loop<body=graph body (int64[] i, bool[] c, float[?] v) => (bool[] c2, float[?] w) {
    c2 = Identity(c)
    a = "abs": Abs(v)
    b = "neg": Neg(a)
    s = "add": Add(b, one)
    w = "join": Concat<axis=0>(s, v)
  }>(n, go, start)
})";

TEST(LoopBody, GrowsOnAQueue) {
  Feeds feeds;
  feeds.Add("n", Filled({}, 6));
  feeds.Add("start", Floats({3}, 1));
  const auto alone = RunAll(*LoadText(kGrowing, OptionsWith({"cpu"})), feeds);
  for (const char* vault :
       {"vault?async=1", "vault?async=1&ops=Abs,Add", "vault?async=1&ops=Neg"}) {
    const auto session = LoadText(kGrowing, OptionsWith({vault, "cpu"}));
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 0, 0), "") << vault;
  }
}

constexpr const char* kTwoLayers = R"(opset 13
graph layers (float[N,4] x) => (float[N,4] y) {
  float[4,4] w1 = fill(0.5)
  float[4,4] w2 = fill(0.25)
  h = "first": MatMul(x, w1)
  y = "second": MatMul(h, w2)
})";

TEST(Budget, RefusesWithFigures) {
  SessionOptions options = OptionsWith({"vault", "cpu"});
  options.AddConfigEntry(
      std::string("switchyard.provider.") + kVaultExecutionProvider + ".memory_budget", "100");
  const auto session = LoadText(kTwoLayers, options);
  ASSERT_EQ(session->report().nodes.size(), 2u);
  const auto& second = session->report().nodes[1];
  EXPECT_EQ(session->report().nodes[0].provider, kVaultExecutionProvider);
  EXPECT_EQ(second.provider, kCpuExecutionProvider);
  ASSERT_FALSE(second.refusals.empty());
  EXPECT_EQ(second.refusals[0].second, "over budget: 64 bytes used of 100, this needs 64 more");
}

TEST(Binding, WhatCouldBeMadeInPlaceIsMadeInTheCallersMemory) {
  auto vault = std::make_shared<VaultProvider>();
  SessionOptions options;
  options.AppendExecutionProvider(vault);
  const auto session = LoadText(
      "opset 13\ngraph g (float[N,4] x) => (float[N,4] y) {\n a = Sigmoid(x)\n y = Relu(a)\n}",
      options);
  IOBinding binding(*session);
  binding.BindInput("x", session->CopyTo(Floats({2, 4}, 3), vault->device()));
  binding.BindOutput("y", vault->device());
  const std::uint64_t before = vault->traffic().copies();
  session->Run({}, binding);
  EXPECT_EQ(vault->traffic().copies(), before);
}

TEST(Binding, VaultMemoryIsUsedAsItIs) {
  auto vault = std::make_shared<VaultProvider>();
  SessionOptions options;
  options.AppendExecutionProvider(vault);
  const auto session = LoadText(kTwoLayers, options);
  Feeds feeds;
  feeds.Add("x", Floats({2, 4}, 3));
  const auto expected = RunAll(*session, feeds);
  EXPECT_EQ(session->counters().copies, 2u);

  IOBinding binding(*session);
  binding.BindInput("x", session->CopyTo(feeds.values[0], vault->device()));
  const std::int64_t dims[] = {2, 4};
  const Tensor target(DataType::kFloat, dims, session->allocator(vault->device()));
  binding.BindOutput("y", OrtValue(target));
  const std::uint64_t before = vault->traffic().copies();
  session->Run({}, binding);
  session->Run({}, binding);
  EXPECT_EQ(session->counters().copies, 2u);
  EXPECT_EQ(vault->traffic().copies(), before);
  const OrtValue result = session->CopyTo(binding.outputs()[0], OrtDevice());
  EXPECT_EQ(binding.outputs()[0].tensor().raw(), target.raw());
  EXPECT_EQ(Difference({result}, expected, 0, 0), "");

  // Allocated by each Run on the device.
  binding.BindOutput("y", vault->device());
  session->Run({}, binding);
  EXPECT_EQ(session->counters().copies, 2u);
  EXPECT_EQ(binding.outputs()[0].tensor().device(), vault->device());
  EXPECT_EQ(Difference({session->CopyTo(binding.outputs()[0], OrtDevice())}, expected, 0, 0), "");

  // And to the host again.
  EXPECT_EQ(Difference(RunAll(*session, feeds), expected, 0, 0), "");
  EXPECT_EQ(session->counters().copies, 4u);
}

TEST(Limit, ExhaustedVaultNamesTheFigures) {
  const auto session = LoadText(kTwoLayers, OptionsWith({"vault?memory_limit=4096", "cpu"}));
  Feeds large, small;
  large.Add("x", Floats({1000, 4}, 3));
  small.Add("x", Floats({2, 4}, 3));
  try {
    RunAll(*session, large);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRuntimeException);
    EXPECT_NE(error.message().find("the limit is 4096"), std::string::npos) << error.message();
  }
  EXPECT_EQ(RunAll(*session, small)[0].tensor().size(), 8);
}

}  // namespace
}  // namespace switchyard::test
