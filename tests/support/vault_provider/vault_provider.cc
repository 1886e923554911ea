#include "support/vault_provider/vault_provider.h"

#include <array>
#include <charconv>
#include <set>

#include "base/format.h"
#include "support/vault_provider/vault_kernel.h"
#include "support/vault_provider/vault_queue.h"

namespace switchyard::test {
namespace {

constexpr std::array<std::string_view, 4> kOptionKeys = {"device_id", "memory_limit", "ops",
                                                         "async"};

std::int64_t Number(const ProviderOptions& options, const std::string& key) {
  const auto found = options.find(key);
  if (found == options.end()) return 0;
  std::int64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    Throw(ErrorCode::kInvalidArgument, "{}: option {} must be a whole number, got '{}'",
          kVaultExecutionProvider, key, text);
  }
  return value;
}

OrtDevice DeviceOf(const ProviderOptions& options) {
  return {kVaultDevice, OrtDevice::kDefault,
          static_cast<OrtDevice::DeviceId>(Number(options, "device_id"))};
}

std::set<std::string> Split(const std::string& text) {
  std::set<std::string> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Arguments whose contents decide shapes: the host reads them before the kernel runs.
std::uint64_t ShapeInputs(const std::string& op) {
  static const std::map<std::string, std::uint64_t> bits = {
      {"ConstantOfShape", 0b1},  {"CumSum", 0b10},         {"Expand", 0b10},
      {"OneHot", 0b10},          {"Pad", 0b1010},          {"Range", 0b111},
      {"Slice", 0b11110},        {"Split", 0b10},          {"Tile", 0b10},
      {"Trilu", 0b10},           {"ReduceL1", 0b10},       {"ReduceL2", 0b10},
      {"ReduceLogSum", 0b10},    {"ReduceMax", 0b10},      {"ReduceMean", 0b10},
      {"ReduceMin", 0b10},       {"ReduceProd", 0b10},     {"ReduceSum", 0b10},
      {"ReduceSumSquare", 0b10}, {"ReduceLogSumExp", 0b10}};
  const auto found = bits.find(op);
  return found == bits.end() ? 0 : found->second;
}

std::string WhyNot(const Node& node) {
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (value == nullptr) continue;
      const ValueType& type = value->type();
      if (!type.is_tensor() || type.elem == DataType::kString ||
          type.elem == DataType::kUndefined) {
        return fmt::format("a vault holds tensors of numbers; '{}' is {}", value->Name(),
                           type.ToString());
      }
    }
  }
  return {};
}

}  // namespace

std::shared_ptr<IExecutionProvider> MakeFallbackProvider() {
  const Environment environment;
  return environment.providers().Fallback().create({}, {1, {}, environment.logger()});
}

VaultProvider::VaultProvider(const ProviderOptions& options)
    : IExecutionProvider(kVaultExecutionProvider, DeviceOf(options)),
      options_(options),
      is_async_(Number(options, "async") != 0),
      memory_(std::make_shared<VaultMemory>(
          device(), static_cast<std::size_t>(Number(options, "memory_limit")))),
      cpu_(MakeFallbackProvider()),
      cpu_registry_(cpu_->GetKernelRegistry()) {
  for (const auto& [key, value] : options) {
    if (std::find(kOptionKeys.begin(), kOptionKeys.end(), key) == kOptionKeys.end()) {
      Throw(ErrorCode::kInvalidArgument,
            "{}: unknown option '{}'; known: device_id, "
            "memory_limit, ops, async",
            kVaultExecutionProvider, key);
    }
  }
  const auto found = options.find("ops");
  registry_ = MakeRegistry(found == options.end() ? std::string() : found->second);
}

std::shared_ptr<KernelRegistry> VaultProvider::MakeRegistry(const std::string& operators) const {
  const std::set<std::string> wanted = Split(operators);
  auto registry = std::make_shared<KernelRegistry>();
  for (const KernelCreateInfo* original : cpu_registry_->all()) {
    if (!wanted.empty() && wanted.count(original->op_type) == 0) continue;
    KernelCreateInfo info = *original;
    info.host_inputs |= ShapeInputs(info.op_type);
    if (info.op_type == "Shape" || info.op_type == "Size") info.host_outputs |= 1;
    info.input_strides.clear();
    info.output_strides.clear();
    info.accepts = [accepts = original->accepts](const Node& node) {
      std::string reason = WhyNot(node);
      if (reason.empty() && accepts) reason = accepts(node);
      return reason;
    };
    info.create = [create = original->create, host_inputs = info.host_inputs,
                   host_outputs = info.host_outputs, cpu = cpu_,
                   memory = memory_](OpKernelInfo& kernel_info) {
      return MakeVaultKernel(kernel_info, create, host_inputs, host_outputs, cpu, memory);
    };
    registry->Register(std::move(info));
  }
  return registry;
}

std::unique_ptr<IDataTransfer> VaultProvider::GetDataTransfer() const {
  return std::make_unique<VaultTransfer>(memory_, traffic_);
}

std::unique_ptr<Stream> VaultProvider::CreateStream() const {
  return is_async_ ? std::make_unique<VaultStream>(device()) : nullptr;
}

void VaultProvider::OnRunStart(const RunOptions&) { ++starts_; }
void VaultProvider::OnRunEnd(bool, const RunOptions&) { ++ends_; }

ProviderFactory MakeVaultFactory() {
  ProviderFactory factory;
  factory.name = kVaultExecutionProvider;
  factory.aliases = {"vault"};
  factory.device_kind = "vault";
  factory.option_keys.assign(kOptionKeys.begin(), kOptionKeys.end());
  factory.create = [](const ProviderOptions& options, const ProviderEnvironment&) {
    return std::make_shared<VaultProvider>(options);
  };
  return factory;
}

}  // namespace switchyard::test
