#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <unordered_map>

#include "switchyard/ir/schema.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace {

bool IsPlain(std::string_view name) {
  if (name.empty()) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
  });
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string NameText(std::string_view name) {
  return IsPlain(name) ? std::string(name) : Quoted(name);
}

std::string FloatText(double value, bool single) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text =
      single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string TypeText(const ValueType& type) {
  if (!type.known()) return {};
  if (type.is_tensor()) {
    return (type.elem == DataType::kUndefined ? "undefined"
                                              : std::string(DataTypeName(type.elem))) +
           type.shape.ToString();
  }
  return type.ToString();
}

std::string Hex(const Tensor& tensor) {
  std::string out;
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.bytes(); ++i) out += fmt::format("{:02x}", bytes[i]);
  return out;
}

std::uint64_t Hash(const Tensor& tensor) {
  std::uint64_t hash = 1469598103934665603u;
  const auto add = [&](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  };
  if (tensor.type() == DataType::kString) {
    for (const std::string& element : tensor.values<std::string>()) {
      add(element.data(), element.size() + 1);
    }
  } else {
    add(tensor.raw(), tensor.bytes());
  }
  return hash;
}

template <typename T>
std::string ElementText(const T& element) {
  if constexpr (std::is_same_v<T, std::string>) {
    return Quoted(element);
  } else if constexpr (std::is_same_v<T, bool>) {
    return element ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(element);
  } else if constexpr (std::is_same_v<T, double>) {
    return FloatText(element, false);
  } else {
    return FloatText(static_cast<float>(element), true);
  }
}

template <typename T>
std::string ElementsText(const Tensor& tensor, std::size_t max_inline) {
  const auto values = tensor.values<T>();
  std::vector<std::string> texts;
  if (values.size() <= max_inline) {
    std::string out = "{";
    for (std::size_t i = 0; i < values.size(); ++i) {
      out += (i == 0 ? "" : ", ") + ElementText<T>(values[i]);
    }
    return out + "}";
  }
  const bool same = std::all_of(values.begin(), values.end(), [&](const T& element) {
    if constexpr (std::is_same_v<T, std::string>) {
      return element == values[0];
    } else {
      return std::memcmp(&element, &values[0], sizeof(T)) == 0;
    }
  });
  if (same) return "fill(" + ElementText<T>(values[0]) + ")";
  return fmt::format("hash({:016x})", Hash(tensor));
}

std::string ContentsText(const Constant& constant, std::size_t max_inline) {
  const Tensor& tensor = constant.tensor();
  switch (tensor.type()) {
    case DataType::kFloat:
      return ElementsText<float>(tensor, max_inline);
    case DataType::kDouble:
      return ElementsText<double>(tensor, max_inline);
    case DataType::kFloat16:
      return ElementsText<Float16>(tensor, max_inline);
    case DataType::kBFloat16:
      return ElementsText<BFloat16>(tensor, max_inline);
    case DataType::kInt64:
      return ElementsText<std::int64_t>(tensor, max_inline);
    case DataType::kInt32:
      return ElementsText<std::int32_t>(tensor, max_inline);
    case DataType::kInt16:
      return ElementsText<std::int16_t>(tensor, max_inline);
    case DataType::kInt8:
      return ElementsText<std::int8_t>(tensor, max_inline);
    case DataType::kUint64:
      return ElementsText<std::uint64_t>(tensor, max_inline);
    case DataType::kUint32:
      return ElementsText<std::uint32_t>(tensor, max_inline);
    case DataType::kUint16:
      return ElementsText<std::uint16_t>(tensor, max_inline);
    case DataType::kUint8:
      return ElementsText<std::uint8_t>(tensor, max_inline);
    case DataType::kBool:
      return ElementsText<bool>(tensor, max_inline);
    case DataType::kString:
      return ElementsText<std::string>(tensor, max_inline);
    default:
      break;
  }
  if (static_cast<std::size_t>(tensor.size()) <= max_inline) return "hex(" + Hex(tensor) + ")";
  return fmt::format("hash({:016x})", Hash(tensor));
}

std::string ConstantType(const Constant& constant) {
  return std::string(DataTypeName(constant.type())) + DimsToString(constant.dims());
}

class Printer {
 public:
  Printer(const TextOptions& options, std::string* out, int* next_name)
      : options_(options), out_(*out), next_name_(*next_name) {}

  void Header(const Graph& graph) {
    if (graph.context().ir_version != 0) {
      out_ += fmt::format("ir {}\n", graph.context().ir_version);
    }
    for (const auto& [domain, version] : graph.context().opset_imports) {
      out_ += fmt::format("opset {}{}{}\n", domain.empty() ? "" : NameText(domain),
                          domain.empty() ? "" : " ", version);
    }
  }

