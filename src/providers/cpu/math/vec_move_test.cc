#include "providers/cpu/math/vec_move.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

// Bytes that differ from element to element.
std::vector<uint8_t> Pattern(int64_t elements, int bytes) {
  std::vector<uint8_t> v(static_cast<size_t>(elements * bytes));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<uint8_t>(i * 131 + (i >> 8) * 17);
  return v;
}

void CheckTranspose(const std::vector<int64_t>& dims, const std::vector<int64_t>& perm, int bytes,
                    std::mt19937& rng) {
  const size_t rank = dims.size();
  std::vector<int64_t> stride(rank), out(rank);
  int64_t size = 1;
  for (size_t i = rank; i-- > 0;) stride[i] = size, size *= dims[i];
  const auto src = Pattern(size, bytes);
  std::vector<uint8_t> want(src.size());
  for (size_t i = 0; i < rank; ++i) out[i] = dims[static_cast<size_t>(perm[i])];
  for (int64_t o = 0; o < size; ++o) {
    int64_t rest = o, from = 0;
    for (size_t i = rank; i-- > 0;) {
      from += rest % out[i] * stride[static_cast<size_t>(perm[i])];
      rest /= out[i];
    }
    std::memcpy(&want[o * bytes], &src[from * bytes], static_cast<size_t>(bytes));
  }
  CopyPlan plan;
  ASSERT_TRUE(MakeTransposePlan(dims, perm, bytes, &plan));
  for (IsaLevel level : TestLevels()) {
    std::vector<uint8_t> got(src.size(), 0xee);
    const int64_t cut = static_cast<int64_t>(rng()) % (plan.units + 1);
    RunCopy(plan, level, src.data(), got.data(), cut, plan.units);
    RunCopy(plan, level, src.data(), got.data(), 0, cut);
    ASSERT_EQ(got, want) << bytes << " bytes";
  }
}

TEST(VecMove, TransposesOfAnyShape) {
  std::mt19937 rng(6);
  for (int bytes : {1, 2, 4, 8, 16}) {
    for (int64_t n = 1; n < 68; n += 3) CheckTranspose({n, 67 - n + 1, 3}, {1, 0, 2}, bytes, rng);
    for (int64_t n = 1; n < 68; ++n) CheckTranspose({n, 70 - n}, {1, 0}, bytes, rng);
    CheckTranspose({2, 130, 77}, {0, 2, 1}, bytes, rng);
    for (int round = 0; round < 60; ++round) {
      const size_t rank = 1 + rng() % 5;
      std::vector<int64_t> dims(rank), perm(rank);
      for (int64_t& d : dims) d = 1 + static_cast<int64_t>(rng() % 12);
      std::iota(perm.begin(), perm.end(), 0);
      std::shuffle(perm.begin(), perm.end(), rng);
      CheckTranspose(dims, perm, bytes, rng);
    }
  }
}

TEST(VecMove, SlicesBackwardsTilesAndFills) {
  const int32_t src[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int32_t dst[12] = {};
  CopyPlan plan;
  // src[::-1, ::2] of a 3 x 4 matrix
  const int64_t dims[2] = {3, 2}, from[2] = {-4, 2}, to[2] = {2, 1};
  ASSERT_TRUE(MakeCopyPlan(dims, from, to, 4, &plan));
  RunCopy(plan, IsaLevel::kBaseline, src + 8, dst, 0, plan.units);
  EXPECT_EQ(std::vector<int32_t>(dst, dst + 6), (std::vector<int32_t>{8, 10, 4, 6, 0, 2}));
  // tile (2 x) of three elements
  const int64_t td[2] = {2, 3}, ts[2] = {0, 1}, tt[2] = {3, 1};
  ASSERT_TRUE(MakeCopyPlan(td, ts, tt, 4, &plan));
  RunCopy(plan, IsaLevel::kBaseline, src, dst, 0, plan.units);
  EXPECT_EQ(std::vector<int32_t>(dst, dst + 6), (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  // each of three elements four times
  const int64_t fd[2] = {3, 4}, fs[2] = {1, 0}, ft[2] = {4, 1};
  ASSERT_TRUE(MakeCopyPlan(fd, fs, ft, 4, &plan));
  RunCopy(plan, IsaLevel::kBaseline, src, dst, 0, plan.units);
  EXPECT_EQ(std::vector<int32_t>(dst, dst + 8), (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  const int64_t none[2] = {3, 0};
  ASSERT_TRUE(MakeCopyPlan(none, fs, ft, 4, &plan));
  EXPECT_EQ(plan.units, 0);
  ASSERT_TRUE(MakeCopyPlan({}, {}, {}, 8, &plan));
  EXPECT_EQ(plan.units, 1);
}

TEST(VecMove, GatherChecksItsIndices) {
  const int16_t src[6] = {0, 1, 2, 3, 4, 5};
  int16_t dst[8] = {};
  const int64_t index[2] = {-1, 0};
  EXPECT_EQ((GatherRows<int64_t>(src, dst, index, 3, 2, 2, 0, 4)), -1);
  EXPECT_EQ(std::vector<int16_t>(dst, dst + 4), (std::vector<int16_t>{2, 0, 5, 3}));
  const int32_t bad[3] = {0, 3, 0};
  EXPECT_EQ((GatherRows<int32_t>(src, dst, bad, 3, 3, 2, 0, 6)), 1);
  const int32_t low[1] = {-4};
  EXPECT_EQ((GatherRows<int32_t>(src, dst, low, 3, 1, 2, 0, 1)), 0);
}

std::vector<int32_t> Pad(PadMode mode, const std::vector<int64_t>& dims,
                         const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  int64_t size = 1, out = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    size *= dims[i], out *= dims[i] + before[i] + after[i];
  }
  std::vector<int32_t> src(static_cast<size_t>(size)), dst(static_cast<size_t>(out), -7);
  std::iota(src.begin(), src.end(), 1);
  PadPlan plan;
  EXPECT_TRUE(MakePadPlan(mode, dims, before, after, 4, &plan));
  const int32_t value = 9;
  RunPad(plan, src.data(), &value, dst.data(), 0, plan.rows);
  return dst;
}

TEST(VecMove, PadsInEveryMode) {
  using V = std::vector<int32_t>;
  EXPECT_EQ(Pad(PadMode::kConstant, {3}, {2}, {1}), (V{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(Pad(PadMode::kReflect, {3}, {2}, {2}), (V{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(Pad(PadMode::kEdge, {3}, {2}, {2}), (V{1, 1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(Pad(PadMode::kWrap, {3}, {2}, {2}), (V{2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(Pad(PadMode::kConstant, {4}, {-1}, {1}), (V{2, 3, 4, 9}));
  EXPECT_EQ(Pad(PadMode::kConstant, {2, 2}, {1, 0}, {0, 1}), (V{9, 9, 9, 1, 2, 9, 3, 4, 9}));
  EXPECT_EQ(Pad(PadMode::kEdge, {2, 2}, {0, 1}, {1, -1}), (V{1, 1, 3, 3, 3, 3}));
  EXPECT_EQ(Pad(PadMode::kConstant, {0, 2}, {1, 0}, {0, 0}), (V{9, 9}));
}

}  // namespace
}  // namespace switchyard::cpu::math
