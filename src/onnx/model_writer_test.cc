#include <gtest/gtest.h>

#include "onnx/export.h"
#include "onnx/import.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace {

constexpr const char* kText = R"(opset 13
graph g (float[N,4] x, float[N,4] unused) => (float[N,4] y) {
  float[4,4] w = fill(0.5)
  float[N,4] a = Abs(x)
  float[N,4] h = MatMul(a, w)
  float[N,4] b = Relu(h)
  y = Add(b, a)
})";

std::vector<NodeIndex> NodesOf(const Graph& graph, std::vector<std::string> operators) {
  std::vector<NodeIndex> nodes;
  for (NodeIndex index : graph.TopologicalOrder()) {
    for (const std::string& op : operators) {
      if (graph.node(index)->OpType() == op) nodes.push_back(index);
    }
  }
  return nodes;
}

std::unique_ptr<Graph> Read(const std::string& bytes) {
  return ImportModelBytes(std::as_bytes(std::span(bytes.data(), bytes.size())), {});
}

TEST(ModelWriter, WritesAWindowAsAModelOfItsOwn) {
  const auto graph = ParseGraph(kText);
  const auto nodes = NodesOf(*graph, {"MatMul", "Relu"});
  const auto part = Read(MakeModelWriter()->Write(GraphViewer(*graph, nodes)));
  ASSERT_EQ(part->node_count(), 2u);
  ASSERT_EQ(part->inputs().size(), 1u);
  EXPECT_EQ(part->inputs()[0]->Name(), "a");
  ASSERT_EQ(part->outputs().size(), 1u);
  EXPECT_EQ(part->outputs()[0]->Name(), "b");
  ASSERT_NE(part->FindValue("w"), nullptr);
  EXPECT_EQ(part->FindValue("w")->constant()->tensor().data<float>()[3], 0.5f);
}

TEST(ModelWriter, AWholeGraphKeepsInputsThatNothingReads) {
  const auto graph = ParseGraph(kText);
  const auto whole = Read(MakeModelWriter()->Write(GraphViewer(*graph)));
  EXPECT_EQ(whole->inputs().size(), 2u);
  EXPECT_EQ(whole->node_count(), 4u);
}

TEST(ModelWriter, ReferencesToMemoryStandForTheBytes) {
  const auto graph = ParseGraph(kText);
  ModelWriteOptions options;
  options.by_address_from = 16;
  options.address = [](const Constant&) {
    return reinterpret_cast<const void*>(std::uintptr_t{0x12340});
  };
  const std::string bytes = MakeModelWriter()->Write(GraphViewer(*graph), options);
  EXPECT_NE(bytes.find(kModelInMemory), std::string::npos);
  EXPECT_NE(bytes.find(std::to_string(0x12340)), std::string::npos);
  options.by_address_from = 65;
  EXPECT_EQ(MakeModelWriter()->Write(GraphViewer(*graph), options).find(kModelInMemory),
            std::string::npos);
}

}  // namespace
}  // namespace switchyard
