#include "support/vault_provider/vault_kernel.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "support/vault_provider/vault_queue.h"
#include "switchyard/tensor/ort_value.h"

namespace switchyard::test {
namespace {

bool Bit(std::uint64_t bits, std::size_t i) { return i < 64 && ((bits >> i) & 1) != 0; }

const Tensor* ConstantOf(const Node& node, std::size_t i) {
  const NodeArg* input = node.inputs()[i];
  return input->is_constant() ? &input->constant()->tensor() : nullptr;
}

// Constants can be read although they lie in the vault.
class HostPreparation final : public PrepareContext {
 public:
  explicit HostPreparation(PrepareContext& outer) : outer_(outer) {}
  const Node& node() const override { return outer_.node(); }
  bool has_input(std::size_t i) const override { return outer_.has_input(i); }
  DataType input_elem(std::size_t i) const override { return outer_.input_elem(i); }
  std::span<const std::int64_t> input_dims(std::size_t i) const override {
    return outer_.input_dims(i);
  }
  const Tensor* input_value(std::size_t i) const override {
    if (!has_input(i)) return nullptr;
    const Tensor* value = outer_.input_value(i);
    return value != nullptr ? value : ConstantOf(node(), i);
  }
  std::span<const std::int64_t> output_dims(std::size_t i, bool* known) const override {
    return outer_.output_dims(i, known);
  }
  // Scratch is the kernel's own: queued work must not share it with the host's steps.
  void SetScratch(std::size_t bytes) override { scratch_ = bytes; }
  void* state() override { return outer_.state(); }
  int team_size() const override { return outer_.team_size(); }
  std::size_t scratch() const { return scratch_; }

 private:
  PrepareContext& outer_;
  std::size_t scratch_ = 0;
};

// What Prepare leaves behind the kernel's own state.
struct Prepared {
  std::uint64_t known_outputs = 0;
  std::size_t scratch = 0;
};

// The kernel's arguments in host memory. Outlives the context that it was made from.
class HostContext final : public OpKernelContext {
 public:
  HostContext(OpKernelContext& outer, std::span<const std::byte> state, std::size_t scratch,
              std::span<const std::byte* const> packed)
      : in_(outer.num_inputs()),
        out_(outer.num_outputs()),
        own_state_((state.size() + 15) / 16),
        own_scratch_(scratch == 0 ? nullptr : MakeHostAllocator()->Alloc(scratch),
                     [](void* block) { MakeHostAllocator()->Free(block); }) {
    if (!state.empty()) std::memcpy(own_state_.data(), state.data(), state.size());
    node_ = &outer.node();
    num_inputs_ = in_.size();
    num_outputs_ = out_.size();
    scratch_ = own_scratch_.get();
    state_ = own_state_.data();
    packed_ = packed.data();
    team_ = &outer.team();
    run_options_ = &outer.run_options();
    in_arguments_.resize(in_.size(), nullptr);
    out_arguments_.resize(out_.size(), nullptr);
    inputs_ = in_arguments_.data();
    outputs_ = out_arguments_.data();
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (outer.has_input(i)) in_arguments_[i] = &in_[i];
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (outer.has_output(i)) out_arguments_[i] = &out_[i];
    }
  }
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;
  OrtValue& in(std::size_t i) { return in_[i]; }
  OrtValue& out(std::size_t i) { return out_[i]; }

