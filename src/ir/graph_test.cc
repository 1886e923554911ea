#include "switchyard/ir/graph.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "switchyard/base/error.h"
#include "switchyard/ir/graph_viewer.h"
#include "switchyard/ir/inference.h"

namespace switchyard {
namespace {

std::shared_ptr<ModelContext> Context() {
  auto context = std::make_shared<ModelContext>();
  context->opset_imports[""] = 21;
  return context;
}

ValueType Floats(std::initializer_list<Dim> dims) {
  return ValueType::Tensor(DataType::kFloat, Shape(dims));
}

NodeArg* Call(Graph& graph, std::string op, std::vector<NodeArg*> inputs, std::string output,
              Attributes attributes = {}) {
  NodeArg* made = graph.AddValue(std::move(output));
  graph.AddNode(std::move(op), "", made->Name() + "_node", inputs, std::vector<NodeArg*>{made},
                std::move(attributes));
  return made;
}

ConstantPtr Scalar(std::int64_t value) {
  Tensor tensor(DataType::kInt64, {}, MakeHostAllocator());
  *tensor.data_mutable<std::int64_t>() = value;
  return std::make_shared<Constant>(std::move(tensor));
}

TEST(Attributes, KeepsOrderAndTypes) {
  Attributes attributes;
  attributes.Set({"pads", std::vector<std::int64_t>{1, 2}});
  attributes.Set({"axis", std::int64_t{3}});
  attributes.Set({"axis", std::int64_t{4}});
  EXPECT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes.begin()->name, "axis");
  EXPECT_EQ(attributes.Int("axis", 0), 4);
  EXPECT_EQ(attributes.Int("absent", 7), 7);
  EXPECT_EQ(attributes.Ints("pads").size(), 2u);
  EXPECT_THROW(attributes.Float("axis", 0), Error);
  EXPECT_EQ(attributes.Find("axis")->type(), AttributeType::kInt);
}

TEST(Graph, TracksProducersAndConsumers) {
  Graph graph(Context());
  NodeArg* x = graph.AddInput("x", Floats({2}));
  NodeArg* y = Call(graph, "Add", {x, x}, "y");
  graph.MarkOutput(y);
  EXPECT_EQ(x->consumers().size(), 2u);
  EXPECT_TRUE(graph.is_output(y));
  graph.RemoveNode(y->producer());
  EXPECT_TRUE(x->consumers().empty());
  EXPECT_EQ(y->producer(), kNoNode);
  EXPECT_THROW(graph.AddValue("x"), Error);
}

TEST(Graph, OrdersNodesAndFindsCycles) {
  Graph graph(Context());
  NodeArg* x = graph.AddInput("x", Floats({2}));
  NodeArg* late = graph.AddValue("late");
  NodeArg* y = Call(graph, "Neg", {late}, "y");
  graph.AddNode("Relu", "", "first", std::vector<NodeArg*>{x}, std::vector<NodeArg*>{late}, {});
  const auto order = graph.TopologicalOrder();
  EXPECT_EQ(std::vector<NodeIndex>(order.begin(), order.end()), (std::vector<NodeIndex>{1, 0}));
  graph.SetInput(graph.node(1), 0, y);
  try {
    graph.TopologicalOrder();
    FAIL() << "a cycle was ordered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidGraph);
    EXPECT_NE(error.message().find("cycle"), std::string::npos);
  }
}

TEST(Graph, BodiesCaptureThroughLevelsAndFollowRenames) {
  Graph graph(Context());
  NodeArg* x = graph.AddInput("x", Floats({2}));
  NodeArg* condition = graph.AddInput("c", ValueType::Tensor(DataType::kBool, Shape::Scalar()));
  auto outer_body = std::make_shared<Graph>(graph.shared_context(), &graph);
  auto inner_body = std::make_shared<Graph>(graph.shared_context(), outer_body.get());
  inner_body->MarkOutput(Call(*inner_body, "Neg", {inner_body->Capture("x")}, "n"));
  Attributes inner;
  inner.Set({"then_branch", inner_body});
  outer_body->MarkOutput(Call(*outer_body, "If", {outer_body->Capture("c")}, "i", inner));
  Attributes outer;
  outer.Set({"then_branch", outer_body});
  NodeArg* y = Call(graph, "If", {condition}, "y", outer);
  graph.MarkOutput(y);

  const Node* node = graph.node(y->producer());
  ASSERT_EQ(node->implicit_inputs().size(), 2u);
  EXPECT_EQ(x->consumers().size(), 1u);
  graph.RenameValue(x, "renamed");
  EXPECT_NE(inner_body->FindValue("renamed"), nullptr);
  EXPECT_EQ(inner_body->FindValue("x"), nullptr);

  auto copy = graph.Clone();
  const Node* twin = copy->node(y->producer());
  EXPECT_NE(twin->bodies()[0].second, outer_body.get());
  EXPECT_EQ(twin->bodies()[0].second->parent(), copy.get());
  EXPECT_EQ(twin->implicit_inputs()[0], copy->value(node->implicit_inputs()[0]->id()));
  EXPECT_THROW(inner_body->Capture("missing"), Error);
}

TEST(Graph, CloningIntoAnotherModelMovesItsSymbols) {
  auto context = Context();
  Graph graph(context);
  graph.AddInput("x", Floats({context->symbols.Symbol("N") * Dim(2)}));
  auto other = Context();
  auto copy = graph.CloneInto(other, nullptr);
  EXPECT_EQ(copy->inputs()[0]->type().shape[0], other->symbols.Symbol("N") * Dim(2));
}

TEST(Graph, HandlesLongChainsInLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  Graph graph(Context());
  NodeArg* at = graph.AddInput("x", Floats({2}));
  for (int i = 0; i < 20000; ++i) at = Call(graph, "Add", {at, at}, "v" + std::to_string(i));
  graph.MarkOutput(at);
  EXPECT_EQ(graph.TopologicalOrder().size(), 20000u);
  InferenceRegistry registry;
  registry.Register("Add",
                    [](InferenceContext& context) { context.SetType(0, context.input_type(0)); });
  InferGraph(graph, registry);
  EXPECT_EQ(at->type().shape, Shape({2}));
  auto copy = graph.Clone();
  const GraphViewer viewer(*copy);
  EXPECT_EQ(viewer.NumberOfNodes(), 20000u);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_LT(spent.count(), 2.0);
}

TEST(GraphViewer, ShowsTheBorderOfASubset) {
  Graph graph(Context());
  NodeArg* x = graph.AddInput("x", Floats({2}));
  NodeArg* k = graph.AddConstant("k", Scalar(3));
  NodeArg* a = Call(graph, "Add", {x, k}, "a");
  NodeArg* b = Call(graph, "Neg", {a}, "b");
  NodeArg* c = Call(graph, "Mul", {a, b}, "c");
  graph.MarkOutput(c);
  const std::vector<NodeIndex> nodes{a->producer(), b->producer()};
  const GraphViewer window(graph, nodes);
  EXPECT_EQ(window.GetInputs(), std::vector<const NodeArg*>{x});
  EXPECT_EQ(window.GetConstants(), std::vector<const NodeArg*>{k});
  EXPECT_EQ(window.GetOutputs(), (std::vector<const NodeArg*>{a, b}));
  EXPECT_EQ(window.GetNode(c->producer()), nullptr);
  EXPECT_NE(window.GetConstantInitializer("k"), nullptr);
  EXPECT_EQ(window.GetConstantInitializer("x"), nullptr);
}

TEST(GraphViewer, GroupsAreFewestWhateverTheOrderOfCreation) {
  for (const bool neg_first : {false, true}) {
    Graph graph(Context());
    NodeArg* x = graph.AddInput("x", Floats({4}));
    NodeArg* a = Call(graph, "Relu", {x}, "a");
    NodeArg *s = nullptr, *b = nullptr;
    if (neg_first) b = Call(graph, "Neg", {a}, "b");
    s = Call(graph, "Sigmoid", {a}, "s");
    if (!neg_first) b = Call(graph, "Neg", {a}, "b");
    NodeArg* y = Call(graph, "Add", {b, s}, "y");
    graph.MarkOutput(y);
    const std::vector<NodeIndex> claimed{y->producer(), b->producer(), a->producer()};
    const auto groups = GraphViewer(graph).ConvexGroups(claimed);
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0], (std::vector<NodeIndex>{a->producer(), b->producer()}));
    EXPECT_EQ(groups[1], std::vector<NodeIndex>{y->producer()});
  }
}

