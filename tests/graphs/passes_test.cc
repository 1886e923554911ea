// Runs the pass cases of this folder's *.txt: see README.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "switchyard/base/error.h"
#include "switchyard/ir/rewrite/pass.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace ir::ops {
void RegisterAll(InferenceRegistry& registry);
}
namespace passes::basic {
void RegisterAll(PassRegistry& registry);
}
namespace passes::extended {
void RegisterAll(PassRegistry& registry);
}

namespace {

struct Case {
  std::string file, name, input, expected;
  int line = 0;
  std::vector<std::string> passes;
  PassPipeline::Limits limits;
  std::size_t fold_limit = std::size_t{64} << 20;
  std::vector<std::pair<std::string, std::int64_t>> free_dimensions;
  std::vector<std::pair<std::string, int>> applied;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.file << ": " << test.name; }

void ReadOption(const std::string& line, Case* current) {
  std::istringstream words(line);
  std::string key, word;
  words >> key;
  if (key == "passes") {
    while (words >> word) current->passes.push_back(word);
  } else if (key == "accuracy") {
    words >> word;
    current->limits.admitted = word == "exact"  ? Exactness::kExact
                               : word == "fast" ? Exactness::kApproximate
                                                : Exactness::kRounding;
  } else if (key == "fold_limit") {
    words >> current->fold_limit;
  } else if (key == "free_dimension") {
    std::int64_t size = 0;
    words >> word >> size;
    current->free_dimensions.emplace_back(word, size);
  } else if (key == "applied") {
    int count = 0;
    words >> word >> count;
    current->applied.emplace_back(word, count);
  } else if (!key.empty() && key[0] != '#') {
    throw Error(ErrorCode::kInvalidArgument, current->file + ": unknown option '" + key + "'");
  }
}

void ReadFile(const std::filesystem::path& path, std::vector<Case>* cases) {
  std::ifstream file(path);
  std::string line;
  std::string* graph = nullptr;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.starts_with("case ")) {
      Case& made = cases->emplace_back();
      made.file = path.stem().string();
      made.name = line.substr(5);
      made.line = number;
      graph = nullptr;
    } else if (cases->empty()) {
      continue;
    } else if (line == "input") {
      graph = &cases->back().input;
    } else if (line == "expect") {
      graph = &cases->back().expected;
    } else if (line == "expect unchanged") {
      cases->back().expected = cases->back().input;
      graph = nullptr;
    } else if (graph != nullptr && !line.starts_with("applied ")) {
      *graph += line + "\n";
    } else {
      ReadOption(line, &cases->back());
    }
  }
}

std::vector<Case> AllCases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(SWITCHYARD_SOURCE_DIR "/tests/graphs")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases;
  for (const auto& path : paths) ReadFile(path, &cases);
  return cases;
}

template <typename T>
std::optional<Tensor> EvaluateAs(const Node& node, std::span<const Tensor* const> inputs) {
  const Tensor& a = *inputs[0];
  Tensor out(a.type(), a.dims(), MakeHostAllocator());
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const T x = a.data<T>()[i];
    T& y = out.data_mutable<T>()[i];
    if (node.OpType() == "Neg") {
      y = -x;
      continue;
    }
    if (inputs.size() != 2 || (inputs[1]->size() != 1 && inputs[1]->size() != a.size())) {
      return std::nullopt;
    }
    const T z = inputs[1]->data<T>()[inputs[1]->size() == 1 ? 0 : i];
    if (node.OpType() == "Add") {
      y = x + z;
    } else if (node.OpType() == "Mul") {
      y = x * z;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Operators on constants whose result is all zeros of the known type: what is folded, not to what.
std::optional<Tensor> EvaluateZeros(const Node& node) {
  const ValueType& type = node.outputs()[0]->type();
  if (!type.is_tensor() || !type.shape.is_concrete()) return std::nullopt;
  Tensor out(type.elem, type.shape.concrete(), MakeHostAllocator());
  std::fill_n(static_cast<std::byte*>(out.raw_mutable()), out.bytes(), std::byte{0});
  return out;
}

std::optional<std::vector<Tensor>> Evaluate(const Node& node, const Graph&,
                                            std::span<const Tensor* const> inputs) {
  std::optional<Tensor> out;
  if (node.OpType() == "DequantizeLinear" || node.OpType() == "Expand" ||
      node.OpType() == "ConstantOfShape") {
    out = EvaluateZeros(node);
  } else if (inputs[0]->type() == DataType::kFloat) {
    out = EvaluateAs<float>(node, inputs);
  } else if (inputs[0]->type() == DataType::kInt64) {
    out = EvaluateAs<std::int64_t>(node, inputs);
  }
  if (!out) return std::nullopt;
  std::vector<Tensor> results;
  results.push_back(std::move(*out));
  return results;
}

std::unique_ptr<Graph> Load(const std::string& text, const InferenceRegistry& inference) {
  const bool has_header = text.find("opset ") != std::string::npos;
  auto graph = ParseGraph(has_header ? text : "opset 21\n" + text);
  InferGraph(*graph, inference);
  VerifyGraph(*graph);
  return graph;
}

std::string Canonical(const Graph& graph) {
  TextOptions options;
  options.canonical = true;
  options.types = false;
  options.node_names = false;
  return PrintGraph(graph, options);
}

class PassCase : public testing::TestWithParam<Case> {};

TEST_P(PassCase, GivesTheExpectedGraph) {
  const Case& test = GetParam();
  SCOPED_TRACE(test.file + ".txt:" + std::to_string(test.line) + ": " + test.name);
  InferenceRegistry inference;
  ir::ops::RegisterAll(inference);
  PassRegistry basic, extended;
  passes::basic::RegisterAll(basic);
  passes::extended::RegisterAll(extended);
  PassPipeline pipeline;
  for (const PassRegistry* registry : {&basic, &extended}) {
    for (const auto& pass : registry->passes()) {
      const bool named =
          std::find(test.passes.begin(), test.passes.end(), pass->name()) != test.passes.end();
      if (named || (test.passes.empty() && registry == &basic)) pipeline.Add(*pass);
    }
  }
  if (!test.passes.empty()) {
    ASSERT_EQ(pipeline.size(), test.passes.size()) << "unknown pass";
  }
  PassContext context(inference);
  context.evaluate = Evaluate;
  context.max_fold_bytes = test.fold_limit;
  context.free_dimension_overrides_by_name = test.free_dimensions;
  std::string log;
  context.log = [&](Severity, std::string_view text) { log += std::string(text) + "\n"; };
  PassPipeline::Limits limits = test.limits;
  limits.verify_each_pass = true;

  const auto graph = Load(test.input, inference);
  const auto results = pipeline.Run(*graph, context, limits, nullptr);
  const auto expected = Load(test.expected, inference);
  expected->context().opset_imports = graph->context().opset_imports;
  EXPECT_EQ(Canonical(*graph), Canonical(*expected)) << log;
  for (const auto& [name, count] : test.applied) {
    for (const PassResult& result : results) {
      if (result.name == name) {
        EXPECT_EQ(result.applied, count) << name << "\n" << log;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, PassCase, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& made) {
                           std::string name = made.param.file + "_" + made.param.name;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name + "_" + std::to_string(made.param.line);
                         });

}  // namespace
}  // namespace switchyard
