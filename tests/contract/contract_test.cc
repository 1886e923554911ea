// What the core may expect of every provider, asked through the base class only.

#include <gtest/gtest.h>

#include <thread>

#include "support/model_runs.h"
#include "switchyard/ep/provider_factory.h"
#include "switchyard/ir/text.h"

namespace switchyard::test {
namespace {

std::shared_ptr<IExecutionProvider> Make(const std::string& name) {
  if (name != "skeleton") return MakeProvider(name);
  static ProviderCatalog catalog;
  static const std::string loaded = catalog.LoadLibrary(SKELETON_MODULE);
  return catalog.Find(loaded)->create({}, {1, {}, Logger()});
}

SessionOptions Options(const std::string& name) {
  SessionOptions options;
  options.intra_op_num_threads = 2;
  options.AppendExecutionProvider(Make(name));
  return options;
}

class Contract : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<IExecutionProvider> provider_ = Make(GetParam());
};

TEST_P(Contract, HasATypeAndEffectiveOptions) {
  EXPECT_FALSE(provider_->Type().empty());
  EXPECT_EQ(provider_->GetProviderOptions(), Make(GetParam())->GetProviderOptions());
}

TEST_P(Contract, AllocatorsGiveAlignedBlocks) {
  const auto allocators = provider_->CreatePreferredAllocators();
  if (!provider_->device().is_host()) {
    ASSERT_FALSE(allocators.empty());
    EXPECT_EQ(allocators[0]->info().device, provider_->device());
  }
  for (const AllocatorPtr& allocator : allocators) {
    EXPECT_EQ(allocator->Alloc(0), nullptr);
    allocator->Free(nullptr);
    const std::int64_t before = allocator->Stats().bytes_in_use;
    std::vector<void*> blocks;
    for (std::size_t bytes : {1, 63, 64, 4097, 1 << 20}) {
      void* block = allocator->Alloc(bytes);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % allocator->info().alignment, 0u);
      for (void* other : blocks) EXPECT_NE(block, other);
      blocks.push_back(block);
    }
    for (void* block : blocks) allocator->Free(block);
    EXPECT_EQ(allocator->Stats().bytes_in_use, before);
  }
}

TEST_P(Contract, TransfersRoundTrip) {
  const auto transfer = provider_->GetDataTransfer();
  if (provider_->device().is_host()) {
    EXPECT_EQ(transfer, nullptr);
    return;
  }
  ASSERT_NE(transfer, nullptr);
  const OrtDevice host, own = provider_->device();
  const OrtDevice alien(static_cast<OrtDevice::DeviceType>(100), OrtDevice::kDefault, 3);
  EXPECT_TRUE(transfer->CanCopy(host, own));
  EXPECT_TRUE(transfer->CanCopy(own, host));
  EXPECT_TRUE(transfer->CanCopy(own, own));
  EXPECT_FALSE(transfer->CanCopy(alien, own));
  EXPECT_FALSE(transfer->CanCopy(own, alien));
  const AllocatorPtr allocator = provider_->CreatePreferredAllocators()[0];
  for (std::int64_t count : {0, 1, 3, 64, 4097}) {
    const std::int64_t dims[] = {count};
    const OrtValue source = Floats({count}, 11);
    Tensor first(DataType::kFloat, dims, allocator), second(DataType::kFloat, dims, allocator);
    Tensor back(DataType::kFloat, dims, MakeHostAllocator());
    transfer->Copy(source.tensor(), first, nullptr);
    transfer->Copy(first, second, nullptr);
    transfer->Copy(second, back, nullptr);
    EXPECT_EQ(Difference({OrtValue(back)}, {source}, 0, 0), "") << count;
  }
}

TEST_P(Contract, StreamsAreInOrder) {
  const auto stream = provider_->CreateStream();
  if (stream == nullptr) return;  // synchronous
  EXPECT_EQ(stream->device(), provider_->device());
  const auto event = stream->Record();
  ASSERT_NE(event, nullptr);
  event->HostWait();
  stream->Wait(*event);
  stream->Synchronize();
}

