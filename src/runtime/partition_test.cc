#include "runtime/partition.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>

#include "ir/functions.h"
#include "runtime/constant_store.h"
#include "runtime/copies.h"
#include "switchyard/ir/text.h"
#include "switchyard/tensor/ort_value.h"

namespace switchyard {
namespace {

class Nothing final : public OpKernel {
 public:
  Nothing() = default;
  explicit Nothing(OpKernelInfo&) {}
  void Compute(OpKernelContext&) const override {}
};

class HostTransfer final : public IDataTransfer {
 public:
  bool CanCopy(const OrtDevice&, const OrtDevice&) const override { return true; }
  void Copy(const Tensor& source, Tensor& destination, Stream*) const override {
    std::memcpy(destination.raw_mutable(), source.raw(), source.bytes());
  }
};

class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(OrtDevice device)
      : Allocator(OrtMemoryInfo{"Toy", OrtAllocatorType::kDevice, device, 64}) {}
  void* Alloc(std::size_t bytes) override { return MakeHostAllocator()->Alloc(bytes); }
  void Free(void* block) noexcept override { MakeHostAllocator()->Free(block); }
};

// Claims the named operators node by node, or all of them as one group.
class Toy final : public IExecutionProvider {
 public:
  Toy(std::string type, std::set<std::string> ops, bool fuse = false, OrtDevice device = {})
      : IExecutionProvider(std::move(type), device), ops_(std::move(ops)), fuse_(fuse) {
    registry_ = std::make_shared<KernelRegistry>();
    for (const std::string& op : ops_)
      registry_->Register(KernelCreateInfo::For(op).Make<Nothing>());
  }
  using IExecutionProvider::GetCapability;
  std::vector<std::unique_ptr<ComputeCapability>> GetCapability(
      const GraphViewer& graph, const IKernelLookup& lookup) const override {
    if (!fuse_) return IExecutionProvider::GetCapability(graph, lookup);
    std::vector<NodeIndex> mine;
    for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
      if (ops_.count(graph.GetNode(index)->OpType()) != 0) mine.push_back(index);
    }
    std::vector<std::unique_ptr<ComputeCapability>> claims;
    if (mine.empty()) return claims;
    claims.push_back(
        std::make_unique<ComputeCapability>(MakeFusedSubGraph(graph, mine, Type() + "_0", "toy")));
    IndexedSubGraph::MetaDef& meta = *claims[0]->sub_graph->meta_def;
    if (change_meta_) change_meta_(meta);
    if (twice_) claims[0]->sub_graph->nodes.push_back(mine[0]);
    for (NodeIndex taken : also_) {
      auto sub = std::make_unique<IndexedSubGraph>();
      sub->nodes = {taken};
      claims.push_back(std::make_unique<ComputeCapability>(std::move(sub)));
    }
    return claims;
  }
  std::shared_ptr<KernelRegistry> GetKernelRegistry() const override { return registry_; }
  std::vector<std::unique_ptr<OpKernel>> Compile(const std::vector<FusedNodeAndGraph>& groups,
                                                 CompileContext&) override {
    ++compiled;
    if (fail) fail();
    std::vector<std::unique_ptr<OpKernel>> kernels;
    for (std::size_t i = 0; i < groups.size(); ++i) kernels.push_back(std::make_unique<Nothing>());
    return kernels;
  }
  std::vector<AllocatorPtr> CreatePreferredAllocators() override {
    if (device().is_host()) return {};
    return {std::make_shared<DeviceAllocator>(device())};
  }
  std::unique_ptr<IDataTransfer> GetDataTransfer() const override {
    return device().is_host() ? nullptr : std::make_unique<HostTransfer>();
  }

  int compiled = 0;
  std::function<void()> fail;
  bool twice_ = false;
  std::vector<NodeIndex> also_;
  std::function<void(IndexedSubGraph::MetaDef&)> change_meta_;

  void AddKernel(const std::string& op) {
    registry_->Register(KernelCreateInfo::For(op).Make<Nothing>());
  }

 private:
  std::set<std::string> ops_;
  bool fuse_;
  std::shared_ptr<KernelRegistry> registry_;
};

class NoOptimizers final : public GraphOptimizerRegistry {
 public:
  const Pass* Find(std::string_view) const override { return nullptr; }
  std::vector<std::string_view> names() const override { return {}; }
};

