// Convolutions, one thread: GF/s and the share of the FMA peak measured in the same process.
#include "providers/cpu/math/conv.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "peak.h"
#include "providers/cpu/math/testing_levels.h"
#include "providers/cpu/math/winograd.h"

namespace switchyard::cpu::math {
namespace {

struct Case {
  const char* name;
  std::int64_t groups, in, out, size, kernel, stride;
};

template <typename Ops>
void RunConv(benchmark::State& state, const Ops& ops, IsaLevel level, Case c) {
  ConvShape s;
  s.groups = c.groups;
  s.in_channels = c.in;
  s.out_channels = c.out;
  for (int d = 1; d < 3; ++d) {
    s.in[d] = c.size;
    s.kernel[d] = c.kernel;
    s.stride[d] = c.stride;
    s.pad[d] = c.kernel / 2;
    s.out[d] = (c.size + 2 * (c.kernel / 2) - c.kernel) / c.stride + 1;
  }
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::vector<float> x(size(c.in * c.size * c.size), 0.5f);
  std::vector<float> w(size(c.out * c.in / c.groups * c.kernel * c.kernel), 0.25f);
  std::vector<float> y(size(c.out * s.out[1] * s.out[2]));
  std::vector<float> packed(ops.packed_weight_elements(s));
  std::vector<float> bias(size(c.out), 0.1f);
  ops.pack_weight(s, w.data(), 0, ops.weight_panels(s), packed.data());
  Epilogue e;
  e.bias_row = bias.data();
  e.activation = Activation::kRelu;
  const auto plan = ops.plan(s);
  std::vector<double> scratch(plan.scratch_bytes / 8 + 8);
  auto* work =
      reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const ConvArgs args{x.data(), packed.data(), y.data(), &e};
  for (auto _ : state) {
    for (std::int64_t i = 0; i < plan.chunks; ++i) ops.run_chunk(plan, args, i, work);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * static_cast<double>(y.size()) *
                       static_cast<double>(c.in / c.groups * c.kernel * c.kernel);
  ReportShare(state, level, flops);
  state.counters["chunks"] = static_cast<double>(plan.chunks);
}

void RegisterAll() {
  const Case cases[] = {{"3x3_64_56", 1, 64, 64, 56, 3, 1},
                        {"3x3_128_28", 1, 128, 128, 28, 3, 1},
                        {"3x3_256_14", 1, 256, 256, 14, 3, 1},
                        {"3x3_512_7", 1, 512, 512, 7, 3, 1},
                        {"3x3s2_128_56", 1, 128, 128, 56, 3, 2},
                        {"1x1_64_256_56", 1, 64, 256, 56, 1, 1},
                        {"1x1_256_64_56", 1, 256, 64, 56, 1, 1},
                        {"1x1_1024_256_14", 1, 1024, 256, 14, 1, 1},
                        {"1x1_96_24_56", 1, 96, 24, 56, 1, 1},
                        {"1x1s2_256_512_56", 1, 256, 512, 56, 1, 2},
                        {"7x7s2_3_64_224", 1, 3, 64, 224, 7, 2},
                        {"3x3s2_3_16_640", 1, 3, 16, 640, 3, 2},
                        {"16x16s16_3_768_224", 1, 3, 768, 224, 16, 16},
                        {"dw3x3_32_112", 32, 32, 32, 112, 3, 1},
                        {"dw3x3s2_96_112", 96, 96, 96, 112, 3, 2},
                        {"dw3x3_384_14", 384, 384, 384, 14, 3, 1},
                        {"dw5x5_240_28", 240, 240, 240, 28, 5, 1},
                        {"dw7x7_96_56", 96, 96, 96, 56, 7, 1}};
  for (IsaLevel level : TestableLevels()) {
    for (const Case& c : cases) {
      const std::string name = std::string(LevelName(level)) + "/" + c.name;
      benchmark::RegisterBenchmark(("conv/" + name).c_str(), [level, c](benchmark::State& state) {
        RunConv(state, ConvFor(level), level, c);
      });
      if (c.kernel != 3 || c.stride != 1 || c.groups != 1) continue;
      // The direct product's flops: above the peak where the saving shows.
      benchmark::RegisterBenchmark(
          ("winograd/" + name).c_str(),
          [level, c](benchmark::State& state) { RunConv(state, WinogradFor(level), level, c); });
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math

int main(int argc, char** argv) {
  switchyard::cpu::math::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