  // `outer`: names of the surrounding graph, for captures.
  void Body(const Graph& graph, std::string_view name, int depth, const Printer* outer) {
    outer_ = outer;
    const std::vector<NodeIndex> order = Order(graph);
    Name(graph, order);
    out_ += "graph " + NameText(name.empty() ? "g" : name) + " (";
    bool first = true;
    for (const NodeArg* input : graph.inputs()) {
      out_ += first ? "" : ", ";
      first = false;
      Typed(*input);
      if (input->constant()) {
        out_ += " = " + ContentsText(*input->constant(), options_.max_inline);
      }
    }
    out_ += ") => (";
    first = true;
    for (const NodeArg* output : graph.outputs()) {
      out_ += first ? "" : ", ";
      first = false;
      Typed(*output);
    }
    out_ += ") {\n";
    const std::string indent(static_cast<std::size_t>(depth) * 2 + 2, ' ');
    for (const NodeArg* value : constants_) {
      out_ += indent + ConstantType(*value->constant()) + " " + names_.at(value) + " = " +
              ContentsText(*value->constant(), options_.max_inline) + "\n";
    }
    for (NodeIndex index : order) PrintNode(graph, *graph.node(index), indent, depth);
    out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + "}";
  }

 private:
  std::vector<NodeIndex> Order(const Graph& graph) const {
    const auto order = graph.TopologicalOrder();
    if (!options_.canonical) return {order.begin(), order.end()};
    std::vector<NodeIndex> result;
    std::vector<char> state(graph.node_limit());
    std::vector<std::pair<NodeIndex, bool>> stack;
    const auto visit = [&](NodeIndex start) {
      stack.emplace_back(start, false);
      while (!stack.empty()) {
        const auto [index, ready] = stack.back();
        stack.pop_back();
        if (ready) {
          result.push_back(index);
          continue;
        }
        if (state[index] != 0) continue;
        state[index] = 1;
        stack.emplace_back(index, true);
        const Node& node = *graph.node(index);
        for (const auto& list : {node.implicit_inputs(), node.inputs()}) {
          for (auto it = list.rbegin(); it != list.rend(); ++it) {
            if (*it != nullptr && (*it)->producer() != kNoNode) {
              stack.emplace_back((*it)->producer(), false);
            }
          }
        }
      }
    };
    for (const NodeArg* output : graph.outputs()) {
      if (output->producer() != kNoNode) visit(output->producer());
    }
    for (NodeIndex index : order) visit(index);
    return result;
  }

  void Name(const Graph& graph, const std::vector<NodeIndex>& order) {
    const auto name = [&](const NodeArg* value, bool keep) {
      if (value == nullptr || names_.contains(value)) return;
      if (value->is_captured()) {
        names_[value] = outer_ != nullptr ? outer_->OuterName(value->Name()) : value->Name();
      } else if (keep || !options_.canonical) {
        names_[value] = NameText(value->Name());
      } else {
        names_[value] = fmt::format("{}{}", value->constant() ? 'c' : 'v', next_name_++);
      }
      by_name_[value->Name()] = names_[value];
      if (value->is_constant() && !value->is_captured()) constants_.push_back(value);
    };
    const bool root = graph.parent() == nullptr;
    for (const NodeArg* input : graph.inputs()) name(input, root);
    for (const NodeArg* output : graph.outputs()) name(output, root);
    for (NodeIndex index : order) {
      const Node& node = *graph.node(index);
      for (const NodeArg* value : node.inputs()) name(value, false);
      for (const NodeArg* value : node.implicit_inputs()) name(value, false);
      for (const NodeArg* value : node.outputs()) name(value, false);
    }
    for (ValueId id = 0; id < graph.value_limit(); ++id) {
      const NodeArg* value = graph.value(id);
      if (value != nullptr && value->constant() && !value->is_captured()) name(value, false);
    }
  }

  std::string OuterName(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at != by_name_.end() ? at->second : NameText(name);
  }

  void Typed(const NodeArg& value) {
    if (value.type().known()) out_ += TypeText(value.type()) + " ";
    out_ += names_.at(&value);
  }

