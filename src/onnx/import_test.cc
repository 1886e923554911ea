#include "onnx/import.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "onnx/export.h"
#include "onnx/fields.h"
#include "onnx/proto_writer.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

using onnx::ProtoWriter;
namespace field = onnx;

constexpr int kFloat = 1, kInt64 = 7;

std::string Text(const ProtoWriter& proto) {
  std::string result;
  proto.Write([&](std::span<const std::byte> bytes) {
    result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return result;
}

using Edit = std::function<void(ProtoWriter&)>;

struct TensorSpec {
  std::string name = "w";
  int type = kFloat;
  std::vector<std::int64_t> dims{4};
  Edit data;
};

ProtoWriter MakeTensor(const TensorSpec& spec) {
  ProtoWriter t;
  t.PackedInts(field::tensor::kDims, spec.dims);
  t.Int(field::tensor::kDataType, spec.type);
  t.Text(field::tensor::kName, spec.name);
  if (spec.data) spec.data(t);
  return t;
}

Edit Raw(std::string bytes) {
  return [bytes](ProtoWriter& t) { t.Bytes(field::tensor::kRawData, bytes); };
}

Edit External(std::vector<std::pair<std::string, std::string>> entries) {
  return [entries](ProtoWriter& t) {
    for (const auto& [key, value] : entries) {
      ProtoWriter pair;
      pair.Bytes(field::entry::kKey, key);
      pair.Bytes(field::entry::kValue, value);
      t.Message(field::tensor::kExternalData, std::move(pair));
    }
    t.Int(field::tensor::kDataLocation, 1);
  };
}

ProtoWriter MakeNode(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const Edit& more = nullptr,
                     const std::string& domain = "") {
  ProtoWriter n;
  for (const auto& name : inputs) n.Bytes(field::node::kInput, name);
  for (const auto& name : outputs) n.Bytes(field::node::kOutput, name);
  n.Text(field::node::kName, "n_" + outputs[0]);
  n.Text(field::node::kOpType, op);
  n.Text(field::node::kDomain, domain);
  if (more) more(n);
  return n;
}

ProtoWriter MakeValue(const std::string& name, int type, const std::vector<std::string>& dims) {
  ProtoWriter shape, tensor, wrapped, value;
  for (const auto& dim : dims) {
    ProtoWriter d;
    if (std::isdigit(static_cast<unsigned char>(dim[0]))) {
      d.Int(field::shape::kDimValue, std::stoll(dim));
    } else {
      d.Text(field::shape::kDimParam, dim);
    }
    shape.Message(field::shape::kDim, std::move(d));
  }
  tensor.Int(field::type::kElemType, type);
  tensor.Message(field::type::kShape, std::move(shape));
  wrapped.Message(field::type::kTensorType, std::move(tensor));
  value.Text(field::value_info::kName, name);
  value.Message(field::value_info::kType, std::move(wrapped));
  return value;
}

Edit GraphAttribute(const std::string& name, const std::function<ProtoWriter()>& make) {
  return [=](ProtoWriter& n) {
    ProtoWriter a;
    a.Text(field::attribute::kName, name);
    a.Message(field::attribute::kG, make());
    a.Int(field::attribute::kType, 5);
    n.Message(field::node::kAttribute, std::move(a));
  };
}

Edit IntAttribute(const std::string& name, std::int64_t value) {
  return [=](ProtoWriter& n) {
    ProtoWriter a;
    a.Text(field::attribute::kName, name);
    a.Int(field::attribute::kI, value);
    a.Int(field::attribute::kType, 2);
    n.Message(field::node::kAttribute, std::move(a));
  };
}

struct ModelSpec {
  std::int64_t ir = 8;
  std::int64_t opset = 17;
  std::vector<std::string> initializers, inputs, outputs, nodes, sparse, functions;

  void Add(std::vector<std::string>& list, const ProtoWriter& proto) {
    list.push_back(Text(proto));
  }
  std::string Bytes() const {
    ProtoWriter g, m, o;
    for (const auto& n : nodes) g.Bytes(field::graph::kNode, n);
    g.Text(field::graph::kName, "g");
    for (const auto& t : initializers) g.Bytes(field::graph::kInitializer, t);
    for (const auto& v : inputs) g.Bytes(field::graph::kInput, v);
    for (const auto& v : outputs) g.Bytes(field::graph::kOutput, v);
    for (const auto& s : sparse) g.Bytes(field::graph::kSparseInitializer, s);
    m.Int(field::model::kIrVersion, ir);
    m.Message(field::model::kGraph, std::move(g));
    o.Bytes(field::opset_id::kDomain, "");
    o.Int(field::opset_id::kVersion, opset);
    m.Message(field::model::kOpsetImport, std::move(o));
    for (const auto& f : functions) m.Bytes(field::model::kFunctions, f);
    return Text(m);
  }
};

ModelSpec Chain(const std::vector<ProtoWriter>& nodes) {
  ModelSpec spec;
  spec.Add(spec.inputs, MakeValue("x", kFloat, {"N", "4"}));
  spec.Add(spec.outputs, MakeValue("y", kFloat, {"N", "4"}));
  for (const ProtoWriter& node : nodes) spec.nodes.push_back(Text(node));
  return spec;
}

ModelSpec OneTensor(const TensorSpec& tensor) {
  ModelSpec spec;
  spec.Add(spec.initializers, MakeTensor(tensor));
  spec.Add(spec.nodes, MakeNode("Identity", {"w"}, {"y"}));
  spec.Add(spec.outputs, MakeValue("y", tensor.type, {}));
  return spec;
}

std::unique_ptr<Graph> Load(const std::string& bytes, ImportOptions options = {}) {
  return ImportModelBytes(std::as_bytes(std::span(bytes)), options);
}

ErrorCode CodeOf(const std::string& bytes, const ImportOptions& options = {}) {
  try {
    Load(bytes, options);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kOk;
}

std::string MessageOf(const std::string& bytes) {
  try {
    Load(bytes);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

const Tensor& WeightOf(const Graph& graph) { return graph.FindValue("w")->constant()->tensor(); }

template <typename T>
std::string BytesOfValues(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T));
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "import_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

TEST(Import, ReadsNodesInputsAndSymbols) {
  auto spec = Chain({MakeNode("Relu", {"x"}, {"a"}), MakeNode("LeakyRelu", {"a"}, {"y"})});
  const auto graph = Load(spec.Bytes());
  ASSERT_EQ(graph->node_count(), 2u);
  EXPECT_EQ(graph->inputs()[0]->type().shape.ToString(), "[N,4]");
  EXPECT_EQ(graph->node(0)->SinceVersion(), 14);
  EXPECT_EQ(graph->node(1)->SinceVersion(), 16);
  EXPECT_EQ(graph->outputs()[0]->producer(), graph->node(1)->Index());
}

TEST(Import, AcceptsNodesInAnyOrder) {
  auto spec = Chain({MakeNode("Relu", {"a"}, {"y"}), MakeNode("Relu", {"x"}, {"a"})});
  EXPECT_EQ(Load(spec.Bytes())->TopologicalOrder()[0], 1u);
}

TEST(Import, RefusesBrokenWiring) {
  const auto relu = [](const char* in, const char* out) { return MakeNode("Relu", {in}, {out}); };
  EXPECT_EQ(CodeOf(Chain({relu("nothing", "y")}).Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(Chain({relu("x", "z")}).Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(Chain({relu("x", "y"), relu("x", "y")}).Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(Chain({relu("y", "y")}).Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(Chain({relu("b", "a"), relu("a", "b"), relu("x", "y")}).Bytes()),
            ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(Chain({relu("x", "x"), relu("x", "y")}).Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_NE(MessageOf(Chain({relu("nothing", "y")}).Bytes()).find("node 'n_y' (Relu)"),
            std::string::npos);
}

TEST(Import, RefusesUnknownVersions) {
  auto spec = Chain({MakeNode("Relu", {"x"}, {"y"})});
  spec.ir = kNewestIrVersion + 1;
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kNotImplemented);
  spec.ir = 0;
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);
  spec.ir = 8;
  spec.opset = 1000;
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kNotImplemented);
  spec.opset = 0;
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(""), ErrorCode::kInvalidProtobuf);
  EXPECT_EQ(CodeOf("not a model at all"), ErrorCode::kInvalidProtobuf);
}

TEST(Import, InitialisersAmongInputsDependOnTheIrVersion) {
  ModelSpec spec;
  spec.Add(spec.inputs, MakeValue("x", kFloat, {"4"}));
  spec.Add(spec.inputs, MakeValue("w", kFloat, {"4"}));
  spec.Add(spec.initializers, MakeTensor({.data = Raw(std::string(16, '\0'))}));
  spec.Add(spec.nodes, MakeNode("Add", {"x", "w"}, {"y"}));
  spec.Add(spec.outputs, MakeValue("y", kFloat, {"4"}));
  spec.ir = 3;
  EXPECT_EQ(Load(spec.Bytes())->inputs().size(), 1u);
  spec.ir = 4;
  const auto graph = Load(spec.Bytes());
  EXPECT_EQ(graph->inputs().size(), 2u);
  EXPECT_TRUE(graph->FindValue("w")->is_overridable());
  spec.inputs[1] = Text(MakeValue("w", kFloat, {"5"}));
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);
  spec.inputs[1] = Text(MakeValue("w", kInt64, {"4"}));
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);
}

TEST(Import, TensorDataOfEveryKind) {
  const auto ints = [](onnx::FieldNumber number, std::vector<std::int64_t> values) {
    return [=](ProtoWriter& t) { t.PackedInts(number, values); };
  };
  auto graph = Load(OneTensor({.data = Raw(BytesOfValues<float>({1, 2, 3, 4}))}).Bytes());
  EXPECT_EQ(WeightOf(*graph).values<float>()[3], 4);
  graph = Load(OneTensor({.data = [](ProtoWriter& t) {
                 const float values[] = {5, 6, 7, 8};
                 t.PackedFloats(field::tensor::kFloatData, values);
               }}).Bytes());
  EXPECT_EQ(WeightOf(*graph).values<float>()[3], 8);
  graph = Load(OneTensor({.type = 3, .dims = {2}, .data = ints(5, {-1, 200})}).Bytes());
  EXPECT_EQ(WeightOf(*graph).values<std::int8_t>()[0], -1);
  graph = Load(OneTensor({.type = 9, .dims = {2}, .data = Raw("\x02\x01")}).Bytes());
  EXPECT_TRUE(WeightOf(*graph).values<bool>()[0]);
  graph = Load(OneTensor({.type = 22, .dims = {3}, .data = Raw("\x21\x03")}).Bytes());
  EXPECT_EQ(WeightOf(*graph).bytes(), 2u);
  graph = Load(OneTensor({.type = 12, .dims = {}, .data = ints(11, {4294967295})}).Bytes());
  EXPECT_EQ(WeightOf(*graph).values<std::uint32_t>()[0], 4294967295u);
  graph = Load(OneTensor({.type = 8,
                          .dims = {2},
                          .data =
                              [](ProtoWriter& t) {
                                t.Bytes(field::tensor::kStringData, "a");
                                t.Bytes(field::tensor::kStringData, "");
                              }})
                   .Bytes());
  EXPECT_EQ(WeightOf(*graph).values<std::string>()[0], "a");
}

TEST(Import, RefusesTensorsThatLie) {
  const std::string four(16, '\0');
  const std::vector<TensorSpec> bad = {
      {.data = Raw(four.substr(1))},
      {.data = Raw(four + "x")},
      {.data = nullptr},
      {.dims = {-1}, .data = Raw(four)},
      {.dims = {std::int64_t{1} << 32, std::int64_t{1} << 32}, .data = Raw("")},
      {.dims = {(std::int64_t{1} << 62) + 4}, .data = Raw(four)},
      {.dims = std::vector<std::int64_t>(1000, 1), .data = Raw(four)},
      {.type = 0, .data = Raw(four)},
      {.type = 99, .data = Raw(four)},
      {.type = 8, .data = Raw(four)},
      {.type = kInt64,
       .dims = {2},
       .data = [](ProtoWriter& t) { t.Int(field::tensor::kInt64Data, 1); }},
      {.type = 2,
       .dims = {1},
       .data = [](ProtoWriter& t) { t.Int(field::tensor::kInt32Data, 256); }},
      {.data =
           [&](ProtoWriter& t) {
             t.Bytes(field::tensor::kRawData, four);
             t.Bytes(field::tensor::kFloatData, four);
           }},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(CodeOf(OneTensor(bad[i]).Bytes()), ErrorCode::kInvalidGraph) << i;
  }
  EXPECT_EQ(CodeOf(OneTensor({.type = 27, .data = Raw(four)}).Bytes()), ErrorCode::kNotImplemented);
}

TEST(Import, ExternalDataStaysInsideTheFolder) {
  const TemporaryFolder folder;
  folder.Write("secret.bin", BytesOfValues<float>({9, 9, 9, 9}));
  folder.Write("d/w.bin", BytesOfValues<float>({1, 2, 3, 4, 5, 6, 7, 8}));
  std::filesystem::create_symlink("../secret.bin", folder / "d/link.bin");
  const auto load = [&](std::vector<std::pair<std::string, std::string>> entries) {
    return ImportModel(
        folder.Write("d/m.onnx", OneTensor({.data = External(std::move(entries))}).Bytes()));
  };
  EXPECT_EQ(WeightOf(*load({{"location", "w.bin"}})).values<float>()[0], 1);
  EXPECT_EQ(WeightOf(*load({{"location", "./w.bin"}, {"offset", "16"}, {"length", "16"}}))
                .values<float>()[0],
            5);
  for (const char* location : {"", "..", "../secret.bin", "link.bin", "d\\w.bin", "/etc/hostname",
                               "none.bin", ".", "w.bin/"}) {
    EXPECT_THROW(load({{"location", location}}), Error) << location;
  }
  for (const char* offset :
       {"-1", "0x10", "1e1", " 4", "", "20", "9223372036854775807", "99999999999999999999"}) {
    EXPECT_THROW(load({{"location", "w.bin"}, {"offset", offset}}), Error) << offset;
  }
  EXPECT_THROW(load({{"location", "w.bin"}, {"length", "8"}}), Error);
  EXPECT_THROW(load({{"offset", "0"}}), Error);
}

TEST(Import, ExternalDataOfBytesNeedsAFolder) {
  const TemporaryFolder folder;
  folder.Write("w.bin", BytesOfValues<float>({1, 2, 3, 4}));
  const std::string bytes = OneTensor({.data = External({{"location", "w.bin"}})}).Bytes();
  EXPECT_EQ(CodeOf(bytes), ErrorCode::kFail);
  ImportOptions options;
  options.external_folder = folder / "";
  EXPECT_EQ(WeightOf(*Load(bytes, options)).values<float>()[1], 2);
}

TEST(Import, LargeTensorsStayInTheFileAndACutFileIsAnError) {
  const TemporaryFolder folder;
  const std::size_t count = 3 << 20;
  std::string data(count * sizeof(float), '\0');
  const float last = 42;
  std::memcpy(data.data() + data.size() - sizeof last, &last, sizeof last);
  const std::string path = folder.Write(
      "m.onnx", OneTensor({.dims = {std::int64_t{3} << 20}, .data = Raw(data)}).Bytes());
  EXPECT_EQ(WeightOf(*ImportModel(path)).values<float>()[count - 1], 42);
  const auto graph = ImportModel(path);
  std::filesystem::resize_file(path, 1000);
  EXPECT_THROW(WeightOf(*graph), Error);
  EXPECT_THROW(ImportModel(path), Error);
}

TEST(Import, SparseInitialisersBecomeDense) {
  const auto make = [](std::vector<std::int64_t> indices, std::vector<std::int64_t> dims) {
    ModelSpec spec;
    ProtoWriter s;
    s.Message(1, MakeTensor({.dims = {2}, .data = Raw(BytesOfValues<float>({5, 6}))}));
    s.Message(2, MakeTensor({.name = "",
                             .type = kInt64,
                             .dims = {static_cast<std::int64_t>(indices.size())},
                             .data = [&](ProtoWriter& t) { t.PackedInts(7, indices); }}));
    s.PackedInts(3, dims);
    spec.Add(spec.sparse, s);
    spec.Add(spec.nodes, MakeNode("Identity", {"w"}, {"y"}));
    spec.Add(spec.outputs, MakeValue("y", kFloat, {}));
    return spec.Bytes();
  };
  const auto graph = Load(make({1, 3}, {2, 2}));
  EXPECT_EQ(WeightOf(*graph).values<float>()[1], 5);
  EXPECT_EQ(WeightOf(*graph).values<float>()[2], 0);
  EXPECT_EQ(WeightOf(*graph).values<float>()[3], 6);
  EXPECT_EQ(CodeOf(make({1, 4}, {2, 2})), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(make({3, 1}, {2, 2})), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(make({-1, 1}, {2, 2})), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(make({1, 3, 2}, {2, 2})), ErrorCode::kInvalidGraph);
  EXPECT_EQ(CodeOf(make({1, 3}, {1 << 20, 1 << 20})), ErrorCode::kFail);
}

// `depth` bodies inside each other around `x`.
std::string Nested(int depth) {
  const auto leaf = [] {
    ProtoWriter g;
    g.Message(field::graph::kNode, MakeNode("Identity", {"x"}, {"o"}));
    g.Message(field::graph::kOutput, MakeValue("o", kFloat, {}));
    return g;
  };
  std::string body = Text(leaf());
  for (int i = 0; i < depth; ++i) {
    ProtoWriter g, n = MakeNode("If", {"c"}, {"o"}), then;
    then.Text(field::attribute::kName, "then_branch");
    then.Bytes(field::attribute::kG, body);
    then.Int(field::attribute::kType, 5);
    n.Message(field::node::kAttribute, std::move(then));
    GraphAttribute("else_branch", leaf)(n);
    g.Message(field::graph::kNode, std::move(n));
    g.Message(field::graph::kOutput, MakeValue("o", kFloat, {}));
    body = Text(g);
  }
  ProtoWriter m, o;
  std::string graph = body;
  ProtoWriter inputs;
  inputs.Message(field::graph::kInput, MakeValue("x", kFloat, {"4"}));
  inputs.Message(field::graph::kInput, MakeValue("c", 9, {}));
  graph += Text(inputs);
  m.Int(field::model::kIrVersion, 8);
  m.Bytes(field::model::kGraph, graph);
  o.Int(field::opset_id::kVersion, 17);
  m.Message(field::model::kOpsetImport, std::move(o));
  return Text(m);
}

TEST(Import, BodiesCaptureOuterValuesUpToADepth) {
  const auto graph = Load(Nested(30));
  const auto implicit = graph->node(0)->implicit_inputs();
  EXPECT_EQ(implicit.size(), 2u);
  EXPECT_EQ(CodeOf(Nested(2000)), ErrorCode::kInvalidGraph);
}

ProtoWriter MakeFunction(const std::string& name, const std::vector<ProtoWriter>& nodes,
                         const std::string& attribute = "") {
  ProtoWriter f;
  f.Text(field::function::kName, name);
  f.Text(field::function::kDomain, "my");
  f.Text(field::function::kInput, "a");
  f.Text(field::function::kOutput, "b");
  f.Text(field::function::kAttribute, attribute);
  for (const ProtoWriter& node : nodes) f.Bytes(field::function::kNode, Text(node));
  return f;
}

TEST(Import, Functions) {
  const auto call = [](const std::string& name, const char* in, const char* out) {
    return MakeNode(name, {in}, {out}, nullptr, "my");
  };
  auto spec = Chain({call("F", "x", "y")});
  spec.Add(spec.functions, MakeFunction("F", {call("G", "a", "b")}));
  spec.Add(spec.functions, MakeFunction("G", {MakeNode("Relu", {"a"}, {"b"})}));
  const auto graph = Load(spec.Bytes());
  ASSERT_EQ(graph->context().functions.size(), 2u);
  EXPECT_EQ(graph->context().functions[1].body->node_count(), 1u);

  spec.functions[1] = Text(MakeFunction("G", {call("F", "a", "b")}));
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);
  spec.functions[1] = Text(MakeFunction("F", {MakeNode("Relu", {"a"}, {"b"})}));
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kInvalidGraph);

  // Sixty functions that call the next one twice.
  auto explosion = Chain({call("f0", "x", "y")});
  for (int i = 0; i < 60; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    explosion.Add(explosion.functions, MakeFunction("f" + std::to_string(i),
                                                    {call(next, "a", "m"), call(next, "m", "b")}));
  }
  explosion.Add(explosion.functions, MakeFunction("f60", {MakeNode("Relu", {"a"}, {"b"})}));
  EXPECT_EQ(CodeOf(explosion.Bytes()), ErrorCode::kFail);
}

TEST(Import, AttributeReferencesOnlyInFunctions) {
  const auto reference = [](ProtoWriter& n) {
    ProtoWriter a;
    a.Text(field::attribute::kName, "alpha");
    a.Text(field::attribute::kRefAttrName, "slope");
    a.Int(field::attribute::kType, 1);
    n.Message(field::node::kAttribute, std::move(a));
  };
  EXPECT_EQ(CodeOf(Chain({MakeNode("LeakyRelu", {"x"}, {"y"}, reference)}).Bytes()),
            ErrorCode::kInvalidGraph);
  auto spec = Chain({MakeNode("F", {"x"}, {"y"}, nullptr, "my")});
  spec.Add(spec.functions,
           MakeFunction("F", {MakeNode("LeakyRelu", {"a"}, {"b"}, reference)}, "slope"));
  EXPECT_EQ(CodeOf(spec.Bytes()), ErrorCode::kOk);
}

TEST(Import, Limits) {
  ImportOptions options;
  options.limits.nodes = 1;
  const std::string two =
      Chain({MakeNode("Relu", {"x"}, {"a"}), MakeNode("Relu", {"a"}, {"y"})}).Bytes();
  EXPECT_EQ(CodeOf(two, options), ErrorCode::kFail);
  options = {};
  options.limits.values = 2;
  EXPECT_EQ(CodeOf(two, options), ErrorCode::kFail);
  options = {};
  options.limits.constant_bytes = 15;
  EXPECT_EQ(CodeOf(OneTensor({.data = Raw(std::string(16, '\0'))}).Bytes(), options),
            ErrorCode::kFail);
  options = {};
  options.limits.file_bytes = 10;
  const TemporaryFolder folder;
  EXPECT_THROW(ImportModel(folder.Write("m.onnx", two), options), Error);
  EXPECT_THROW(ImportModel(folder / "none.onnx"), Error);
  EXPECT_THROW(ImportModel(folder / ""), Error);
}

// A model with most of what the format has, small enough to try every cut and every bit.
std::string Varied() {
  ModelSpec spec = Chain({MakeNode("Add", {"x", "w"}, {"a"}),
                          MakeNode("F", {"a"}, {"d"}, IntAttribute("k", 3), "my")});
  spec.Add(spec.nodes, MakeNode("Constant", {}, {"c"}, [](ProtoWriter& n) {
             ProtoWriter a;
             a.Text(field::attribute::kName, "value");
             a.Message(field::attribute::kT,
                       MakeTensor({.name = "", .type = 9, .dims = {}, .data = Raw("\x01")}));
             a.Int(field::attribute::kType, 4);
             n.Message(field::node::kAttribute, std::move(a));
           }));
  const auto branch = [] {
    ProtoWriter g;
    g.Message(field::graph::kNode, MakeNode("Relu", {"d"}, {"o"}));
    g.Message(field::graph::kOutput, MakeValue("o", kFloat, {"N", "4"}));
    return g;
  };
  spec.Add(spec.nodes, MakeNode("If", {"c"}, {"y"}, [&](ProtoWriter& n) {
             GraphAttribute("then_branch", branch)(n);
             GraphAttribute("else_branch", branch)(n);
           }));
  spec.Add(spec.initializers, MakeTensor({.data = Raw(BytesOfValues<float>({1, 2, 3, 4}))}));
  spec.Add(spec.functions, MakeFunction("F", {MakeNode("Neg", {"a"}, {"b"})}, "k"));
  return spec.Bytes();
}

TEST(Import, EveryCutIsAnError) {
  const std::string whole = Varied();
  ASSERT_EQ(CodeOf(whole), ErrorCode::kOk) << MessageOf(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ErrorCode code = CodeOf(whole.substr(0, size));
    // A cut between two fields of the model itself may leave a smaller model.
    EXPECT_NE(code, ErrorCode::kEngineError) << size;
    if (size + 100 < whole.size() / 2) {
      EXPECT_NE(code, ErrorCode::kOk) << size;
    }
  }
}

TEST(Import, EveryFlippedBitIsAnErrorOrAnotherModel) {
  std::string bytes = Varied();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(CodeOf(bytes), ErrorCode::kEngineError) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Import, HostileSizesUnderAnAddressSpaceLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow memory does not fit under the limit";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    struct rlimit limit = {std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    bool good = true;
    for (const std::int64_t dim : {std::int64_t{1} << 40, std::int64_t{1} << 59}) {
      good = good && CodeOf(OneTensor({.dims = {dim}, .data = Raw("abcd")}).Bytes()) ==
                         ErrorCode::kInvalidGraph;
    }
    // 64 MiB of empty strings.
    const std::string strings(std::size_t{64} << 20, '\x32');
    good = good && CodeOf(strings) != ErrorCode::kOk;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Export, WrittenModelsLoadAsTheSame) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(SWITCHYARD_SOURCE_DIR) / "models")) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path());
  }
  ASSERT_GT(models.size(), 10u);
  for (const auto& path : models) {
    const std::string once = WriteModelBytes(*ImportModel(path.string()));
    const auto again = Load(once);
    EXPECT_EQ(WriteModelBytes(*again), once) << path;
  }
  const auto graph = Load(Varied());
  const std::string file = folder / "v.onnx";
  WriteModel(*graph, file);
  EXPECT_EQ(WriteModelBytes(*ImportModel(file)), WriteModelBytes(*Load(WriteModelBytes(*graph))));
}

