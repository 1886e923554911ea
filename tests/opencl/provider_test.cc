// What the OpenCL provider promises beside the contract: memory, queues, programs, options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "providers/opencl/kernel.h"
#include "support/model_runs.h"
#include "switchyard/session/io_binding.h"
#include "switchyard/session/provider_names.h"

namespace switchyard::test {
namespace {

using opencl::OpenClProvider;
using opencl::ParseOptions;
using testing::HasSubstr;

std::shared_ptr<OpenClProvider> Provider(const ProviderOptions& options = {}) {
  return std::make_shared<OpenClProvider>(ParseOptions(options));
}

SessionOptions With(std::shared_ptr<IExecutionProvider> provider) {
  SessionOptions options;
  options.intra_op_num_threads = 1;
  options.AppendExecutionProvider(std::move(provider));
  return options;
}

template <typename Body>
std::string ErrorOf(ErrorCode code, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  return "";
}

constexpr const char* kChain = R"(opset 13
graph chain (float[N,16] x) => (float[N,16] y) {
  float[16,16] w = fill(0.25)
  a = Abs(x)
  h = MatMul(a, w)
  s = Sigmoid(h)
  r = Relu(s)
  y = Add(r, a)
})";

TEST(Options, UnknownOnesNameTheKnownOnes) {
  const auto error_of = [](const ProviderOptions& options) {
    return ErrorOf(ErrorCode::kInvalidArgument, [&] { Provider(options); });
  };
  const std::string unknown = error_of({{"device", "0"}});
  EXPECT_THAT(unknown, HasSubstr("unknown option 'device'"));
  EXPECT_THAT(unknown, HasSubstr("platform, device_id, mem_limit, arena_extend_strategy, "
                                 "cache_dir, profile"));
  EXPECT_THAT(error_of({{"platform", "nobody's"}}), HasSubstr("there are: platform 0 '"));
  EXPECT_THAT(error_of({{"device_id", "99"}}), HasSubstr("device_id 99 of"));
  EXPECT_THAT(error_of({{"device_id", "-1"}}), HasSubstr("whole number"));
  EXPECT_THAT(error_of({{"mem_limit", "1GB"}}), HasSubstr("whole number, got '1GB'"));
  EXPECT_THAT(error_of({{"arena_extend_strategy", "x"}}), HasSubstr("kSameAsRequested"));
  EXPECT_THAT(error_of({{"profile", "yes"}}), HasSubstr("0 or 1"));
}

TEST(Options, EffectiveOnesMakeTheSameAgain) {
  const auto first = Provider({{"mem_limit", "1000000"}, {"profile", "1"}});
  const auto second = Provider(first->GetProviderOptions());
  EXPECT_EQ(first->GetProviderOptions(), second->GetProviderOptions());
  EXPECT_EQ(first->device(), second->device());
}

TEST(Memory, AddressesAreBufferAndOffset) {
  const auto provider = Provider();
  const AllocatorPtr arena = provider->CreatePreferredAllocators()[0];
  auto* block = static_cast<std::byte*>(arena->Alloc(1000));
  const opencl::AddressSpace& addresses = provider->context().addresses();
  const opencl::Place start = addresses.Find(block, 1000), inside = addresses.Find(block + 40, 8);
  EXPECT_EQ(start.buffer, inside.buffer);
  EXPECT_EQ(inside.offset, start.offset + 40);
  EXPECT_THAT(ErrorOf(ErrorCode::kEpFail, [&] { addresses.Find(&provider, 4); }),
              HasSubstr("not in the device's memory"));
  arena->Free(block);
}

// As a load or store of this process would find out.
TEST(Memory, TheHostCantLookAtIt) {
  const auto provider = Provider();
  const AllocatorPtr arena = provider->CreatePreferredAllocators()[0];
  void* block = arena->Alloc(1000);
  char byte = 0;
  const iovec to{&byte, 1}, from{block, 1};
  EXPECT_EQ(process_vm_readv(getpid(), &to, 1, &from, 1, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  arena->Free(block);
}

TEST(Memory, TheArenaReusesJoinsAndObeysItsLimit) {
  const auto provider = Provider({{"mem_limit", "4194304"}});
  const AllocatorPtr arena = provider->CreatePreferredAllocators()[0];
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(arena->Alloc(std::size_t{1} << 18));
  for (void* block : {blocks[1], blocks[3], blocks[0], blocks[2]}) arena->Free(block);
  EXPECT_EQ(arena->Stats().bytes_in_use, 0);
  void* whole = arena->Alloc(std::size_t{1} << 20);
  EXPECT_EQ(whole, blocks[0]);
  const std::string error =
      ErrorOf(ErrorCode::kRuntimeException, [&] { arena->Alloc(std::size_t{4} << 20); });
  EXPECT_THAT(error, HasSubstr("4194304 bytes asked for, 1048576 in use"));
  EXPECT_THAT(error, HasSubstr("mem_limit"));
  arena->Free(whole);
  arena->Free(arena->Alloc(std::size_t{4} << 20));  // what was free made room
}

TEST(Memory, ALimitFailsTheSessionNotTheProcess) {
  const std::string error = ErrorOf(ErrorCode::kRuntimeException, [] {
    LoadText(
        "opset 13\ngraph g (float[4,512] x) => (float[4,512] y) {\n float[512,512] w = "
        "fill(0.5)\n y = MatMul(x, w) }",
        With(Provider({{"mem_limit", "65536"}})));
  });
  EXPECT_THAT(error, HasSubstr("mem_limit"));
}

TEST(Runs, AreQueuedAndWaitedForOnce) {
  const auto provider = Provider();
  const auto session = LoadText(kChain, With(provider));
  Feeds feeds;
  feeds.Add("x", Floats({8, 16}, 1));
  RunAll(*session, feeds);
  const opencl::DeviceCounters& counters = provider->context().counters();
  const std::uint64_t launches = counters.launches, waits = counters.host_waits,
                      copies = counters.copies;
  for (int i = 0; i < 5; ++i) RunAll(*session, feeds);
  EXPECT_EQ(counters.launches - launches, 5u * 5u);
  EXPECT_EQ(counters.host_waits - waits, 5u);
  EXPECT_EQ(counters.copies - copies, 5u * 2u);
}

TEST(Runs, ProfilesKernels) {
  const auto provider = Provider({{"profile", "1"}});
  const auto stream = provider->CreateStream();
  EXPECT_TRUE(static_cast<opencl::ClStream&>(*stream).profiles());
  const auto session = LoadText(kChain, With(provider));
  Feeds feeds;
  feeds.Add("x", Floats({8, 16}, 1));
  EXPECT_EQ(RunAll(*session, feeds).size(), 1u);
}

TEST(Runs, FromFourThreads) {
  const auto session = LoadText(kChain, With(Provider()));
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      try {
        Feeds feeds;
        feeds.Add("x", Floats({static_cast<std::int64_t>(5 + 7 * t), 16}, t));
        const auto expected = RunAll(*LoadText(kChain, OptionsWith({"cpu"})), feeds);
        for (int i = 0; i < 30 && problems[t].empty(); ++i)
          problems[t] = Difference(RunAll(*session, feeds), expected, 1e-5, 1e-5);
      } catch (const std::exception& error) {
        problems[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(problems, testing::Each(""));
}

std::size_t ResidentPages() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident;
}

TEST(Sessions, TwoHundredLeaveNothingBehind) {
  Feeds feeds;
  feeds.Add("x", Floats({4, 16}, 1));
  std::size_t ranges = 0, pages = 0;
  for (int i = 0; i < 200; ++i) {
    const auto provider = Provider();
    {
      const auto session = LoadText(kChain, With(provider));
      RunAll(*session, feeds);
    }
    if (i == 99) {
      ranges = provider->context().addresses().size();
      pages = ResidentPages();
    }
    if (i == 199) {
      EXPECT_EQ(provider->context().addresses().size(), ranges);
    }
  }
  EXPECT_LT(ResidentPages(), pages + 4096);  // 16 MiB
}

TEST(Binding, OutputsStayOnTheDevice) {
  const auto provider = Provider();
  const auto session = LoadText(kChain, With(provider));
  Feeds feeds;
  feeds.Add("x", Floats({8, 16}, 1));
  const auto expected = RunAll(*session, feeds);
  IOBinding binding(*session);
  binding.BindInput("x", session->CopyTo(feeds.values[0], provider->device()));
  binding.BindOutput("y", provider->device());
  const std::uint64_t copies = session->counters().copies;
  session->Run({}, binding);
  EXPECT_EQ(session->counters().copies, copies);
  const OrtValue& y = binding.outputs()[0];
  EXPECT_EQ(y.tensor().device(), provider->device());
  EXPECT_EQ(Difference({session->CopyTo(y, OrtDevice())}, expected, 0, 0), "");
}

TEST(Binding, TakesABufferOfTheCallers) {
  const auto provider = Provider();
  const auto session = LoadText(kChain, With(provider));
  Feeds feeds;
  feeds.Add("x", Floats({8, 16}, 1));
  const auto expected = RunAll(*session, feeds);
  const opencl::Api& cl = opencl::Cl();
  cl_int status = CL_SUCCESS;
  cl_mem buffer = cl.clCreateBuffer(provider->context().context(), CL_MEM_READ_WRITE, 8 * 16 * 4,
                                    nullptr, &status);
  ASSERT_EQ(status, CL_SUCCESS);
  const std::int64_t dims[] = {8, 16}, too_many[] = {8, 17};
  IOBinding binding(*session);
  binding.BindInput("x", feeds.values[0]);
  binding.BindOutput("y", Tensor(DataType::kFloat, dims, buffer, provider->device()));
  session->Run({}, binding);
  const OrtValue window(Tensor(DataType::kFloat, dims, buffer, provider->device()));
  EXPECT_EQ(Difference({session->CopyTo(window, OrtDevice())}, expected, 0, 0), "");
  const OrtValue large(Tensor(DataType::kFloat, too_many, buffer, provider->device()));
  EXPECT_THAT(ErrorOf(ErrorCode::kEpFail, [&] { session->CopyTo(large, OrtDevice()); }),
              HasSubstr("not in the device's memory"));
  cl.clReleaseMemObject(buffer);
}

TEST(Programs, AreKeptOnDiskAndRebuiltWhenDamaged) {
  const char* folder = std::getenv("SWITCHYARD_TEST_FOLDER");
  const std::string cache =
      std::string(folder != nullptr ? folder : ".") + "/programs_" + std::to_string(getpid());
  const auto provider = Provider();
  opencl::DeviceContext& context = provider->context();
  const std::string source = "__kernel void answer(__global int* y) { y[0] = 42; }";
  const auto counts = [&] {
    return std::pair(context.counters().programs_built.load(),
                     context.counters().programs_loaded.load());
  };
  const auto ask = [&] { opencl::ProgramStore(context).Get(source, "-cl-std=CL1.2", cache); };
  const auto before = counts();
  ask();
  EXPECT_EQ(counts(), std::pair(before.first + 1, before.second));
  ask();
  EXPECT_EQ(counts(), std::pair(before.first + 1, before.second + 1));
  for (const auto& file : std::filesystem::directory_iterator(cache)) {
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-20, std::ios::end);
    stream << "damage";
  }
  ask();
  EXPECT_EQ(counts(), std::pair(before.first + 2, before.second + 1));
  ask();
  EXPECT_EQ(counts(), std::pair(before.first + 2, before.second + 2));
  std::filesystem::remove_all(cache);
}

TEST(Programs, AFaultyOneShowsTheBuildLog) {
  const auto provider = Provider();
  const std::string error = ErrorOf(ErrorCode::kEpFail, [&] {
    provider->context().programs().Get("__kernel void broken(__global int* y) { y[0] = nothing; }",
                                       "-cl-std=CL1.2", "");
  });
  EXPECT_THAT(error, HasSubstr("CL_BUILD_PROGRAM_FAILURE"));
  EXPECT_THAT(error, HasSubstr("nothing"));
}

TEST(NoPlatform, TheReasonIsToldAndTheCpuTakesOver) {
  const auto environment = std::make_shared<Environment>();
  SessionOptions options;
  const NamedProvider wanted[] = {{opencl::kName, {}}};
  const auto warnings = AppendProvidersByName(environment->providers(), wanted, options);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("no platform offers a device"));
  EXPECT_THAT(warnings[0], HasSubstr("CPUExecutionProvider takes over"));
  Feeds feeds;
  feeds.Add("x", Floats({4, 16}, 1));
  EXPECT_EQ(RunAll(*LoadText(kChain, options), feeds).size(), 1u);
  EXPECT_TRUE(environment->providers().Find(opencl::kName)->devices().empty());
  EXPECT_THAT(ErrorOf(ErrorCode::kFail, [] { Provider(); }), HasSubstr("no platform"));
}

}  // namespace
}  // namespace switchyard::test
