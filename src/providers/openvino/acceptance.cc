#include "providers/openvino/acceptance.h"

#include <algorithm>

#include "base/format.h"
#include "providers/openvino/element_type.h"

namespace switchyard::openvino {
namespace {

bool IsWhole(DataType type) { return types::kIntegers.Contains(type); }

// Cut down to 32 bits by the library.
bool IsCut(DataType type) {
  return type == DataType::kInt64 || type == DataType::kUint64 || type == DataType::kUint32;
}

// Shape arithmetic: sizes are small numbers.
bool IsFollowed(const NodeArg& value) { return value.info().has_value; }

// How often the type variable of an argument stands in the node's signature. A variable of one
// place (the indices of Gather) names positions; one of several carries data through the node.
int Places(const OpSchema& schema, const FormalParameter& formal) {
  if (formal.constraint < 0) return 1;
  int places = formal.option == FormalParameter::Option::kVariadic ? 1 : 0;
  for (const FormalParameter& one : schema.inputs) places += one.constraint == formal.constraint;
  for (const FormalParameter& one : schema.outputs) places += one.constraint == formal.constraint;
  return places;
}

bool IsOneOf(const std::string& op, std::initializer_list<const char*> operators) {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const char* one) { return op == one; });
}

// Operators that look at, or make, numbers in an argument whose type stands alone.
bool ReadsNumbers(const std::string& op) { return IsOneOf(op, {"Cast", "CastLike", "NonZero"}); }
bool MakesNumbers(const std::string& op) { return IsOneOf(op, {"Cast", "CastLike"}); }

// Operators that pass whole numbers on as they are. All others compute in float, exact up to 2^24
// only, or saturate where ONNX wraps around.
bool KeepsNumbers(const std::string& op) {
  return IsOneOf(op, {"Concat",
                      "DepthToSpace",
                      "DequantizeLinear",
                      "Expand",
                      "Flatten",
                      "Gather",
                      "GatherElements",
                      "GatherND",
                      "Identity",
                      "Pad",
                      "QuantizeLinear",
                      "Reshape",
                      "ScatterND",
                      "ScatterElements",
                      "Slice",
                      "SpaceToDepth",
                      "Split",
                      "Squeeze",
                      "Tile",
                      "Transpose",
                      "Unsqueeze",
                      "DynamicQuantizeLinear"});
}

std::string WhyNotType(const NodeArg& value, bool constant) {
  const ValueType& type = value.type();
  if (!type.is_tensor()) return fmt::format("'{}' is no tensor", value.Name());
  if (type.elem == DataType::kString) return "string tensors are not handed to OpenVINO";
  if (type.elem == DataType::kDouble) return "OpenVINO computes double in single precision";
  const bool packed = IsPacked(type.elem) && !constant;
  if (packed || ElementType(type.elem) == ov::element::dynamic) {
    return fmt::format("element type {} of '{}' is not handed to OpenVINO", DataTypeName(type.elem),
                       value.Name());
  }
  if (!type.shape.ranked()) return fmt::format("the rank of '{}' is not known", value.Name());
  return {};
}

std::string WhyNotWhole(const Node& node, const NodeArg* value, const OpSchema& schema,
                        const FormalParameter* formal, bool numbers) {
  if (value == nullptr || !IsWhole(value->type().elem) || IsFollowed(*value)) return {};
  const DataType type = value->type().elem;
  const bool is_data = formal == nullptr || Places(schema, *formal) > 1;
  if (IsCut(type) && (is_data || numbers)) {
    return fmt::format("'{}' holds {} numbers, which OpenVINO cuts to 32 bits", value->Name(),
                       DataTypeName(type));
  }
  if (is_data && !KeepsNumbers(node.OpType())) {
    return fmt::format("OpenVINO computes {} in floating point, or saturates", DataTypeName(type));
  }
  return {};
}