TEST_P(Contract, CopiesAreQueuedBehindOneAnother) {
  const auto stream = provider_->CreateStream(), other = provider_->CreateStream();
  const auto transfer = provider_->GetDataTransfer();
  if (stream == nullptr || transfer == nullptr) return;
  ASSERT_NE(other, nullptr);
  const AllocatorPtr allocator = provider_->CreatePreferredAllocators()[0];
  const std::int64_t dims[] = {4097};
  const OrtValue source = Floats({4097}, 12);
  Tensor first(DataType::kFloat, dims, allocator), second(DataType::kFloat, dims, allocator);
  Tensor back(DataType::kFloat, dims, MakeHostAllocator());
  transfer->Copy(source.tensor(), first, stream.get());
  transfer->Copy(first, second, stream.get());
  // Another queue goes on where the first one is at the mark.
  const auto mark = stream->Record();
  if (!other->Wait(*mark)) mark->HostWait();
  transfer->Copy(second, back, other.get());
  other->Synchronize();
  EXPECT_EQ(Difference({OrtValue(back)}, {source}, 0, 0), "");
  stream->Synchronize();
}

class HostEvent final : public Event {
 public:
  void HostWait() override { waited = true; }
  bool waited = false;
};

TEST_P(Contract, AStreamRefusesMarksOfOthers) {
  const auto stream = provider_->CreateStream();
  if (stream == nullptr) return;
  HostEvent event;
  if (stream->Wait(event)) {
    stream->Synchronize();
    EXPECT_TRUE(event.waited) << "it said that it waits";
  }
}

class RegistryLookup final : public IKernelLookup {
 public:
  explicit RegistryLookup(std::shared_ptr<KernelRegistry> registry)
      : registry_(std::move(registry)) {}
  const KernelCreateInfo* LookUpKernel(const Node& node) const override {
    std::string reason = "no kernels";
    const KernelCreateInfo* info = registry_ ? registry_->Find(node, &reason) : nullptr;
    if (info == nullptr) Decline(node, reason);
    return info;
  }
  void Decline(const Node& node, std::string reason) const override {
    declined[node.OpType()] = std::move(reason);
  }
  mutable std::map<std::string, std::string> declined;

 private:
  std::shared_ptr<KernelRegistry> registry_;
};

class NoOptimizers final : public GraphOptimizerRegistry {
 public:
  const Pass* Find(std::string_view) const override { return nullptr; }
  std::vector<std::string_view> names() const override { return {}; }
};

constexpr const char* kMixed = R"(opset 13
opset test.unknown 1
graph mixed (float[2,3] x) => (float[2,3] y) {
  float[2,3] a = Abs(x)
  float[2,3] b = test.unknown.Mystery(a)
  float[2,3] c = Abs(b)
  float[2,3] y = Abs(c)
})";

TEST_P(Contract, ClaimsOnlyWhatItCanRunAndSaysWhyNot) {
  const auto graph = ParseGraph(kMixed);
  const GraphViewer viewer(*graph);
  const RegistryLookup lookup(provider_->GetKernelRegistry());
  const auto claims = provider_->GetCapability(viewer, lookup, NoOptimizers(), nullptr);
  std::set<NodeIndex> taken;
  for (const auto& claim : claims) {
    ASSERT_TRUE(claim && claim->sub_graph);
    EXPECT_TRUE(claim->sub_graph->nodes.size() == 1 || claim->sub_graph->GetMetaDef() != nullptr);
    for (NodeIndex index : claim->sub_graph->nodes) {
      ASSERT_NE(viewer.GetNode(index), nullptr);
      EXPECT_EQ(viewer.GetNode(index)->OpType(), "Abs");
      EXPECT_TRUE(taken.insert(index).second) << "claimed twice";
    }
  }
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_FALSE(lookup.declined["Mystery"].empty());
}