std::unique_ptr<Graph> Parse(const std::string& text) {
  return ParseGraph("ir 8\nopset 13\ngraph main " + text);
}

struct Stage {
  explicit Stage(std::vector<std::shared_ptr<Toy>> list) {
    for (auto& provider : list) providers.Add(std::move(provider));
  }
  Placement Run(Graph& graph, std::vector<std::size_t> budgets = {}) {
    PartitionOptions options{providers, {}, 0, optimizers, nullptr, std::move(budgets), {}};
    options.inline_function = [](Graph& inside, Node& node) {
      static const OpSchemaRegistry schemas;
      return InlineNode(inside, node.Index(), schemas).has_value();
    };
    return PartitionGraph(graph, options);
  }
  ExecutionProviders providers;
  NoOptimizers optimizers;
};

// "Add:A Neg:B ...": operators in order with their providers.
std::string Show(const Graph& graph, const Placement& placement, const Stage& stage) {
  std::string text;
  for (NodeIndex index : graph.TopologicalOrder()) {
    const int provider = placement.of(graph, index).provider;
    text += (text.empty() ? "" : " ") + graph.node(index)->OpType() + ":" +
            (provider < 0 ? "-" : stage.providers.name(static_cast<std::size_t>(provider)));
  }
  return text;
}

constexpr const char* kChain =
    "(float[2] x) => (float[2] y) { a = Neg(x) float[2] b = Abs(a) c = Exp(b) y = Log(c) }";

TEST(Partition, TheFirstThatTakesItWins) {
  Stage stage({std::make_shared<Toy>("A", std::set<std::string>{"Abs"}),
               std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Abs", "Exp", "Log"})});
  const auto graph = Parse(kChain);
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "Neg:B Abs:A Exp:B Log:B");
  const auto& refusals = placement.of(*graph, graph->TopologicalOrder()[0]).refusals;
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].first, "A");
}

TEST(Partition, WhatNobodyTakesIsNamedWithAllReasons) {
  Stage stage({std::make_shared<Toy>("A", std::set<std::string>{"Abs"}),
               std::make_shared<Toy>("B", std::set<std::string>{"Neg"})});
  const auto graph = Parse(kChain);
  try {
    stage.Run(*graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotImplemented);
    for (const char* word : {"Exp", "ai.onnx", "tensor(float)", "A: no kernel", "B: no kernel"})
      EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
  }
}

