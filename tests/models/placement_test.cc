// Real models over lists of providers: results equal to those of the CPU alone, and as many copies
// between memory spaces per Run as the case says.

#include <gtest/gtest.h>

#include "support/model_runs.h"

namespace switchyard::test {
namespace {

struct Case {
  const char* name;
  const char* model;
  std::vector<std::string> providers;
  std::uint64_t copies;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class Placement : public testing::TestWithParam<Case> {};

TEST_P(Placement, EqualsTheCpuAndCopiesAsWritten) {
  const Case& test = GetParam();
  const std::string path = ModelPath(test.model);
  const Feeds feeds = ModelFeeds(test.model);
  const auto alone = RunAll(*Load(path, OptionsWith({"cpu"})), feeds);
  const auto session = Load(path, OptionsWith(test.providers));
  EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 1e-4, 1e-3), "");
  EXPECT_EQ(session->counters().copies, test.copies) << session->Explain(false);
  // The second Run is bound already and must do the same.
  EXPECT_EQ(Difference(RunAll(*session, feeds), alone, 1e-4, 1e-3), "");
  EXPECT_EQ(session->counters().copies, 2 * test.copies);
}

const Case kCases[] = {
    {"FastestDetVault", "fastestdet", {"vault", "cpu"}, 2},
    {"FastestDetQueues", "fastestdet", {"vault?async=1", "cpu"}, 2},
    {"FastestDetTwoQueues",
     "fastestdet",
     {"vault?async=1&ops=Conv,Relu", "vault?device_id=1&async=1", "cpu"},
     49},
    {"BertQueuesAndHost", "bert_mlm", {"vault?async=1&ops=MatMul,Gemm,Add", "compiler", "cpu"}, 46},
    {"SileroQueues", "silero_vad", {"vault?async=1&ops=Conv,LSTM", "compiler", "cpu"}, 17},
    {"FastestDetCompiler", "fastestdet", {"compiler", "cpu"}, 0},
    {"FastestDetVaultCompiler", "fastestdet", {"vault?ops=Conv,Relu", "compiler", "cpu"}, 48},
    {"FastestDetTwoVaults", "fastestdet", {"vault?ops=Conv,Relu", "vault?device_id=1", "cpu"}, 49},
    {"BertVault", "bert_mlm", {"vault", "cpu"}, 4},
    {"BertCompiler", "bert_mlm", {"compiler", "cpu"}, 0},
    {"BertVaultCompiler", "bert_mlm", {"vault?ops=MatMul,Gemm,Add", "compiler", "cpu"}, 46},
    {"BertTwoVaults", "bert_mlm", {"vault?ops=MatMul,Gemm,Add", "vault?device_id=1", "cpu"}, 47},
    // The branch for 16 kHz: three inputs, two outputs, the rate's test, and what the conditions of
    // two nested branches read and yield.
    {"SileroVault", "silero_vad", {"vault", "cpu"}, 11},
    {"SileroCompiler", "silero_vad", {"compiler", "cpu"}, 0},
    {"SileroVaultCompiler", "silero_vad", {"vault?ops=Conv,LSTM", "compiler", "cpu"}, 17},
    {"SileroTwoVaults", "silero_vad", {"vault?ops=Conv,LSTM", "vault?device_id=1", "cpu"}, 28},
    {"RecognitionVault", "ppocr_rec", {"vault", "cpu"}, 2},
    {"RecognitionCompiler", "ppocr_rec", {"compiler", "cpu"}, 0},
    {"RecognitionVaultCompiler", "ppocr_rec", {"vault?ops=Conv,MatMul", "compiler", "cpu"}, 104},
    {"RecognitionTwoVaults",
     "ppocr_rec",
     {"vault?ops=Conv,MatMul", "vault?device_id=1", "cpu"},
     105},
};

INSTANTIATE_TEST_SUITE_P(Models, Placement, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace switchyard::test
