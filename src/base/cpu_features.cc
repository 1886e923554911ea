#include "switchyard/base/cpu_features.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace switchyard {
namespace {

#if defined(__x86_64__) || defined(__i386__)
std::uint64_t EnabledRegisterState() {
  std::uint32_t eax = 0, edx = 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (static_cast<std::uint64_t>(edx) << 32) | eax;
}

void DetectX86(CpuFeatures* features) {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return;
  const bool osxsave = ((c >> 27) & 1) != 0;
  const bool fma = ((c >> 12) & 1) != 0;
  const bool f16c = ((c >> 29) & 1) != 0;
  if (!osxsave) return;
  const std::uint64_t state = EnabledRegisterState();
  const bool ymm = (state & 0x6) == 0x6;
  const bool zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
  features->avx2 = ymm && fma && f16c && ((b >> 5) & 1) != 0;
  const bool f = ((b >> 16) & 1) != 0, dq = ((b >> 17) & 1) != 0;
  const bool bw = ((b >> 30) & 1) != 0, vl = ((b >> 31) & 1) != 0;
  features->avx512 = features->avx2 && zmm && f && dq && bw && vl;
  features->avx512_vnni = features->avx512 && ((c >> 11) & 1) != 0;
  features->amx_bf16 = features->avx512 && tiles && ((d >> 22) & 1) != 0;
  features->amx_int8 = features->avx512 && tiles && ((d >> 25) & 1) != 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    features->avx512_bf16 = features->avx512 && ((a >> 5) & 1) != 0;
  }
}
#endif

// Cores of the affinity mask, two hyperthreads of a core counted once.
int UsableCores() {
#if defined(__linux__)
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    std::set<std::pair<int, int>> cores;
    int cpus = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &mask)) continue;
      ++cpus;
      const std::string base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      int package = -1, core = -1;
      std::ifstream(base + "physical_package_id") >> package;
      std::ifstream(base + "core_id") >> core;
      cores.emplace(package, core >= 0 ? core : 100000 + cpu);
    }
    return std::max(1, std::min<int>(cpus, static_cast<int>(cores.size())));
  }
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

// The control group's processor time as whole processors; 0: no limit.
int QuotaCores() {
  std::string quota, period;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period && quota != "max") {
    const double share = std::stod(quota) / std::stod(period);
    return std::max(1, static_cast<int>(share + 0.999));
  }
  return 0;
}

CpuFeatures Detect() {
  CpuFeatures features;
#if defined(__x86_64__) || defined(__i386__)
  DetectX86(&features);
#endif
  features.physical_cores = UsableCores();
  if (const int quota = QuotaCores(); quota > 0) {
    features.physical_cores = std::min(features.physical_cores, quota);
  }
  return features;
}

}  // namespace

const CpuFeatures& DetectCpuFeatures() {
  static const CpuFeatures features = Detect();
  return features;
}

}  // namespace switchyard
