// The operators over products of 8-bit integers, against the operators' formulas in 64-bit
// integers: every combination of signs, one or several scales and zero points, constant weights or
// not, every level.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;
using Ints = std::vector<std::int64_t>;

const char* const kLevels[] = {"baseline", "avx2", ""};

std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }

// 8-bit values with their sign, as a tensor of either type.
struct Bytes {
  Bytes(Dims d, bool with_sign, std::uint32_t seed) : dims(std::move(d)), is_signed(with_sign) {
    std::minstd_rand rng(seed + 1);
    values.resize(Size(ElementCount(dims)));
    for (int& v : values) {
      const int byte = static_cast<int>(rng() >> 9 & 255);
      // The extremes often: where 16-bit pair sums would saturate.
      v = byte < 60 ? (is_signed ? -128 : 255) : is_signed ? byte - 128 : byte;
    }
  }
  OrtValue Tensor() const {
    if (is_signed) {
      const std::vector<std::int8_t> bytes(values.begin(), values.end());
      return OrtValue::FromData<std::int8_t>(dims, bytes);
    }
    const std::vector<std::uint8_t> bytes(values.begin(), values.end());
    return OrtValue::FromData<std::uint8_t>(dims, bytes);
  }
  std::int64_t At(std::int64_t i) const {
    return values[Size(i % static_cast<std::int64_t>(values.size()))];
  }

  Dims dims;
  bool is_signed;
  std::vector<int> values;
};

std::vector<float> Scales(std::int64_t n, std::uint32_t seed) {
  std::minstd_rand rng(seed + 1);
  std::vector<float> scales(Size(n));
  for (float& s : scales) s = static_cast<float>(rng() % 1000 + 1) / 50000.0f;
  return scales;
}

OrtValue Floats(Dims dims, const std::vector<float>& values) {
  return OrtValue::FromData<float>(dims, values);
}

std::vector<std::int64_t> Integers(const OrtValue& value) {
  const Tensor& t = value.tensor();
  std::vector<std::int64_t> out(Size(t.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = t.type() == DataType::kInt8    ? t.values<std::int8_t>()[i]
             : t.type() == DataType::kUint8 ? t.values<std::uint8_t>()[i]
                                            : t.values<std::int32_t>()[i];
  }
  return out;
}

std::int64_t Requantized(std::int64_t sum, float scale, std::int64_t zero, bool is_signed) {
  const double low = is_signed ? -128 : 0;
  const double v = std::nearbyint(static_cast<double>(sum) * static_cast<double>(scale)) +
                   static_cast<double>(zero);
  return static_cast<std::int64_t>(std::clamp(v, low, low + 255));
}

// (A - a_zero)(B - b_zero), A [m, k] and B [k, n], zero points of one or of m and n entries.
std::vector<std::int64_t> ProductOf(const Bytes& a, const Bytes& za, const Bytes& b,
                                    const Bytes& zb, std::int64_t m, std::int64_t n,
                                    std::int64_t k) {
  std::vector<std::int64_t> c(Size(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t t = 0; t < k; ++t)
        sum += (a.At(i * k + t) - za.At(i)) * (b.At(t * n + j) - zb.At(j));
      c[Size(i * n + j)] = sum;
    }
  }
  return c;
}

TEST(IntegerProducts, MatMulInteger) {
  const std::int64_t m = 13, n = 37, k = 67;
  for (int variant = 0; variant < 32; ++variant) {
    const Bytes a({m, k}, variant & 1, 1), b({k, n}, variant & 2, 2);
    const bool per_line = variant & 4, constant = variant & 8, batch = variant & 16;
    const Bytes za(per_line && !batch ? Dims{m} : Dims{}, variant & 1, 3);
    const Bytes zb(per_line ? Dims{n} : Dims{}, variant & 2, 4);
    const auto want = ProductOf(a, za, b, zb, m, n, k);
    for (const char* level : kLevels) {
      NodeHarness node("MatMulInteger", 10);
      Bytes shaped = a;
      if (batch) shaped.dims = {m, 1, k};
      node.In(shaped.Tensor()).In(b.Tensor(), constant).In(za.Tensor()).In(zb.Tensor());
      node.Out(DataType::kInt32);
      ASSERT_EQ(Integers(node.Run(level, 2)[0]), want) << variant << " " << level;
    }
  }
}

