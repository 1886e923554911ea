// The FMA rate of one core, measured, and a benchmark's share of it.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>

#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline void SpinAvx2(int steps) {
  asm volatile(
      "vxorps %%ymm0, %%ymm0, %%ymm0\n vxorps %%ymm1, %%ymm1, %%ymm1\n"
      "vmovaps %%ymm0, %%ymm2\n vmovaps %%ymm0, %%ymm3\n vmovaps %%ymm0, %%ymm4\n"
      "vmovaps %%ymm0, %%ymm5\n vmovaps %%ymm0, %%ymm6\n vmovaps %%ymm0, %%ymm7\n"
      "vmovaps %%ymm0, %%ymm8\n vmovaps %%ymm0, %%ymm9\n vmovaps %%ymm0, %%ymm10\n"
      "1:\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm1\n vfmadd231ps %%ymm0, %%ymm0, %%ymm2\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm3\n vfmadd231ps %%ymm0, %%ymm0, %%ymm4\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm5\n vfmadd231ps %%ymm0, %%ymm0, %%ymm6\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm7\n vfmadd231ps %%ymm0, %%ymm0, %%ymm8\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm9\n vfmadd231ps %%ymm0, %%ymm0, %%ymm10\n"
      "dec %0\n jnz 1b\n vzeroupper\n"
      : "+r"(steps)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "cc");
}
__attribute__((target("avx512f"))) inline void SpinAvx512(int steps) {
  asm volatile(
      "vpxord %%zmm0, %%zmm0, %%zmm0\n vpxord %%zmm1, %%zmm1, %%zmm1\n"
      "vmovaps %%zmm0, %%zmm2\n vmovaps %%zmm0, %%zmm3\n vmovaps %%zmm0, %%zmm4\n"
      "vmovaps %%zmm0, %%zmm5\n vmovaps %%zmm0, %%zmm6\n vmovaps %%zmm0, %%zmm7\n"
      "vmovaps %%zmm0, %%zmm8\n vmovaps %%zmm0, %%zmm9\n vmovaps %%zmm0, %%zmm10\n"
      "1:\n"
      "vfmadd231ps %%zmm0, %%zmm0, %%zmm1\n vfmadd231ps %%zmm0, %%zmm0, %%zmm2\n"
      "vfmadd231ps %%zmm0, %%zmm0, %%zmm3\n vfmadd231ps %%zmm0, %%zmm0, %%zmm4\n"
      "vfmadd231ps %%zmm0, %%zmm0, %%zmm5\n vfmadd231ps %%zmm0, %%zmm0, %%zmm6\n"
      "vfmadd231ps %%zmm0, %%zmm0, %%zmm7\n vfmadd231ps %%zmm0, %%zmm0, %%zmm8\n"
      "vfmadd231ps %%zmm0, %%zmm0, %%zmm9\n vfmadd231ps %%zmm0, %%zmm0, %%zmm10\n"
      "dec %0\n jnz 1b\n vzeroupper\n"
      : "+r"(steps)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "cc");
}
#endif

// GF/s of fused multiply-adds at a level; 0 where there is no such instruction.
inline double MeasurePeak(IsaLevel level) {
  double best = 0;
#if defined(__x86_64__)
  if (level == IsaLevel::kBaseline) return 0;
  constexpr int kSteps = 200000;
  const double width = level == IsaLevel::kAvx512 ? 16 : 8;
  for (int round = 0; round < 9; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (level == IsaLevel::kAvx512) {
      SpinAvx512(kSteps);
    } else {
      SpinAvx2(kSteps);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double rate = 10.0 * kSteps * width * 2 / took.count() / 1e9;
    best = rate > best ? rate : best;
  }
#else
  (void)level;
#endif
  return best;
}

// Counters: GF/s, and the share of the FMA peak in percent. Call after the timed loop.
inline void ReportShare(benchmark::State& state, IsaLevel level, double flops) {
  const double total = flops * static_cast<double>(state.iterations()) / 1e9;
  state.counters["GF/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  const double peak = MeasurePeak(level);
  if (peak > 0) {
    state.counters["peak%"] = benchmark::Counter(100 * total / peak, benchmark::Counter::kIsRate);
  }
}

}  // namespace switchyard::cpu::math
