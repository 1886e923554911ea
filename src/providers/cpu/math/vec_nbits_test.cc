#include "providers/cpu/math/vec_nbits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace switchyard::cpu::math {
namespace {

TEST(NBits, DotsAndExpandedColumnsAgreeWithTheCodes) {
  std::mt19937 engine(7);
  for (const IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2}) {
    for (const int bits : {4, 8}) {
      for (const int64_t block : {16, 32, 128}) {
        const int64_t k = 2 * block + 5, blocks = 3, columns = 7;
        NBitsWeight w;
        w.level = level;
        w.bits = bits;
        w.blocks = blocks;
        w.block = block;
        std::vector<uint8_t> codes(static_cast<size_t>(columns * w.column_bytes()));
        for (uint8_t& c : codes) c = static_cast<uint8_t>(engine());
        std::vector<float> scales, zeros, row;
        for (int64_t i = 0; i < columns * blocks; ++i) {
          scales.push_back(0.01f * static_cast<float>(1 + engine() % 9));
          zeros.push_back(static_cast<float>(engine() % (1u << bits)));
        }
        for (int64_t i = 0; i < k; ++i) row.push_back(static_cast<float>(engine() % 100) / 50 - 1);
        w.codes = codes.data();
        w.scales = scales.data();
        w.zeros = zeros.data();
        w.zeros_pitch = blocks;
        const auto padded = static_cast<size_t>(blocks * block);
        std::vector<float> arranged(padded), sums(static_cast<size_t>(blocks)), column(padded);
        std::vector<float> out(static_cast<size_t>(columns));
        NBitsArrange(w, row.data(), k, arranged.data(), sums.data());
        NBitsDot(w, arranged.data(), sums.data(), 0, columns, out.data());
        for (int64_t c = 0; c < columns; ++c) {
          NBitsExpand(w, c, column.data());
          double wanted = 0, size = 0;
          for (int64_t i = 0; i < k; ++i) {
            const uint8_t byte = codes[static_cast<size_t>(c * w.column_bytes() + i * bits / 8)];
            const int code = bits == 8 ? byte : byte >> (i % 2 * 4) & 15;
            const auto at = static_cast<size_t>(c * blocks + i / block);
            const float value = (static_cast<float>(code) - zeros[at]) * scales[at];
            EXPECT_NEAR(column[static_cast<size_t>(i)], value, 1e-5);
            const double term =
                static_cast<double>(value) * static_cast<double>(row[static_cast<size_t>(i)]);
            wanted += term;
            size += std::abs(term);
          }
          EXPECT_NEAR(out[static_cast<size_t>(c)], wanted, 1e-5 * size + 1e-5)
              << bits << " bits, block " << block;
        }
      }
    }
  }
}

// The integers times the codes, exactly, then one scale a block; `real` is what the integers say.
TEST(NBits, IntegerDotsAreTheProductOfTheRoundedRow) {
  std::mt19937 engine(8);
  for (const IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2}) {
    for (const int bits : {4, 8}) {
      for (const int64_t block : {16, 32, 64, 256}) {
        const int64_t k = 2 * block + 5, blocks = 3, columns = 9;
        NBitsWeight w;
        w.level = level;
        w.bits = bits;
        w.blocks = blocks;
        w.block = block;
        std::vector<uint8_t> codes(static_cast<size_t>(columns * w.column_bytes()));
        for (uint8_t& c : codes) c = static_cast<uint8_t>(engine() % 4 == 0 ? 255 : engine());
        const auto all = static_cast<size_t>(columns * blocks);
        std::vector<float> scales(all, 0.02f), zeros(all, bits == 4 ? 7.0f : 120.0f), row;
        for (int64_t i = 0; i < k; ++i) row.push_back(static_cast<float>(engine() % 100) / 50 - 1);
        std::fill_n(row.begin(), block, 0.0f);  // a block of zeros has no scale
        w.codes = codes.data();
        w.scales = scales.data();
        w.zeros = zeros.data();
        w.zeros_pitch = blocks;
        const auto padded = static_cast<size_t>(blocks * block);
        std::vector<int16_t> values(padded);
        std::vector<float> row_scales(blocks), sums(blocks), real(k), column(padded), out(columns);
        NBitsQuantize(w, row.data(), k, values.data(), row_scales.data(), sums.data(), real.data());
        NBitsIntegerDot(w, values.data(), row_scales.data(), sums.data(), 0, columns, out.data());
        for (int64_t i = 0; i < k; ++i)
          EXPECT_NEAR(real[i], row[i], 1.0 / 254 + 1e-6) << "element " << i;
        for (int64_t c = 0; c < columns; ++c) {
          NBitsExpand(w, c, column.data());
          double wanted = 0, size = 0;
          for (int64_t i = 0; i < k; ++i) {
            const double term = static_cast<double>(column[i]) * static_cast<double>(real[i]);
            wanted += term;
            size += std::abs(term);
          }
          EXPECT_NEAR(out[c], wanted, 1e-5 * size + 1e-5) << bits << " bits, block " << block;
        }
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
