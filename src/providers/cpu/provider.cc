#include "providers/cpu/provider.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "switchyard/base/cpu_features.h"
#include "switchyard/base/version.h"

namespace switchyard::cpu {

namespace passes {
void RegisterAll(PassRegistry& registry);
}
namespace kernels {
void RegisterAll(KernelRegistry& registry);
}

namespace {

constexpr std::string_view kIsaKey = "switchyard.cpu.isa";
constexpr std::array<std::string_view, 4> kOptionKeys = {
    "arena_extend_strategy", "enable_cpu_mem_arena", "use_arena", "switchyard.cpu.isa"};

math::IsaLevel BestLevel() {
  const CpuFeatures& features = DetectCpuFeatures();
  if (features.avx512 && features.avx2) return math::IsaLevel::kAvx512;
  return features.avx2 ? math::IsaLevel::kAvx2 : math::IsaLevel::kBaseline;
}

math::IsaLevel LevelCappedBy(const std::string& cap) {
  math::IsaLevel wanted = math::IsaLevel::kAvx512;
  if (cap == "baseline") {
    wanted = math::IsaLevel::kBaseline;
  } else if (cap == "avx2") {
    wanted = math::IsaLevel::kAvx2;
  } else if (!cap.empty() && cap != "avx512") {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(kIsaKey) + ": '" + cap + "' is none of baseline, avx2, avx512");
  }
  return std::min(wanted, BestLevel());
}

std::string KnownKeys() {
  std::string text;
  for (std::string_view key : kOptionKeys) {
    if (!text.empty()) text += ", ";
    text += key;
  }
  return text;
}

void CheckOption(const std::string& key, const std::string& value, const Logger& logger) {
  if (std::find(kOptionKeys.begin(), kOptionKeys.end(), key) == kOptionKeys.end()) {
    logger.Log(Severity::kWarning, "providers",
               std::string(kCpuExecutionProvider) + " ignores the unknown option '" + key +
                   "'; known: " + KnownKeys());
    return;
  }
  const bool is_switch = key == "enable_cpu_mem_arena" || key == "use_arena";
  const bool ok = is_switch ? value == "0" || value == "1"
                  : key == "arena_extend_strategy"
                      ? value == "kNextPowerOfTwo" || value == "kSameAsRequested"
                      : true;
  if (!ok) {
    throw Error(ErrorCode::kInvalidArgument, std::string(kCpuExecutionProvider) + ": option " +
                                                 key + " has the bad value '" + value + "'");
  }
}

}  // namespace

CpuExecutionProvider::CpuExecutionProvider(const ProviderOptions& options,
                                           const ProviderEnvironment& environment)
    : IExecutionProvider(kCpuExecutionProvider), options_(options) {
  for (const auto& [key, value] : options) CheckOption(key, value, environment.logger);
  std::string cap;
  if (const auto it = environment.session_config.find(std::string(kIsaKey));
      it != environment.session_config.end()) {
    cap = it->second;
  }
  if (const auto it = options.find(std::string(kIsaKey)); it != options.end()) cap = it->second;
  isa_ = LevelCappedBy(cap);
  const auto accuracy = environment.session_config.find("switchyard.accuracy");
  exact_ = accuracy != environment.session_config.end() && accuracy->second == "exact";
}

void CpuExecutionProvider::AddPasses(PassPipeline& pipeline,
                                     const GraphOptimizerRegistry& optimizers) const {
  for (const char* name :
       {"layer_norm", "rms_norm", "gelu", "hard_swish", "attention", "skip_layer_norm"}) {
    if (const Pass* pass = optimizers.Find(name)) pipeline.Add(*pass);
  }
  static const PassRegistry registry = [] {
    PassRegistry made;
    passes::RegisterAll(made);
    return made;
  }();
  for (const auto& pass : registry.passes()) pipeline.Add(*pass);
}

std::shared_ptr<KernelRegistry> CpuExecutionProvider::GetKernelRegistry() const {
  // Kernels are the same for every session: the registry is made once, read-only afterwards.
  static const std::shared_ptr<KernelRegistry> registry = [] {
    auto made = std::make_shared<KernelRegistry>();
    kernels::RegisterAll(*made);
    return made;
  }();
  return registry;
}

std::vector<AllocatorPtr> CpuExecutionProvider::CreatePreferredAllocators() {
  return {MakeHostAllocator()};
}

ProviderOptions CpuExecutionProvider::GetProviderOptions() const { return options_; }

namespace {

OrtEpDevice HostDevice() {
  OrtEpDevice host;
  host.ep_name = kCpuExecutionProvider;
  host.ep_vendor = "Switchyard";
  host.ep_metadata = {{"version", std::string(Version())}};
  host.memory_infos = {OrtMemoryInfo()};
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel")) {
    host.device.vendor = "Intel";
    host.device.vendor_id = 0x8086;
  } else if (__builtin_cpu_is("amd")) {
    host.device.vendor = "AMD";
    host.device.vendor_id = 0x1022;
  }
#endif
  return host;
}

}  // namespace

ProviderFactory MakeCpuProviderFactory() {
  ProviderFactory factory;
  factory.name = kCpuExecutionProvider;
  factory.aliases = {"cpu"};
  factory.device_kind = "cpu";
  factory.fallback = true;
  factory.option_keys.assign(kOptionKeys.begin(), kOptionKeys.end());
  factory.version = std::string(Version());
  factory.devices = [] { return std::vector<OrtEpDevice>{HostDevice()}; };
  factory.create = [](const ProviderOptions& options, const ProviderEnvironment& environment) {
    return std::make_shared<CpuExecutionProvider>(options, environment);
  };
  return factory;
}

void Register(ProviderCatalog& catalog) { catalog.Add(MakeCpuProviderFactory()); }

}  // namespace switchyard::cpu