  void PrintNode(const Graph& graph, const Node& node, const std::string& indent, int depth) {
    out_ += indent;
    bool first = true;
    for (const NodeArg* output : node.outputs()) {
      out_ += first ? "" : ", ";
      first = false;
      if (output == nullptr) {
        out_ += "_";
      } else if (options_.types && !graph.is_output(output)) {
        Typed(*output);
      } else {
        out_ += names_.at(output);
      }
    }
    out_ += " = ";
    if (options_.node_names && !node.Name().empty()) out_ += Quoted(node.Name()) + ": ";
    out_ += NameText(node.Domain().empty() ? node.OpType() : node.Domain() + "." + node.OpType());
    const OpSchema* schema =
        OpSchemaRegistry().Find(node.Domain(), node.OpType(), graph.opset(node.Domain()));
    const int expected = schema != nullptr ? schema->since_version : graph.opset(node.Domain());
    if (node.SinceVersion() != expected) out_ += fmt::format("@{}", node.SinceVersion());
    first = true;
    for (const Attribute& attribute : node.attributes()) {
      out_ += first ? "<" : ", ";
      first = false;
      PrintAttribute(attribute, depth);
    }
    out_ += first ? "(" : ">(";
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (i != 0) out_ += ", ";
      if (node.inputs()[i] != nullptr) out_ += names_.at(node.inputs()[i]);
    }
    out_ += ")\n";
  }

  template <typename T, typename Print>
  void List(const std::vector<T>& items, Print print) {
    out_ += "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += ", ";
      print(items[i]);
    }
    out_ += "]";
  }

  void PrintAttribute(const Attribute& attribute, int depth) {
    static constexpr std::string_view kTypeNames[] = {
        "undefined", "float",   "int",    "string", "tensor",  "graph", "floats", "ints",
        "strings",   "tensors", "graphs", "sparse", "sparses", "type",  "types"};
    out_ += NameText(attribute.name);
    const auto code = static_cast<std::size_t>(attribute.type());
    const bool empty_list = std::visit(
        [](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>)
            return false;
          else if constexpr (requires { value.empty(); })
            return value.empty();
          else
            return false;
        },
        attribute.value);
    if (empty_list || std::holds_alternative<AttributeReference>(attribute.value)) {
      out_ += ": " + std::string(kTypeNames[code < std::size(kTypeNames) ? code : 0]) + " ";
    }
    out_ += "=";
    PrintValue(attribute, depth);
  }

  void PrintTensor(const ConstantPtr& constant) {
    out_ += ConstantType(*constant) + " " + ContentsText(*constant, options_.max_inline);
  }

  void PrintValue(const Attribute& attribute, int depth) {
    const auto graph = [&](const std::shared_ptr<Graph>& body) {
      Printer(options_, &out_, &next_name_).Body(*body, attribute.name, depth + 1, this);
    };
    const auto real = [&](float value) { out_ += FloatText(value, true); };
    const auto tensor = [&](const ConstantPtr& constant) { PrintTensor(constant); };
    const auto type = [&](const ValueType& t) { out_ += "type(" + TypeText(t) + ")"; };
    const auto text = [&](const std::string& s) { out_ += Quoted(s); };
    const auto integer = [&](std::int64_t i) { out_ += std::to_string(i); };
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            out_ += "none";
          else if constexpr (std::is_same_v<T, float>)
            real(value);
          else if constexpr (std::is_same_v<T, std::int64_t>)
            integer(value);
          else if constexpr (std::is_same_v<T, std::string>)
            text(value);
          else if constexpr (std::is_same_v<T, ConstantPtr>)
            tensor(value);
          else if constexpr (std::is_same_v<T, std::shared_ptr<Graph>>)
            graph(value);
          else if constexpr (std::is_same_v<T, std::vector<float>>)
            List(value, real);
          else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
            List(value, integer);
          else if constexpr (std::is_same_v<T, std::vector<std::string>>)
            List(value, text);
          else if constexpr (std::is_same_v<T, std::vector<ConstantPtr>>)
            List(value, tensor);
          else if constexpr (std::is_same_v<T, Attribute::Graphs>)
            List(value, graph);
          else if constexpr (std::is_same_v<T, ValueType>)
            type(value);
          else if constexpr (std::is_same_v<T, std::vector<ValueType>>)
            List(value, type);
          else
            out_ += "@" + NameText(value.name);
        },
        attribute.value);
  }

  const TextOptions& options_;
  std::string& out_;
  int& next_name_;
  const Printer* outer_ = nullptr;
  std::unordered_map<const NodeArg*, std::string> names_;
  std::unordered_map<std::string, std::string> by_name_;
  std::vector<const NodeArg*> constants_;
};

}  // namespace

std::string PrintGraph(const Graph& graph, const TextOptions& options) {
  std::string out;
  int next_name = 0;
  Printer printer(options, &out, &next_name);
  if (graph.parent() == nullptr) printer.Header(graph);
  printer.Body(graph, graph.context().graph_name, 0, nullptr);
  return out + "\n";
}

}  // namespace switchyard
