// OnRunStart and OnRunEnd come in pairs, whatever fails, and the first error is the one reported.

#include <gtest/gtest.h>

#include "support/model_runs.h"
#include "support/vault_provider/vault_provider.h"

namespace switchyard::test {
namespace {

// Claims nothing; counts, and fails where it is told to.
class Witness final : public IExecutionProvider {
 public:
  explicit Witness(const std::string& type) : IExecutionProvider(type) {}
  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override {
    return std::make_shared<KernelRegistry>();
  }
  void OnRunStart(const RunOptions&) override {
    if (fail_start) throw Error(ErrorCode::kEpFail, Type() + " does not start");
    ++starts;
  }
  void OnRunEnd(bool, const RunOptions&) override {
    ++ends;
    if (fail_end) throw Error(ErrorCode::kEpFail, Type() + " does not end");
  }
  bool fail_start = false, fail_end = false;
  int starts = 0, ends = 0;
};

constexpr const char* kGather = R"(opset 13
graph gather (float[4] x, int64[1] i) => (float[1] y) { y = Gather(x, i) })";

struct Bench {
  Bench() {
    SessionOptions options;
    for (const auto& witness : witnesses) options.AppendExecutionProvider(witness);
    options.AppendExecutionProvider(vault);
    session = LoadText(kGather, options);
  }
  std::string Run(std::int64_t index) {
    Feeds feeds;
    feeds.Add("x", Floats({4}, 1));
    feeds.Add("i", Filled({1}, index));
    try {
      RunAll(*session, feeds);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }
  std::shared_ptr<Witness> witnesses[2] = {std::make_shared<Witness>("First"),
                                           std::make_shared<Witness>("Second")};
  std::shared_ptr<VaultProvider> vault = std::make_shared<VaultProvider>();
  std::unique_ptr<InferenceSession> session;
};

TEST(RunPairing, InGoodRunsAndBad) {
  Bench bench;
  EXPECT_EQ(bench.Run(2), "");
  EXPECT_NE(bench.Run(9), "");  // the index is out of range
  EXPECT_EQ(bench.Run(3), "");
  for (const auto& witness : bench.witnesses) {
    EXPECT_EQ(witness->starts, 3);
    EXPECT_EQ(witness->ends, 3);
  }
  EXPECT_EQ(bench.vault->run_starts(), 3u);
  EXPECT_EQ(bench.vault->run_ends(), 3u);
}

TEST(RunPairing, OnlyThoseThatStartedEnd) {
  Bench bench;
  bench.witnesses[1]->fail_start = true;
  EXPECT_EQ(bench.Run(2), "Second does not start");
  EXPECT_EQ(bench.witnesses[0]->ends, 1);
  EXPECT_EQ(bench.witnesses[1]->ends, 0);
  EXPECT_EQ(bench.vault->run_starts(), 0u);
  EXPECT_EQ(bench.vault->run_ends(), 0u);
}

TEST(RunPairing, TheFirstErrorIsReported) {
  Bench bench;
  bench.witnesses[0]->fail_end = true;
  EXPECT_EQ(bench.Run(2), "First does not end");
  const std::string error = bench.Run(9);
  EXPECT_EQ(error.find("does not end"), std::string::npos) << error;
  EXPECT_EQ(bench.witnesses[1]->ends, 2);
  bench.witnesses[0]->fail_end = false;
  EXPECT_EQ(bench.Run(2), "");
}

TEST(Lists, TheSecondOfATypeIsNumberedAndTheSameTwiceRefused) {
  SessionOptions options = OptionsWith({"vault", "vault?device_id=1"});
  const auto session = LoadText(kGather, options);
  EXPECT_EQ(session->providers()[1], "VaultExecutionProvider:1");
  const auto same = std::make_shared<VaultProvider>();
  SessionOptions twice;
  twice.AppendExecutionProvider(same);
  twice.AppendExecutionProvider(same);
  EXPECT_THROW(LoadText(kGather, twice), Error);
}

TEST(Limits, AVaultNamesItsFigures) {
  VaultProvider vault(ProviderOptions{{"memory_limit", "1000"}});
  const AllocatorPtr allocator = vault.CreatePreferredAllocators()[0];
  void* block = allocator->Alloc(600);
  try {
    allocator->Alloc(500);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRuntimeException);
    EXPECT_NE(error.message().find("500 bytes asked for, 600 in use, the limit is 1000"),
              std::string::npos);
  }
  allocator->Free(block);
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
  EXPECT_THROW(VaultProvider(ProviderOptions{{"memory_limit", "much"}}), Error);
  EXPECT_THROW(VaultProvider(ProviderOptions{{"memory", "1"}}), Error);
}

}  // namespace
}  // namespace switchyard::test
