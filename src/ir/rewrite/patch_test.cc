#include "switchyard/ir/rewrite/patch.h"

#include <gtest/gtest.h>

#include "switchyard/ir/rewrite/pass.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace {

// Enough inference for these tests.
const InferenceRegistry& Registry() {
  static const auto* registry = [] {
    auto* made = new InferenceRegistry;
    const InferenceFn same = [](InferenceContext& context) {
      context.SetType(0, context.input_type(0));
    };
    for (const char* op : {"Relu", "Neg", "Add", "Identity", "Abs"}) made->Register(op, same);
    made->Register("Cast", [](InferenceContext& context) {
      context.SetTensor(0, static_cast<DataType>(context.attributes().Int("to", 1)),
                        context.input_shape(0));
    });
    made->Register("my", "Branch", 1, 0, [](InferenceContext& context) {
      const auto found =
          context.InferBodyOutputs(*context.attributes().Subgraph("then_branch"), {});
      context.SetType(0, found[0].type);
    });
    return made;
  }();
  return *registry;
}

std::unique_ptr<Graph> Parse(std::string_view text) {
  auto graph = ParseGraph("opset 21\nopset my 1\n" + std::string(text));
  InferGraph(*graph, Registry());
  VerifyGraph(*graph);
  return graph;
}

const Node& Producer(const Graph& graph, std::string_view value) {
  return *graph.node(graph.FindValue(value)->producer());
}

std::string Canonical(const Graph& graph) {
  TextOptions options;
  options.canonical = true;
  options.types = false;
  return PrintGraph(graph, options);
}

void ExpectText(const Graph& graph, std::string_view expected) {
  VerifyGraph(graph);
  const auto wanted = Parse(expected);
  EXPECT_EQ(Canonical(graph), Canonical(*wanted));
}

TEST(Patch, ReplacesANodeAndKeepsTheOutputName) {
  auto graph = Parse("graph g (float[2] x) => (float[2] y) { a = Neg(x) y = Neg(a) }");
  Patch patch(*graph);
  patch.ReplaceUses(graph->FindValue("y"), patch.AddNode1("Abs", "", {graph->FindValue("x")}));
  EXPECT_EQ(std::move(patch).Apply(*graph, Registry()), "");
  ExpectText(*graph, "graph g (float[2] x) => (float[2] y) { y = Abs(x) }");
}

TEST(Patch, AnOutputThatIsAnInputGetsAnIdentityOnce) {
  auto graph = Parse("graph g (float[2] x) => (float[2] y) { a = Neg(x) y = Neg(a) }");
  Patch patch(*graph);
  patch.ReplaceUses(graph->FindValue("y"), graph->FindValue("x"));
  EXPECT_EQ(std::move(patch).Apply(*graph, Registry()), "");
  ExpectText(*graph, "graph g (float[2] x) => (float[2] y) { y = Identity(x) }");
  Patch again(*graph);
  again.ReplaceUses(graph->FindValue("y"), graph->FindValue("x"));
  EXPECT_NE(std::move(again).Apply(*graph, Registry()), "");
}

TEST(Patch, TwoOutputsOfOneValueKeepBothNames) {
  auto graph =
      Parse("graph g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Identity(y) }");
  Patch patch(*graph);
  patch.ReplaceUses(graph->FindValue("z"), graph->FindValue("y"));
  EXPECT_NE(std::move(patch).Apply(*graph, Registry()), "");
  EXPECT_EQ(graph->outputs()[1]->Name(), "z");
}

TEST(Patch, RefusesWhatChangesTypesOrLosesValues) {
  const auto text = "graph g (float[2] x) => (float[2] y) { a = Neg(x) y = Neg(a) }";
  auto graph = Parse(text);
  const std::string before = PrintGraph(*graph);
  {
    Patch patch(*graph);
    Attributes to;
    to.Set({"to", std::int64_t{7}});
    patch.ReplaceUses(graph->FindValue("y"),
                      patch.AddNode1("Cast", "", {graph->FindValue("x")}, to));
    EXPECT_NE(std::move(patch).Apply(*graph, Registry()).find("int64"), std::string::npos);
  }
  {
    Patch patch(*graph);
    patch.Remove(Producer(*graph, "y"));
    EXPECT_NE(std::move(patch).Apply(*graph, Registry()), "");
  }
  {
    Patch patch(*graph);
    patch.Remove(Producer(*graph, "a"));
    EXPECT_NE(std::move(patch).Apply(*graph, Registry()).find("still read"), std::string::npos);
  }
  EXPECT_EQ(PrintGraph(*graph), before);
}

