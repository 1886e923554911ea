// Whole models over [OpenCL, CPU] give the CPU's results.

#include <gtest/gtest.h>

#include "providers/opencl/provider.h"
#include "switchyard/session/session_report.h"
#include "support/model_runs.h"

namespace switchyard::test {
namespace {

class Models : public testing::TestWithParam<const char*> {};

TEST_P(Models, GiveWhatTheCpuGives) {
  const char* folder = std::getenv("SWITCHYARD_TEST_FOLDER");
  ProviderOptions given;
  if (folder != nullptr) given["cache_dir"] = std::string(folder) + "/programs";
  const auto provider = std::make_shared<opencl::OpenClProvider>(opencl::ParseOptions(given));
  SessionOptions options;
  options.intra_op_num_threads = 1;
  options.AppendExecutionProvider(provider);
  const Feeds feeds = ModelFeeds(GetParam());
  const auto expected = RunAll(*Load(ModelPath(GetParam()), OptionsWith({"cpu"})), feeds);
  const auto session = Load(ModelPath(GetParam()), options);
  std::size_t on_device = 0, elsewhere = 0;
  for (const auto& row : session->report().nodes)
    ++(row.provider == opencl::kName ? on_device : elsewhere);
  EXPECT_GT(on_device, elsewhere) << session->Explain(false);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Difference(RunAll(*session, feeds), expected, 2e-4, 1e-3), "");
}

INSTANTIATE_TEST_SUITE_P(Shipped, Models, testing::Values("fastestdet", "bert_mlm", "ppocr_rec"));

}  // namespace
}  // namespace switchyard::test
