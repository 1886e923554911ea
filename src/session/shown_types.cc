#include "session/shown_types.h"

namespace switchyard {
namespace {

constexpr std::string_view kMadeUp = "unk__";  // SymbolTable::Fresh

}  // namespace

ShownTypes::ShownTypes(const Graph& graph) {
  for (const NodeArg* input : graph.inputs()) Collect(input->type());
  for (const NodeArg* output : graph.outputs()) Collect(output->type());
}

void ShownTypes::Collect(const ValueType& type) {
  if (type.element) Collect(*type.element);
  if (!type.is_tensor() || !type.shape.ranked()) return;
  for (const Dim& dim : type.shape) {
    if (dim.is_symbolic()) declared_.insert(dim.ToString());
  }
}

ValueType ShownTypes::Show(const ValueType& type) const {
  ValueType shown = type;
  if (type.element) shown.element = std::make_shared<const ValueType>(Show(*type.element));
  if (!type.is_tensor() || !type.shape.ranked()) return shown;
  for (std::size_t i = 0; i < shown.shape.rank(); ++i) {
    if (!shown.shape[i].is_symbolic()) continue;
    const std::string text = shown.shape[i].ToString();
    if (text.find(kMadeUp) != text.npos && !declared_.contains(text)) shown.shape[i] = Dim();
  }
  return shown;
}

}  // namespace switchyard