 private:
  Tensor& AllocateOutput(std::size_t i, std::span<const std::int64_t> dims) override {
    if (!has_output(i)) Missing(i);
    if (!out_[i].is_tensor()) {
      out_[i] = Tensor(node_->outputs()[i]->type().elem, dims, MakeHostAllocator());
    } else if (!std::equal(dims.begin(), dims.end(), out_[i].tensor().dims().begin(),
                           out_[i].tensor().dims().end())) {
      Fail("an output has another shape than inference said");
    }
    return out_[i].tensor();
  }
  void StoreOutput(std::size_t i, OrtValue value) override { out_[i] = std::move(value); }

  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<OrtValue> in_, out_;
  std::vector<const OrtValue*> in_arguments_;
  std::vector<OrtValue*> out_arguments_;
  std::vector<Block> own_state_;
  std::shared_ptr<void> own_scratch_;
};

// One execution, now or when the queue comes to it.
struct Call {
  Call(OpKernelContext& context, std::span<const std::byte> state, std::size_t scratch,
       std::span<const std::byte* const> packed)
      : host(context, state, scratch, packed),
        sources(context.num_inputs()),
        targets(context.num_outputs()) {}
  HostContext host;
  std::vector<OrtValue> sources;  // as they lie in the vault, or on the host
  std::vector<Tensor> targets;    // planned outputs
};

class VaultKernel final : public OpKernel {
 public:
  VaultKernel(OpKernelInfo& info, const KernelCreateFn& create, std::uint64_t host_inputs,
              std::uint64_t host_outputs, std::shared_ptr<IExecutionProvider> provider,
              std::shared_ptr<const VaultMemory> memory)
      : host_inputs_(host_inputs),
        host_outputs_(host_outputs),
        provider_(std::move(provider)),
        memory_(std::move(memory)) {
    OpKernelInfo inner(info.node(), *provider_);
    kernel_ = create(inner);
    requests_ = inner.packed_requests();
    known_at_ = (kernel_->state_bytes() + 7) / 8 * 8;
  }

  std::size_t state_bytes() const override { return known_at_ + sizeof(Prepared); }
  std::string Variant() const override { return kernel_->Variant(); }

  void Prepare(PrepareContext& context) const override {
    HostPreparation host(context);
    kernel_->Prepare(host);
    Prepared prepared;
    prepared.scratch = host.scratch();
    for (std::size_t i = 0; i < context.node().outputs().size(); ++i) {
      bool known = false;
      if (context.node().outputs()[i] != nullptr) context.output_dims(i, &known);
      if (known) prepared.known_outputs |= std::uint64_t{1} << i;
    }
    std::memcpy(static_cast<std::byte*>(context.state()) + known_at_, &prepared, sizeof prepared);
  }

  void Compute(OpKernelContext& context) const override {
    const std::byte* state = &context.State<std::byte>();
    Prepared prepared;
    std::memcpy(&prepared, state + known_at_, sizeof prepared);
    std::call_once(packed_once_, [&] { Pack(context); });
    const auto call = std::make_shared<Call>(context, std::span(state, kernel_->state_bytes()),
                                             prepared.scratch, packed_);
    bool queued = true;  // all that the host sees of it is in the vault
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      if (context.has_input(i)) call->sources[i] = Source(context, i);
    }
    for (std::size_t i = 0; i < context.num_outputs(); ++i) {
      if (!context.has_output(i)) continue;
      const bool known = Bit(prepared.known_outputs, i);
      queued &= known && !Bit(host_outputs_, i);
      if (known) call->targets[i] = context.Output(i);
    }
    auto* stream = dynamic_cast<VaultStream*>(context.stream());
    if (stream != nullptr && queued) {
      stream->Add([this, call] {
        Work(*call);
        for (std::size_t i = 0; i < call->targets.size(); ++i) {
          if (call->host.has_output(i)) Store(i, call->host.out(i).tensor(), call->targets[i]);
        }
      });
      return;
    }
    if (stream != nullptr) stream->Synchronize();
    Work(*call);
    for (std::size_t i = 0; i < context.num_outputs(); ++i) {
      if (context.has_output(i))
        Deliver(context, i, Bit(prepared.known_outputs, i), call->host.out(i));
    }
  }

