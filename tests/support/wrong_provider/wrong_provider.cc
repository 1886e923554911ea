#include "support/wrong_provider/wrong_provider.h"

#include <cmath>

#include "switchyard/base/version.h"

namespace switchyard::test {
namespace {

class Elementwise final : public OpKernel {
 public:
  Elementwise(OpKernelInfo& info, float off) : op_(info.node().OpType()), off_(off) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor* b = context.OptionalInput(1);
    Tensor& out = context.Output(0);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const float x = a.data<float>()[i], y = b != nullptr ? b->data<float>()[i] : 0;
      out.data_mutable<float>()[i] = Of(x, y) + off_;
    }
  }
  std::string Variant() const override { return off_ == 0 ? "right" : "wrong on purpose"; }

 private:
  float Of(float x, float y) const {
    if (op_ == "Add") return x + y;
    if (op_ == "Sub") return x - y;
    if (op_ == "Mul") return x * y;
    return op_ == "Neg" ? -x : std::fabs(x);
  }
  std::string op_;
  float off_;
};

std::string Accepts(const Node& node) {
  for (const NodeArg* input : node.inputs()) {
    if (!(input->type().shape == node.outputs()[0]->type().shape)) return "it broadcasts";
  }
  return "";
}

class NegOfNeg final : public Pass {
 public:
  std::string_view name() const override { return "neg_of_neg"; }
  PassStage stage() const override { return PassStage::kExtended; }
  std::vector<std::string_view> roots() const override { return {"Neg"}; }
  std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) const override {
    const NodeIndex inner = node.inputs()[0]->producer();
    if (inner == kNoNode || graph.node(inner)->OpType() != "Neg") return std::nullopt;
    Patch patch(graph);
    patch.ReplaceUses(node.outputs()[0], graph.node(inner)->inputs()[0]);
    return patch;
  }
};

class SubToAdd final : public Pass {
 public:
  std::string_view name() const override { return "sub_to_add"; }
  PassStage stage() const override { return PassStage::kExtended; }
  std::vector<std::string_view> after() const override { return {"neg_of_neg"}; }
  std::vector<std::string_view> roots() const override { return {"Sub"}; }
  std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) const override {
    Patch patch(graph);
    patch.ReplaceUses(node.outputs()[0],
                      patch.AddNode1("Add", "", {node.inputs()[0], node.inputs()[1]}));
    return patch;
  }
};

}  // namespace

WrongProvider::WrongProvider(const ProviderOptions& options)
    : IExecutionProvider(kWrongExecutionProvider),
      options_(options),
      registry_(std::make_shared<KernelRegistry>()) {
  std::string wrong;
  for (const auto& [key, value] : options) {
    if (key == "kernel") {
      wrong = value;
    } else if (key == "pass") {
      wrong_pass_ = value == "1";
    } else {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string(kWrongExecutionProvider) + ": known options: kernel, pass");
    }
  }
  for (const char* op : {"Add", "Sub", "Mul", "Neg", "Abs"}) {
    const float off = wrong == op ? 0.5f : 0.0f;
    registry_->Register(KernelCreateInfo::For(op)
                            .Input(0, types::kFloat32)
                            .Accepts(Accepts)
                            .Create([off](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                              return std::make_unique<Elementwise>(info, off);
                            }));
  }
}

void WrongProvider::AddPasses(PassPipeline& pipeline, const GraphOptimizerRegistry&) const {
  if (!wrong_pass_) return;
  pipeline.Add(std::make_unique<NegOfNeg>());
  pipeline.Add(std::make_unique<SubToAdd>());
}

ProviderFactory MakeWrongFactory() {
  ProviderFactory factory;
  factory.name = kWrongExecutionProvider;
  factory.device_kind = "cpu";
  factory.option_keys = {"kernel", "pass"};
  factory.version = std::string(Version());
  factory.create = [](const ProviderOptions& options, const ProviderEnvironment&) {
    return std::make_shared<WrongProvider>(options);
  };
  return factory;
}

}  // namespace switchyard::test
