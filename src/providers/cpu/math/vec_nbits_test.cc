#include "providers/cpu/math/vec_nbits.h"

#include <gtest/gtest.h>

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
        const auto padded = static_cast<size_t>(blocks * block);
        std::vector<float> arranged(padded), sums(static_cast<size_t>(blocks)), column(padded);
        std::vector<float> out(static_cast<size_t>(columns));
        NBitsArrange(w, row.data(), k, arranged.data(), sums.data());
        NBitsDot(w, arranged.data(), sums.data(), 0, columns, out.data());
        for (int64_t c = 0; c < columns; ++c) {
          NBitsExpand(w, c, column.data());
          double wanted = 0;
          for (int64_t i = 0; i < k; ++i) {
            const uint8_t byte = codes[static_cast<size_t>(c * w.column_bytes() + i * bits / 8)];
            const int code = bits == 8 ? byte : byte >> (i % 2 * 4) & 15;
            const auto at = static_cast<size_t>(c * blocks + i / block);
            const float value = (static_cast<float>(code) - zeros[at]) * scales[at];
            EXPECT_NEAR(column[static_cast<size_t>(i)], value, 1e-5);
            wanted += static_cast<double>(value) * static_cast<double>(row[static_cast<size_t>(i)]);
          }
          EXPECT_NEAR(out[static_cast<size_t>(c)], wanted, 2e-3)
              << bits << " bits, block " << block;
        }
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
