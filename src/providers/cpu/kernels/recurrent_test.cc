// RNN, GRU and LSTM against the operators' formulas, written out step by step in double.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/kernels/testing/node_harness.h"

namespace switchyard::cpu {
namespace {

using testing::NodeHarness;

constexpr std::int64_t kSteps = 5, kBatch = 3, kInput = 6, kHidden = 7;

std::vector<double> Noise(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-0.8, 0.8);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& v : values) v = uniform(engine);
  return values;
}

double Sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

struct Net {
  std::int64_t gates;
  std::vector<double> x, w, r, b, h, c;
  explicit Net(std::int64_t count)
      : gates(count),
        x(Noise(kSteps * kBatch * kInput, 1)),
        w(Noise(gates * kHidden * kInput, 2)),
        r(Noise(gates * kHidden * kHidden, 3)),
        b(Noise(2 * gates * kHidden, 4)),
        h(Noise(kBatch * kHidden, 5)),
        c(Noise(kBatch * kHidden, 6)) {}

  double FromInput(std::int64_t t, std::int64_t n, std::int64_t row) const {
    double sum = b[static_cast<std::size_t>(row)];
    for (std::int64_t i = 0; i < kInput; ++i)
      sum += x[static_cast<std::size_t>((t * kBatch + n) * kInput + i)] *
             w[static_cast<std::size_t>(row * kInput + i)];
    return sum;
  }
  double FromState(const std::vector<double>& state, std::int64_t row) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kHidden; ++i)
      sum += state[static_cast<std::size_t>(i)] * r[static_cast<std::size_t>(row * kHidden + i)];
    return sum;
  }
  double StateBias(std::int64_t row) const {
    return b[static_cast<std::size_t>(gates * kHidden + row)];
  }
};

// The last hidden state of each sequence.
std::vector<double> LstmByFormula(const Net& net, const std::vector<std::int32_t>& lengths) {
  std::vector<double> result;
  for (std::int64_t n = 0; n < kBatch; ++n) {
    const auto at = static_cast<std::ptrdiff_t>(n * kHidden);
    std::vector<double> h(net.h.begin() + at, net.h.begin() + at + kHidden);
    std::vector<double> c(net.c.begin() + at, net.c.begin() + at + kHidden);
    for (std::int64_t t = 0; t < lengths[static_cast<std::size_t>(n)]; ++t) {
      const std::vector<double> before = h;
      for (std::int64_t k = 0; k < kHidden; ++k) {
        double g[4];
        for (std::int64_t i = 0; i < 4; ++i) {
          const std::int64_t row = i * kHidden + k;
          g[i] = net.FromInput(t, n, row) + net.FromState(before, row) + net.StateBias(row);
        }
        auto& cell = c[static_cast<std::size_t>(k)];
        cell = Sigmoid(g[2]) * cell + Sigmoid(g[0]) * std::tanh(g[3]);
        h[static_cast<std::size_t>(k)] = Sigmoid(g[1]) * std::tanh(cell);
      }
    }
    result.insert(result.end(), h.begin(), h.end());
  }
  return result;
}

std::vector<double> GruByFormula(const Net& net, bool reset_last) {
  std::vector<double> result;
  for (std::int64_t n = 0; n < kBatch; ++n) {
    const auto at = static_cast<std::ptrdiff_t>(n * kHidden);
    std::vector<double> h(net.h.begin() + at, net.h.begin() + at + kHidden);
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const std::vector<double> before = h;
      std::vector<double> z, reset, scaled;
      for (std::int64_t k = 0; k < kHidden; ++k) {
        z.push_back(Sigmoid(net.FromInput(t, n, k) + net.FromState(before, k) + net.StateBias(k)));
        const std::int64_t row = kHidden + k;
        reset.push_back(
            Sigmoid(net.FromInput(t, n, row) + net.FromState(before, row) + net.StateBias(row)));
        scaled.push_back(reset.back() * before[static_cast<std::size_t>(k)]);
      }
      for (std::int64_t k = 0; k < kHidden; ++k) {
        const auto i = static_cast<std::size_t>(k);
        const std::int64_t row = 2 * kHidden + k;
        const double in = net.FromInput(t, n, row);
        const double candidate =
            std::tanh(reset_last ? in + reset[i] * (net.FromState(before, row) + net.StateBias(row))
                                 : in + net.FromState(scaled, row) + net.StateBias(row));
        h[i] = (1 - z[i]) * candidate + z[i] * before[i];
      }
    }
    result.insert(result.end(), h.begin(), h.end());
  }
  return result;
}

