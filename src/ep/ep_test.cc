#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "switchyard/ep/execution_provider.h"
#include "switchyard/ep/provider_factory.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace {

class Nothing final : public OpKernel {
 public:
  explicit Nothing(OpKernelInfo&) {}
  void Compute(OpKernelContext&) const override {}
};

KernelCreateInfo Kernel(std::string_view op, int first, int last, TypeSet types) {
  return KernelCreateInfo::For(op).Since(first, last).Input(0, types).Make<Nothing>();
}

// The first node of a graph in text form.
struct One {
  explicit One(const std::string& text, int opset = 13)
      : graph(ParseGraph("ir 8\nopset " + std::to_string(opset) + "\ngraph main " + text)) {}
  const Node& node() const { return *graph->node(graph->TopologicalOrder()[0]); }
  std::unique_ptr<Graph> graph;
};

TEST(KernelRegistry, VersionsChooseTheKernel) {
  KernelRegistry registry;
  EXPECT_TRUE(registry.empty());
  registry.Register(Kernel("Softmax", 1, 12, types::kFloats));
  registry.Register(Kernel("Softmax", 13, 0, types::kFloats));
  const char* text = "(float[2] x) => (float[2] y) { y = Softmax(x) }";
  ASSERT_NE(registry.Find(One(text, 11).node()), nullptr);
  EXPECT_EQ(registry.Find(One(text, 11).node())->last_version, 12);
  EXPECT_EQ(registry.Find(One(text, 13).node())->first_version, 13);
  EXPECT_EQ(registry.all().size(), 2u);
}

TEST(KernelRegistry, RefusalsHaveReasons) {
  KernelRegistry registry;
  registry.Register(Kernel("Softmax", 13, 0, types::kFloat32));
  registry.Register(KernelCreateInfo::For("Neg")
                        .Since(13)
                        .Accepts([](const Node&) { return std::string("not today"); })
                        .Make<Nothing>());
  registry.Register(KernelCreateInfo::For("Reshape").Since(1).ConstantInput(1).Make<Nothing>());
  const auto why = [&](const char* text, int opset = 13) {
    std::string reason;
    const One one(text, opset);
    EXPECT_EQ(registry.Find(one.node(), &reason), nullptr);
    EXPECT_EQ(registry.Find(one.node()), nullptr);
    return reason;
  };
  EXPECT_NE(why("(float[2] x) => (float[2] y) { y = Softmax(x) }", 11).find("13..newest"),
            std::string::npos);
  EXPECT_NE(why("(double[2] x) => (double[2] y) { y = Softmax(x) }").find("tensor(double)"),
            std::string::npos);
  EXPECT_EQ(why("(float[2] x) => (float[2] y) { y = Neg(x) }"), "not today");
  EXPECT_NE(why("(float[2] x) => (float[2] y) { y = Abs(x) }").find("no kernel"),
            std::string::npos);
  EXPECT_NE(why("(float[2] x, int64[1] s) => (float[2] y) { y = Reshape(x, s) }").find("constant"),
            std::string::npos);
}

TEST(KernelRegistry, OverlapIsRefused) {
  KernelRegistry registry;
  registry.Register(Kernel("Add", 7, 12, types::kFloat32));
  registry.Register(Kernel("Add", 13, 0, types::kFloat32));
  registry.Register(Kernel("Add", 7, 0, DataType::kDouble));
  EXPECT_THROW(registry.Register(Kernel("Add", 12, 12, types::kFloats)), Error);
  EXPECT_THROW(registry.Register(Kernel("Add", 20, 0, types::kFloat32)), Error);
  EXPECT_THROW(registry.Register(KernelCreateInfo::For("Add")), Error);
  EXPECT_NO_THROW(registry.Register(
      KernelCreateInfo::For("Add", "my.domain").Input(0, types::kFloats).Make<Nothing>()));
  EXPECT_THROW(registry.Register(KernelCreateInfo::For("Add", "ai.onnx")
                                     .Since(14)
                                     .Input(0, types::kFloat32)
                                     .Make<Nothing>()),
               Error);
}

class Named final : public IExecutionProvider {
 public:
  using IExecutionProvider::IExecutionProvider;
};

TEST(ExecutionProviders, TheSecondOfATypeIsNumbered) {
  ExecutionProviders providers;
  const auto first = std::make_shared<Named>("Toy"), second = std::make_shared<Named>("Toy");
  providers.Add(first);
  providers.Add(std::make_shared<Named>("Other"));
  providers.Add(second);
  EXPECT_EQ(providers.size(), 3u);
  EXPECT_EQ(providers.name(0), "Toy");
  EXPECT_EQ(providers.name(2), "Toy:1");
  EXPECT_EQ(providers.Get("Toy"), first.get());
  EXPECT_EQ(providers.Get("Toy:1"), second.get());
  EXPECT_EQ(providers.Get("Toy:2"), nullptr);
  EXPECT_THROW(providers.Add(first), Error);
  EXPECT_THROW(providers.Add(nullptr), Error);
}

TEST(ProviderCatalog, NamesAliasesAndReplacement) {
  ProviderCatalog catalog;
  ProviderFactory factory;
  factory.name = "ToyExecutionProvider";
  factory.aliases = {"toy"};
  factory.version = "1";
  catalog.Add(factory);
  factory.version = "2";
  catalog.Add(factory);
  factory.name = "Host";
  factory.aliases = {};
  factory.fallback = true;
  catalog.Add(factory);
  EXPECT_EQ(catalog.all().size(), 2u);
  EXPECT_EQ(catalog.Find("toy")->version, "2");
  EXPECT_EQ(catalog.Find("ToyExecutionProvider")->version, "2");
  EXPECT_FALSE(catalog.Find("Toy").has_value());
  EXPECT_EQ(catalog.Fallback().name, "Host");
  try {
    catalog.LoadLibrary("no_such_library.so");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoSuchFile);
  }
}

TEST(ProviderCatalog, AModuleThatIsNotThereKeepsItsNameAndSaysWhatIsMissing) {
  ProviderFactory entry;
  entry.name = "ToyExecutionProvider";
  entry.library = "switchyard_no_such_module";
  entry.needs = "the toy SDK";
  const ProviderFactory factory = MakeModuleFactory(entry);
  EXPECT_FALSE(factory.built);
  for (const auto& reason : {factory.load(), factory.unavailable()}) {
    ASSERT_TRUE(reason.has_value());
    EXPECT_NE(reason->find("libswitchyard_no_such_module.so"), std::string::npos) << *reason;
    EXPECT_NE(reason->find("the toy SDK"), std::string::npos) << *reason;
  }
  EXPECT_TRUE(factory.devices().empty());
  EXPECT_THROW(factory.create({}, {}), Error);
}

TEST(FusedSubGraph, HasTheValuesThatCrossItsBorder) {
  const auto graph = ParseGraph(
      "ir 8\nopset 13\ngraph main (float[2] x) => (float[2] y, float[2] b) { float[2] w = {1,2} "
      "a = Add(x, w) b = Neg(a) c = Abs(a) y = Mul(b, c) }");
  const auto order = graph->TopologicalOrder();
  const auto group =
      MakeFusedSubGraph(GraphViewer(*graph), {order[0], order[1], order[2]}, "group", "toy");
  const IndexedSubGraph::MetaDef& meta = *group->GetMetaDef();
  EXPECT_EQ(meta.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(meta.outputs.size(), 2u);
  EXPECT_EQ(meta.constant_initializers, std::vector<std::string>{"w"});
}

}  // namespace
}  // namespace switchyard
