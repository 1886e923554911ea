#include "ir/function_bodies.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <unordered_map>

#include "ir/constant_node.h"
#include "ir/functions.h"
#include "ir/schema_versions.h"
#include "switchyard/base/error.h"

namespace switchyard {
namespace {

using Fill = bool (*)(BodyBuilder&);
struct Entry {
  std::string_view op_type;
  Fill fill;
};

constexpr Entry kBodies[] = {
    {"Attention", bodies::Attention},
    {"Bernoulli", bodies::Bernoulli},
    {"CastLike", bodies::CastLike},
    {"CausalConvWithState", bodies::CausalConvWithState},
    {"Celu", bodies::Celu},
    {"CenterCropPad", bodies::CenterCropPad},
    {"Clip", bodies::Clip},
    {"DepthToSpace", bodies::DepthToSpace},
    {"Gelu", bodies::Gelu},
    {"GroupNormalization", bodies::GroupNormalization},
    {"LayerNormalization", bodies::LayerNormalization},
    {"LinearAttention", bodies::LinearAttention},
    {"LogSoftmax", bodies::LogSoftmax},
    {"NegativeLogLikelihoodLoss", bodies::NegativeLogLikelihoodLoss},
    {"RMSNormalization", bodies::RMSNormalization},
    {"Range", bodies::Range},
    {"RotaryEmbedding", bodies::RotaryEmbedding},
    {"Softmax", bodies::Softmax},
    {"SoftmaxCrossEntropyLoss", bodies::SoftmaxCrossEntropyLoss},
    {"SpaceToDepth", bodies::SpaceToDepth},
};

// Builds a graph from a template. Nodes get the version that the model's opset has, where they mean
// the same in it: a model that is saved with them then needs only one opset.
class TemplateReader {
 public:
  TemplateReader(int opset, int model_opset, const OpSchemaRegistry& schemas)
      : opset_(opset), model_opset_(model_opset), schemas_(schemas) {}

  void Read(const TemplateGraph& source, Graph* graph) const {
    for (const std::string_view name : source.inputs) graph->AddInput(std::string(name), {});
    for (const TemplateNode& node : source.nodes) {
      for (const std::string_view name : node.outputs) {
        if (!name.empty()) graph->AddValue(std::string(name));
      }
    }
    for (const TemplateNode& node : source.nodes) ReadNode(node, graph);
    for (const std::string_view name : source.outputs) graph->MarkOutput(Value(name, graph));
  }

 private:
  static NodeArg* Value(std::string_view name, Graph* graph) {
    if (name.empty()) return nullptr;
    NodeArg* value = graph->FindValue(name);
    return value != nullptr ? value : graph->Capture(name);
  }
  void ReadNode(const TemplateNode& node, Graph* graph) const {
    std::vector<NodeArg*> inputs, outputs;
    for (const std::string_view name : node.inputs) inputs.push_back(Value(name, graph));
    for (const std::string_view name : node.outputs) outputs.push_back(Value(name, graph));
    Attributes attributes;
    for (const TemplateAttribute& source : node.attributes) {
      attributes.Set(ReadAttribute(source, graph));
    }
    graph->AddNode(std::string(node.op_type), "", std::string(node.op_type), inputs, outputs,
                   std::move(attributes), SinceVersion(node.op_type));
  }
  int SinceVersion(std::string_view op_type) const {
    const OpSchema* own = schemas_.Find("", op_type, opset_);
    if (own == nullptr) return opset_;
    const OpSchema* models = schemas_.Find("", op_type, model_opset_);
    return models != nullptr && SameSignature(*own, *models, true) ? models->since_version
                                                                   : own->since_version;
  }
  Attribute ReadAttribute(const TemplateAttribute& source, Graph* graph) const {
    Attribute result;
    result.name = source.name;
    if (!source.ref.empty()) {
      result.value = AttributeReference{std::string(source.ref), source.type};
      return result;
    }
    switch (source.type) {
      case AttributeType::kInt:
        result.value = source.i;
        break;
      case AttributeType::kFloat:
        result.value = source.f;
        break;
      case AttributeType::kInts:
        result.value = std::vector<std::int64_t>(source.ints.begin(), source.ints.end());
        break;
      case AttributeType::kTensor:
        result.value = ScalarConstant(source.f, static_cast<DataType>(source.tensor_type));
        break;
      case AttributeType::kGraph: {
        auto body = std::make_shared<Graph>(graph->shared_context(), graph);
        Read(*source.graph, body.get());
        result.value = std::move(body);
        break;
      }
      default:
        throw Error(ErrorCode::kEngineError, "function template attribute " + result.name);
    }
    return result;
  }

