#include "switchyard/ir/schema.h"

#include <gtest/gtest.h>

#include "switchyard/base/error.h"

namespace switchyard {
namespace {

TEST(Schema, FindsTheNewestVersionThatIsNotNewerThanTheOpset) {
  const OpSchemaRegistry registry;
  ASSERT_NE(registry.Find("", "Softmax", 12), nullptr);
  EXPECT_EQ(registry.Find("", "Softmax", 12)->since_version, 11);
  EXPECT_EQ(registry.Find("ai.onnx", "Softmax", 13)->since_version, 13);
  EXPECT_EQ(registry.Find("", "LayerNormalization", 16)->since_version, 1);
  EXPECT_EQ(registry.Find("", "HardSwish", 13), nullptr);
  EXPECT_EQ(registry.Find("nowhere", "Softmax", 13), nullptr);
  EXPECT_EQ(registry.Find("com.microsoft", "MatMulNBits", 1)->max_inputs, 6);
  EXPECT_TRUE(registry.Find("", "Upsample", 10)->deprecated);
  EXPECT_EQ(registry.NewestOpset("ai.onnx"), registry.NewestOpset(""));
  EXPECT_EQ(registry.NewestOpset("ai.onnx.ml"), 5);
  EXPECT_EQ(registry.NewestOpset("nowhere"), 0);
}

TEST(Schema, TableIsSortedAndItsViewsAgree) {
  const OpSchema* previous = nullptr;
  for (const OpSchema& s : OpSchemaRegistry::BuiltIn()) {
    EXPECT_LE(static_cast<std::size_t>(s.min_inputs), static_cast<std::size_t>(s.max_inputs));
    for (const FormalParameter& p : s.inputs) {
      EXPECT_FALSE(p.types->empty()) << s.name << " " << p.name;
      if (p.constraint >= 0) {
        EXPECT_EQ(s.type_constraints[static_cast<std::size_t>(p.constraint)].name, p.type);
      } else {
        EXPECT_EQ(ValueTypeSet::Parse(p.type), *p.types) << s.name << " " << p.type;
      }
    }
    for (const AttributeDef& a : s.attributes) EXPECT_EQ(s.Attribute(a.name), &a);
    if (previous != nullptr && previous->domain == s.domain && previous->name == s.name) {
      EXPECT_GT(previous->since_version, s.since_version);
    }
    previous = &s;
  }
}

TEST(Schema, AttributesAndParameters) {
  const OpSchemaRegistry registry;
  const OpSchema& gemm = *registry.Find("", "Gemm", 13);
  EXPECT_EQ(gemm.Attribute("alpha")->f, 1.0F);
  EXPECT_EQ(gemm.Attribute("gamma"), nullptr);
  EXPECT_EQ(gemm.Input(2)->option, FormalParameter::Option::kOptional);
  EXPECT_EQ(gemm.Input(3), nullptr);
  const OpSchema& concat = *registry.Find("", "Concat", 13);
  EXPECT_TRUE(concat.Attribute("axis")->required);
  EXPECT_EQ(concat.Input(17), &concat.inputs[0]);
  EXPECT_EQ(concat.max_inputs, INT_MAX);
  const OpSchema& loop = *registry.Find("", "Loop", 13);
  EXPECT_FALSE(loop.inputs[2].homogeneous);
  EXPECT_EQ(registry.Find("", "RandomNormal", 13)->determinism, Determinism::kNonDeterministic);
}

TEST(Schema, FunctionBodies) {
  const OpSchemaRegistry registry;
  const OpSchema& mvn = *registry.Find("", "MeanVarianceNormalization", 13);
  ASSERT_EQ(mvn.bodies.size(), 2U);
  EXPECT_EQ(mvn.Body(17)->opset, 13);
  EXPECT_EQ(mvn.Body(18)->opset, 18);
  EXPECT_EQ(mvn.Body(20)->graph.inputs[0], "X");
  const FunctionTemplate& grid = *registry.Find("", "AffineGrid", 20)->Body(20);
  int bodies = 0;
  for (const TemplateNode& node : grid.graph.nodes) {
    for (const TemplateAttribute& a : node.attributes) bodies += a.graph != nullptr ? 1 : 0;
  }
  EXPECT_EQ(bodies, 8);
  EXPECT_TRUE(registry.Find("", "Attention", 23)->context_function);
  EXPECT_EQ(registry.Find("", "Conv", 13)->Body(13), nullptr);
}

TEST(Schema, UserSchemasRankFirst) {
  OpSchemaRegistry registry;
  OpSchemaDefinition d;
  d.domain = "ai.onnx";
  d.name = "Relu";
  d.since_version = 3;
  d.inputs = {{"X", "T"}, {"more", "tensor(int64)", FormalParameter::Option::kVariadic}};
  d.outputs = {{"Y", "T"}};
  d.constraints = {{"T", {"tensor(float)", "seq(map(string,float))"}}};
  d.attributes = {{.name = "b", .type = AttributeType::kInt},
                  {.name = "a", .type = AttributeType::kFloat}};
  const OpSchema& added = registry.Add(d);
  EXPECT_EQ(registry.Find("", "Relu", 20), &added);
  EXPECT_EQ(registry.Find("", "Relu", 2)->since_version, 1);
  EXPECT_EQ(added.min_inputs, 2);
  EXPECT_EQ(added.attributes[0].name, "a");
  EXPECT_EQ(added.inputs[0].types->ToString(), "tensor(float), seq(map(string,float))");
  EXPECT_THROW(registry.Add(d), Error);
  d.domain = "mine";
  d.inputs = {{"X", "tensor(real)"}};
  EXPECT_THROW(registry.Add(d), Error);
}

}  // namespace
}  // namespace switchyard
