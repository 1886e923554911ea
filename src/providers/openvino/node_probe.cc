#include "providers/openvino/node_probe.h"

#include <algorithm>
#include <unordered_set>

#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/util/framework_node.hpp>

#include "base/format.h"
#include "providers/openvino/element_type.h"
#include "switchyard/ir/model_writer.h"

namespace switchyard::openvino {
namespace {

// Contents of smaller constants are part of the question; of larger ones only type and dims.
constexpr std::uint64_t kLargeConstant = 1024;

std::shared_ptr<ModelContext> ContextLike(const ModelContext& context) {
  auto result = std::make_shared<ModelContext>();
  result->ir_version = context.ir_version;
  result->opset_imports = context.opset_imports;
  return result;
}

ValueType Anonymous(const ValueType& type) {
  Shape shape = Shape::OfRank(type.shape.rank());
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (type.shape[i].is_value()) shape[i] = type.shape[i];
  }
  return ValueType::Tensor(type.elem, std::move(shape));
}

// The node alone, with inputs and outputs named by prefix and position.
void AddAlone(const Node& node, const std::string& prefix, Graph* graph) {
  std::vector<NodeArg*> inputs, outputs;
  std::unordered_map<const NodeArg*, NodeArg*> made;
  for (const NodeArg* value : node.inputs()) {
    if (value == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    NodeArg*& own = made[value];
    if (own == nullptr) {
      const std::string name = prefix + "i" + std::to_string(inputs.size());
      own = value->is_constant() ? graph->AddConstant(name, value->constant())
                                 : graph->AddInput(name, Anonymous(value->type()));
    }
    inputs.push_back(own);
  }
  for (const NodeArg* value : node.outputs()) {
    const std::string name = prefix + "o" + std::to_string(outputs.size());
    outputs.push_back(value == nullptr ? nullptr : graph->AddValue(name, Anonymous(value->type())));
  }
  graph->AddNode(node.OpType(), node.Domain(), prefix + "n", inputs, outputs, node.attributes(),
                 node.SinceVersion());
  for (NodeArg* output : outputs) {
    if (output != nullptr) graph->MarkOutput(output);
  }
}

std::string SignatureOf(const ModelWriter& writer, const ModelContext& context, const Node& node) {
  Graph alone(ContextLike(context));
  AddAlone(node, "", &alone);
  ModelWriteOptions options;
  options.by_address_from = kLargeConstant;
  options.address = [](const Constant&) { return static_cast<const void*>(nullptr); };
  return writer.Write(GraphViewer(alone), options);
}

// Zeros for the contents of large constants; pages that nobody writes cost nothing.
class Zeros {
 public:
  explicit Zeros(std::size_t bytes) : block_(std::calloc(std::max<std::size_t>(bytes, 1), 1)) {
    if (block_ == nullptr) throw std::bad_alloc();
  }
  ~Zeros() { std::free(block_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  const void* data() const { return block_; }

 private:
  void* block_;
};

std::size_t LargestConstant(const Graph& graph) {
  std::size_t most = 0;
  for (ValueId id = 0; id < graph.value_limit(); ++id) {
    const NodeArg* value = graph.value(id);
    if (value != nullptr && value->constant() && value->constant()->type() != DataType::kString)
      most = std::max(most, value->constant()->bytes());
  }
  return most;
}

std::string Unconverted(const ov::op::util::FrameworkNode& node) {
  for (const auto& [key, text] : node.get_attrs()) {
    if (!key.ends_with("failed_conversion_key")) continue;
    const std::string reason = Reason(std::runtime_error(text));
    // An operator that it does not know at all is told by name only.
    return reason.find(' ') == 0 || reason.find_first_of(" :") == std::string::npos
               ? "OpenVINO's ONNX front end does not know" + reason
               : "OpenVINO's ONNX front end: " + reason;
  }
  return "OpenVINO's ONNX front end does not convert it";
}

using Supported = std::vector<std::pair<std::string, ov::SupportedOpsMap>>;  // by device

// The operations that one output is made of.
std::string WhyNot(const std::shared_ptr<ov::Node>& root, const Supported& supported,
                   std::unordered_set<const ov::Node*>* seen) {
  std::vector<std::shared_ptr<ov::Node>> open{root};
  while (!open.empty()) {
    const std::shared_ptr<ov::Node> node = open.back();
    open.pop_back();
    if (!seen->insert(node.get()).second) continue;
    if (const auto* foreign = dynamic_cast<const ov::op::util::FrameworkNode*>(node.get()))
      return Unconverted(*foreign);
    const bool leaf = ov::as_type_ptr<ov::op::v0::Parameter>(node) ||
                      ov::as_type_ptr<ov::op::v0::Constant>(node) ||
                      ov::as_type_ptr<ov::op::v0::Result>(node);
    for (const auto& [device, map] : supported) {
      if (!leaf && map.count(node->get_friendly_name()) == 0)
        return fmt::format("OpenVINO's {} has no {}", device, node->get_type_name());
    }
    for (const auto& input : node->inputs())
      open.push_back(input.get_source_output().get_node_shared_ptr());
  }
  return {};
}

// Provably: what either side leaves open is not compared.
bool Differ(const ov::PartialShape& made, const Shape& wanted) {
  if (made.rank().is_dynamic()) return false;
  if (made.size() != wanted.rank()) return true;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (wanted[i].is_value() && !made[i].compatible(wanted[i].value())) return true;
  }
  return false;
}

std::string WhyNotOutput(const NodeArg& wanted, const std::shared_ptr<ov::Node>& result,
                         const Supported& supported, std::unordered_set<const ov::Node*>* seen) {
  if (std::string reason = WhyNot(result, supported, seen); !reason.empty()) return reason;
  const ov::element::Type type = result->get_input_element_type(0);
  const ov::PartialShape& shape = result->get_input_partial_shape(0);
  if (Differ(shape, wanted.type().shape)) {
    return fmt::format("OpenVINO makes '{}' of shape {}, ONNX says {}", wanted.Name(),
                       shape.to_string(), wanted.type().shape.ToString());
  }
  if (type == ElementType(wanted.type().elem)) return {};
  return fmt::format("OpenVINO makes '{}' of {}, ONNX says {}", wanted.Name(), type.get_type_name(),
                     DataTypeName(wanted.type().elem));
}

}  // namespace

NodeProbe::NodeProbe(std::shared_ptr<Library> library, std::shared_ptr<const ModelWriter> writer,
                     const Options& options, const BlobCache& cache)
    : library_(std::move(library)), writer_(std::move(writer)), options_(options), cache_(cache) {}

std::vector<std::string> NodeProbe::Ask(const GraphViewer& graph,
                                        std::span<const NodeIndex> nodes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> signatures;
  std::vector<Question> open;
  std::unordered_set<std::string_view> asked;
  signatures.reserve(nodes.size());
  for (NodeIndex index : nodes) {
    const Node& node = *graph.GetNode(index);
    try {
      signatures.push_back(SignatureOf(*writer_, graph.context(), node));
    } catch (const Error& error) {
      signatures.push_back("#" + std::to_string(index));
      answers_[signatures.back()] = error.message();
    }
    const std::string& signature = signatures.back();
    if (answers_.count(signature) == 0 && asked.insert(signature).second)
      open.push_back({&node, signature, {}});
  }
  std::string all;
  for (const Question& question : open) all += question.signature;
  const std::string key = open.empty() ? "" : cache_.KeyOf(all);
  if (!open.empty() && !Recall(key, open)) {
    AskSet(graph, open);
    Keep(key, open);
  }
  for (Question& question : open) answers_[question.signature] = std::move(question.answer);
  std::vector<std::string> result;
  for (const std::string& signature : signatures) result.push_back(answers_.at(signature));
  return result;
}

// All at once; where that is refused as a whole, by halves down to the one that is to blame.
void NodeProbe::AskSet(const GraphViewer& graph, std::span<Question> questions) {
  if (questions.empty()) return;
  try {
    AskLibrary(graph, questions);
  } catch (const std::exception& error) {
    if (questions.size() == 1) {
      questions[0].answer = "OpenVINO: " + Reason(error);
      return;
    }
    const std::size_t half = questions.size() / 2;
    AskSet(graph, questions.first(half));
    AskSet(graph, questions.subspan(half));
  }
}

void NodeProbe::AskLibrary(const GraphViewer& graph, std::span<Question> questions) {
  Graph apart(ContextLike(graph.context()));
  for (std::size_t q = 0; q < questions.size(); ++q)
    AddAlone(*questions[q].node, "q" + std::to_string(q), &apart);
  const Zeros zeros(LargestConstant(apart));
  ModelWriteOptions options;
  options.by_address_from = kLargeConstant;
  options.address = [&](const Constant&) { return zeros.data(); };
  const std::string onnx = writer_->Write(GraphViewer(apart), options);
  const std::shared_ptr<ov::Model> model = library_->Convert(onnx, true);
  Supported supported;
  for (const std::string& device : QueryDevices())
    supported.emplace_back(device, library_->core().query_model(model, device));
  const ov::ResultVector& results = model->get_results();
  std::size_t next = 0;
  for (Question& question : questions) {
    std::unordered_set<const ov::Node*> seen;
    std::string answer;
    for (const NodeArg* output : question.node->outputs()) {
      if (output == nullptr) continue;
      if (next >= results.size())
        throw Error(ErrorCode::kEpFail, "the converted model has too few outputs");
      const auto& result = results[next++];
      if (answer.empty()) answer = WhyNotOutput(*output, result, supported, &seen);
    }
    question.answer = std::move(answer);
  }
}

// AUTO and MULTI decide later: every device that they may take must agree.
std::vector<std::string> NodeProbe::QueryDevices() const {
  if (options_.device.starts_with("AUTO") || options_.device.starts_with("MULTI:")) {
    auto devices = options_.Devices();
    return devices.empty() ? library_->core().get_available_devices() : devices;
  }
  return {options_.device};
}

bool NodeProbe::Recall(const std::string& key, std::span<Question> questions) const {
  std::string text;
  if (!cache_.ReadText(key, &text)) return false;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() != questions.size()) return false;
  for (std::size_t i = 0; i < lines.size(); ++i) questions[i].answer = lines[i];
  return true;
}

void NodeProbe::Keep(const std::string& key, std::span<const Question> questions) const {
  std::string text;
  for (const Question& question : questions) {
    std::string line = question.answer;
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += line + "\n";
  }
  cache_.WriteText(key, text);
}

}  // namespace switchyard::openvino