 private:
  // Host memory may be another step's by the time that the queue comes to this one.
  OrtValue Source(OpKernelContext& context, std::size_t i) const {
    const OrtValue& value = context.InputValue(i);
    if (!value.is_tensor()) return value;
    const Tensor& tensor = value.tensor();
    if (Bit(host_inputs_, i)) return tensor.Clone(MakeHostAllocator());
    if (!(tensor.device() == memory_->info().device)) {
      context.Fail("input " + std::to_string(i) + " is on " + tensor.device().ToString() +
                       ", expected it on " + memory_->info().device.ToString(),
                   ErrorCode::kEpFail);
    }
    return value;
  }

  OrtValue Loaded(const OrtValue& value) const {
    if (!value.is_tensor() || value.tensor().device().is_host()) return value;
    const Tensor& tensor = value.tensor();
    Tensor host(tensor.type(), tensor.dims(), MakeHostAllocator());
    memory_->Load(tensor.raw(), host.raw_mutable(), tensor.bytes());
    return host;
  }

  void Work(Call& call) const {
    for (std::size_t i = 0; i < call.sources.size(); ++i) {
      if (call.host.has_input(i)) call.host.in(i) = Loaded(call.sources[i]);
    }
    for (std::size_t i = 0; i < call.targets.size(); ++i) {
      const Tensor& planned = call.targets[i];
      if (planned.type() == DataType::kUndefined) continue;
      call.host.out(i) = Tensor(planned.type(), planned.dims(), MakeHostAllocator());
    }
    kernel_->Compute(call.host);
  }

  void Store(std::size_t i, const Tensor& host, Tensor& target) const {
    if (Bit(host_outputs_, i)) {
      if (host.size() != 0) std::memcpy(target.raw_mutable(), host.raw(), host.bytes());
    } else {
      memory_->Store(host.raw(), target.raw_mutable(), host.bytes());
    }
  }

  void Deliver(OpKernelContext& context, std::size_t i, bool known, OrtValue& made) const {
    if (!made.is_tensor()) return context.SetOutput(i, made);
    const Tensor& host = made.tensor();
    Store(i, host, known ? context.Output(i) : context.Output(i, host.dims()));
  }

  // From the constant as it lies in the vault.
  void Pack(OpKernelContext& context) const {
    for (const OpKernelInfo::Request& request : requests_) {
      const OrtValue dense = Loaded(Source(context, request.input));
      const std::size_t bytes = std::max<std::size_t>(request.form.bytes, 1);
      const std::int64_t dims[] = {static_cast<std::int64_t>(bytes)};
      Tensor block(DataType::kUint8, dims, MakeHostAllocator());
      auto* data = static_cast<std::byte*>(block.raw_mutable());
      const PackedForm& form = request.form;
      if (form.bytes != 0 && form.pack_ranges) {
        form.pack_ranges(Constant(dense.tensor()), 0, form.parts, data);
      } else if (form.bytes != 0) {
        form.pack(dense.tensor(), 0, form.parts, data);
      }
      packed_.push_back(data);
      blocks_.push_back(std::move(block));
    }
  }

  std::uint64_t host_inputs_, host_outputs_;
  std::shared_ptr<IExecutionProvider> provider_;
  std::shared_ptr<const VaultMemory> memory_;
  std::unique_ptr<OpKernel> kernel_;
  std::vector<OpKernelInfo::Request> requests_;
  std::size_t known_at_ = 0;
  mutable std::once_flag packed_once_;
  mutable std::vector<Tensor> blocks_;
  mutable std::vector<const std::byte*> packed_;
};

}  // namespace

std::unique_ptr<OpKernel> MakeVaultKernel(OpKernelInfo& info, const KernelCreateFn& create,
                                          std::uint64_t host_inputs, std::uint64_t host_outputs,
                                          std::shared_ptr<IExecutionProvider> provider,
                                          std::shared_ptr<const VaultMemory> memory) {
  return std::make_unique<VaultKernel>(info, create, host_inputs, host_outputs, std::move(provider),
                                       std::move(memory));
}

}  // namespace switchyard::test