  int opset_, model_opset_;
  const OpSchemaRegistry& schemas_;
};

Attribute DefaultOf(const AttributeDef& definition) {
  Attribute result;
  result.name = definition.name;
  switch (definition.type) {
    case AttributeType::kFloat:
      result.value = definition.f;
      break;
    case AttributeType::kInt:
      result.value = definition.i;
      break;
    case AttributeType::kString:
      result.value = std::string(definition.s);
      break;
    case AttributeType::kFloats:
      result.value = std::vector<float>(definition.floats.begin(), definition.floats.end());
      break;
    case AttributeType::kInts:
      result.value = std::vector<std::int64_t>(definition.ints.begin(), definition.ints.end());
      break;
    case AttributeType::kStrings:
      result.value = std::vector<std::string>(definition.strings.begin(), definition.strings.end());
      break;
    default:
      break;
  }
  return result;
}

}  // namespace

std::optional<FunctionBody> ContextBody(const Graph& graph, const Node& node,
                                        const OpSchemaRegistry& schemas) {
  const auto entry = std::find_if(std::begin(kBodies), std::end(kBodies),
                                  [&](const Entry& e) { return e.op_type == node.OpType(); });
  if (entry == std::end(kBodies)) return std::nullopt;
  BodyBuilder builder(graph, node, schemas);
  if (!entry->fill(builder)) return std::nullopt;
  return builder.Finish();
}

std::optional<FunctionBody> PlainBody(const OpSchema& schema, int opset,
                                      const OpSchemaRegistry& schemas) {
  const FunctionTemplate* source = schema.Body(opset);
  if (source == nullptr) return std::nullopt;
  FunctionBody result;
  result.domain = schema.domain;
  result.name = schema.name;
  for (const AttributeDef& definition : schema.attributes) {
    if (definition.has_default) result.default_attributes.Set(DefaultOf(definition));
  }
  auto context = std::make_shared<ModelContext>();
  context->opset_imports[""] = source->opset;
  result.body = std::make_shared<Graph>(std::move(context));
  TemplateReader(source->opset, opset, schemas).Read(source->graph, result.body.get());
  return result;
}

std::optional<FunctionBody> StandardBody(const Graph& graph, const Node& node,
                                         const OpSchemaRegistry& schemas) {
  const OpSchema* schema = schemas.Find(node.Domain(), node.OpType(), node.SinceVersion());
  if (schema == nullptr || !schema->is_function()) return std::nullopt;
  if (node.Domain().empty()) {
    if (auto body = ContextBody(graph, node, schemas)) return body;
  }
  return PlainBody(*schema, std::max(graph.opset(""), node.SinceVersion()), schemas);
}

namespace bodies {

using Value = BodyBuilder::Value;

// The outcome of a draw from [0, 1) below p is 1.
bool Bernoulli(BodyBuilder& b) {
  const DataType in = b.Elem(0);
  if (in == DataType::kUndefined) return false;
  std::vector<Attribute> attributes{{"dtype", static_cast<std::int64_t>(in)}};
  if (const Attribute* seed = b.attributes().Find("seed")) attributes.push_back(*seed);
  const Value drawn = b.Op("RandomUniformLike", {b.Input(0)}, std::move(attributes));
  const auto out = b.attributes().Int("dtype", static_cast<std::int64_t>(in));
  b.SetOutput(0, b.Cast(b.Op("Less", {drawn, b.Input(0)}), static_cast<DataType>(out)));
  return true;
}

bool CastLike(BodyBuilder& b) {
  const DataType to = b.Elem(1);
  if (to == DataType::kUndefined) return false;
  std::vector<Attribute> attributes{{"to", static_cast<std::int64_t>(to)}};
  for (const char* name : {"saturate", "round_mode"}) {
    if (const Attribute* given = b.attributes().Find(name)) attributes.push_back(*given);
  }
  b.SetOutput(0, b.Op("Cast", {b.Input(0)}, std::move(attributes)));
  return true;
}

bool Celu(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  if (type == DataType::kUndefined) return false;
  const Value alpha = b.Scalar(b.attributes().Float("alpha", 1), type);
  const Value elu = b.Op("Elu", {b.Op("Div", {b.Input(0), alpha})});
  b.SetOutput(0, b.Op("Mul", {alpha, elu}));
  return true;
}

bool CenterCropPad(BodyBuilder& b) {
  const Value x = b.Input(0);
  const Value wanted =
      b.Elem(1) == DataType::kInt64 ? b.Input(1) : b.Cast(b.Input(1), DataType::kInt64);
  const auto list = b.attributes().Ints("axes");
  Value axes = nullptr;
  if (b.attributes().Has("axes")) {
    const std::int64_t dims[] = {static_cast<std::int64_t>(list.size())};
    axes = b.Constant(MakeConstant(dims, list));
  }
  const auto sizes = [&](Value value) {
    const Value all = b.Op("Shape", {value});
    return axes != nullptr ? b.Op("Gather", {all, axes}) : all;
  };
  const Value two = b.Ints({2});
  const Value have = sizes(x);
  const Value missing = b.Op("Sub", {b.Op("Max", {have, wanted}), have});
  const Value before = b.Op("Div", {missing, two});
  const Value after = b.Op("Sub", {missing, before});
  const Value padded = b.Op("Pad", {x, b.Concat(0, {before, after}), nullptr, axes});
  const Value start = b.Op("Div", {b.Op("Sub", {sizes(padded), wanted}), two});
  b.SetOutput(0, b.Op("Slice", {padded, start, b.Op("Add", {start, wanted}), axes}));
  return true;
}

bool Clip(BodyBuilder& b) {
  Value x = b.Input(0);
  if (b.Has(1)) x = b.Op("Max", {x, b.Input(1)});
  if (b.Has(2)) x = b.Op("Min", {x, b.Input(2)});
  b.SetOutput(0, x);
  return true;
}

bool DepthToSpace(BodyBuilder& b) {
  const std::int64_t block = b.attributes().Int("blocksize", 1);
  const Value x = b.Input(0);
  const Value batch = b.Dims(x, 0, 1);
  const Value spatial = b.Dims(x, 2, 4);
  Value y;
  if (b.attributes().String("mode", "DCR") == "CRD") {
    const Value shape = b.Concat(0, {batch, b.Ints({-1, block, block}), spatial});
    y = b.Transpose(b.Reshape(x, shape), {0, 1, 4, 2, 5, 3});
  } else {
    const Value shape = b.Concat(0, {batch, b.Ints({block, block, -1}), spatial});
    y = b.Transpose(b.Reshape(x, shape), {0, 3, 4, 1, 5, 2});
  }
  const Value out = b.Concat(0, {batch, b.Ints({-1}), b.Op("Mul", {spatial, b.Ints({block})})});
  b.SetOutput(0, b.Reshape(y, out));
  return true;
}

bool SpaceToDepth(BodyBuilder& b) {
  const std::int64_t block = b.attributes().Int("blocksize", 1);
  const Value x = b.Input(0);
  const Value spatial = b.Op("Div", {b.Dims(x, 2, 4), b.Ints({block})});
  const Value shape = b.Concat(0, {b.Dims(x, 0, 2), b.Elements(spatial, 0, 1), b.Ints({block}),
                                   b.Elements(spatial, 1, 2), b.Ints({block})});
  const Value split = b.Reshape(x, shape);
  const Value y = b.attributes().String("mode", "DCR") == "CRD"
                      ? b.Transpose(split, {0, 1, 3, 5, 2, 4})
                      : b.Transpose(split, {0, 3, 5, 1, 2, 4});
  b.SetOutput(0, b.Reshape(y, b.Concat(0, {b.Dims(x, 0, 1), b.Ints({-1}), spatial})));
  return true;
}

bool Gelu(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  if (type == DataType::kUndefined) return false;
  const Value x = b.Input(0);
  const auto scalar = [&](double value) { return b.Scalar(value, type); };
  Value bell;
  if (b.attributes().String("approximate", "none") == "tanh") {
    const Value square = b.Op("Mul", {x, x});
    const Value bend = b.Op("Add", {b.Op("Mul", {square, scalar(0.044715)}), scalar(1)});
    const Value inner =
        b.Op("Mul", {b.Op("Mul", {x, bend}), scalar(std::sqrt(2 / std::numbers::pi))});
    bell = b.Op("Tanh", {inner});
  } else {
    bell = b.Op("Erf", {b.Op("Mul", {x, scalar(1 / std::numbers::sqrt2)})});
  }
  const Value half = b.Op("Mul", {x, scalar(0.5)});
  b.SetOutput(0, b.Op("Mul", {half, b.Op("Add", {bell, scalar(1)})}));
  return true;
}

Value WriteLogSoftmax(BodyBuilder& b, Value x, std::int64_t axis) {
  const std::int64_t axes[] = {axis};
  const Value shifted = b.Op("Sub", {x, b.Reduce("ReduceMax", x, axes, true)});
  const Value sum = b.Reduce("ReduceSum", b.Op("Exp", {shifted}), axes, true);
  return b.Op("Sub", {shifted, b.Op("Log", {sum})});
}

bool LogSoftmax(BodyBuilder& b) {
  b.SetOutput(0, WriteLogSoftmax(b, b.Input(0), b.attributes().Int("axis", -1)));
  return true;
}

bool Softmax(BodyBuilder& b) {
  const std::int64_t axes[] = {b.attributes().Int("axis", -1)};
  const Value x = b.Input(0);
  const Value power = b.Op("Exp", {b.Op("Sub", {x, b.Reduce("ReduceMax", x, axes, true)})});
  b.SetOutput(0, b.Op("Div", {power, b.Reduce("ReduceSum", power, axes, true)}));
  return true;
}

// start + i * delta for i of an integer range; the 64-bit range itself is left to kernels.
bool Range(BodyBuilder& b) {
  const DataType type = b.Elem(0);
  if (type == DataType::kUndefined || type == DataType::kInt64) return false;
  const bool narrow = type == DataType::kFloat16 || type == DataType::kBFloat16;
  const DataType work = narrow ? DataType::kFloat : type;
  const DataType exact = type == DataType::kFloat || narrow ? DataType::kFloat : DataType::kDouble;
  const auto as = [&](Value value, DataType have, DataType want) {
    return have == want ? value : b.Cast(value, want);
  };
  const Value start = as(b.Input(0), type, work);
  const Value delta = as(b.Input(2), type, work);
  const Value way = b.Op("Sub", {as(b.Input(1), type, exact), as(b.Input(0), type, exact)});
  const Value steps = b.Op("Ceil", {b.Op("Div", {way, as(b.Input(2), type, exact)})});
  Value count = b.Cast(b.Op("Max", {steps, b.Scalar(0, exact)}), DataType::kInt64);
  // One-element vectors are common where the standard asks for scalars.
  if (b.Rank(0) != 0 || b.Rank(1) != 0 || b.Rank(2) != 0) count = b.Reshape(count, b.Ints({}));
  const Value index = b.Op("Range", {b.Int(0), count, b.Int(1)});
  const Value values = b.Op("Add", {start, b.Op("Mul", {b.Cast(index, work), delta})});
  b.SetOutput(0, as(values, work, type));
  return true;
}

}  // namespace bodies
}  // namespace switchyard
