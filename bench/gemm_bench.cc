// Matrix products, one thread: GF/s and the share of the FMA peak measured in the same process.
#include "providers/cpu/math/gemm.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "peak.h"
#include "providers/cpu/math/igemm.h"
#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {
namespace {

struct Case {
  std::int64_t m, n, k;
  MatrixForm b;
};

void RunGemm(benchmark::State& state, IsaLevel level, Case c) {
  const GemmOps& ops = GemmFor(level);
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  std::vector<float> a(size(c.m * c.k), 0.5f), b(size(c.n * c.k), 0.25f), out(size(c.m * c.n));
  std::vector<float> packed(ops.packed_b_elements(c.k, c.n) + 16);
  GemmArgs args;
  args.a = a.data();
  args.lda = c.k;
  args.b = b.data();
  args.ldb = c.b == MatrixForm::kTransposed ? c.k : c.n;
  args.c = out.data();
  args.ldc = c.n;
  if (c.b == MatrixForm::kPacked) {
    float* dst = packed.data();
    while (reinterpret_cast<std::uintptr_t>(dst) % 64 != 0) ++dst;
    ops.pack_b(b.data(), c.n, MatrixForm::kRowMajor, c.k, c.n, 0, ops.b_panels(c.n), dst);
    args.b = dst;
  }
  const GemmPlan plan = ops.plan({c.m, c.n, c.k, 1, MatrixForm::kRowMajor, c.b});
  std::vector<float> scratch(plan.scratch_bytes / sizeof(float) + 16);
  float* work = scratch.data();
  while (reinterpret_cast<std::uintptr_t>(work) % 64 != 0) ++work;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < plan.chunks; ++i) ops.run_chunk(plan, args, i, work);
    benchmark::ClobberMemory();
  }
  const double flops =
      2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  ReportShare(state, level, flops);
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(c.n * c.k * 4) * static_cast<double>(state.iterations()) / 1e9,
      benchmark::Counter::kIsRate);
  state.counters["chunks"] = static_cast<double>(plan.chunks);
}

void RunIgemm(benchmark::State& state, IsaLevel level, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  const IgemmOps& ops = IgemmFor(level, true);
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  std::vector<std::uint8_t> a(size(m * k), 3), b(size(n * k), 5);
  std::vector<std::int32_t> c(size(m * n));
  std::vector<std::int64_t> packed(ops.packed_b_bytes(k, n) / 8);
  ops.pack_b(b.data(), true, n, MatrixForm::kRowMajor, k, n, 0, ops.b_panels(n), packed.data());
  IgemmArgs args;
  args.a = a.data();
  args.lda = k;
  args.b = packed.data();
  args.c = c.data();
  args.ldc = n;
  const GemmPlan plan = ops.plan({m, n, k, 1, MatrixForm::kRowMajor, MatrixForm::kPacked});
  std::vector<std::int64_t> scratch(plan.scratch_bytes / 8 + 1);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < plan.chunks; ++i) ops.run_chunk(plan, args, i, scratch.data());
    benchmark::ClobberMemory();
  }
  ReportShare(state, level,
              2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

void RegisterAll() {
  const Case cases[] = {
      {1024, 1024, 1024, MatrixForm::kPacked},     {384, 3072, 768, MatrixForm::kPacked},
      {384, 768, 3072, MatrixForm::kPacked},       {196, 768, 768, MatrixForm::kPacked},
      {128, 768, 768, MatrixForm::kPacked},        {1024, 1024, 1024, MatrixForm::kRowMajor},
      {1024, 1024, 1024, MatrixForm::kTransposed}, {128, 128, 64, MatrixForm::kTransposed},
      {128, 64, 128, MatrixForm::kRowMajor},       {1, 4096, 4096, MatrixForm::kPacked},
      {1, 4096, 4096, MatrixForm::kRowMajor},      {1, 4096, 4096, MatrixForm::kTransposed},
      {4, 4096, 4096, MatrixForm::kPacked},        {4, 4096, 4096, MatrixForm::kRowMajor},
      {4, 4096, 4096, MatrixForm::kTransposed},    {8, 4096, 4096, MatrixForm::kPacked},
      {8, 4096, 4096, MatrixForm::kRowMajor}};
  for (IsaLevel level : TestableLevels()) {
    for (const Case& c : cases) {
      const char* form = c.b == MatrixForm::kPacked     ? "packed"
                         : c.b == MatrixForm::kRowMajor ? "rows"
                                                        : "transposed";
      const std::string name = std::string("sgemm/") + LevelName(level) + "/" +
                               std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
                               std::to_string(c.k) + "/" + form;
      benchmark::RegisterBenchmark(name.c_str(), RunGemm, level, c);
    }
    const std::string prefix = std::string("igemm_u8s8/") + LevelName(level);
    benchmark::RegisterBenchmark((prefix + "/1024x1024x1024").c_str(), RunIgemm, level, 1024, 1024,
                                 1024);
    benchmark::RegisterBenchmark((prefix + "/1x4096x4096").c_str(), RunIgemm, level, 1, 4096, 4096);
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
