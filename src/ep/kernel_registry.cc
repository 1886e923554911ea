#include "switchyard/ep/kernel_registry.h"

#include <algorithm>
#include <unordered_map>

#include "base/format.h"

namespace switchyard {

KernelCreateInfo KernelCreateInfo::For(std::string_view op_type, std::string_view domain) {
  KernelCreateInfo info;
  info.op_type = op_type;
  info.domain = domain == "ai.onnx" ? std::string_view() : domain;
  return info;
}

KernelCreateInfo& KernelCreateInfo::Since(int first, int last) {
  first_version = first;
  last_version = last;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::Input(std::size_t i, TypeSet types) {
  input_types[i] = types;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::Output(std::size_t i, TypeSet types) {
  output_types[i] = types;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::HostInput(std::size_t i) {
  host_inputs |= std::uint64_t{1} << i;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::HostOutput(std::size_t i) {
  host_outputs |= std::uint64_t{1} << i;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::ConstantInput(std::size_t i) {
  constant_inputs |= std::uint64_t{1} << i;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::MayAlias(std::size_t input, std::size_t output) {
  may_alias.emplace_back(input, output);
  return *this;
}
KernelCreateInfo& KernelCreateInfo::MustAlias(std::size_t input, std::size_t output) {
  must_alias.emplace_back(input, output);
  return *this;
}
KernelCreateInfo& KernelCreateInfo::PartViews() {
  part_views = true;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::PartInputs() {
  part_inputs = true;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::InputStrides(std::size_t i, StrideKind kind) {
  input_strides[i] = kind;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::OutputStrides(std::size_t i, StrideKind kind) {
  output_strides[i] = kind;
  return *this;
}
KernelCreateInfo& KernelCreateInfo::Accepts(std::function<std::string(const Node&)> why_not) {
  accepts = std::move(why_not);
  return *this;
}
KernelCreateInfo& KernelCreateInfo::Create(KernelCreateFn factory) {
  create = std::move(factory);
  return *this;
}

struct KernelRegistry::Impl {
  std::unordered_map<std::string, std::vector<std::unique_ptr<KernelCreateInfo>>> by_operator;
};

KernelRegistry::KernelRegistry() : impl_(std::make_unique<Impl>()) {}
KernelRegistry::~KernelRegistry() = default;

namespace {

std::string Key(std::string_view domain, std::string_view op_type) {
  std::string key(domain == "ai.onnx" ? std::string_view() : domain);
  key += '|';
  key += op_type;
  return key;
}

bool TypesOverlap(const std::map<std::size_t, TypeSet>& a,
                  const std::map<std::size_t, TypeSet>& b) {
  for (const auto& [i, types] : a) {
    const auto other = b.find(i);
    if (other != b.end() && (types.bits() & other->second.bits()) == 0) return false;
  }
  return true;
}

bool Overlap(const KernelCreateInfo& a, const KernelCreateInfo& b) {
  const auto last = [](const KernelCreateInfo& k) {
    return k.last_version == 0 ? 1 << 30 : k.last_version;
  };
  return a.first_version <= last(b) && b.first_version <= last(a) &&
         TypesOverlap(a.input_types, b.input_types) &&
         TypesOverlap(a.output_types, b.output_types) && !a.accepts && !b.accepts;
}

std::string WrongTypes(const char* what, const std::map<std::size_t, TypeSet>& wanted,
                       std::span<NodeArg* const> arguments) {
  for (const auto& [i, types] : wanted) {
    if (i >= arguments.size() || arguments[i] == nullptr) continue;
    const ValueType& type = arguments[i]->type();
    if (!type.known()) continue;
    if (!type.is_tensor() || !types.Contains(type.elem)) {
      return fmt::format("{} {} ('{}') is {}, the kernel takes {}", what, i, arguments[i]->Name(),
                         type.ToString(), types.ToString());
    }
  }
  return {};
}

std::string WhyNot(const KernelCreateInfo& info, const Node& node) {
  const int version = node.SinceVersion();
  if (version < info.first_version || (info.last_version != 0 && version > info.last_version)) {
    return fmt::format("kernel for opset {}..{}, the node is opset {}", info.first_version,
                       info.last_version == 0 ? "newest" : std::to_string(info.last_version),
                       version);
  }
  if (std::string text = WrongTypes("input", info.input_types, node.inputs()); !text.empty())
    return text;
  if (std::string text = WrongTypes("output", info.output_types, node.outputs()); !text.empty())
    return text;
  for (std::size_t i = 0; i < node.inputs().size() && i < 64; ++i) {
    const NodeArg* input = node.inputs()[i];
    if (((info.constant_inputs >> i) & 1) != 0 && input != nullptr && !input->is_constant()) {
      return fmt::format("input {} ('{}') must be constant", i, input->Name());
    }
  }
  return info.accepts ? info.accepts(node) : std::string();
}

}  // namespace

void KernelRegistry::Register(KernelCreateInfo info) {
  if (!info.create) Throw(ErrorCode::kInvalidArgument, "kernel {} has no factory", info.op_type);
  auto& kernels = impl_->by_operator[Key(info.domain, info.op_type)];
  for (const auto& other : kernels) {
    if (Overlap(*other, info)) {
      Throw(ErrorCode::kInvalidArgument, "kernel {} (opset {}..{}) overlaps one registered before",
            info.op_type, info.first_version, info.last_version);
    }
  }
  kernels.push_back(std::make_unique<KernelCreateInfo>(std::move(info)));
}

const KernelCreateInfo* KernelRegistry::Find(const Node& node, std::string* why_not) const {
  const auto found = impl_->by_operator.find(Key(node.Domain(), node.OpType()));
  if (found == impl_->by_operator.end()) {
    if (why_not != nullptr) *why_not = "no kernel for the operator";
    return nullptr;
  }
  std::string reasons;
  for (const auto& info : found->second) {
    std::string reason = WhyNot(*info, node);
    if (reason.empty()) return info.get();
    if (reasons.find(reason) == std::string::npos) {
      if (!reasons.empty()) reasons += "; ";
      reasons += reason;
    }
  }
  if (why_not != nullptr) *why_not = std::move(reasons);
  return nullptr;
}

bool KernelRegistry::empty() const { return impl_->by_operator.empty(); }

std::vector<const KernelCreateInfo*> KernelRegistry::all() const {
  std::vector<const KernelCreateInfo*> infos;
  for (const auto& [key, kernels] : impl_->by_operator) {
    for (const auto& info : kernels) infos.push_back(info.get());
  }
  std::sort(infos.begin(), infos.end(), [](const auto* a, const auto* b) {
    return std::tie(a->domain, a->op_type, a->first_version) <
           std::tie(b->domain, b->op_type, b->first_version);
  });
  return infos;
}

}  // namespace switchyard