TEST(IntegerProducts, MatMulIntegerOfBatches) {
  const std::int64_t m = 3, n = 5, k = 9;
  const Bytes a({2, 1, m, k}, false, 1), b({2, k, n}, true, 2), none({}, false, 0);
  NodeHarness node("MatMulInteger", 10);
  node.In(a.Tensor()).In(b.Tensor()).Out(DataType::kInt32);
  const auto got = Integers(node.Run()[0]);
  ASSERT_EQ(got.size(), Size(4 * m * n));
  for (std::int64_t e = 0; e < 4; ++e) {
    for (std::int64_t i = 0; i < m * n; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t t = 0; t < k; ++t)
        sum += a.At((e / 2 * m + i / n) * k + t) * b.At((e % 2 * k + t) * n + i % n);
      ASSERT_EQ(got[Size(e * m * n + i)], sum) << e;
    }
  }
}

TEST(IntegerProducts, QLinearMatMul) {
  const std::int64_t m = 9, n = 21, k = 130;
  for (int variant = 0; variant < 64; ++variant) {
    const Bytes a({m, k}, variant & 1, 5), b({k, n}, variant & 2, 6);
    const bool y_signed = variant & 4, rows = variant & 8, columns = variant & 16;
    const bool constant = variant & 32;
    const Bytes za(rows ? Dims{m} : Dims{}, variant & 1, 7);
    const Bytes zb(columns ? Dims{n} : Dims{}, variant & 2, 8), zy({}, y_signed, 9);
    const auto sa = Scales(rows ? m : 1, 1), sb = Scales(columns ? n : 1, 2);
    const float sy = 0.37f;
    const auto sums = ProductOf(a, za, b, zb, m, n, k);
    std::vector<std::int64_t> want(sums.size());
    for (std::int64_t i = 0; i < m * n; ++i) {
      const float scale = sa[rows ? Size(i / n) : 0] * sb[columns ? Size(i % n) : 0] / sy;
      want[Size(i)] = Requantized(sums[Size(i)], scale, zy.At(0), y_signed);
    }
    for (const char* level : kLevels) {
      NodeHarness node("QLinearMatMul", 21);
      node.In(a.Tensor()).In(Floats(za.dims, sa)).In(za.Tensor());
      node.In(b.Tensor(), constant).In(Floats(zb.dims, sb)).In(zb.Tensor());
      node.In<float>({}, {sy}).In(zy.Tensor());
      node.Out(y_signed ? DataType::kInt8 : DataType::kUint8);
      ASSERT_EQ(Integers(node.Run(level)[0]), want) << variant << " " << level;
    }
  }
}

struct ConvCase {
  std::int64_t batch, groups, in, out, height, width, kernel, stride, dilation, pad;
};

// Sums of one convolution [batch, out, oh, ow].
std::vector<std::int64_t> ConvOf(const ConvCase& c, const Bytes& x, const Bytes& zx, const Bytes& w,
                                 const Bytes& zw, std::int64_t oh, std::int64_t ow) {
  const std::int64_t in = c.in / c.groups, out = c.out / c.groups, kk = c.kernel * c.kernel;
  std::vector<std::int64_t> sums(Size(c.batch * c.out * oh * ow));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(sums.size()); ++i) {
    const std::int64_t px = i % ow, py = i / ow % oh, o = i / ow / oh % c.out,
                       b = i / ow / oh / c.out;
    for (std::int64_t t = 0; t < in * kk; ++t) {
      const std::int64_t y = py * c.stride - c.pad + t % kk / c.kernel * c.dilation;
      const std::int64_t z = px * c.stride - c.pad + t % c.kernel * c.dilation;
      if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
      const std::int64_t channel = o / out * in + t / kk;
      sums[Size(i)] += (x.At(((b * c.in + channel) * c.height + y) * c.width + z) - zx.At(0)) *
                       (w.At(o * in * kk + t) - zw.At(o));
    }
  }
  return sums;
}