std::string WhyNotWhole(const Node& node, const OpSchema& schema) {
  const bool reads = ReadsNumbers(node.OpType()), makes = MakesNumbers(node.OpType());
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    std::string reason = WhyNotWhole(node, node.inputs()[i], schema, schema.Input(i), reads);
    if (!reason.empty()) return reason;
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    std::string reason = WhyNotWhole(node, node.outputs()[i], schema, schema.Output(i), makes);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string WhyNotResize(const Attributes& attributes) {
  if (attributes.Int("antialias", 0) != 0 || attributes.Int("exclude_outside", 0) != 0)
    return "OpenVINO's Resize leaves out antialias and exclude_outside";
  if (attributes.String("keep_aspect_ratio_policy", "stretch") != "stretch")
    return "OpenVINO's Resize leaves out keep_aspect_ratio_policy";
  if (attributes.String("coordinate_transformation_mode", "half_pixel") == "align_corners")
    return "OpenVINO's Resize with align_corners takes the rounded size for the exact one";
  return {};
}

bool HasOpenDims(const NodeArg* value) {
  return value != nullptr && !value->type().shape.is_concrete();
}

bool IsConstantInput(const Node& node, std::size_t i) {
  return i < node.inputs().size() && node.inputs()[i] != nullptr && node.inputs()[i]->is_constant();
}

// Found by ONNX's backend cases (tests/conformance): the front end passes over an attribute, or the
// device answers something else.
std::string WhyDifferent(const Node& node) {
  const std::string& op = node.OpType();
  const Attributes& attributes = node.attributes();
  if (op == "Attention") return "OpenVINO's Attention leaves out windows and some masks";
  if (op == "DFT") return "OpenVINO's DFT is less exact, and other in shape before opset 20";
  if (op == "ReduceMax" || op == "ReduceMin")
    return "OpenVINO's " + op + " starts at the last finite number: infinities are lost";
  if (op == "GatherElements" || op == "GatherND")
    return "OpenVINO's " + op + " does not check indices, and reads elsewhere where they are open";
  if (op == "NegativeLogLikelihoodLoss" || op == "SoftmaxCrossEntropyLoss")
    return "OpenVINO's " + op + " reads outside of its input for some ignored indices";
  if (op == "Tile") return "OpenVINO's Tile leaves parts unwritten when several dims repeat";
  if (op == "NonMaxSuppression") return "OpenVINO's NonMaxSuppression drops boxes at the threshold";
  if (op == "DynamicQuantizeLinear" || (op == "QuantizeLinear" && !IsConstantInput(node, 1)))
    return "OpenVINO rounds otherwise where the scale is not constant";
  if ((op == "LSTM" || op == "GRU" || op == "RNN") && attributes.Int("layout", 0) != 0)
    return "OpenVINO leaves out layout=1";
  if (op == "RoiAlign" && attributes.String("mode", "avg") == "max")
    return "OpenVINO's RoiAlign takes the maximum of other points";
  if (op == "SpaceToDepth" && attributes.String("mode", "DCR") != "DCR")
    return "OpenVINO's SpaceToDepth leaves out the mode";
  if (op == "Resize") return WhyNotResize(attributes);
  if (attributes.Int("ceil_mode", 0) != 0 && HasOpenDims(node.outputs()[0]))
    return "ceil_mode with open dims: OpenVINO counts windows that begin in the padding";
  return {};
}

}  // namespace

std::string WhyNotExact(const Node& node, const GraphViewer& graph,
                        const OpSchemaRegistry& schemas) {
  if (node.has_body()) return "nodes with bodies stay with the executor";
  for (const FunctionBody& function : graph.context().functions) {
    if (function.domain == node.Domain() && function.name == node.OpType())
      return "a function of the model";
  }
  const OpSchema* schema = schemas.Find(node.Domain(), node.OpType(), node.SinceVersion());
  if (schema == nullptr) return "an operator without schema";
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (value == nullptr) continue;
      if (std::string reason = WhyNotType(*value, value->is_constant()); !reason.empty())
        return reason;
    }
  }
  if (std::string reason = WhyNotWhole(node, *schema); !reason.empty()) return reason;
  return WhyDifferent(node);
}

}  // namespace switchyard::openvino