TEST(Inference, DeclaredShapesAreHintsAndConstantsAreFollowed) {
  Graph graph(Context());
  NodeArg* x = graph.AddInput("x", Floats({Dim()}));
  NodeArg* k = graph.AddConstant("k", Scalar(5));
  NodeArg* y = graph.AddValue("y", Floats({9}));
  graph.AddNode("Fill", "", "f", std::vector<NodeArg*>{x, k}, std::vector<NodeArg*>{y}, {});
  NodeArg* z = graph.AddValue("z", Floats({7, 7}));
  graph.AddNode("Unknowable", "", "u", std::vector<NodeArg*>{x}, std::vector<NodeArg*>{z}, {});
  InferenceRegistry registry;
  registry.Register("Fill", [](InferenceContext& context) {
    InlineVector<Dim, 8> size;
    ASSERT_TRUE(context.ReadInts(1, &size));
    EXPECT_EQ(context.value_reads(), 2u);
    context.SetTensor(0, DataType::kFloat, Shape({size[0]}));
  });
  registry.Register("Unknowable", [](InferenceContext& context) {
    context.SetTensor(0, DataType::kFloat, Shape::OfRank(2));
  });
  std::vector<std::string> warnings;
  InferGraph(graph, registry, &warnings);
  EXPECT_EQ(y->type().shape, Shape({5}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(x->type().shape[0].is_symbolic());
  EXPECT_TRUE(z->type().shape[0].is_symbolic());
  const Shape before = z->type().shape;
  InferGraph(graph, registry);
  EXPECT_EQ(z->type().shape, before);
}

}  // namespace
}  // namespace switchyard