TEST(IntegerProducts, Convolutions) {
  const ConvCase cases[] = {{2, 1, 5, 14, 9, 11, 3, 1, 1, 1},  {1, 2, 6, 8, 12, 7, 3, 2, 1, 1},
                            {1, 1, 17, 33, 8, 8, 1, 1, 1, 0},  {1, 6, 6, 6, 10, 19, 3, 1, 2, 2},
                            {1, 1, 3, 10, 30, 31, 5, 3, 1, 4}, {3, 1, 4, 4, 1, 1, 3, 1, 1, 1},
                            {1, 4, 4, 8, 6, 40, 3, 2, 3, 3}};
  for (const ConvCase& c : cases) {
    for (int variant = 0; variant < 32; ++variant) {
      const bool linear = variant & 4, per_channel = variant & 8, constant = variant & 16;
      const Bytes x({c.batch, c.in, c.height, c.width}, variant & 1, 11);
      const Bytes w({c.out, c.in / c.groups, c.kernel, c.kernel}, variant & 2, 12);
      const Bytes zx({}, variant & 1, 13), zw(per_channel ? Dims{c.out} : Dims{}, variant & 2, 14);
      const Bytes zy({}, !(variant & 1), 15);
      const std::int64_t extent = (c.kernel - 1) * c.dilation + 1;
      const std::int64_t oh = (c.height + 2 * c.pad - extent) / c.stride + 1;
      const std::int64_t ow = (c.width + 2 * c.pad - extent) / c.stride + 1;
      auto want = ConvOf(c, x, zx, w, zw, oh, ow);
      const auto sw = Scales(per_channel ? c.out : 1, 3);
      std::vector<std::int32_t> bias(Size(c.out));
      for (std::size_t i = 0; i < bias.size(); ++i)
        bias[i] = static_cast<std::int32_t>(i * 977 % 3000);
      for (std::size_t i = 0; linear && i < want.size(); ++i) {
        const std::size_t o = i / Size(oh * ow) % Size(c.out);
        const float scale = 0.02f * sw[per_channel ? o : 0] / 0.11f;
        want[i] = Requantized(want[i] + bias[o], scale, zy.At(0), zy.is_signed);
      }
      for (const char* level : kLevels) {
        NodeHarness node(linear ? "QLinearConv" : "ConvInteger", 10);
        node.Set("group", c.groups).Set("strides", Ints{c.stride, c.stride});
        node.Set("dilations", Ints{c.dilation, c.dilation});
        node.Set("pads", Ints{c.pad, c.pad, c.pad, c.pad});
        node.In(x.Tensor());
        if (linear) {
          node.In<float>({}, {0.02f}).In(zx.Tensor()).In(w.Tensor(), constant);
          node.In(Floats(zw.dims, sw)).In(zw.Tensor()).In<float>({}, {0.11f}).In(zy.Tensor());
          node.In<std::int32_t>({c.out}, bias);
          node.Out(zy.is_signed ? DataType::kInt8 : DataType::kUint8);
        } else {
          node.In(w.Tensor(), constant).In(zx.Tensor()).In(zw.Tensor()).Out(DataType::kInt32);
        }
        ASSERT_EQ(Integers(node.Run(level, 2)[0]), want) << variant << " " << level;
      }
    }
  }
}

TEST(IntegerProducts, MatMulIntegerToFloat) {
  const std::int64_t m = 6, n = 19, k = 33;
  for (int variant = 0; variant < 16; ++variant) {
    const Bytes a({m, k}, variant & 1, 21), b({k, n}, variant & 2, 22), za({}, variant & 1, 23);
    const bool columns = variant & 4;
    const Bytes zb(columns ? Dims{n} : Dims{}, variant & 2, 24);
    const auto sb = Scales(columns ? n : 1, 5), bias = Scales(n, 6);
    const auto sums = ProductOf(a, za, b, zb, m, n, k);
    NodeHarness node("MatMulIntegerToFloat", 1, "com.microsoft");
    node.In(a.Tensor()).In(b.Tensor(), variant & 8).In<float>({}, {0.05f}).In(Floats(zb.dims, sb));
    node.In(za.Tensor()).In(zb.Tensor()).In(Floats({n}, bias)).Out(DataType::kFloat);
    const auto got = node.Run()[0];
    for (std::int64_t i = 0; i < m * n; ++i) {
      const float scale = 0.05f * sb[columns ? Size(i % n) : 0];
      ASSERT_EQ(got.tensor().values<float>()[Size(i)],
                static_cast<float>(sums[Size(i)]) * scale + bias[Size(i % n)])
          << variant;
    }
  }
}

