#include "providers/cpu/kernels/testing/node_harness.h"

#include "providers/cpu/provider.h"
#include "switchyard/base/thread_team.h"
#include "switchyard/ep/provider_factory.h"

namespace switchyard::cpu::testing {

NodeHarness::NodeHarness(std::string op_type, int since_version, std::string domain)
    : op_type_(std::move(op_type)), domain_(std::move(domain)), since_version_(since_version) {}

NodeHarness::~NodeHarness() = default;

class NodeHarness::Block {
 public:
  Block(std::size_t bytes, std::size_t align) : bytes_(bytes + align), align_(align) {}
  std::byte* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (align_ - at % align_) % align_;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t align_;
};

class NodeHarness::Prepared final : public PrepareContext {
 public:
  Prepared(NodeHarness& owner, std::size_t state_bytes, int team_size)
      : owner_(owner), state_(state_bytes, 64), team_size_(team_size) {}
  const Node& node() const override { return *owner_.node_; }
  bool has_input(std::size_t i) const override {
    return i < owner_.inputs_.size() && owner_.inputs_[i].present;
  }
  DataType input_elem(std::size_t i) const override {
    return owner_.inputs_[i].value.tensor().type();
  }
  std::span<const std::int64_t> input_dims(std::size_t i) const override {
    return owner_.inputs_[i].value.tensor().dims();
  }
  const Tensor* input_value(std::size_t i) const override {
    return owner_.inputs_[i].constant ? &owner_.inputs_[i].value.tensor() : nullptr;
  }
  std::span<const std::int64_t> output_dims(std::size_t, bool* known) const override {
    if (known != nullptr) *known = false;
    return {};
  }
  void SetScratch(std::size_t bytes) override { scratch_.emplace(bytes, 64); }
  void* state() override { return state_.data(); }
  int team_size() const override { return team_size_; }
  void* scratch() { return scratch_ ? scratch_->data() : nullptr; }

 private:
  NodeHarness& owner_;
  Block state_;
  std::optional<Block> scratch_;
  int team_size_;
};

class NodeHarness::Running final : public OpKernelContext {
 public:
  Running(NodeHarness& owner, Prepared& prepared, ThreadTeam& team) : owner_(owner) {
    for (const Argument& a : owner.inputs_) input_values_.push_back(a.present ? &a.value : nullptr);
    values_.resize(owner.outputs_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      output_values_.push_back(owner.outputs_[i].known() ? &values_[i] : nullptr);
    }
    node_ = owner.node_;
    num_inputs_ = input_values_.size();
    num_outputs_ = output_values_.size();
    inputs_ = input_values_.data();
    outputs_ = output_values_.data();
    scratch_ = prepared.scratch();
    state_ = prepared.state();
    packed_ = owner.packed_.data();
    team_ = &team;
    run_options_ = &options_;
  }
  std::vector<OrtValue> TakeOutputs() { return std::move(values_); }

 protected:
  Tensor& AllocateOutput(std::size_t i, std::span<const std::int64_t> dims) override {
    if (!has_output(i)) Missing(i);
    values_[i] = OrtValue(Tensor(owner_.outputs_[i].elem, dims, MakeHostAllocator()));
    return values_[i].tensor();
  }
  void StoreOutput(std::size_t i, OrtValue value) override { values_[i] = std::move(value); }

 private:
  NodeHarness& owner_;
  std::vector<const OrtValue*> input_values_;
  std::vector<OrtValue*> output_values_;
  std::vector<OrtValue> values_;
  RunOptions options_;
};

std::vector<OrtValue> NodeHarness::Run(const std::string& isa, int threads) {
  ProviderEnvironment environment;
  if (!isa.empty()) environment.session_config["switchyard.cpu.isa"] = isa;
  const CpuExecutionProvider provider({}, environment);
  BuildGraph();
  std::string why_not;
  const KernelCreateInfo* entry = provider.GetKernelRegistry()->Find(*node_, &why_not);
  if (entry == nullptr) throw Error(ErrorCode::kNotImplemented, why_not);
  OpKernelInfo info(*node_, provider);
  const std::unique_ptr<OpKernel> kernel = entry->create(info);
  Pack(info);
  ThreadTeam team(threads);
  Prepared prepared(*this, kernel->state_bytes(), threads);
  kernel->Prepare(prepared);
  Running running(*this, prepared, team);
  kernel->Compute(running);
  return running.TakeOutputs();
}

void NodeHarness::BuildGraph() {
  graph_ = std::make_unique<Graph>(std::make_shared<ModelContext>());
  std::vector<NodeArg*> ins, outs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    if (!inputs_[i].present) {
      ins.push_back(nullptr);
    } else if (inputs_[i].constant) {
      ins.push_back(graph_->AddConstant(
          name, std::make_shared<switchyard::Constant>(inputs_[i].value.tensor())));
    } else {
      ins.push_back(graph_->AddInput(name, inputs_[i].value.type()));
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outs.push_back(outputs_[i].known() ? graph_->AddValue("out" + std::to_string(i), outputs_[i])
                                       : nullptr);
  }
  node_ = graph_->AddNode(op_type_, domain_, "test", ins, outs, attributes_, since_version_);
}

void NodeHarness::Pack(const OpKernelInfo& info) {
  for (const auto& request : info.packed_requests()) {
    auto block = std::make_unique<Block>(request.form.bytes, request.form.align);
    const PackedForm& form = request.form;
    const Argument& input = inputs_[request.input];
    if (form.pack_ranges) {
      form.pack_ranges(Constant(input.value.tensor()), 0, form.parts, block->data());
    } else {
      form.pack(input.value.tensor(), 0, form.parts, block->data());
    }
    packed_.push_back(block->data());
    blocks_.push_back(std::move(block));
  }
}

}  // namespace switchyard::cpu::testing
