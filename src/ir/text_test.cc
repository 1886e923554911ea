#include "switchyard/ir/text.h"

#include <gtest/gtest.h>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

constexpr std::string_view kAll = R"(ir 10
opset 21
opset com.microsoft 1
graph main (float[N,3] x, bool[] c, int64[2] s = {1, -2}) => (float[...] y, z) {
  float[2,2] k = {1.0, -0.0, 0.1, inf}
  string[2] t = {"a\"b", "c"}
  float16[65] f = fill(0.5)
  int4[3] q = hex(1203)
  float[2*N+1,?] "odd name:0", _ = "node a": Split<axis=0, num_outputs=2>(x)
  seq(tensor(float)) l = SequenceConstruct(k, x)
  v = LSTM<activations=["Tanh"], alpha=[1.5, 2.0], e: ints =[], r: int =@outer>(x, , k)
  y = If<else_branch=graph else_branch () => (a) {
    a = Relu(x)
  }, then_branch=graph then_branch () => (float[2,2] k2) {
    float[2,2] k2 = {1.0, 2.0, 3.0, 4.0}
  }>(c)
  z = com.microsoft.Gelu(v)
  w = Clip@6<max=6.0, type=type(float[2]), value=float[1] {1.5}>(z)
}
)";

TEST(Text, PrintsWhatItParses) {
  const auto graph = ParseGraph(kAll);
  EXPECT_EQ(PrintGraph(*graph), kAll);
  EXPECT_EQ(PrintGraph(*graph->Clone()), kAll);
  EXPECT_EQ(graph->node_count(), 6u);
  EXPECT_TRUE(graph->FindValue("s")->is_overridable());
  const Node* branch = graph->node(graph->FindValue("y")->producer());
  ASSERT_EQ(branch->implicit_inputs().size(), 1u);
  EXPECT_EQ(branch->implicit_inputs()[0]->Name(), "x");
}

TEST(Text, CanonicalFormForgetsNamesAndOrder) {
  const auto a = ParseGraph(R"(opset 21
graph g (float[2] x) => (float[2] y) { p = Relu(x) q = Neg(x) y = Add(p, q) })");
  const auto b = ParseGraph(R"(opset 21
graph h (float[2] x) => (float[2] y) { n = "name": Neg(x) r = Relu(x) y = Add(r, n) })");
  const auto c = ParseGraph(R"(opset 21
graph h (float[2] x) => (float[2] y) { n = Neg(x) r = Relu(x) y = Add(n, r) })");
  TextOptions options;
  options.canonical = true;
  options.node_names = false;
  a->context().graph_name = b->context().graph_name = c->context().graph_name = "g";
  EXPECT_EQ(PrintGraph(*a, options), PrintGraph(*b, options));
  EXPECT_NE(PrintGraph(*a, options), PrintGraph(*c, options));
}

TEST(Text, SaysWhereItFails) {
  try {
    ParseGraph("opset 21\ngraph g (float[2] x) => (y) {\n  y = Relu<alpha>(x)\n}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(), "line 3, column 17: expected '='");
  }
  EXPECT_THROW(ParseGraph("graph g () => () { int8[1] c = {300} }"), Error);
  EXPECT_THROW(ParseGraph("graph g () => () { float[2] c = {1} }"), Error);
  EXPECT_THROW(ParseGraph("graph g () => ("), Error);
}

TEST(Text, RandomConstantsAreTheSameEveryTime) {
  const auto text = "opset 21\ngraph g () => (float[70] y) { float[70] y = random(3) }";
  const std::string once = PrintGraph(*ParseGraph(text));
  EXPECT_EQ(once, PrintGraph(*ParseGraph(text)));
  EXPECT_NE(once.find("hash("), std::string::npos);
}

}  // namespace
}  // namespace switchyard
