#include "switchyard/base/inline_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "switchyard/base/cpu_features.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

using Small = InlineVector<std::int64_t, 4>;

TEST(InlineVector, BehavesAsAVector) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Small ours;
    std::vector<std::int64_t> theirs;
    for (int step = 0; step < 40; ++step) {
      const auto value = static_cast<std::int64_t>(random() % 1000);
      const std::size_t at = theirs.empty() ? 0 : random() % theirs.size();
      switch (random() % 5) {
        case 0:
        case 1:
          ours.push_back(value);
          theirs.push_back(value);
          break;
        case 2:
          ours.insert(ours.begin() + at, value);
          theirs.insert(theirs.begin() + static_cast<std::ptrdiff_t>(at), value);
          break;
        case 3:
          if (theirs.empty()) break;
          ours.erase(ours.begin() + at);
          theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          ours.resize(at + 2, value);
          theirs.resize(at + 2, value);
      }
      ASSERT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()));
    }
    Small copy = ours;
    EXPECT_EQ(copy, ours);
    Small moved = std::move(copy);
    EXPECT_EQ(moved, ours);
    EXPECT_TRUE(copy.empty());  // NOLINT: a moved-from vector is empty by contract
    copy.push_back(1);
    EXPECT_EQ(copy.size(), 1u);
    moved = Small{9};
    EXPECT_EQ(moved, Small{9});
  }
}

TEST(InlineVector, ItsOwnElementMayBeGivenBack) {
  Small values = {1, 2, 3, 4};
  values.push_back(values[0]);
  EXPECT_EQ(values.back(), 1);
  values.insert(values.begin(), values[1]);
  EXPECT_EQ(values[0], 2);
  const Small& self = values;
  values = self;
  EXPECT_EQ(values.size(), 6u);
}

TEST(Error, CodesHaveTheirNames) {
  const std::pair<ErrorCode, const char*> names[] = {
      {ErrorCode::kFail, "Fail"},
      {ErrorCode::kInvalidArgument, "InvalidArgument"},
      {ErrorCode::kNoSuchFile, "NoSuchFile"},
      {ErrorCode::kNoModel, "NoModel"},
      {ErrorCode::kEngineError, "EngineError"},
      {ErrorCode::kRuntimeException, "RuntimeException"},
      {ErrorCode::kInvalidProtobuf, "InvalidProtobuf"},
      {ErrorCode::kModelLoaded, "ModelLoaded"},
      {ErrorCode::kNotImplemented, "NotImplemented"},
      {ErrorCode::kInvalidGraph, "InvalidGraph"},
      {ErrorCode::kEpFail, "EPFail"},
  };
  for (const auto& [code, name] : names) EXPECT_EQ(ErrorCodeName(code), name);
  const Error error(ErrorCode::kEpFail, "inner");
  EXPECT_EQ(error.WithContext("outer").message(), "outer: inner");
  EXPECT_EQ(error.WithContext("outer").code(), ErrorCode::kEpFail);
  EXPECT_STREQ(error.what(), "inner");
}

TEST(Error, ABrokenInvariantIsAnEngineError) {
  try {
    SY_CHECK(1 + 1 == 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEngineError);
    EXPECT_NE(error.message().find("1 + 1 == 3"), std::string::npos);
  }
}

TEST(CpuFeatures, LevelsIncludeOneAnother) {
  const CpuFeatures& cpu = DetectCpuFeatures();
  EXPECT_EQ(&cpu, &DetectCpuFeatures());
  EXPECT_GE(cpu.physical_cores, 1);
  EXPECT_TRUE(cpu.avx2 || !cpu.avx512);
  EXPECT_TRUE(cpu.avx512 || (!cpu.avx512_vnni && !cpu.avx512_bf16));
}

}  // namespace
}  // namespace switchyard