TEST(Patch, RefusesCycles) {
  auto graph = Parse("graph g (float[2] x) => (float[2] y) { a = Neg(x) b = Relu(a) y = Abs(b) }");
  Patch patch(*graph);
  patch.SetInput(Producer(*graph, "a"), 0, graph->FindValue("b"));
  EXPECT_NE(std::move(patch).Apply(*graph, Registry()).find("cycle"), std::string::npos);
  ExpectText(*graph, "graph g (float[2] x) => (float[2] y) { a = Neg(x) b = Relu(a) y = Abs(b) }");
}

TEST(Patch, BodiesFollow) {
  auto graph = Parse(R"(graph g (float[2] x, bool[] c) => (float[2] y) {
    a = Identity(x)
    y = my.Branch<then_branch=graph t () => (p) { p = Neg(a) }>(c)
  })");
  Patch patch(*graph);
  patch.ReplaceUses(graph->FindValue("a"), graph->FindValue("x"));
  EXPECT_EQ(std::move(patch).Apply(*graph, Registry()), "");
  ExpectText(*graph, R"(graph g (float[2] x, bool[] c) => (float[2] y) {
    y = my.Branch<then_branch=graph t () => (p) { p = Neg(x) }>(c)
  })");
}

TEST(Patch, InlinesABodyWithItsCaptures) {
  auto graph = Parse(R"(graph g (float[2] x, bool[] c) => (float[2] y) {
    a = Relu(x)
    y = my.Branch<then_branch=graph t () => (p) {
      n = Neg(a)
      p = my.Branch<then_branch=graph u () => (q) { q = Add(n, a) }>(c)
    }>(c)
  })");
  const Node& branch = Producer(*graph, "y");
  Patch patch(*graph);
  const auto made = patch.Inline(*branch.attributes().Subgraph("then_branch"), {}, "");
  patch.ReplaceUses(graph->FindValue("y"), made[0]);
  EXPECT_EQ(std::move(patch).Apply(*graph, Registry()), "");
  ExpectText(*graph, R"(graph g (float[2] x, bool[] c) => (float[2] y) {
    a = Relu(x)
    n = Neg(a)
    y = my.Branch<then_branch=graph u () => (q) { q = Add(n, a) }>(c)
  })");
}

// Removes one Identity at a time.
class DropIdentity : public Pass {
 public:
  std::string_view name() const override { return "drop_identity"; }
  PassStage stage() const override { return PassStage::kBasic; }
  std::vector<std::string_view> roots() const override { return {"Identity"}; }
  std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) const override {
    Patch patch(graph);
    patch.ReplaceUses(node.outputs()[0], node.inputs()[0]);
    return patch;
  }
};

TEST(PassPipeline, RunsThroughBodiesCountsAndStops) {
  const std::string text = R"(graph g (float[2] x, bool[] c) => (float[2] y) {
    a = Identity(x)
    b = Identity(a)
    y = my.Branch<then_branch=graph t () => (p) { o = Identity(b) p = Neg(o) }>(c)
  })";
  PassPipeline pipeline;
  pipeline.Add(std::make_unique<DropIdentity>());
  PassContext context(Registry());
  {
    auto graph = Parse(text);
    const auto results = pipeline.Run(*graph, context, {}, nullptr);
    EXPECT_EQ(results[0].applied, 3);
    ExpectText(*graph, R"(graph g (float[2] x, bool[] c) => (float[2] y) {
      y = my.Branch<then_branch=graph t () => (p) { p = Neg(x) }>(c)
    })");
  }
  auto graph = Parse(text);
  PassPipeline::Limits limits;
  limits.stop_after = 2;
  EXPECT_EQ(pipeline.Run(*graph, context, limits, nullptr)[0].applied, 2);
  limits.disabled = {"drop_identity"};
  EXPECT_EQ(pipeline.Run(*graph, context, limits, nullptr)[0].applied, 0);
}

TEST(PassPipeline, LongChainsAreLinear) {
  std::string text = "graph g (float[2] x) => (float[2] y) { v0 = Relu(x)\n";
  for (int i = 0; i < 20000; ++i) {
    text += "v" + std::to_string(i + 1) + " = " + (i % 2 == 0 ? "Identity" : "Relu") + "(v" +
            std::to_string(i) + ")\n";
  }
  auto graph = Parse(text + "y = Neg(v20000) }");
  PassPipeline pipeline;
  pipeline.Add(std::make_unique<DropIdentity>());
  PassContext context(Registry());
  const auto results = pipeline.Run(*graph, context, {}, nullptr);
  EXPECT_EQ(results[0].applied, 10000);
  EXPECT_LT(results[0].milliseconds, 2000);
}

}  // namespace
}  // namespace switchyard
