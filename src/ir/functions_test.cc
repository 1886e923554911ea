#include "ir/functions.h"

#include <gtest/gtest.h>

#include "ir/body_builder.h"
#include "switchyard/base/error.h"
#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {
namespace {

std::unique_ptr<Graph> MakeGraph(int opset = 21) {
  auto context = std::make_shared<ModelContext>();
  context->ir_version = 10;
  context->opset_imports = {{"", opset}, {"my", 1}};
  return std::make_unique<Graph>(context);
}

NodeArg* Add(Graph& graph, const std::string& op, std::vector<NodeArg*> inputs,
             const std::string& output, Attributes attributes = {},
             const std::string& domain = "") {
  NodeArg* const outputs[] = {graph.FindValue(output) != nullptr ? graph.FindValue(output)
                                                                 : graph.AddValue(output)};
  graph.AddNode(op, domain, op + "_" + output, inputs, outputs, std::move(attributes));
  return outputs[0];
}

ValueType Floats(std::initializer_list<Dim> dims) {
  return ValueType::Tensor(DataType::kFloat, Shape(dims));
}

// my.F(a, b?) <slope> = LeakyRelu<alpha = @slope>(Add(a, b or nothing))
FunctionBody LeakyFunction() {
  FunctionBody function;
  function.domain = "my";
  function.name = "F";
  function.attributes = {"slope"};
  function.body = MakeGraph();
  Graph& g = *function.body;
  NodeArg* a = g.AddInput("a", {});
  NodeArg* b = g.AddInput("b", {});
  NodeArg* m = Add(g, "Clip", {a, nullptr, b}, "m");
  Attributes attributes;
  attributes.Set({"alpha", AttributeReference{"slope", AttributeType::kFloat}});
  g.MarkOutput(Add(g, "LeakyRelu", {m}, "y", std::move(attributes)));
  return function;
}

struct Called {
  std::unique_ptr<Graph> graph = MakeGraph();
  NodeArg* x;
  NodeArg* y;
  Called(const std::string& op, std::vector<Attribute> attributes,
         const std::string& domain = "my") {
    x = graph->AddInput("x", Floats({2, 3, 4}));
    Attributes set;
    for (Attribute& attribute : attributes) set.Set(std::move(attribute));
    y = Add(*graph, op, {x}, "y", std::move(set), domain);
    graph->MarkOutput(y);
  }
};

TEST(Functions, BindsAttributesAndLeavesOutAbsentInputs) {
  Called call("F", {{"slope", 0.25f}});
  call.graph->context().functions.push_back(LeakyFunction());
  const auto made = InlineNode(*call.graph, 0, {});
  ASSERT_TRUE(made.has_value());
  VerifyGraph(*call.graph);
  ASSERT_EQ(call.graph->node_count(), 2u);
  const Node& clip = *call.graph->node((*made)[0]);
  EXPECT_EQ(clip.OpType(), "Clip");
  EXPECT_EQ(clip.inputs().size(), 1u);
  EXPECT_EQ(clip.inputs()[0], call.x);
  const Node& leaky = *call.graph->node((*made)[1]);
  EXPECT_EQ(leaky.attributes().Float("alpha", 0), 0.25f);
  EXPECT_EQ(call.y->producer(), leaky.Index());
}

TEST(Functions, MissingAttributeFallsBackToTheDefaultThenToNothing) {
  Called without("F", {});
  without.graph->context().functions.push_back(LeakyFunction());
  const auto bare = InlineNode(*without.graph, 0, {});
  EXPECT_FALSE(without.graph->node((*bare)[1])->attributes().Has("alpha"));

  Called with("F", {});
  FunctionBody function = LeakyFunction();
  function.default_attributes.Set({"slope", 0.5f});
  with.graph->context().functions.push_back(function);
  const auto made = InlineNode(*with.graph, 0, {});
  EXPECT_EQ(with.graph->node((*made)[1])->attributes().Float("alpha", 0), 0.5f);

  Called wrong("F", {{"slope", std::int64_t{1}}});
  wrong.graph->context().functions.push_back(LeakyFunction());
  EXPECT_THROW(InlineNode(*wrong.graph, 0, {}), Error);
}

TEST(Functions, OutputsThatAreInputsOrConstantsGetAnIdentity) {
  Called call("F", {});
  FunctionBody function;
  function.domain = "my";
  function.name = "F";
  function.body = MakeGraph();
  function.body->MarkOutput(function.body->AddInput("a", {}));
  call.graph->context().functions.push_back(function);
  InlineNode(*call.graph, 0, {});
  VerifyGraph(*call.graph);
  ASSERT_EQ(call.graph->node_count(), 1u);
  EXPECT_EQ(call.graph->node(call.y->producer())->OpType(), "Identity");
}

// Names of the function, of the graph and of bodies are the same on purpose.
TEST(Functions, BodiesInsideCaptureWhatTheCallGives) {
  FunctionBody function;
  function.domain = "my";
  function.name = "F";
  function.body = MakeGraph();
  Graph& g = *function.body;
  NodeArg* a = g.AddInput("y", {});
  NodeArg* doubled = Add(g, "Add", {a, a}, "x");
  NodeArg* flag = g.AddConstant("flag", ScalarConstant(1, DataType::kBool));
  Attributes attributes;
  for (const char* name : {"then_branch", "else_branch"}) {
    auto branch = std::make_shared<Graph>(g.shared_context(), &g);
    NodeArg* sum = Add(*branch, "Mul", {branch->Capture("x"), branch->Capture("y")}, "a");
    branch->MarkOutput(sum);
    attributes.Set({name, branch});
  }
  Add(g, "If", {flag}, "out", std::move(attributes));
  g.MarkOutput(g.FindValue("out"));
  static_cast<void>(doubled);

  Called call("F", {});
  call.graph->context().functions.push_back(function);
  const auto made = InlineNode(*call.graph, 0, {});
  VerifyGraph(*call.graph);
  const Node& branching = *call.graph->node(made->back());
  ASSERT_EQ(branching.OpType(), "If");
  ASSERT_EQ(branching.implicit_inputs().size(), 2u);
  EXPECT_NE(branching.implicit_inputs()[0], branching.implicit_inputs()[1]);
  for (const NodeArg* value : branching.implicit_inputs()) {
    EXPECT_TRUE(value == call.x || call.graph->node(value->producer())->OpType() == "Add");
  }
}

TEST(Functions, StandardBodies) {
  for (const char* op :
       {"Softmax", "LogSoftmax", "Gelu", "Softplus", "HardSwish", "Clip", "Celu"}) {
    Called call(op, {}, "");
    const OpSchemaRegistry schemas;
    const auto made = InlineNode(*call.graph, 0, schemas);
    ASSERT_TRUE(made.has_value()) << op;
    VerifyGraph(*call.graph);
    EXPECT_NE(call.y->producer(), kNoNode) << op;
  }
  Called plain("Relu6", {}, "my");
  EXPECT_FALSE(InlineNode(*plain.graph, 0, {}).has_value());
}

TEST(Functions, BodiesThatNeedUnknownTypesWait) {
  auto graph = MakeGraph();
  NodeArg* x = graph->AddInput("x", {});
  graph->MarkOutput(Add(*graph, "CastLike", {x, graph->AddInput("t", {})}, "y"));
  EXPECT_FALSE(InlineNode(*graph, 0, {}).has_value());
  EXPECT_EQ(graph->node_count(), 1u);
}

}  // namespace
}  // namespace switchyard
