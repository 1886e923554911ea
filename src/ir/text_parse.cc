#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/format.h"
#include "switchyard/ir/schema.h"
#include "switchyard/ir/text.h"

namespace switchyard {
namespace {

// Evenly spread bits from a counter (splitmix64).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::unique_ptr<Graph> Run() {
    auto context = std::make_shared<ModelContext>();
    while (!AtWord("graph")) {
      if (AcceptWord("ir")) {
        context->ir_version = Integer();
      } else if (AcceptWord("opset")) {
        std::string domain;
        if (!std::isdigit(static_cast<unsigned char>(Peek()))) domain = Name();
        context->opset_imports[domain == "ai.onnx" ? "" : domain] = static_cast<int>(Integer());
      } else {
        Fail("expected ir, opset or graph");
      }
    }
    auto graph = std::make_unique<Graph>(context);
    ParseBody(*graph);
    if (Peek() != '\0') Fail("unexpected text after the graph");
    return graph;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    Throw(ErrorCode::kInvalidArgument, "line {}, column {}: {}", line, column, what);
  }

  // ---- characters
  char Peek() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return text_[at_];
      }
    }
    return '\0';
  }

  bool Accept(std::string_view mark) {
    Peek();
    if (text_.substr(at_, mark.size()) != mark) return false;
    at_ += mark.size();
    return true;
  }

  void Expect(std::string_view mark) {
    if (!Accept(mark)) Fail("expected '" + std::string(mark) + "'");
  }

  static bool IsWordChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
  }

  std::string_view PeekWord() {
    Peek();
    std::size_t end = at_;
    while (end < text_.size() && IsWordChar(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool AtWord(std::string_view word) { return PeekWord() == word; }

  bool AcceptWord(std::string_view word) {
    if (!AtWord(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string Name() {
    if (Peek() == '"') return String();
    const std::string_view word = PeekWord();
    if (word.empty()) Fail("expected a name");
    at_ += word.size();
    return std::string(word);
  }

  std::string String() {
    Expect("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'x' && at_ + 2 <= text_.size()) {
          unsigned code = 0;
          std::from_chars(text_.data() + at_, text_.data() + at_ + 2, code, 16);
          at_ += 2;
          c = static_cast<char>(code);
        } else if (c == 'n') {
          c = '\n';
        }
      }
      out += c;
    }
    if (at_ >= text_.size()) Fail("a string has no end");
    ++at_;
    return out;
  }

  // The text of a number: digits, sign, point, exponent, inf, nan.
  std::string NumberText() {
    Peek();
    std::size_t end = at_;
    if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '.' ||
            ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e'))) {
      ++end;
    }
    if (end == at_) Fail("expected a number");
    std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

  std::int64_t ToInteger(const std::string& text) const {
    std::int64_t value = 0;
    const char* first = text.data() + (text[0] == '+' ? 1 : 0);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      Fail("'" + text + "' is no integer");
    }
    return value;
  }

  std::int64_t Integer() { return ToInteger(NumberText()); }

  double ToReal(const std::string& text) const {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size()) Fail("'" + text + "' is no number");
    return value;
  }

  static float ToSingle(const std::string& text) { return std::strtof(text.c_str(), nullptr); }

  // ---- types
  bool AtType() {
    const std::size_t start = at_;
    const std::string_view word = PeekWord();
    if (word.empty()) return false;
    const std::string name(word);
    at_ += name.size();
    const char next = Peek();
    at_ = start;
    if (next == '[') return name == "undefined" || DataTypeFromName(name).has_value();
    return next == '(' && (name == "seq" || name == "optional" || name == "map" ||
                           name == "tensor" || name == "sparse_tensor");
  }

  ValueType Type(SymbolTable& symbols) {
    const std::string name = Name();
    if (Peek() == '(') {
      const std::size_t start = at_;
      int depth = 0;
      do {
        depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
        ++at_;
      } while (at_ < text_.size() && depth > 0);
      const auto type = ValueType::Parse(name + std::string(text_.substr(start, at_ - start)));
      if (!type) Fail("'" + name + "(...)' is no type");
      return *type;
    }
    const auto elem = name == "undefined" ? DataType::kUndefined : DataTypeFromName(name);
    if (!elem) Fail("'" + name + "' is no element type");
    return ValueType::Tensor(*elem, ParseShape(symbols));
  }

  Shape ParseShape(SymbolTable& symbols) {
    Expect("[");
    if (Accept("...")) {
      Expect("]");
      return Shape();
    }
    Shape shape = Shape::Scalar();
    while (!Accept("]")) {
      if (shape.rank() != 0) Expect(",");
      Peek();
      const std::size_t start = at_;
      int depth = 0;
      while (at_ < text_.size() && (depth > 0 || (text_[at_] != ',' && text_[at_] != ']'))) {
        depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
        ++at_;
      }
      std::string dim(text_.substr(start, at_ - start));
      while (!dim.empty() && dim.back() == ' ') dim.pop_back();
      if (dim.empty()) Fail("a dim is missing");
      if (dim == "?") {
        shape.push_back(Dim());
      } else if (dim.find_first_not_of("0123456789") == std::string::npos) {
        shape.push_back(Dim(ToInteger(dim)));
      } else {
        shape.push_back(symbols.Parse(dim));
      }
    }
    return shape;
  }

  // ---- constants
  bool AtContents() {
    if (Peek() == '{') return true;
    const std::size_t start = at_;
    const std::string word(PeekWord());
    at_ += word.size();
    const bool call = Peek() == '(';
    at_ = start;
    return call && (word == "fill" || word == "random" || word == "hex" || word == "hash");
  }

  ConstantPtr Contents(const ValueType& type) {
    if (!type.is_tensor() || !type.shape.is_concrete()) Fail("a constant needs a concrete type");
    Tensor tensor(type.elem, type.shape.concrete(), MakeHostAllocator());
    if (Accept("{")) {
      std::vector<std::string> elements;
      while (!Accept("}")) {
        if (!elements.empty()) Expect(",");
        elements.push_back(type.elem == DataType::kString ? String() : NumberText());
      }
      if (static_cast<std::int64_t>(elements.size()) != tensor.size()) {
        Fail(fmt::format("{} elements for {}", elements.size(), tensor.Describe()));
      }
      for (std::size_t i = 0; i < elements.size(); ++i) Store(&tensor, i, elements[i]);
    } else if (AcceptWord("fill")) {
      Expect("(");
      const std::string element = type.elem == DataType::kString ? String() : NumberText();
      for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) {
        Store(&tensor, i, element);
      }
      Expect(")");
    } else if (AcceptWord("random")) {
      Expect("(");
      Randomise(&tensor, static_cast<std::uint64_t>(Integer()));
      Expect(")");
    } else if (AcceptWord("hex")) {
      Expect("(");
      ReadHex(&tensor);
      Expect(")");
    } else {
      Fail("expected {values}, fill(value), random(seed) or hex(bytes)");
    }
    return std::make_shared<const Constant>(std::move(tensor));
  }

  void Store(Tensor* tensor, std::size_t i, const std::string& text) const {
    const auto integer = [&]<typename T>(T*) {
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        tensor->data_mutable<T>()[i] = std::strtoull(text.c_str(), nullptr, 10);
      } else {
        const std::int64_t value = ToInteger(text);
        if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
            value > static_cast<std::int64_t>(std::numeric_limits<T>::max())) {
          Fail(text + " does not fit " + std::string(DataTypeName(tensor->type())));
        }
        tensor->data_mutable<T>()[i] = static_cast<T>(value);
      }
    };
    switch (tensor->type()) {
      case DataType::kFloat:
        ToReal(text);
        tensor->data_mutable<float>()[i] = ToSingle(text);
        return;
      case DataType::kDouble:
        tensor->data_mutable<double>()[i] = ToReal(text);
        return;
      case DataType::kFloat16:
        tensor->data_mutable<Float16>()[i] = Float16(ToSingle(text));
        return;
      case DataType::kBFloat16:
        tensor->data_mutable<BFloat16>()[i] = BFloat16(ToSingle(text));
        return;
      case DataType::kInt64:
        integer(static_cast<std::int64_t*>(nullptr));
        return;
      case DataType::kInt32:
        integer(static_cast<std::int32_t*>(nullptr));
        return;
      case DataType::kInt16:
        integer(static_cast<std::int16_t*>(nullptr));
        return;
      case DataType::kInt8:
        integer(static_cast<std::int8_t*>(nullptr));
        return;
      case DataType::kUint64:
        integer(static_cast<std::uint64_t*>(nullptr));
        return;
      case DataType::kUint32:
        integer(static_cast<std::uint32_t*>(nullptr));
        return;
      case DataType::kUint16:
        integer(static_cast<std::uint16_t*>(nullptr));
        return;
      case DataType::kUint8:
        integer(static_cast<std::uint8_t*>(nullptr));
        return;
      case DataType::kBool:
        tensor->data_mutable<bool>()[i] = ToInteger(text) != 0;
        return;
      case DataType::kString:
        tensor->data_mutable<std::string>()[i] = text;
        return;
      default:
        Fail(std::string(DataTypeName(tensor->type())) + " constants are written as hex(...)");
    }
  }

  void Randomise(Tensor* tensor, std::uint64_t seed) const {
    const bool is_signed = types::kSigned.Contains(tensor->type());
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor->size()); ++i) {
      const std::uint64_t bits = Mix(seed * 0x2545f4914f6cdd1du + i);
      if (types::kFloats.Contains(tensor->type())) {
        // Few bits, so that every floating type holds the number exactly.
        const double value = static_cast<double>(bits >> 57) / 64.0 - 1.0;
        Store(tensor, i, fmt::format("{}", value));
      } else if (tensor->type() == DataType::kBool) {
        Store(tensor, i, std::to_string(bits >> 63));
      } else {
        Store(tensor, i, std::to_string(static_cast<int>(bits >> 60) - (is_signed ? 8 : 0)));
      }
    }
  }

  void ReadHex(Tensor* tensor) {
    const std::string digits(PeekWord());
    at_ += digits.size();
    if (digits.size() != tensor->bytes() * 2 || tensor->type() == DataType::kString) {
      Fail(fmt::format("{} hex digits for {} bytes", digits.size(), tensor->bytes()));
    }
    auto* bytes = static_cast<unsigned char*>(tensor->raw_mutable());
    for (std::size_t i = 0; i < tensor->bytes(); ++i) {
      const char* first = digits.data() + 2 * i;
      if (std::from_chars(first, first + 2, bytes[i], 16).ptr != first + 2) Fail("bad hex digit");
    }
  }

  // ---- graphs
  void ParseBody(Graph& graph) {
    if (++depth_ > 100) Fail("bodies are nested too deeply");
    Expect("graph");
    std::string name = Name();
    if (graph.parent() == nullptr) graph.context().graph_name = std::move(name);
    Expect("(");
    for (bool first = true; !Accept(")"); first = false) {
      if (!first) Expect(",");
      ValueType type = AtType() ? Type(graph.symbols()) : ValueType();
      NodeArg* input = graph.AddInput(Name(), type);
      if (Accept("=")) graph.SetConstant(input, Contents(type));
    }
    Expect("=>");
    Expect("(");
    std::vector<std::pair<std::string, ValueType>> outputs;
    while (!Accept(")")) {
      if (!outputs.empty()) Expect(",");
      ValueType type = AtType() ? Type(graph.symbols()) : ValueType();
      outputs.emplace_back(Name(), std::move(type));
    }
    Expect("{");
    while (!Accept("}")) Statement(graph);
    for (auto& [output, type] : outputs) {
      NodeArg* value = Use(graph, output);
      if (!value->type().known()) {
        ValueInfo info;
        info.type = std::move(type);
        graph.SetInfo(value, std::move(info));
      }
      graph.MarkOutput(value);
    }
    --depth_;
  }

  void Statement(Graph& graph) {
    std::vector<NodeArg*> outputs;
    do {
      if (AcceptWord("_")) {
        outputs.push_back(nullptr);
        continue;
      }
      ValueType type = AtType() ? Type(graph.symbols()) : ValueType();
      std::string name = Name();
      if (Accept("=")) {
        if (AtContents()) {
          Constants(graph, name, type, outputs.empty());
          return;
        }
        outputs.push_back(Define(graph, name, std::move(type)));
        Call(graph, outputs);
        return;
      }
      outputs.push_back(Define(graph, name, std::move(type)));
    } while (Accept(","));
    Expect("=");
    Call(graph, outputs);
  }

  void Constants(Graph& graph, const std::string& name, const ValueType& type, bool alone) {
    if (!alone) Fail("a constant stands alone");
    NodeArg* known = graph.FindValue(name);
    if (known != nullptr) {
      graph.SetConstant(known, Contents(type));
    } else {
      graph.AddConstant(name, Contents(type));
    }
  }

  NodeArg* Define(Graph& graph, const std::string& name, ValueType type) {
    NodeArg* value = graph.FindValue(name);
    if (value == nullptr) return graph.AddValue(name, std::move(type));
    if (type.known()) {
      ValueInfo info;
      info.type = std::move(type);
      graph.SetInfo(value, std::move(info));
    }
    return value;
  }

  NodeArg* Use(Graph& graph, const std::string& name) {
    if (NodeArg* value = graph.FindValue(name)) return value;
    for (const Graph* outer = graph.parent(); outer != nullptr; outer = outer->parent()) {
      if (outer->FindValue(name) != nullptr) return graph.Capture(name);
    }
    return graph.AddValue(name);
  }

  void Call(Graph& graph, const std::vector<NodeArg*>& outputs) {
    std::string node_name;
    if (Peek() == '"') {
      const std::size_t start = at_;
      node_name = String();
      if (!Accept(":")) {
        at_ = start;
        node_name.clear();
      }
    }
    std::string op_type = Name(), domain;
    if (const auto dot = op_type.rfind('.'); dot != std::string::npos) {
      domain = op_type.substr(0, dot);
      op_type = op_type.substr(dot + 1);
    }
    int version = Accept("@") ? static_cast<int>(Integer()) : 0;
    Attributes attributes;
    if (Accept("<")) {
      do ParseAttribute(graph, &attributes);
      while (Accept(","));
      Expect(">");
    }
    std::vector<NodeArg*> inputs;
    Expect("(");
    while (!Accept(")")) {
      if (!inputs.empty()) Expect(",");
      const char next = Peek();
      inputs.push_back(next == ',' || next == ')' ? nullptr : Use(graph, Name()));
    }
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    if (version == 0) {
      const OpSchema* schema = OpSchemaRegistry().Find(domain, op_type, graph.opset(domain));
      if (schema != nullptr) version = schema->since_version;
    }
    graph.AddNode(op_type, domain, node_name, inputs, outputs, std::move(attributes), version);
  }

  // ---- attributes
  void ParseAttribute(Graph& graph, Attributes* attributes) {
    Attribute attribute;
    attribute.name = Name();
    std::string type;
    if (Accept(":")) type = Name();
    Expect("=");
    if (Accept("@")) {
      attribute.value = AttributeReference{Name(), TypeCode(type)};
    } else if (Accept("[")) {
      ParseList(graph, type, &attribute);
    } else {
      ParseItem(graph, type, &attribute);
    }
    attributes->Set(std::move(attribute));
  }

  static AttributeType TypeCode(std::string_view name) {
    static constexpr std::string_view kNames[] = {
        "undefined", "float",   "int",    "string", "tensor",  "graph", "floats", "ints",
        "strings",   "tensors", "graphs", "sparse", "sparses", "type",  "types"};
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      if (kNames[i] == name) return static_cast<AttributeType>(i);
    }
    return AttributeType::kUndefined;
  }

  void ParseItem(Graph& graph, const std::string& type, Attribute* attribute) {
    if (AtWord("graph")) {
      auto body = std::make_shared<Graph>(graph.shared_context(), &graph);
      ParseBody(*body);
      attribute->value = std::move(body);
    } else if (AcceptWord("none")) {
      attribute->value = std::monostate();
    } else if (Peek() == '"') {
      attribute->value = String();
    } else if (AtType()) {
      attribute->value = Contents(Type(graph.symbols()));
    } else if (AcceptWord("type")) {
      Expect("(");
      attribute->value = Type(graph.symbols());
      Expect(")");
    } else {
      const std::string number = NumberText();
      if (type == "float" || number.find_first_of(".enf") != std::string::npos) {
        ToReal(number);
        attribute->value = ToSingle(number);
      } else {
        attribute->value = ToInteger(number);
      }
    }
  }

  void ParseList(Graph& graph, const std::string& type, Attribute* attribute) {
    std::vector<Attribute> items;
    const std::string item_type = type == "floats" ? "float" : "";
    while (!Accept("]")) {
      if (!items.empty()) Expect(",");
      ParseItem(graph, item_type, &items.emplace_back());
    }
    AttributeType code = TypeCode(type);
    if (code == AttributeType::kUndefined && !items.empty()) {
      static constexpr AttributeType kLists[] = {AttributeType::kUndefined, AttributeType::kFloats,
                                                 AttributeType::kInts,      AttributeType::kStrings,
                                                 AttributeType::kTensors,   AttributeType::kGraphs};
      const auto one = static_cast<std::size_t>(items[0].type());
      code = one < std::size(kLists)                        ? kLists[one]
             : items[0].type() == AttributeType::kTypeProto ? AttributeType::kTypeProtos
                                                            : AttributeType::kUndefined;
    }
    const auto fill = [&]<typename T>(std::vector<T> values) {
      for (Attribute& item : items) {
        T* value = std::get_if<T>(&item.value);
        if (value == nullptr) Fail("the items of a list have one type");
        values.push_back(std::move(*value));
      }
      attribute->value = std::move(values);
    };
    switch (code) {
      case AttributeType::kFloats:
        fill(std::vector<float>());
        break;
      case AttributeType::kInts:
        fill(std::vector<std::int64_t>());
        break;
      case AttributeType::kStrings:
        fill(std::vector<std::string>());
        break;
      case AttributeType::kTensors:
        fill(std::vector<ConstantPtr>());
        break;
      case AttributeType::kGraphs:
        fill(Attribute::Graphs());
        break;
      case AttributeType::kTypeProtos:
        fill(std::vector<ValueType>());
        break;
      default:
        Fail("an empty list needs its type, as in `axes: ints = []`");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Graph> ParseGraph(std::string_view text) { return Parser(text).Run(); }

}  // namespace switchyard