TEST(IntegerProducts, DynamicQuantizeMatMul) {
  const std::int64_t m = 5, n = 11, k = 40;
  std::vector<float> a(Size(m * k));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i)) * 3 + 1;
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  const float scale = (*high - std::min(*low, 0.0f)) / 255.0f;
  const float zero = std::nearbyint(-std::min(*low, 0.0f) / scale);
  const Bytes b({k, n}, true, 31), zb({}, true, 32);
  NodeHarness node("DynamicQuantizeMatMul", 1, "com.microsoft");
  node.In(Floats({m, k}, a)).In(b.Tensor(), true).In<float>({}, {0.25f}).In(zb.Tensor());
  node.Out(DataType::kFloat);
  const auto got = node.Run()[0];
  for (std::int64_t i = 0; i < m * n; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t t = 0; t < k; ++t) {
      const float code =
          std::clamp(std::nearbyint(a[Size(i / n * k + t)] / scale) + zero, 0.0f, 255.0f);
      sum += static_cast<std::int64_t>(code - zero) * (b.At(t * n + i % n) - zb.At(0));
    }
    ASSERT_EQ(got.tensor().values<float>()[Size(i)], static_cast<float>(sum) * (scale * 0.25f));
  }
}

TEST(IntegerProducts, QGemm) {
  const std::int64_t m = 7, n = 18, k = 25;
  // C as a scalar, per column, per row and in full.
  const Dims addends[] = {{}, {n}, {m, 1}, {m, n}};
  for (int variant = 0; variant < 256; ++variant) {
    const bool trans_a = variant & 4, trans_b = variant & 8, quantized = variant & 16;
    const Dims& addend = addends[variant / 64];
    Bytes a({m, k}, variant & 1, 41), b({k, n}, variant & 2, 42);
    const Bytes za({}, variant & 1, 43), zb({}, variant & 2, 44), zy({}, variant & 32, 45);
    std::vector<std::int32_t> c(Size(ElementCount(addend)));
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<std::int32_t>(i * 131 % 997);
    const auto sums = ProductOf(a, za, b, zb, m, n, k);
    const auto transposed = [](const Bytes& from, bool wanted) {
      Bytes to = from;
      if (!wanted) return to;
      to.dims = {from.dims[1], from.dims[0]};
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.values.size()); ++i) {
        to.values[Size(i)] =
            static_cast<int>(from.At(i % to.dims[1] * from.dims[1] + i / to.dims[1]));
      }
      return to;
    };
    NodeHarness node("QGemm", 1, "com.microsoft");
    node.Set("transA", std::int64_t{trans_a})
        .Set("transB", std::int64_t{trans_b})
        .Set("alpha", 0.5f);
    node.In(transposed(a, trans_a).Tensor()).In<float>({}, {0.04f}).In(za.Tensor());
    node.In(transposed(b, trans_b).Tensor(), variant & 32).In<float>({}, {0.03f}).In(zb.Tensor());
    node.In(OrtValue::FromData<std::int32_t>(addend, c));
    if (quantized) node.In<float>({}, {0.2f}).In(zy.Tensor());
    node.Out(!quantized ? DataType::kFloat : zy.is_signed ? DataType::kInt8 : DataType::kUint8);
    const auto got = node.Run()[0];
    for (std::int64_t i = 0; i < m * n; ++i) {
      const std::int64_t at = addend.empty()       ? 0
                              : addend.size() == 1 ? i % n
                              : addend[1] == 1     ? i / n
                                                   : i;
      const std::int64_t sum = sums[Size(i)] + c[Size(at)];
      const float scale = 0.5f * 0.04f * 0.03f;
      if (quantized) {
        ASSERT_EQ(Integers(got)[Size(i)], Requantized(sum, scale / 0.2f, zy.At(0), zy.is_signed))
            << variant;
      } else {
        ASSERT_EQ(got.tensor().values<float>()[Size(i)], static_cast<float>(sum) * scale)
            << variant;
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu
