#pragma once
// A provider for tests with kernels and memory of its own. Its kernels are those of the CPU
// provider: they read their inputs out of the vault into host memory, compute there and store the
// results, so that every operator of the CPU is there and a copy forgotten by the core shows.
// Options: "device_id" (index of the vault), "memory_limit" (bytes, 0: none), "ops" (comma list of
// the operators that it has kernels for, empty: all), "async" (1: kernels and copies are queued and
// run no earlier than somebody waits for them).

#include <atomic>
#include <memory>
#include <string>

#include "support/vault_provider/vault_memory.h"
#include "switchyard/session/environment.h"

namespace switchyard::test {

inline constexpr const char* kVaultExecutionProvider = "VaultExecutionProvider";
inline constexpr OrtDevice::DeviceType kVaultDevice = OrtDevice::kFirstCustom;

class VaultProvider final : public IExecutionProvider {
 public:
  explicit VaultProvider(const ProviderOptions& options = {});

  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return registry_; }
  std::vector<AllocatorPtr> CreatePreferredAllocators() override { return {memory_}; }
  std::unique_ptr<IDataTransfer> GetDataTransfer() const override;
  std::unique_ptr<Stream> CreateStream() const override;
  ProviderOptions GetProviderOptions() const override { return options_; }
  void OnRunStart(const RunOptions& options) override;
  void OnRunEnd(bool sync, const RunOptions& options) override;

  const VaultMemory& memory() const { return *memory_; }
  const VaultTraffic& traffic() const { return *traffic_; }
  std::uint64_t run_starts() const { return starts_; }
  std::uint64_t run_ends() const { return ends_; }

 private:
  std::shared_ptr<KernelRegistry> MakeRegistry(const std::string& operators) const;

  ProviderOptions options_;
  bool is_async_;
  std::shared_ptr<VaultMemory> memory_;
  std::shared_ptr<VaultTraffic> traffic_ = std::make_shared<VaultTraffic>();
  std::shared_ptr<IExecutionProvider> cpu_;
  std::shared_ptr<KernelRegistry> cpu_registry_, registry_;
  std::atomic<std::uint64_t> starts_{0}, ends_{0};
};

// The factory under its name, for catalogs.
ProviderFactory MakeVaultFactory();
// The provider that every session has, made without a session.
std::shared_ptr<IExecutionProvider> MakeFallbackProvider();

}  // namespace switchyard::test