struct Small {
  const char* text;
  std::vector<std::int64_t> dims;
};
const Small kSmall[] = {
    {"opset 13\ngraph g (float[N,M] x) => (float[N,M] y) { y = Abs(x) }", {3, 5}},
    {"opset 13\ngraph g (float[N,M] x) => (float[N,M] y) { y = Abs(x) }", {0, 5}},
    {"opset 13\ngraph g (float[N,M] x) => (float[M,N] y) { y = Transpose<perm=[1, 0]>(x) }",
     {4, 7}},
    {"opset 13\ngraph g (float[N,4] x) => (float[N,4] y) {\n float[4,4] w = fill(0.5)\n"
     " y = MatMul(x, w) }",
     {6, 4}},
    {"opset 13\ngraph g (float[N,8] x) => (float[N,8] y) { y = Softmax<axis=-1>(x) }", {5, 8}},
    {"opset 13\ngraph g (float[N,6] x) => (float[?,3] y) {\n int64[2] s = {-1, 3}\n"
     " y = Reshape(x, s) }",
     {4, 6}},
    {"opset 13\ngraph g (float[N] x) => (int64[1,?] y) { y = NonZero(x) }", {9}},
    {"opset 13\ngraph g (float[N,3] x) => (float[?,3] y) {\n t = Shape(x)\n"
     " a = Abs(x)\n z = ConstantOfShape(t)\n y = Concat<axis=0>(a, z) }",
     {2, 3}},
};

TEST_P(Contract, KernelsGiveWhatTheCpuGives) {
  for (const Small& small : kSmall) {
    Feeds feeds;
    feeds.Add("x", Floats(small.dims, 21));
    const auto alone = RunAll(*LoadText(small.text, OptionsWith({"cpu"})), feeds);
    const auto session = LoadText(small.text, Options(GetParam()));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 1e-6, 1e-6), "") << small.text;
    }
  }
}

constexpr const char* kChain = R"(opset 13
graph chain (float[N,16] x) => (float[N,16] y) {
  float[16,16] w = fill(0.25)
  a = Abs(x)
  h = MatMul(a, w)
  s = Sigmoid(h)
  y = Add(s, a)
})";

TEST_P(Contract, RunsConcurrently) {
  const auto session = LoadText(kChain, Options(GetParam()));
  std::vector<Feeds> feeds(4);
  std::vector<std::vector<OrtValue>> expected;
  for (unsigned t = 0; t < feeds.size(); ++t) {
    feeds[t].Add("x", Floats({static_cast<std::int64_t>(3 + t), 16}, t));
    expected.push_back(RunAll(*LoadText(kChain, OptionsWith({"cpu"})), feeds[t]));
  }
  std::vector<std::string> problems(feeds.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < feeds.size(); ++t) {
    threads.emplace_back([&, t] {
      try {
        for (int i = 0; i < 25 && problems[t].empty(); ++i) {
          problems[t] = Difference(RunAll(*session, feeds[t]), expected[t], 1e-5, 1e-5);
        }
      } catch (const std::exception& error) {
        problems[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

TEST_P(Contract, ServesSeveralSessions) {
  SessionOptions options = Options(GetParam());
  Feeds feeds;
  feeds.Add("x", Floats({2, 16}, 5));
  auto first = LoadText(kChain, options);
  const auto second = LoadText(kChain, options);
  const auto expected = RunAll(*first, feeds);
  first.reset();
  EXPECT_EQ(Difference(RunAll(*second, feeds), expected, 0, 0), "");
}

TEST_P(Contract, ATerminatedRunLeavesTheSessionUsable) {
  const auto session = LoadText(kChain, Options(GetParam()));
  Feeds feeds;
  feeds.Add("x", Floats({2, 16}, 5));
  RunOptions stopped;
  stopped.SetTerminate();
  try {
    session->Run(stopped, feeds.names, feeds.values, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFail);
    EXPECT_NE(error.message().find("terminated"), std::string::npos);
  }
  EXPECT_EQ(RunAll(*session, feeds).size(), 1u);
}

TEST(ProviderModule, OfAnotherVersionIsRefusedBeforeItFillsAnythingIn) {
  ProviderCatalog catalog;
  try {
    catalog.LoadLibrary(OTHER_STAMP_MODULE);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFail);
    EXPECT_NE(error.message().find("switchyard 99.0.0 c++abi 1"), std::string::npos);
    EXPECT_NE(error.message().find(AbiStamp()), std::string::npos);
  }
  EXPECT_TRUE(catalog.all().empty());
}

std::vector<std::string> ProviderNames() {
  std::vector<std::string> names = {"cpu",           "vault",    "vault?device_id=1",
                                    "vault?async=1", "compiler", "skeleton"};
  const std::string modules = PROVIDER_MODULES;
  for (std::size_t at = 0; at < modules.size();) {
    const std::size_t end = std::min(modules.find(',', at), modules.size());
    names.push_back(modules.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Providers, Contract, testing::ValuesIn(ProviderNames()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace switchyard::test