template <typename T>
std::vector<T> As(const std::vector<double>& values) {
  std::vector<T> out;
  for (double v : values) out.push_back(static_cast<T>(static_cast<float>(v)));
  return out;
}
template <>
std::vector<double> As<double>(const std::vector<double>& values) {
  return values;
}

template <typename T>
std::unique_ptr<NodeHarness> Harness(const char* op, const Net& net, bool constant,
                                     const std::vector<std::int32_t>& lengths) {
  auto made = std::make_unique<NodeHarness>(op, 14);
  NodeHarness& node = *made;
  node.Set<std::int64_t>("hidden_size", kHidden);
  node.In<T>({kSteps, kBatch, kInput}, As<T>(net.x));
  node.In<T>({1, net.gates * kHidden, kInput}, As<T>(net.w), constant);
  node.In<T>({1, net.gates * kHidden, kHidden}, As<T>(net.r), constant);
  node.In<T>({1, 2 * net.gates * kHidden}, As<T>(net.b), constant);
  node.In<std::int32_t>({kBatch}, lengths);
  node.In<T>({1, kBatch, kHidden}, As<T>(net.h));
  if (net.gates == 4) node.In<T>({1, kBatch, kHidden}, As<T>(net.c));
  node.Out(DataTypeOf<T>).Out(DataTypeOf<T>);
  return made;
}

template <typename T>
void ExpectNear(const OrtValue& got, const std::vector<double>& wanted, double tolerance) {
  const auto values = got.tensor().values<T>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(static_cast<double>(static_cast<ComputeOf<T>>(values[i])), wanted[i], tolerance)
        << "element " << i;
}

const std::vector<std::int32_t> kFull(kBatch, kSteps);

TEST(Recurrent, LstmOfAllTypesAndLevels) {
  const Net net(4);
  const std::vector<std::int32_t> lengths = {5, 2, 3};
  const auto wanted = LstmByFormula(net, lengths);
  for (const char* isa : {"baseline", "avx2"}) {
    for (const bool constant : {false, true}) {
      ExpectNear<float>(Harness<float>("LSTM", net, constant, lengths)->Run(isa)[1], wanted, 1e-5);
      ExpectNear<double>(Harness<double>("LSTM", net, constant, lengths)->Run(isa)[1], wanted,
                         1e-7);
      ExpectNear<Float16>(Harness<Float16>("LSTM", net, constant, lengths)->Run(isa)[1], wanted,
                          1e-2);
    }
  }
}

TEST(Recurrent, StepsBehindTheLengthAreZero) {
  const Net net(4);
  const auto out = Harness<float>("LSTM", net, true, {5, 2, 3})->Run();
  const auto y = out[0].tensor().values<float>();
  for (std::int64_t k = 0; k < kHidden; ++k) {
    EXPECT_EQ(y[static_cast<std::size_t>((2 * kBatch + 1) * kHidden + k)], 0.0f);
    EXPECT_NE(y[static_cast<std::size_t>((1 * kBatch + 1) * kHidden + k)], 0.0f);
  }
}

TEST(Recurrent, GruInBothForms) {
  const Net net(3);
  for (const std::int64_t last : {0, 1}) {
    const auto wanted = GruByFormula(net, last != 0);
    for (const bool constant : {false, true}) {
      ExpectNear<float>(Harness<float>("GRU", net, constant, kFull)
                            ->Set<std::int64_t>("linear_before_reset", last)
                            .Run()[1],
                        wanted, 1e-5);
      ExpectNear<double>(Harness<double>("GRU", net, constant, kFull)
                             ->Set<std::int64_t>("linear_before_reset", last)
                             .Run()[1],
                         wanted, 1e-7);
    }
  }
}

TEST(Recurrent, ThreadsDoNotChangeBits) {
  const Net net(3);
  const auto one = Harness<float>("GRU", net, true, kFull)->Run("", 1);
  const auto two = Harness<float>("GRU", net, true, kFull)->Run("", 2);
  for (std::size_t i = 0; i < one[0].tensor().values<float>().size(); ++i)
    EXPECT_EQ(one[0].tensor().values<float>()[i], two[0].tensor().values<float>()[i]);
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const Net net(4);
  EXPECT_THROW(Harness<float>("LSTM", net, true, {5, 2})->Run(), Error);
  EXPECT_THROW(Harness<float>("LSTM", net, true, kFull)
                   ->Set<std::vector<std::string>>("activations", {"Sigmoid", "Tanh", "Cosine"})
                   .Run(),
               Error);
}

}  // namespace
}  // namespace switchyard::cpu