TEST(Partition, AGroupBecomesOneNode) {
  const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Abs", "Exp"}, true);
  toy->twice_ = true;  // names a node twice
  Stage stage({toy, std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Log"})});
  const auto graph = Parse(kChain);
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "Neg:B A_0:A Log:B");
  EXPECT_EQ(toy->compiled, 1);
  const NodePlacement& fused = placement.of(*graph, graph->TopologicalOrder()[1]);
  ASSERT_NE(fused.fused, nullptr);
  EXPECT_EQ(fused.fused->node_names.size(), 2u);
}

TEST(Partition, AGroupThatMakesACycleIsRefused) {
  Stage stage({std::make_shared<Toy>("A", std::set<std::string>{"Neg", "Exp"}, true),
               std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Abs", "Exp", "Log"})});
  const auto graph = Parse(kChain);
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "Neg:B Abs:B Exp:B Log:B");
  EXPECT_NE(placement.of(*graph, graph->TopologicalOrder()[0]).refusals[0].second.find("cycle"),
            std::string::npos);
}

TEST(Partition, NotImplementedDissolvesTheGroup) {
  const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Abs", "Exp"}, true);
  toy->fail = [] { throw Error(ErrorCode::kNotImplemented, "rank 7"); };
  Stage stage({toy, std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Abs", "Exp", "Log"})});
  const auto graph = Parse(kChain);
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "Neg:B Abs:B Exp:B Log:B");
  EXPECT_NE(placement.of(*graph, graph->TopologicalOrder()[1]).refusals[0].second.find("rank 7"),
            std::string::npos);
}

TEST(Partition, FunctionsOfADissolvedGroupAreOpenedAndOfferedOn) {
  const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"LessOrEqual", "Not"}, true);
  toy->fail = [] { throw Error(ErrorCode::kNotImplemented, "rank 7"); };
  Stage stage(
      {toy, std::make_shared<Toy>("B", std::set<std::string>{"Less", "Equal", "Or", "Not"})});
  const auto graph = ParseGraph(
      "ir 8\nopset 16\ngraph main (float[2] x, float[2] z) => (bool[2] y) { bool[2] a = "
      "LessOrEqual(x, z) y = Not(a) }");
  const Placement placement = stage.Run(*graph);
  std::multiset<std::string> rows;
  for (NodeIndex index : graph->TopologicalOrder()) {
    const NodePlacement& row = placement.of(*graph, index);
    rows.insert(graph->node(index)->OpType() + std::to_string(row.provider));
    EXPECT_NE(row.refusals.at(0).second.find("rank 7"), std::string::npos);
  }
  EXPECT_EQ(rows, (std::multiset<std::string>{"Less1", "Equal1", "Or1", "Not1"}));
}

TEST(Partition, ADissolvedGroupGivesItsBytesBack) {
  const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Add"}, true);
  toy->fail = [] { throw Error(ErrorCode::kNotImplemented, "rank 7"); };
  toy->AddKernel("Mul");
  const auto graph = Parse(
      "(float[4] x) => (float[4] y) { float[4] w = {1,2,3,4} float[4] v = {5,6,7,8} a = Add(x, w) "
      "y = Mul(a, v) }");
  toy->also_ = {graph->TopologicalOrder()[1]};
  Stage stage({toy, std::make_shared<Toy>("B", std::set<std::string>{"Add", "Mul"})});
  const Placement placement = stage.Run(*graph, {20});
  EXPECT_EQ(Show(*graph, placement, stage), "Add:B Mul:A");
}

TEST(Partition, AGroupThatHidesWhatCrossesItsBorderIsRefused) {
  const std::pair<std::function<void(IndexedSubGraph::MetaDef&)>, const char*> changes[] = {
      {[](auto& meta) { meta.outputs.clear(); }, "does not give 'c', which is used outside"},
      {[](auto& meta) { meta.inputs.clear(); }, "does not take 'a', which comes from outside"},
      {[](auto& meta) { meta.outputs.push_back("y"); }, "gives 'y', which is made outside"},
  };
  for (const auto& [change, words] : changes) {
    const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Abs", "Exp"}, true);
    toy->change_meta_ = change;
    Stage stage(
        {toy, std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Abs", "Exp", "Log"})});
    const auto graph = Parse(kChain);
    const Placement placement = stage.Run(*graph);
    EXPECT_EQ(Show(*graph, placement, stage), "Neg:B Abs:B Exp:B Log:B");
    const std::string reason =
        placement.of(*graph, graph->TopologicalOrder()[1]).refusals.at(0).second;
    EXPECT_NE(reason.find(words), std::string::npos) << reason;
  }
}

TEST(Partition, OtherFailuresOfCompileAreEpFail) {
  const std::function<void()> failures[] = {
      [] { throw Error(ErrorCode::kInvalidArgument, "broken"); },
      [] { throw std::runtime_error("broken"); }};
  for (const auto& failure : failures) {
    const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Abs", "Exp"}, true);
    toy->fail = failure;
    Stage stage({toy, std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Log"})});
    const auto graph = Parse(kChain);
    try {
      stage.Run(*graph);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kEpFail);
      for (const char* word : {"A:", "A_0", "broken"})
        EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
    }
  }
}

TEST(Partition, AClaimOfATakenNodeIsRefused) {
  const auto toy = std::make_shared<Toy>("A", std::set<std::string>{"Abs", "Exp"}, true);
  const auto graph = Parse(kChain);
  toy->also_ = {graph->TopologicalOrder()[1], static_cast<NodeIndex>(12345)};
  Stage stage({toy, std::make_shared<Toy>("B", std::set<std::string>{"Neg", "Log"})});
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "Neg:B A_0:A Log:B");
}

TEST(Partition, OverBudgetIsRefusedWithFigures) {
  Stage stage({std::make_shared<Toy>("A", std::set<std::string>{"Add", "Neg"}),
               std::make_shared<Toy>("B", std::set<std::string>{"Add", "Neg"})});
  const auto graph = Parse(
      "(float[4] x) => (float[4] y) { float[4] w = {1,2,3,4} float[4] v = {5,6,7,8} a = Add(x, w) "
      "b = Add(a, w) c = Add(b, v) y = Neg(c) }");
  const Placement placement = stage.Run(*graph, {20});
  EXPECT_EQ(Show(*graph, placement, stage), "Add:A Add:A Add:B Neg:B");
  const std::string reason = placement.of(*graph, graph->TopologicalOrder()[2]).refusals[0].second;
  for (const char* figure : {"16", "20"})
    EXPECT_NE(reason.find(figure), std::string::npos) << reason;
}

TEST(Partition, BodiesAreOfferedToo) {
  Stage stage({std::make_shared<Toy>("A", std::set<std::string>{"Neg"}),
               std::make_shared<Toy>("B", std::set<std::string>{"Abs"})});
  const auto graph = Parse(
      "(bool[] c, float[2] x) => (float[2] y) { y = If<then_branch=graph t () => (float[2] a) { a "
      "= Neg(x) }, else_branch=graph e () => (float[2] b) { b = Abs(x) }>(c) }");
  const Placement placement = stage.Run(*graph);
  EXPECT_EQ(Show(*graph, placement, stage), "If:-");
  const Node& node = *graph->node(graph->TopologicalOrder()[0]);
  for (const auto& [name, body] : node.bodies())
    EXPECT_EQ(Show(*body, placement, stage), name == "then_branch" ? "Neg:A" : "Abs:B");
}

const OrtDevice kToyDevice(OrtDevice::kFirstCustom, OrtDevice::kDefault, 0);

TEST(Copies, AValueCrossesOnce) {
  Stage stage({std::make_shared<Toy>("D", std::set<std::string>{"Neg", "Add"}, false, kToyDevice),
               std::make_shared<Toy>("H", std::set<std::string>{"Abs", "Mul"})});
  const auto graph = Parse(
      "(float[2] x) => (float[2] y, float[2] a) { float[2] w = {1,2} a = Neg(x) b = Add(a, w) c = "
      "Add(x, b) d = Abs(c) e = Mul(c, d) f = Mul(e, w) y = Add(f, w) }");
  const Placement placement = stage.Run(*graph);
  const MemorySpaces spaces(stage.providers, MakeHostAllocator());
  const CopyPlan copies = PlanCopies(*graph, placement, spaces, InferenceRegistry());
  std::multiset<std::string> rows;
  for (const auto& row : copies.copies) {
    rows.insert(row.value + " " + std::to_string(row.from) + ">" + std::to_string(row.to));
  }
  EXPECT_EQ(rows, (std::multiset<std::string>{"x 0>1", "c 1>0", "f 0>1", "y 1>0", "a 1>0"}));
  EXPECT_EQ(copies.for_caller.size(), 2u);
}

TEST(Copies, CapturedValuesCrossBeforeTheBody) {
  Stage stage({std::make_shared<Toy>("D", std::set<std::string>{"Neg"}, false, kToyDevice),
               std::make_shared<Toy>("H", std::set<std::string>{"Abs"})});
  const auto graph = Parse(
      "(bool[] c, float[2] x) => (float[2] y) { h = Abs(x) y = If<then_branch=graph t () => "
      "(float[2] a) { a = Neg(h) }, else_branch=graph e () => (float[2] b) { b = Neg(h) }>(c) }");
  const Placement placement = stage.Run(*graph);
  const MemorySpaces spaces(stage.providers, MakeHostAllocator());
  const CopyPlan copies = PlanCopies(*graph, placement, spaces, InferenceRegistry());
  std::multiset<std::string> rows;
  for (const auto& row : copies.copies) rows.insert(row.value);
  EXPECT_EQ(rows, (std::multiset<std::string>{"h", "y"}));
  std::vector<std::string> order;
  for (NodeIndex index : graph->TopologicalOrder()) order.push_back(graph->node(index)->OpType());
  EXPECT_EQ(order, (std::vector<std::string>{"Abs", "Copy", "If", "Copy"}));
}

TEST(ConstantStore, EqualRequestsShareOneBlock) {
  ExecutionProviders providers;
  const MemorySpaces spaces(providers, MakeHostAllocator());
  ConstantStore store(spaces);
  const auto constant = std::make_shared<const Constant>(
      OrtValue::FromData<float>(std::vector<std::int64_t>{3}, std::vector<float>{1, 2, 3})
          .tensor());
  int packed = 0;
  PackedForm form;
  form.id = "doubled";
  form.bytes = 12;
  form.pack = [&](const Tensor& dense, std::int64_t, std::int64_t, std::byte* out) {
    ++packed;
    for (int i = 0; i < 3; ++i)
      reinterpret_cast<float*>(out)[i] = 2 * dense.values<float>()[static_cast<std::size_t>(i)];
  };
  const std::size_t first = store.Request(constant, form), second = store.Request(constant, form);
  PackedForm other = form;
  other.id = "again";
  const std::size_t third = store.Request(constant, other);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
  ThreadTeam team(2);
  store.Pack(team);
  store.Pack(team);
  EXPECT_EQ(packed, 2);
  EXPECT_EQ(store.packed(first), store.packed(second));
  EXPECT_EQ(reinterpret_cast<const float*>(store.packed(third))[2], 6);
  EXPECT_EQ(store.bytes(), 24u);
  const Tensor& dense = store.Dense(constant, kHostSpace);
  EXPECT_EQ(&dense, &store.Dense(constant, kHostSpace));
  EXPECT_EQ(store.bytes(), 36u);
}

// Counts what is read at once and in all.
class Ramp final : public ByteSource {
 public:
  std::uint64_t size() const override { return 4096; }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override {
    largest = std::max(largest, destination.size());
    total += destination.size();
    for (std::size_t i = 0; i < destination.size(); ++i)
      destination[i] = static_cast<std::byte>(offset + i);
  }
  mutable std::size_t largest = 0, total = 0;
};

TEST(ConstantStore, FormsReadByRangesMakeNoDenseTensor) {
  ExecutionProviders providers;
  const MemorySpaces spaces(providers, MakeHostAllocator());
  ConstantStore store(spaces);
  const auto source = std::make_shared<Ramp>();
  const auto constant = std::make_shared<const Constant>(DataType::kUint8, Dims{4096}, source, 0);
  PackedForm form;
  form.id = "copied";
  form.bytes = 4096;
  form.parts = 16;
  form.pack_ranges = [](const Constant& from, std::int64_t begin, std::int64_t end, std::byte* to) {
    for (std::int64_t part = begin; part < end; ++part)
      from.Read(static_cast<std::size_t>(part) * 256, {to + part * 256, 256});
  };
  const std::size_t index = store.Request(constant, form);
  ThreadTeam team(1);
  store.Pack(team);
  EXPECT_EQ(source->largest, 256u);
  EXPECT_EQ(source->total, 4096u);
  EXPECT_FALSE(constant->is_loaded());
  EXPECT_EQ(static_cast<int>(store.packed(index)[1000]), 1000 % 256);
}

TEST(ConstantStore, DenseFormsPassThroughOneBuffer) {
  ExecutionProviders providers;
  const MemorySpaces spaces(providers, MakeHostAllocator());
  ConstantStore store(spaces);
  const auto source = std::make_shared<Ramp>();
  const auto first = std::make_shared<const Constant>(DataType::kUint8, Dims{8}, source, 0);
  const auto second = std::make_shared<const Constant>(DataType::kUint8, Dims{8}, source, 16);
  std::vector<const void*> buffers;
  PackedForm form;
  form.bytes = 8;
  form.pack = [&](const Tensor& dense, std::int64_t, std::int64_t, std::byte* to) {
    buffers.push_back(dense.raw());
    std::memcpy(to, dense.raw(), 8);
  };
  ThreadTeam team(1);
  std::vector<std::size_t> indices;
  for (const auto& [constant, id] :
       {std::pair(first, "a"), std::pair(first, "b"), std::pair(second, "a")}) {
    form.id = id;
    indices.push_back(store.Request(constant, form));
    store.Pack(team);
    EXPECT_FALSE(constant->is_loaded());
  }
  store.EndPacking();
  EXPECT_EQ(source->total, 16u);
  EXPECT_EQ(buffers[0], buffers[1]);
  EXPECT_EQ(buffers[1], buffers[2]);
  EXPECT_EQ(static_cast<int>(store.packed(indices[1])[7]), 7);
  EXPECT_EQ(static_cast<int>(store.packed(indices[2])[7]), 23);
}

}  // namespace
}  // namespace switchyard