TEST(Export, LargeConstantsGoBesideTheModel) {
  const TemporaryFolder folder;
  std::string data(8192, '\0');
  data[8191] = 1;
  const auto graph = Load(OneTensor({.dims = {2048}, .data = Raw(data)}).Bytes());
  ExportOptions options;
  options.max_file_bytes = 4096;
  WriteModel(*graph, folder / "m.onnx", options);
  EXPECT_TRUE(std::filesystem::exists(folder / "m.onnx.data"));
  EXPECT_LT(std::filesystem::file_size(folder / "m.onnx"), 4096u);
  const auto again = ImportModel(folder / "m.onnx");
  EXPECT_EQ(static_cast<const char*>(WeightOf(*again).raw())[8191], 1);
  EXPECT_THROW(WriteModelBytes(*graph, options), Error);
  EXPECT_THROW(WriteModel(*graph, folder / "none/m.onnx"), Error);
}

// A body may not define a name that is visible around it.
TEST(Export, RenamesHiddenNames) {
  const auto branch = [] {
    ProtoWriter g;
    g.Message(field::graph::kNode, MakeNode("Relu", {"x"}, {"a"}));
    g.Message(field::graph::kOutput, MakeValue("a", kFloat, {}));
    return g;
  };
  ModelSpec spec = Chain({MakeNode("Relu", {"x"}, {"a"})});
  spec.Add(spec.inputs, MakeValue("c", 9, {}));
  spec.Add(spec.nodes, MakeNode("If", {"c"}, {"y"}, [&](ProtoWriter& n) {
             GraphAttribute("then_branch", branch)(n);
             GraphAttribute("else_branch", branch)(n);
           }));
  const auto graph = Load(WriteModelBytes(*Load(spec.Bytes())));
  const auto bodies = graph->node(1)->bodies();
  EXPECT_EQ(bodies[0].second->FindValue("a"), nullptr);
  EXPECT_NE(bodies[0].second->FindValue("a__1"), nullptr);
}

}  // namespace
}  // namespace switchyard
